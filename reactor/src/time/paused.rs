//! Time that stands still until it is moved.

use crate::clock::Moment;
use crate::current;
use crate::paused::{GoalKey, Paused};
use crate::reactor::Shared;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Moves a paused clock on by `duration`, whatever else is going on.
///
/// The time moves when everything that is ready has run, and it stops at each deadline on the way:
/// what is woken there runs to where it waits, and may begin to wait for something that is due
/// before the next deadline. When the future is done, all that was due by then has run. With a
/// duration of zero the time stays, and all that is ready runs first.
///
/// ```no_run
/// # async fn example() {
/// use std::time::Duration;
/// use windlass_reactor::time;
///
/// let begin = time::now();
/// time::advance(Duration::from_secs(3600)).await;
/// assert_eq!(time::now() - begin, Duration::from_secs(3600));
/// # }
/// ```
///
/// # Panics
///
/// If the clock of this thread's reactor is not paused, as in a runtime that was made without
/// `Builder::paused_clock`.
///
/// # Cancel safety
///
/// Dropping it stops the time where it is.
#[track_caller]
pub fn advance(duration: Duration) -> Advance {
    let reactor = current::entered().filter(|reactor| reactor.paused().is_some());
    let Some(reactor) = reactor else {
        panic!(
            "time can be advanced only where the clock is paused: inside of a runtime that was \
             made with Builder::paused_clock"
        );
    };
    Advance {
        until: reactor.now().saturating_add(duration),
        reactor,
        goal: None,
    }
}

/// The future of [`advance`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Advance {
    reactor: Arc<Shared>,
    until: Moment,
    /// The name of the goal, once it was set.
    goal: Option<GoalKey>,
}

impl Advance {
    fn clock(&self) -> &Paused {
        let paused = self.reactor.paused();
        paused.expect("only a paused clock is advanced")
    }
}

impl Future for Advance {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let advance = self.get_mut();
        let waker = context.waker().clone();
        match advance.goal {
            None => {
                advance.goal = Some(advance.clock().add_goal(advance.until, waker));
                // The reactor may be waiting in another thread, as the time stood still.
                advance.reactor.notify();
                Poll::Pending
            }
            Some(goal) => match advance.clock().watch_goal(goal, waker) {
                Ok(_replaced) => Poll::Pending,
                Err(_unused) => Poll::Ready(()),
            },
        }
    }
}

impl Drop for Advance {
    fn drop(&mut self) {
        if let Some(goal) = self.goal {
            drop(self.clock().remove_goal(goal));
        }
    }
}

impl fmt::Debug for Advance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Advance")
            .field("until", &self.until.to_instant())
            .finish()
    }
}

/// Keeps the time of this thread's reactor, if its clock is paused, from moving by itself, until
/// what is returned is dropped.
///
/// For work that the reactor can't see, as that of a thread that will wake a task. Where the clock
/// is not paused, it does nothing.
///
/// ```
/// use windlass_reactor::time;
///
/// let hold = time::hold();
/// std::thread::spawn(move || {
///     // Works, wakes a task, and then:
///     drop(hold);
/// });
/// ```
pub fn hold() -> Hold {
    if !Paused::is_any() {
        return Hold(None);
    }
    match current::entered() {
        Some(reactor) => Hold::of(&reactor),
        None => Hold(None),
    }
}

/// Keeps a paused clock from moving by itself; see [`hold`].
#[must_use = "the time is held until this is dropped"]
pub struct Hold(Option<Arc<Shared>>);

impl Hold {
    pub(crate) fn of(reactor: &Arc<Shared>) -> Self {
        Self(reactor.paused().map(|paused| {
            paused.hold();
            reactor.clone()
        }))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(reactor) = &self.0 {
            if reactor.paused().is_some_and(Paused::let_go) {
                reactor.notify();
            }
        }
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hold").field(&self.0.is_some()).finish()
    }
}
