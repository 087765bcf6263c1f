//! Whether a worker that came to help, and has run out of work, naps before it sleeps.
//!
//! A task that spawns very short ones, in one long poll, wakes a worker for the first of them. That
//! one has run them all before there are more, sleeps, and is woken again: each of both threads then
//! spends more time on that than on tasks. A moment later there are hundreds to take at once.

use std::time::{Duration, Instant};

/// How long a nap lasts.
pub(crate) const NAP: Duration = Duration::from_micros(50);
/// Up to which length tasks are so short that a wait of a nap's length is better than to be woken
/// for some of them.
const SHORT: Duration = Duration::from_micros(2);

/// What a worker has found since it came to help.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Help {
    since: Instant,
    /// How often it had begun to run something by then.
    polls: usize,
}

impl Help {
    pub(crate) fn begin(now: Instant, polls: usize) -> Self {
        Self { since: now, polls }
    }

    /// Says whether all that was found was short, and there was something.
    pub(crate) fn was_short(&self, now: Instant, polls: usize) -> bool {
        let count = polls.wrapping_sub(self.polls);
        let elapsed = now.duration_since(self.since);
        count > 0 && u32::try_from(count).is_ok_and(|count| elapsed < SHORT * count)
    }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_found_short_tasks_naps_and_nobody_else() {
        let start = Instant::now();
        let help = Help::begin(start, 7);
        let after = |microseconds| start + Duration::from_micros(microseconds);
        assert!(!help.was_short(after(1), 7), "nothing was found");
        assert!(help.was_short(after(1), 8));
        assert!(!help.was_short(after(300), 8));
        assert!(help.was_short(after(100), 107));
        assert!(!help.was_short(after(100), 17));
        let wrapped = Help::begin(start, usize::MAX);
        assert!(wrapped.was_short(after(1), 0));
    }
}
