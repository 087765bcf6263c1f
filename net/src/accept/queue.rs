//! From a connection in the queue of a listener to a stream.
//!
//! What can go wrong is of three kinds (accept(2), under "Error handling", has the first):
//!
//! 1. The connection is at fault, or its network is: it is taken off the queue, and the next one
//!    is accepted. Many such in a row give the other tasks a turn in between.
//! 2. Descriptors or memory are short: see `shortage.rs`.
//! 3. The listener is at fault. That is told, and again each time.

use super::shortage::{AcceptBackoff, Shortage};
use crate::system;
use parking_lot::Mutex;
use rustix::io::Errno;
use std::future::Future;
use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use windlass_reactor::time::{self, Sleep};
use windlass_reactor::{Async, Direction, Operation, Taken};

/// How many connections that are at fault are taken off the queue in one go.
const MOST_FAULTS: usize = 32;

/// A listening socket that doesn't block.
pub trait Listening: AsFd {
    /// A connection, and the address of its peer.
    type Accepted;

    /// Takes the first connection off the queue; `None` if the peer is gone already.
    fn accept_one(&self) -> Result<Option<Self::Accepted>, Errno>;
}

/// A listener of any kind; which there are is this crate's business.
pub trait Accepts {
    type Socket: Listening;

    fn queue(&self) -> &Queue<Self::Socket>;
}

/// The connections that wait to be accepted, and those who wait for them.
#[derive(Debug)]
pub struct Queue<S> {
    inner: Async<S>,
    shortage: Shortage,
    /// The pause of those who call `poll_accept`.
    polled_sleep: Mutex<Option<Sleep>>,
}

/// What an attempt to accept has come to.
#[derive(Debug)]
enum Attempt<A> {
    Accepted(A),
    /// Connections that were at fault are off the queue; more of them may follow.
    OnlyFaults,
    /// There are no descriptors, or no memory, for another one.
    OutOf(io::Error),
}

/// Accepts the first connection in the queue that is not at fault.
fn attempt<S: Listening>(socket: &S) -> io::Result<Taken<Attempt<S::Accepted>>> {
    for _ in 0..MOST_FAULTS {
        match socket.accept_one() {
            Ok(Some(accepted)) => return Ok(Taken::Some(Attempt::Accepted(accepted))),
            Ok(None) => {}
            Err(Errno::OPNOTSUPP) if system::is_for_datagrams(socket) => return Err(no_listener()),
            Err(error) if is_fault_of_connection(error) => {}
            Err(error) if is_shortage(error) => {
                return Ok(Taken::Some(Attempt::OutOf(error.into())));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Taken::Some(Attempt::OnlyFaults))
}

/// Without this, whoever was given another socket would try for ever, as the same error may be that
/// of a connection.
#[cold]
fn no_listener() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        "this is a socket for datagrams, which has no connections to accept; give one that listens",
    )
}

/// What accept(2) says of Linux alone: faults of connections, and shortages.
#[cfg(target_os = "linux")]
const LINUX: (&[Errno], &[Errno]) = (&[Errno::NONET, Errno::SOCKTNOSUPPORT], &[Errno::NOSR]);
#[cfg(not(target_os = "linux"))]
const LINUX: (&[Errno], &[Errno]) = (&[], &[]);

/// Linux hands over errors that are pending on the new socket; EPERM is a firewall's doing.
fn is_fault_of_connection(error: Errno) -> bool {
    let (faults, _) = LINUX;
    let is_known = matches!(
        error,
        Errno::CONNABORTED
            | Errno::PROTO
            | Errno::PERM
            | Errno::INTR
            | Errno::NETDOWN
            | Errno::NOPROTOOPT
            | Errno::HOSTDOWN
            | Errno::HOSTUNREACH
            | Errno::OPNOTSUPP
            | Errno::NETUNREACH
            | Errno::TIMEDOUT
            | Errno::PROTONOSUPPORT
    );
    is_known || faults.contains(&error)
}

fn is_shortage(error: Errno) -> bool {
    let (_, shortages) = LINUX;
    let is_known = matches!(
        error,
        Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM
    );
    is_known || shortages.contains(&error)
}

/// Says whether an error of accepting is that of a shortage.
pub(crate) fn is_shortage_error(error: &io::Error) -> bool {
    Errno::from_io_error(error).is_some_and(is_shortage)
}

/// What happens to the error of a shortage.
pub(super) enum WhenShort {
    /// It is told once.
    Tell,
    /// It is waited out; if there is a hook, it is told once.
    WaitOut(Option<Hook>),
}

type Hook = Box<dyn Fn(&io::Error) + Send + Sync>;

type Attempting<'a, S> =
    Operation<'a, S, fn(&S) -> io::Result<Taken<Attempt<<S as Listening>::Accepted>>>>;

/// Accepts connections one after the other, with a wait of its own.
pub(crate) struct Accepting<'a, S: Listening> {
    queue: &'a Queue<S>,
    /// Begins anew each time it is done.
    attempting: Attempting<'a, S>,
    sleep: Option<Sleep>,
    pub(super) when_short: WhenShort,
}

