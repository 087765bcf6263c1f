//! Futures over the timers of the current reactor.
//!
//! A deadline is fixed when the future is made, by a look at the clock. The future goes to a reactor's
//! timers when it is polled first, which makes no system call and doesn't look at the clock again: if
//! it was due by then, the next turn of the reactor ends it. All later polls look. So a timeout that
//! is polled once and dropped costs little more than one look at the clock, whatever the number of
//! others. No deadline is too far: [`Duration::MAX`] is never.
//! Nothing here ends early, and all follow the monotonic clock, so that setting the time of day
//! changes nothing; the time that the machine is suspended doesn't count on Linux and on Apple's systems.
//!
//! # Paused clocks
//!
//! The clock is that of the reactor, which is [`now`]: for tests it can be one that stands still
//! (`Builder::paused_clock` of a runtime, or [`Reactor::with_paused_clock`](crate::Reactor::with_paused_clock)).
//! Then sleeps, timeouts and intervals of hours take no time at all, and happen in the same order
//! whenever the test is run. The time moves to the earliest deadline by itself when
//!
//! - every task waits,
//! - nobody waits for a descriptor that is registered with the reactor, a listener or a signal
//!   included; a wait by a `poll_` method counts until there was an event,
//! - no closure of `spawn_blocking` is queued or runs, no name of a host is being looked up, and nobody
//!   else has a [`hold`] of it.
//!
//! Else it stands, and things happen as they do: I/O that holds the time for ever is a test that
//! hangs. [`advance`] moves it by hand, whatever is waited for. Deadlines are to be reckoned from
//! [`now`], as the clock of the system does not know of this one. It begins at the time when the
//! reactor is made. The threads of other runtimes, and those without a runtime, have the real clock.

mod idle;
mod interval;
mod paused;

#[doc(hidden)]
pub use idle::Idle;
pub use interval::{Interval, MissedTicks, interval, interval_at};
pub use paused::{Advance, Hold, advance, hold};

use crate::budget::{self, Permit};
use crate::clock::Moment;
use crate::current;
use crate::paused::Paused;
use crate::reactor::Shared;
use crate::timers::TimerKey;
use pin_project_lite::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

/// Returns the time by the clock of this thread's reactor, which all of this module goes by.
///
/// It is [`Instant::now`] unless that clock is paused.
///
/// ```
/// use std::time::Instant;
///
/// let begin = Instant::now();
/// assert!(windlass_reactor::time::now() >= begin); // this thread has no reactor of its own
/// ```
pub fn now() -> Instant {
    if Paused::is_any() {
        current::now().to_instant().unwrap_or_else(Instant::now)
    } else {
        Instant::now()
    }
}

/// Waits for `duration`.
///
/// ```no_run
/// # async fn example() {
/// use std::time::Duration;
/// windlass_reactor::time::sleep(Duration::from_millis(10)).await;
/// # }
/// ```
///
/// # Cancel safety
///
/// Dropping it takes the timer out.
pub fn sleep(duration: Duration) -> Sleep {
    let now = current::now();
    Sleep::seen_at(now, now.saturating_add(duration))
}

/// Waits until `deadline`; one in the past is reached at once.
///
/// # Cancel safety
///
/// Dropping it takes the timer out.
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::new(Moment::from_instant(deadline))
}

/// The future of [`sleep`] and [`sleep_until`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Sleep {
    deadline: Moment,
    timer: Timer,
}

/// Where the timer of a sleep is.
enum Timer {
    /// Nowhere: the deadline may have been reached, which the next poll looks at.
    Out,
    /// Nowhere, but the deadline was in the future when it was chosen, and nobody has waited for it
    /// yet: the next poll begins to wait without a look.
    Ahead,
    /// With a reactor, unless it has fired.
    In(Arc<Shared>, TimerKey),
}

impl Sleep {
    fn new(deadline: Moment) -> Self {
        Self {
            deadline,
            timer: Timer::Out,
        }
    }

    /// Makes one whose deadline was compared with the clock, which said `now`.
    #[inline]
    fn seen_at(now: Moment, deadline: Moment) -> Self {
        Self {
            deadline,
            timer: Timer::seen_at(now, deadline),
        }
    }

