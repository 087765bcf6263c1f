//! Any descriptor made async: what is offered (here), how operations are tried (`attempt.rs`), and the
//! futures of those who wait (`operation.rs`).

mod attempt;
mod operation;

use crate::source::{Direction, Key, Source};
use crate::sys;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

pub use operation::Operation;
use operation::{Ready, Wait};

/// Makes a descriptor that does not block async: an operation is tried, and where it would block,
/// the task waits until the reactor says that it may succeed.
///
/// Nothing is registered until an operation has to wait for the first time; then it is with the
/// reactor of the thread that polls. If that reactor is dropped or left, the next wait moves on to
/// another one. Any number of tasks may wait at once.
///
/// The descriptor must not be replaced from within while it is registered, as by a `dup2` onto it.
///
/// ```
/// use std::io::{Read, Write};
/// use std::os::unix::net::UnixStream;
/// use windlass_reactor::Async;
///
/// # fn main() -> std::io::Result<()> {
/// # windlass_executor_doc::run(async {
/// let (a, b) = UnixStream::pair()?;
/// let (a, b) = (Async::new(a)?, Async::new(b)?);
/// b.write_with(|mut b| b.write(b"hello")).await?;
/// let mut space = [0; 16];
/// assert_eq!(a.read_with(|mut a| a.read(&mut space)).await?, 5);
/// # Ok(()) })
/// # }
/// # mod windlass_executor_doc { // a thread that parks: any executor will do
/// #     use std::{future::Future, pin::pin, sync::Arc, task::{Context, Poll, Wake, Waker}, thread};
/// #     struct Unpark(thread::Thread);
/// #     impl Wake for Unpark { fn wake(self: Arc<Self>) { self.0.unpark() } }
/// #     pub fn run<F: Future>(future: F) -> F::Output {
/// #         let waker = Waker::from(Arc::new(Unpark(thread::current())));
/// #         let mut future = pin!(future);
/// #         loop {
/// #             match future.as_mut().poll(&mut Context::from_waker(&waker)) {
/// #                 Poll::Ready(output) => return output,
/// #                 Poll::Pending => thread::park(),
/// #             }
/// #         }
/// #     }
/// # }
/// ```
///
/// # Terminals, timers and other devices
///
/// Whatever poll(2) can wait for will do. Some kinds have ways of their own:
///
/// - Of a pseudo-terminal the side that stands for keyboard and screen says `EIO` when no program has
///   it open any more, on Linux (pty(7)); on other systems reading gives 0. What was printed before
///   is read first: a hang-up is no end while there is more.
/// - A terminal is shared with the shell and other programs, and [`new`](Async::new) has it not block
///   for all of them. Use one that was opened anew; for standard input and output there is `Stdin`
///   and `Stdout` in windlass-net.
/// - On macOS `/dev/tty` can't be waited for; the terminal's own name can.
/// - Regular files are refused when they would have to wait, which they never say.
///
/// A timer of the kernel's (`timerfd_create`(2)), which tells how often it has expired:
///
/// ```
/// # #[cfg(target_os = "linux")]
/// # fn main() -> std::io::Result<()> {
/// use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
/// use rustix::time::{timerfd_create, timerfd_settime};
/// use windlass_reactor::Async;
///
/// let timer = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::NONBLOCK)?;
/// let pause = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
/// let times = Itimerspec { it_interval: pause, it_value: pause };
/// timerfd_settime(&timer, TimerfdTimerFlags::empty(), &times)?;
///
/// let timer = Async::from_nonblocking(timer);
/// # futures::executor::block_on(async {
/// let mut expired = [0; 8];
/// timer.read_with(|timer| Ok(rustix::io::read(timer, &mut expired)?)).await?;
/// assert!(u64::from_ne_bytes(expired) >= 1);
/// # Ok(()) })
/// # }
/// # #[cfg(not(target_os = "linux"))]
/// # fn main() {}
/// ```
pub struct Async<T> {
    /// Comes before `io`, so that it leaves the reactor before the descriptor is closed.
    registered: OnceLock<Registered>,
    io: T,
    /// The directions that would block, until `registered` knows; one bit each.
    blocked: AtomicU8,
    /// Whether a `poll_` method was pending when it was called last for a direction: then whoever
    /// calls it next is likely to be listed already. A hint, and relaxed.
    pending: [AtomicBool; 3],
}

