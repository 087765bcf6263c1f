//! A time limit for doing nothing.
//!
//! A connection that is busy meets its limit in every poll, so that costs neither a look at the clock
//! nor one at the timers.

use super::{Sleep, Timer};
use crate::clock::Moment;
use crate::current;
use std::ptr;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Into how many parts the limit is divided; by one of them it may be exceeded.
const PARTS: u32 = 32;
/// How long a part is at least, so that short limits don't have it wake all the time.
const SHORTEST_PART: Duration = Duration::from_millis(1);

/// Watches that something happens: for this project's other crates, and no part of what is kept
/// stable.
///
/// That something happens is noted in each poll, but when it did only once in a part of the limit. So
/// nothing is ended early, but what was busy before it fell silent may be ended late by a part.
#[derive(Debug)]
pub struct Idle {
    limit: Duration,
    /// Nothing has happened after this, unless `stage` says so.
    since: Moment,
    stage: Stage,
    /// Until the next part is over while something happens, else until the end.
    sleep: Sleep,
    /// The addresses of the waker that the timer has, if there is one.
    waits: Option<(usize, usize)>,
}

/// What has happened after `since`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing, for a part of the limit: it sleeps until the end.
    Silent,
    /// Nothing, but that is not long ago.
    Quiet,
    /// Something.
    Busy,
}

impl Idle {
    /// Begins now.
    pub fn new(limit: Duration) -> Self {
        let now = current::now();
        Self {
            limit,
            since: now,
            stage: Stage::Silent,
            sleep: Sleep::seen_at(now, now.saturating_add(limit)),
            waits: None,
        }
    }

    /// Returns how long nothing may happen.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Takes note of whether something has happened since the last poll, and is ready once nothing
    /// has for the whole limit.
    #[inline]
    pub fn poll(&mut self, context: &mut Context<'_>, has_happened: bool) -> Poll<()> {
        match (has_happened, self.stage) {
            (true, Stage::Silent) => self.begin_part(self.sleep.now()),
            (true, _) => self.stage = Stage::Busy,
            (false, _) if self.is_over() => return Poll::Ready(()),
            (false, _) => {}
        }
        self.wait(context.waker());
        Poll::Pending
    }

    /// Has the task woken when the sleep ends. Mostly it is known that it will be: then the timers are
    /// not looked at.
    #[inline]
    fn wait(&mut self, waker: &Waker) {
        // As long as the timer is in, it has a clone of the waker, so that nobody else has its address.
        let waits = Some((waker.data().addr(), ptr::from_ref(waker.vtable()).addr()));
        if self.waits != waits || !self.sleep.is_in() {
            self.sleep.wait(waker);
            self.waits = waits;
        }
    }

    /// Looks whether the time is up, and begins the next if that was only a part's.
    fn is_over(&mut self) -> bool {
        let now = self.sleep.now();
        if now < self.sleep.deadline {
            return false;
        }
        if self.stage == Stage::Busy {
            self.begin_part(now);
            return false;
        }
        self.stage = Stage::Silent;
        self.sleep
            .move_to(self.since.saturating_add(self.limit), Timer::Out);
        self.sleep.deadline <= now
    }

    fn begin_part(&mut self, now: Moment) {
        let part = (self.limit / PARTS).max(SHORTEST_PART).min(self.limit);
        self.since = now;
        self.stage = Stage::Quiet;
        self.sleep.move_to(now.saturating_add(part), Timer::Out);
    }
}