    /// Returns when it ends; `None` is never.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline.to_instant()
    }

    /// Moves the end to `deadline`, also if it was reached already.
    pub fn reset(&mut self, deadline: Instant) {
        self.move_to(Moment::from_instant(deadline), Timer::Out);
    }

    /// Moves the end to `duration` from now, also if it was reached already.
    pub fn reset_after(&mut self, duration: Duration) {
        let now = current::now();
        self.move_seen_at(now, now.saturating_add(duration));
    }

    /// Moves the end to `deadline`, which was compared with the clock, which said `now`.
    fn move_seen_at(&mut self, now: Moment, deadline: Moment) {
        self.move_to(deadline, Timer::seen_at(now, deadline));
    }

    /// Has the task that waits woken at the new deadline; if none does, the timer is `otherwise`.
    fn move_to(&mut self, deadline: Moment, otherwise: Timer) {
        self.deadline = deadline;
        match &self.timer {
            Timer::In(reactor, key) if reactor.reset_timer(*key, deadline) => {}
            _ => self.timer = otherwise,
        }
    }

    /// Reads the clock of the reactor that the timer is with, or will be with.
    #[inline]
    fn now(&self) -> Moment {
        match &self.timer {
            Timer::In(reactor, _) if !reactor.is_inherited() => reactor.now(),
            _ => current::now(),
        }
    }

    #[inline]
    fn start(&mut self, waker: &Waker) {
        let waker = waker.clone();
        match current::reactor() {
            Ok(reactor) => self.wait_with(reactor, waker),
            Err(_) => {
                self.timer = Timer::Out;
                retry_later(waker);
            }
        }
    }

    #[inline]
    fn wait_with(&mut self, reactor: Arc<Shared>, waker: Waker) {
        let key = reactor.insert_timer(self.deadline, waker);
        if reactor.is_attended() {
            self.timer = Timer::In(reactor, key);
            return;
        }
        self.timer = Timer::Out;
        if let Some(waker) = reactor.remove_timer(key) {
            // It was left while the timer went in: nobody would fire it.
            waker.wake();
        }
    }

    /// Answers whether the deadline is reached; else has the task woken then.
    #[inline]
    fn poll_elapsed(
        &mut self,
        context: &mut Context<'_>,
        may_end: impl FnOnce(&mut Context<'_>) -> Poll<()>,
    ) -> Poll<()> {
        if !matches!(self.timer, Timer::Ahead) {
            // The clock is looked at, too, while the timer runs: somebody who is polled without end
            // may keep the reactor from being turned.
            if self.deadline <= self.now() {
                ready!(may_end(context));
                self.stop();
                return Poll::Ready(());
            }
        }
        self.wait(context.waker());
        Poll::Pending
    }

    /// Has the task woken at the deadline, which wasn't reached when it was looked at last.
    #[inline]
    fn wait(&mut self, waker: &Waker) {
        // A timer that never ends is kept as any other, since it may be reset.
        if let Timer::In(reactor, key) = &self.timer {
            if reactor.watch_timer(*key, waker) {
                return;
            }
            // Its reactor was left before it could fire.
        }
        self.start(waker);
    }

    /// Says whether the timer is certainly in, with the waker that was left last.
    #[inline]
    fn is_in(&self) -> bool {
        match &self.timer {
            Timer::In(reactor, _) => {
                !reactor.is_inherited() && reactor.deadlines().is_in(self.deadline)
            }
            _ => false,
        }
    }

    /// Takes the timer out, if it is in.
    #[inline]
    fn stop(&mut self) {
        if let Timer::In(reactor, key) = std::mem::replace(&mut self.timer, Timer::Out) {
            drop(reactor.remove_timer(key));
        }
    }
}

impl Timer {
    #[inline]
    fn seen_at(now: Moment, deadline: Moment) -> Self {
        if now < deadline {
            Timer::Ahead
        } else {
            Timer::Out
        }
    }
}

/// Has the task polled again soon: there is no reactor for this thread yet, as when the process is
/// out of descriptors, which doesn't last.
#[cold]
fn retry_later(waker: Waker) {
    const PAUSE: Duration = Duration::from_millis(5);
    let waker_for_no_thread = waker.clone();
    let retry = move || {
        std::thread::sleep(PAUSE);
        waker.wake();
    };
    let thread = std::thread::Builder::new().name("windlass-timer-retry".into());
    if thread.spawn(retry).is_err() {
        // No thread either: the pause happens here.
        std::thread::sleep(PAUSE);
        waker_for_no_thread.wake();
    }
}

impl Future for Sleep {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.get_mut().poll_elapsed(context, |context| {
            budget::poll_proceed(context).map(Permit::spend)
        })
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep")
            .field("deadline", &self.deadline())
            .finish()
    }
}

/// Runs `future` for `duration` at the most.
///
/// The future is polled first, so that one that is done wins over the clock; and the clock is
/// looked at whatever the future does, so that a busy one is ended, too.
///
/// ```no_run
/// # async fn example(stream: &windlass_reactor::Async<std::net::TcpStream>) {
/// use std::time::Duration;
/// use windlass_reactor::time::timeout;
///
/// match timeout(Duration::from_secs(5), stream.readable()).await {
///     Ok(ready) => ready.unwrap(),
///     Err(elapsed) => println!("idle: {elapsed}"),
/// }
/// # }
/// ```
///
/// # Errors
///
/// [`Elapsed`] if the time was over first; the future is dropped with the `Timeout`.
///
/// # Cancel safety
///
/// That of `future`.
pub fn timeout<F: Future>(duration: Duration, future: F) -> Timeout<F> {
    Timeout {
        future,
        sleep: sleep(duration),
    }
}

/// Runs `future` until `deadline` at the most; else as [`timeout`].
///
/// # Errors
///
/// As for [`timeout`].
///
/// # Cancel safety
///
/// That of `future`.
pub fn timeout_at<F: Future>(deadline: Instant, future: F) -> Timeout<F> {
    Timeout {
        future,
        sleep: sleep_until(deadline),
    }
}

pin_project! {
    /// The future of [`timeout`] and [`timeout_at`].
    #[derive(Debug)]
    #[must_use = "a future does nothing unless it is awaited"]
    pub struct Timeout<F> {
        #[pin]
        future: F,
        sleep: Sleep,
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let was_used_up = budget::is_used_up();
        if let Poll::Ready(output) = this.future.poll(context) {
            return Poll::Ready(Ok(output));
        }
        let elapsed = if was_used_up {
            Pin::new(this.sleep).poll(context)
        } else {
            // A future that uses the whole budget up each time must be ended nevertheless.
            this.sleep.poll_elapsed(context, |_| {
                budget::charge(1);
                Poll::Ready(())
            })
        };
        elapsed.map(|()| Err(Elapsed(())))
    }
}

/// The time of a [`timeout`] was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed(());

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the time limit was reached first")
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for std::io::Error {
    fn from(elapsed: Elapsed) -> Self {
        std::io::Error::new(std::io::ErrorKind::TimedOut, elapsed)
    }
}