impl<'a, S: Listening> Accepting<'a, S> {
    pub(super) fn new(queue: &'a Queue<S>, when_short: WhenShort) -> Self {
        let operation: fn(&S) -> _ = attempt;
        Self {
            queue,
            attempting: queue.inner.io_with(Direction::Read, operation),
            sleep: None,
            when_short,
        }
    }

    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<S::Accepted>> {
        loop {
            ready!(self.queue.shortage.poll_due(context, &mut self.sleep));
            let attempt = ready!(Pin::new(&mut self.attempting).poll(context))?;
            let concluded = self.queue.conclude(context, attempt, &self.when_short);
            if let Some(done) = ready!(concluded) {
                return Poll::Ready(done);
            }
        }
    }
}

impl<S: AsFd> Queue<S> {
    /// Takes a socket that doesn't block.
    pub(crate) fn from_nonblocking(socket: S) -> Self {
        Self {
            inner: Async::from_nonblocking(socket),
            shortage: Shortage::default(),
            polled_sleep: Mutex::default(),
        }
    }

    pub(crate) fn socket(&self) -> &S {
        self.inner.get_ref()
    }

    pub(crate) fn into_socket(self) -> S {
        self.inner.into_inner()
    }

    pub(crate) fn set_backoff(&self, backoff: AcceptBackoff) {
        self.shortage.set_backoff(backoff);
    }

    pub(crate) fn shortages(&self) -> u64 {
        self.shortage.count()
    }
}

impl<S: Listening> Queue<S> {
    /// Accepts connections, and tells of a shortage once.
    pub(crate) fn accepting(&self) -> Accepting<'_, S> {
        Accepting::new(self, WhenShort::Tell)
    }

    pub(crate) fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<S::Accepted>> {
        loop {
            // A waker is never cloned under our lock, so the sleep is taken out to be polled.
            let mut sleep = self.polled_sleep.lock().take();
            let due = self.shortage.poll_due(context, &mut sleep);
            let replaced = std::mem::replace(&mut *self.polled_sleep.lock(), sleep);
            drop(replaced);
            ready!(due);
            let attempted = self.inner.poll_io_with(context, Direction::Read, attempt);
            let attempt = ready!(attempted)?;
            if let Some(done) = ready!(self.conclude(context, attempt, &WhenShort::Tell)) {
                return Poll::Ready(done);
            }
        }
    }

    /// Turns an attempt into the answer; without one, another attempt is due.
    fn conclude(
        &self,
        context: &mut Context<'_>,
        attempt: Attempt<S::Accepted>,
        when_short: &WhenShort,
    ) -> Poll<Option<io::Result<S::Accepted>>> {
        match attempt {
            Attempt::Accepted(accepted) => {
                self.shortage.end();
                Poll::Ready(Some(Ok(accepted)))
            }
            Attempt::OnlyFaults => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Attempt::OutOf(error) => {
                let is_first = self.shortage.begin_or_go_on(time::now());
                match when_short {
                    WhenShort::Tell if is_first => return Poll::Ready(Some(Err(error))),
                    WhenShort::WaitOut(Some(hook)) if is_first => hook(&error),
                    _ => {}
                }
                Poll::Ready(None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Attempt, Listening, Queue, WhenShort, is_fault_of_connection, is_shortage};
    use futures::task::{ArcWake, waker};
    use rustix::io::Errno;
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Context;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl ArcWake for Woken {
        fn wake_by_ref(woken: &Arc<Self>) {
            woken.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    impl Listening for TcpListener {
        type Accepted = ();

        fn accept_one(&self) -> Result<Option<()>, Errno> {
            Err(Errno::CONNABORTED)
        }
    }

    /// When there are nothing but faults, others get a turn, and then it goes on.
    #[test]
    fn faults_without_end_give_others_a_turn() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let queue = Queue::from_nonblocking(listener);
        let woken = Arc::new(Woken::default());
        let waker = waker(woken.clone());
        let mut context = Context::from_waker(&waker);
        let concluded = queue.conclude(&mut context, Attempt::OnlyFaults, &WhenShort::Tell);
        assert!(concluded.is_pending());
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
        assert!(queue.poll_accept(&mut context).is_pending());
        assert_eq!(woken.0.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn errors_are_of_three_kinds() {
        for fault in [
            Errno::CONNABORTED,
            Errno::PROTO,
            Errno::PERM,
            Errno::NETDOWN,
            Errno::TIMEDOUT,
            Errno::PROTONOSUPPORT,
        ] {
            assert!(is_fault_of_connection(fault) && !is_shortage(fault));
        }
        for short in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
            assert!(is_shortage(short) && !is_fault_of_connection(short));
        }
        let (faults, shortages) = super::LINUX;
        assert!(faults.iter().all(|fault| is_fault_of_connection(*fault)));
        assert!(shortages.iter().all(|short| is_shortage(*short)));
        for fatal in [Errno::BADF, Errno::INVAL, Errno::NOTSOCK, Errno::AGAIN] {
            assert!(!is_shortage(fatal) && !is_fault_of_connection(fatal));
        }
    }
}