/// A source that leaves its reactor when it is dropped.
struct Registered(Arc<Source>);

impl Drop for Registered {
    fn drop(&mut self) {
        self.0.deregister();
    }
}

/// What an operation that reads says of what it left behind; see [`Async::io_with`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken<R> {
    /// It can't say: the next operation is tried.
    Some(R),
    /// It took all there was, as a stream read does that filled its buffer only in part: whatever
    /// comes later is a new event, and until then an operation would block.
    All(R),
}

impl<T: AsFd> Async<T> {
    /// Takes a descriptor and has it not block, which all duplicates of it share.
    ///
    /// # Errors
    ///
    /// What the system says when asked for that.
    pub fn new(io: T) -> io::Result<Self> {
        sys::file::set_nonblocking(io.as_fd())?;
        Ok(Self::from_nonblocking(io))
    }

    /// Takes a descriptor that doesn't block already. One that does holds up its whole thread.
    pub fn from_nonblocking(io: T) -> Self {
        Self {
            registered: OnceLock::new(),
            io,
            blocked: AtomicU8::new(0),
            pending: Default::default(),
        }
    }

    /// Returns what was taken.
    pub fn get_ref(&self) -> &T {
        &self.io
    }

    /// Leaves the reactor and gives back what was taken; it still doesn't block.
    pub fn into_inner(self) -> T {
        drop(self.registered);
        self.io
    }

    /// Waits until a read may succeed. It may still say `WouldBlock`, and does if none was tried
    /// since the last event: so it is followed by [`try_io`](Async::try_io), in a loop.
    ///
    /// # Errors
    ///
    /// A [`RegisterError`](crate::RegisterError) if the descriptor can't be waited for, or what the
    /// system says when it is registered.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when it is dropped.
    pub async fn readable(&self) -> io::Result<()> {
        Ready::new(self, Direction::Read).await
    }

    /// Waits until a write may succeed; else as [`readable`](Async::readable).
    ///
    /// # Errors
    ///
    /// As for [`readable`](Async::readable).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when it is dropped.
    pub async fn writable(&self) -> io::Result<()> {
        Ready::new(self, Direction::Write).await
    }

    /// Waits until urgent (out-of-band) data may be there, or none will come as the peer sends no
    /// more, where the back end can tell ([`Features::read_closed`](crate::Features::read_closed));
    /// else as [`readable`](Async::readable).
    ///
    /// # Errors
    ///
    /// As for [`readable`](Async::readable).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when it is dropped.
    pub async fn priority(&self) -> io::Result<()> {
        Ready::new(self, Direction::Priority).await
    }

    /// Tries `operation`, and again after each wait for readability, until it doesn't block. If it says
    /// `Interrupted`, it is tried again as well, when it is the turn of this task.
    ///
    /// # Errors
    ///
    /// What the operation says, and as for [`readable`](Async::readable).
    ///
    /// # Cancel safety
    ///
    /// The operation is only run while the future is polled, and a result that isn't `WouldBlock`
    /// is returned by that poll: dropping it later loses nothing.
    pub async fn read_with<R>(
        &self,
        mut operation: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.io_with(Direction::Read, move |io| operation(io).map(Taken::Some))
            .await
    }

    /// Tries `operation`, and again after each wait for writability, until it doesn't block; else as
    /// [`read_with`](Async::read_with).
    ///
    /// # Errors
    ///
    /// What the operation says, and as for [`writable`](Async::writable).
    ///
    /// # Cancel safety
    ///
    /// As for [`read_with`](Async::read_with).
    pub async fn write_with<R>(
        &self,
        mut operation: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.io_with(Direction::Write, move |io| operation(io).map(Taken::Some))
            .await
    }

    /// Returns a future that runs `operation` until it doesn't block, waiting in between; the
    /// operation may say that it took all there was.
    ///
    /// Saying so wrongly makes a later operation wait for ever; see [`Taken`]. It is not believed
    /// once the kernel said that the peer has closed, that there is an error, or that urgent data
    /// are pending.
    ///
    /// # Errors
    ///
    /// What the operation says, and as for [`readable`](Async::readable).
    ///
    /// # Cancel safety
    ///
    /// As for [`read_with`](Async::read_with).
    pub fn io_with<R, O>(&self, direction: Direction, operation: O) -> Operation<'_, T, O>
    where
        O: FnMut(&T) -> io::Result<Taken<R>>,
    {
        Operation {
            wait: Wait::new(self, direction),
            operation,
        }
    }

