//! Standard input.

use super::{inlet, waiters};
use crate::io::CopyFrom;
use crate::system::retry;
use rustix::event::{PollFd, PollFlags, poll};
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use windlass_reactor::{Async, Direction, RegisterError, Taken, budget};

/// Returns a handle to the standard input of the process; see [`Stdin`].
///
/// # Errors
///
/// What the system says: most often that descriptor 0 is closed (`EBADF`), or that there are no
/// descriptors left.
pub fn stdin() -> io::Result<Stdin> {
    Stdin::new()
}

/// The standard input of the process, whatever it is: a terminal, a pipe, a file, a socket or a
/// device.
///
/// A read waits until there is something, and then has a thread of its own read it: so it can be
/// cancelled, and nothing keeps a runtime or the process from ending. The descriptor is never told
/// not to block, which would be for all processes that share it, as the shell does.
///
/// All handles are to the same input. What was read for a read that was dropped goes to the next
/// one, through whichever handle. No more is read than was asked for: a program that reads to the
/// end of a line byte by byte leaves the rest to its child. What [`std::io::stdin`] has read and
/// buffered is not seen here, nor the other way round.
///
/// If another process takes the input between the look and the read, the thread waits for the next
/// in a blocking read, whether the read is cancelled by then or not. The same goes for devices that
/// can't be waited for, such as `/dev/tty` on macOS. What comes of that is kept, too.
///
/// ```no_run
/// # async fn example() -> std::io::Result<()> {
/// use std::time::Duration;
/// use windlass_net::io::stdin;
/// use windlass_reactor::time::timeout;
///
/// let mut input = stdin()?;
/// let mut space = [0; 1024];
/// match timeout(Duration::from_secs(10), input.read(&mut space)).await {
///     Ok(count) => println!("{} bytes", count?),
///     Err(_) => println!("nothing was typed; if it is now, the next read has it"),
/// }
/// # Ok(()) }
/// ```
pub struct Stdin {
    /// A duplicate of descriptor 0, so that each handle is registered by itself.
    input: Async<Arc<OwnedFd>>,
    id: u64,
    /// The reactor can't wait for it: the thread does, in its read.
    is_refused: bool,
}

impl Stdin {
    fn new() -> io::Result<Self> {
        let fd = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Self {
            // It may block, but is only asked whether it is ready.
            input: Async::from_nonblocking(Arc::new(fd)),
            id: waiters::new_id(),
            is_refused: false,
        })
    }

    /// Reads what is there into `space`, waiting until there is something; returns how many bytes
    /// came, 0 at the end. Up to 64 KiB come at once.
    ///
    /// # Errors
    ///
    /// What the system says of the descriptor; or that the thread can't be started.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when it is dropped: what was read for it is returned by the next read.
    pub async fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        let _leaves = Leaves(self.id);
        poll_fn(|context| self.poll_read(context, space)).await
    }

    /// As [`read`](Stdin::read), for those who write futures by hand. The latest task that calls it
    /// on a handle is woken.
    ///
    /// # Errors
    ///
    /// As for [`read`](Stdin::read).
    pub fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        space: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        if space.is_empty() {
            return Poll::Ready(Ok(0));
        }
        loop {
            let permit = ready!(budget::poll_proceed(context));
            let look = inlet::take(space);
            if let inlet::Look::Taken(result) = look {
                permit.spend();
                budget::charge_bytes(*result.as_ref().unwrap_or(&0));
                return Poll::Ready(result);
            }
            drop(permit);
            if matches!(look, inlet::Look::Nothing) && self.poll_input(context)?.is_ready() {
                inlet::ask(self.input.get_ref(), space.len())?;
            }
            // Also while the input is waited for: another handle may have had it read.
            if inlet::wait(self.id, context) {
                return Poll::Pending;
            }
        }
    }

    /// Waits until there is something to read, as far as can be told.
    fn poll_input(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_refused {
            return Poll::Ready(Ok(()));
        }
        let has_input = |fd: &Arc<OwnedFd>| has_input(fd.as_fd());
        match ready!(self.input.poll_io_with(context, Direction::Read, has_input)) {
            Err(error) if is_refusal(&error) => {
                self.is_refused = true;
                Poll::Ready(Ok(()))
            }
            done => Poll::Ready(done),
        }
    }
}

/// Asks whether a read would find something: bytes, the end or an error. What can't be asked, as
/// files and some devices, is always said to be ready.
fn has_input(fd: BorrowedFd<'_>) -> io::Result<Taken<()>> {
    let now = rustix::event::Timespec::default();
    let mut asked = [PollFd::new(&fd, PollFlags::IN)];
    match retry(|| Ok(poll(&mut asked, Some(&now))?))? {
        0 => Err(io::ErrorKind::WouldBlock.into()),
        _ => Ok(Taken::Some(())),
    }
}

/// Says whether the reactor won't have this kind of descriptor.
fn is_refusal(error: &io::Error) -> bool {
    let is_typed = matches!(error.get_ref(), Some(inner) if inner.is::<RegisterError>());
    is_typed || error.kind() == io::ErrorKind::InvalidInput
}

/// Waits no more when it is dropped.
struct Leaves(u64);

impl Drop for Leaves {
    fn drop(&mut self) {
        inlet::leave(self.0);
    }
}

impl Drop for Stdin {
    fn drop(&mut self) {
        inlet::leave(self.id);
    }
}

impl CopyFrom for Stdin {
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        space: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Stdin::poll_read(self, context, space)
    }
}

impl fmt::Debug for Stdin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdin").finish_non_exhaustive()
    }
}
