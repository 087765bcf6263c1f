//! What waits on a reactor, and what its turns came upon: for whoever looks in from outside.
//!
//! Nothing is kept for this but a few counters. Who waits is found in the registry and among the
//! timers when somebody asks; their wakers are told apart by their data, which is never followed.

use crate::reactor::{Handle, Shared};
use crate::source::Direction;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Somebody who waits on a reactor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wait {
    /// The address that is the waker's data, only to be compared: it may be gone by now.
    pub waker: usize,
    /// What is waited for.
    pub waits_for: WaitsFor,
}

/// What somebody waits for on a reactor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitsFor {
    /// A descriptor.
    #[non_exhaustive]
    Descriptor {
        /// Its number.
        number: RawFd,
        /// What it is to become ready for.
        direction: Direction,
        /// Its own address, if it is a socket with an Internet address.
        local: Option<SocketAddr>,
        /// The address at the other end, if there is one.
        peer: Option<SocketAddr>,
        /// It is a socket that listens, so that reading is accepting.
        is_listening: bool,
    },
    /// A timer.
    #[non_exhaustive]
    Timer {
        /// How long it is until it is due.
        left: Duration,
    },
}

/// How much a reactor has done since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// How often events were waited for, or looked at without waiting.
    pub turns: u64,
    /// How many descriptors were reported ready.
    pub events: u64,
    /// How many timers have fired.
    pub timers: u64,
    /// How many notifications there were, whether or not anything had to be written.
    pub notifications: u64,
    /// How many of them were written, because a thread was waiting.
    pub notifications_written: u64,
    /// How often the interest of a registered descriptor was changed where the kernel sees it.
    pub interest_changes: u64,
    /// How many polls on threads that have entered the reactor have used up their
    /// [budget](crate::budget).
    pub budgets_used_up: u64,
}

/// What the turns of a reactor have come upon. But for the last, written by whoever has the claim,
/// and so by one thread at a time.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Turns {
    turns: AtomicU64,
    events: AtomicU64,
    timers: AtomicU64,
    /// Whoever has entered the reactor adds to this.
    budgets_used_up: AtomicU64,
}

impl Turns {
    /// Counts a poll that has used up its budget.
    pub(crate) fn note_budget_used_up(&self) {
        self.budgets_used_up.fetch_add(1, Relaxed);
    }

    /// Counts a turn that has come upon so many events.
    #[inline(always)]
    pub(crate) fn note(&self, events: usize) {
        add(&self.turns, 1);
        add(&self.events, events as u64);
    }

    /// Counts timers that have fired.
    #[inline(always)]
    pub(crate) fn note_timers(&self, timers: usize) {
        add(&self.timers, timers as u64);
    }
}

/// Adds to a counter that has one writer at a time, which needs no step that locks memory.
#[inline(always)]
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
}

impl Handle {
    /// Returns how much the reactor has done.
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass_reactor::Reactor;
    ///
    /// let mut reactor = Reactor::new()?;
    /// reactor.turn(Some(Duration::ZERO))?;
    /// assert_eq!(reactor.handle().counts().turns, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn counts(&self) -> Counts {
        let shared = &*self.0;
        let (notifications, notifications_written) = shared.poller().notifications();
        let Turns {
            turns,
            events,
            timers,
            budgets_used_up,
        } = shared.turns();
        Counts {
            turns: turns.load(Relaxed),
            events: events.load(Relaxed),
            timers: timers.load(Relaxed),
            notifications,
            notifications_written,
            interest_changes: self.interest_changes(),
            budgets_used_up: budgets_used_up.load(Relaxed),
        }
    }

    /// Lists all that waits on the reactor, for descriptors and for timers.
    ///
    /// It may take a while where there is much, but holds no lock for long.
    ///
    /// ```
    /// use std::future::Future;
    /// use std::pin::pin;
    /// use std::task::{Context, Waker};
    /// use std::time::Duration;
    /// use windlass_reactor::{Reactor, time};
    ///
    /// let reactor = Reactor::new()?;
    /// let handle = reactor.handle();
    /// let mut sleep = pin!(time::sleep(Duration::from_secs(60)));
    /// let poll = handle.enter(|| sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())));
    /// assert!(poll.is_pending());
    /// assert_eq!(handle.waits().len(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn waits(&self) -> Vec<Wait> {
        let mut waits = Vec::new();
        self.0.list_sources(&mut waits);
        self.0.list_timers(&mut waits);
        waits
    }

    /// Returns the reactor that serves threads without one, if it was needed before.
    pub fn fallback() -> Option<Handle> {
        crate::current::started_fallback().map(Handle)
    }
}

impl Shared {
    fn list_sources(&self, waits: &mut Vec<Wait>) {
        // Copied first: the registry is not locked while a source is.
        for source in self.all_sources() {
            source.list_waits(waits);
        }
    }

    fn list_timers(&self, waits: &mut Vec<Wait>) {
        let now = self.now();
        self.deadlines().for_each(|deadline, waker| {
            waits.push(Wait {
                waker: waker.data().addr(),
                waits_for: WaitsFor::Timer {
                    left: deadline.saturating_since(now),
                },
            });
        });
    }
}