    /// Runs `operation` once, and takes note if it would block.
    ///
    /// It is tried even if no event has come: the kernel is always asked.
    ///
    /// # Errors
    ///
    /// What the operation says; `WouldBlock` if it would have to wait.
    pub fn try_io<R>(
        &self,
        direction: Direction,
        operation: impl FnOnce(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.try_io_taking(direction, |io| operation(io).map(Taken::Some))
    }

    /// As [`try_io`](Async::try_io), for an operation that may say that it took all there was.
    ///
    /// # Errors
    ///
    /// As for [`try_io`](Async::try_io).
    pub fn try_io_taking<R>(
        &self,
        direction: Direction,
        operation: impl FnOnce(&T) -> io::Result<Taken<R>>,
    ) -> io::Result<R> {
        self.attempt(direction, self.look(direction), operation)
    }

    /// As [`readable`](Async::readable), for those who write futures by hand. Of several tasks that
    /// call it, the latest is woken.
    ///
    /// # Errors
    ///
    /// As for [`readable`](Async::readable).
    #[inline]
    pub fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_ready_in_turn(context, Direction::Read, &mut Some(Key::POLLED))
    }

    /// As [`writable`](Async::writable), for those who write futures by hand. Of several tasks that
    /// call it, the latest is woken.
    ///
    /// # Errors
    ///
    /// As for [`readable`](Async::readable).
    pub fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_ready_in_turn(context, Direction::Write, &mut Some(Key::POLLED))
    }

    /// As [`io_with`](Async::io_with), for those who write futures by hand. Of several tasks that
    /// call it for one direction, the latest is woken.
    ///
    /// # Errors
    ///
    /// What the operation says, and as for [`readable`](Async::readable).
    pub fn poll_io_with<R>(
        &self,
        context: &mut Context<'_>,
        direction: Direction,
        operation: impl FnMut(&T) -> io::Result<Taken<R>>,
    ) -> Poll<io::Result<R>> {
        if self.waits_already(context, direction) {
            return Poll::Pending;
        }
        let polled = self.poll_operation(context, direction, &mut Some(Key::POLLED), operation);
        self.pending[direction as usize].store(polled.is_pending(), Ordering::Relaxed);
        polled
    }

    /// Says that nobody will wait for `direction` for some time: what comes meanwhile wakes no thread.
    /// The next wait ends that by itself.
    ///
    /// For those who hold back a fast sender until a slow receiver has taken what they have, while
    /// the reactor of this thread would tell of each piece that arrives. It costs a system call, and
    /// so does the next wait. Where the system reports only what is waited for, and as long as somebody
    /// waits, it does nothing.
    ///
    /// ```
    /// # use std::os::unix::net::UnixStream;
    /// # use windlass_reactor::{Async, Direction};
    /// # let (stream, _peer) = UnixStream::pair()?;
    /// let stream = Async::new(stream)?;
    /// stream.pause(Direction::Read);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn pause(&self, direction: Direction) {
        if let Some(Registered(source)) = self.registered.get() {
            source.pause(self.io.as_fd(), direction);
        }
    }

    /// Says whether the `poll_` methods have left the waker of this task, and nothing has come since.
    #[inline]
    fn waits_already(&self, context: &Context<'_>, direction: Direction) -> bool {
        let may_wait = self.pending[direction as usize].load(Ordering::Relaxed);
        let source = self.registered.get().filter(|_| may_wait);
        source.is_some_and(|Registered(source)| {
            !source.readiness(direction).seen().is_ready()
                && source.waits_already(context.waker(), self.io.as_fd(), direction, Key::POLLED)
        })
    }
}

impl<T: AsFd> AsFd for Async<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.as_fd()
    }
}

impl<T: fmt::Debug> fmt::Debug for Async<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Async")
            .field("io", &self.io)
            .field("registered", &self.registered.get().is_some())
            .finish()
    }
}
