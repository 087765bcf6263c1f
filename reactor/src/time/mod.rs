//! Futures over the timers of the current reactor.
//!
//! A deadline is fixed when the future is made; it goes to a reactor's timers when the future is
//! polled first, which makes no system call. No deadline is too far: [`Duration::MAX`] is never.
//! Nothing here ends early, and all follow the monotonic clock, so that setting the time of day
//! changes nothing; the time that the machine is suspended doesn't count on Linux and on Apple's systems.

mod interval;

pub use interval::{Interval, MissedTicks, interval, interval_at};

use crate::clock::Moment;
use crate::current;
use crate::reactor::Shared;
use crate::timers::TimerKey;
use pin_project_lite::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

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
    Sleep::new(Moment::now().saturating_add(duration))
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
    timer: Option<(Arc<Shared>, TimerKey)>,
}

impl Sleep {
    fn new(deadline: Moment) -> Self {
        Self {
            deadline,
            timer: None,
        }
    }

    /// Returns when it ends; `None` is never.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline.to_instant()
    }

    /// Moves the end to `deadline`, also if it was reached already.
    pub fn reset(&mut self, deadline: Instant) {
        self.move_to(Moment::from_instant(deadline));
    }

    /// Moves the end to `duration` from now, also if it was reached already.
    pub fn reset_after(&mut self, duration: Duration) {
        self.move_to(Moment::now().saturating_add(duration));
    }

    /// Has the task that waits woken at the new deadline.
    fn move_to(&mut self, deadline: Moment) {
        self.deadline = deadline;
        if let Some((reactor, key)) = self.timer.take() {
            if let Some(waker) = reactor.remove_timer(key) {
                self.wait_with(reactor, waker);
            }
        }
    }

    fn start(&mut self, context: &Context<'_>) {
        let waker = context.waker().clone();
        match current::reactor() {
            Ok(reactor) => self.wait_with(reactor, waker),
            Err(_) => retry_later(waker),
        }
    }

    fn wait_with(&mut self, reactor: Arc<Shared>, waker: Waker) {
        let key = reactor.insert_timer(self.deadline, waker);
        if reactor.is_attended() {
            self.timer = Some((reactor, key));
        } else if let Some(waker) = reactor.remove_timer(key) {
            // It was left while the timer went in: nobody would fire it.
            waker.wake();
        }
    }

    /// Takes the timer out, if it is in.
    fn stop(&mut self) {
        if let Some((reactor, key)) = self.timer.take() {
            drop(reactor.remove_timer(key));
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

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let sleep = self.get_mut();
        // The clock is looked at, too, while the timer runs: somebody who is polled without end may
        // keep the reactor from being turned.
        if sleep.deadline <= Moment::now() {
            sleep.stop();
            return Poll::Ready(());
        }
        // A timer that never ends is kept as any other, since it may be reset.
        if let Some((reactor, key)) = &sleep.timer {
            match reactor.replace_timer_waker(*key, context.waker().clone()) {
                Ok(replaced) => {
                    drop(replaced);
                    return Poll::Pending;
                }
                // Its reactor was left before it could fire.
                Err(unused) => drop(unused),
            }
            sleep.timer = None;
        }
        sleep.start(context);
        Poll::Pending
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
        if let Poll::Ready(output) = this.future.poll(context) {
            return Poll::Ready(Ok(output));
        }
        Pin::new(this.sleep)
            .poll(context)
            .map(|()| Err(Elapsed(())))
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
