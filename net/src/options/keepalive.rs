//! How an idle connection is kept alive, or found dead.

use std::time::Duration;

/// How a peer of which nothing is heard is probed (`SO_KEEPALIVE`): what isn't said is left as it
/// is, which is the system's choice at first; on Linux, 9 probes 75 s apart after two hours.
///
/// ```
/// # futures::executor::block_on(async {
/// use std::time::Duration;
/// use windlass_net::{Keepalive, TcpListener, TcpStream};
///
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let stream = TcpStream::connect(listener.local_addr()?).await?;
/// let minute = Keepalive::new().idle(Duration::from_secs(60));
/// stream.set_keepalive(Some(minute))?;
/// assert!(stream.keepalive()?.is_some());
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keepalive {
    pub(super) idle: Option<Duration>,
    pub(super) interval: Option<Duration>,
    pub(super) probes: Option<u32>,
}

impl Keepalive {
    /// Says nothing yet.
    pub const fn new() -> Self {
        Self {
            idle: None,
            interval: None,
            probes: None,
        }
    }

    /// Has the first probe sent when nothing was heard for `time`, in whole seconds, rounded up
    /// (`TCP_KEEPIDLE`).
    pub const fn idle(mut self, time: Duration) -> Self {
        self.idle = Some(time);
        self
    }

    /// Has `time` pass between one probe and the next, in whole seconds, rounded up
    /// (`TCP_KEEPINTVL`).
    pub const fn interval(mut self, time: Duration) -> Self {
        self.interval = Some(time);
        self
    }

    /// Has the connection end with an error after `count` probes without an answer
    /// (`TCP_KEEPCNT`).
    pub const fn probes(mut self, count: u32) -> Self {
        self.probes = Some(count);
        self
    }

    /// Returns when the first probe is sent, if this says so.
    pub const fn idle_time(&self) -> Option<Duration> {
        self.idle
    }

    /// Returns how much time passes between probes, if this says so.
    pub const fn interval_time(&self) -> Option<Duration> {
        self.interval
    }

    /// Returns how many probes are sent, if this says so.
    pub const fn probe_count(&self) -> Option<u32> {
        self.probes
    }
}
