//! What an acceptor is stopped and watched by.

use super::{AcceptorCounts, Shared};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How long the tasks that were aborted may take to be dropped before they are counted.
const ABORT_LIMIT: Duration = Duration::from_secs(1);

/// Tells an [`Acceptor`](super::Acceptor) to stop, and tells what it has done. Clones are the same.
///
/// ```
/// use std::time::Duration;
/// use windlass::net::{Acceptor, TcpListener, TcpStream};
///
/// windlass::block_on(async {
///     let listener = TcpListener::bind("127.0.0.1:0").await?;
///     let address = listener.local_addr()?;
///     let acceptor = Acceptor::new(listener);
///     let handle = acceptor.handle();
///     let serving = windlass::spawn(acceptor.serve(|stream, _peer| async move {
///         stream.read(&mut [0; 8]).await.map(drop)
///     }));
///
///     let _silent = TcpStream::connect(address).await?;
///     while handle.counts().active == 0 {
///         windlass::yield_now().await;
///     }
///     handle.stop();
///     serving.await??;
///     assert_eq!(handle.drain(Duration::from_millis(10)).await.aborted, 1);
///     std::io::Result::Ok(())
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct AcceptorHandle(pub(super) Arc<Shared>);

impl AcceptorHandle {
    /// Has it accept no more; what is open goes on.
    pub fn stop(&self) {
        self.0.drain.stop();
    }

    /// Says whether it was told to stop, so that answers should be the last.
    pub fn is_stopping(&self) -> bool {
        self.0.drain.is_stopping()
    }

    /// Returns how many connections it has had, and how they have ended.
    pub fn counts(&self) -> AcceptorCounts {
        self.0.counters.read()
    }

    /// Stops, gives open connections `limit` to end, and aborts those that don't; returns what has
    /// become of all.
    ///
    /// # Cancel safety
    ///
    /// When it is dropped, it has stopped, and nothing is aborted.
    pub async fn drain(&self, limit: Duration) -> AcceptorCounts {
        self.stop();
        self.0.drain.wait(limit).await;
        self.0.connections.abort_all();
        self.0.connections.wait(ABORT_LIMIT).await;
        self.counts()
    }
}

impl fmt::Debug for AcceptorHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcceptorHandle")
            .field("is_stopping", &self.is_stopping())
            .field("open", &self.0.limit.taken())
            .field("counts", &self.counts())
            .finish()
    }
}
