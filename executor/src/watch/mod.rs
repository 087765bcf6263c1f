//! Watches over workers that are stuck: a thread that looks every few milliseconds, while any runs.
//!
//! A task that blocks its thread, or computes for long, must not hold back others that could run
//! elsewhere. So what it keeps from running is taken over, look by look, until it goes on:
//!
//! 1. A worker shows how often it has begun to run something, and whether it is at it. One that is
//!    seen twice in the same poll, a tick apart, is stuck.
//! 2. What is ready in its queue moves to the shared queue, where a free worker finds it. What its
//!    reactor has is taken in without waiting, by the claim that any thread may try for; the tasks
//!    that wakes are woken from this thread, which is no worker, so they are queued for all.
//! 3. If the stuck worker counts as searching, nobody is chosen for work that is pushed (see
//!    `idle`). So if anything is left in the shared queue, a sleeper is claimed by its number.
//! 4. What belongs to the thread that is stuck, pinned tasks and the future of `block_on`, can't be
//!    helped. It is named in the [`Stall`], of which the hook is told.
//! 5. When all have been parked for [`CALM`] looks, the watch naps, without any timeout, until a
//!    worker leaves its sleep (`nap`). So an idle runtime has no periodic wake-ups.
//!
//! There is no watch where it could do nothing: with one worker and no hook.

mod nap;
mod post;
mod stall;

pub(crate) use post::{Post, Tenant};
pub use stall::{Culprit, Stall, StalledTask};

use crate::runtime::Shared;
use crate::task::{contain, discard_panic};
use nap::Nap;
use post::{LeftBehind, Observer, Sight};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time between two looks. A stuck worker is found after two at the most.
const TICK: Duration = Duration::from_millis(3);
/// The time between two looks while a worker is stuck: how long its I/O and timers wait.
const TICK_OF_RESCUE: Duration = Duration::from_millis(2);
/// How long a worker is stuck before it is reported. A thread that the system has not run for a
/// moment looks the same.
const REPORTED: Duration = Duration::from_millis(10);
/// How many looks that find all workers parked are made before the watch naps.
const CALM: u32 = 5;

/// What is told of workers that are stuck.
#[derive(Clone)]
pub(crate) struct Hook(Arc<dyn Fn(&Stall) + Send + Sync>);

/// The watch of one runtime; see the module.
pub(crate) struct Watch {
    nap: Nap,
    hook: Option<Hook>,
}

/// What the watch remembers of a worker that is, or is not, stuck.
struct Ward {
    observer: Observer,
    /// For how long it is stuck; nothing if it isn't.
    stuck: Option<Duration>,
    /// What was told of it.
    told: Option<Stall>,
}

impl Hook {
    pub(crate) fn new(hook: impl Fn(&Stall) + Send + Sync + 'static) -> Self {
        Self(Arc::new(hook))
    }

    fn tell(&self, stall: &Stall) {
        // The panic hook has reported it.
        discard_panic(contain(|| (self.0)(stall)));
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}

impl Watch {
    /// Makes the watch of a runtime of so many workers, if it needs one.
    pub(crate) fn new(workers: usize, hook: Option<Hook>) -> Option<Self> {
        (workers > 1 || hook.is_some()).then(|| Self {
            nap: Nap::new(),
            hook,
        })
    }

    /// To be called by a worker that has shown that it runs again.
    #[inline]
    pub(crate) fn rouse(&self) {
        self.nap.end_by_worker();
    }

    /// Has the watch see that the runtime stops.
    pub(crate) fn stop(&self) {
        self.nap.signal();
    }

    /// What the thread of the watch does until the runtime stops.
    pub(crate) fn run(&self, shared: &Shared) {
        let now = Instant::now();
        let mut wards: Vec<_> = (0..shared.workers.len()).map(|_| Ward::new(now)).collect();
        let mut calm = 0;
        while !shared.is_stopping() {
            let (any_runs, any_stuck) = self.look(shared, &mut wards, Instant::now());
            calm = if any_runs { 0 } else { calm + 1 };
            if calm > CALM {
                calm = 0;
                self.nap
                    .sleep(|| shared.is_stopping() || shared.is_any_running());
            } else {
                let tick = if any_stuck { TICK_OF_RESCUE } else { TICK };
                self.nap.rest(tick);
            }
        }
    }

    /// Looks at all workers, and helps where one is stuck. Returns whether any runs, and whether any
    /// is stuck.
    fn look(&self, shared: &Shared, wards: &mut [Ward], now: Instant) -> (bool, bool) {
        let (mut any_runs, mut any_stuck) = (false, false);
        for (worker, ward) in wards.iter_mut().enumerate() {
            let sight = ward.observer.look(shared.polls(worker), now);
            any_runs |= sight != Sight::Parked;
            match sight {
                Sight::Stuck(lasted) => {
                    any_stuck = true;
                    ward.stuck = Some(lasted);
                    shared.relieve(worker);
                    if lasted >= REPORTED && ward.told.is_none() {
                        ward.told = self.report(shared, worker, lasted);
                    }
                }
                Sight::Moving | Sight::Parked => self.note_end(ward),
            }
        }
        (any_runs, any_stuck)
    }

    /// Tells of a worker that is stuck, if it is still.
    fn report(&self, shared: &Shared, worker: usize, lasted: Duration) -> Option<Stall> {
        let post = &shared.posts[worker];
        let polls = shared.polls(worker);
        let culprit = post.culprit(|id| shared.name_of(id));
        let LeftBehind {
            count,
            named,
            root_waits,
        } = post.left_behind(Stall::MOST_NAMED);
        let stall = Stall {
            worker,
            culprit,
            lasted,
            is_over: false,
            left_behind: count,
            named,
            root_waits,
        };
        // Else this is about what it does now, and nobody knows what it was.
        if shared.polls(worker) != polls {
            return None;
        }
        post.count_stall();
        self.tell(&stall);
        Some(stall)
    }

    fn note_end(&self, ward: &mut Ward) {
        let lasted = ward.stuck.take();
        if let (Some(told), Some(lasted)) = (ward.told.take(), lasted) {
            self.tell(&Stall {
                lasted,
                is_over: true,
                ..told
            });
        }
    }

    fn tell(&self, stall: &Stall) {
        if let Some(hook) = &self.hook {
            hook.tell(stall);
        }
    }
}

impl Ward {
    fn new(now: Instant) -> Self {
        Self {
            observer: Observer::new(now),
            stuck: None,
            told: None,
        }
    }
}

impl Shared {
    /// Returns how often a worker has begun to run something, twice that, and 1 while it runs.
    fn polls(&self, worker: usize) -> usize {
        self.lanes[worker].polls()
    }

    fn is_any_running(&self) -> bool {
        (0..self.workers.len()).any(|worker| self.polls(worker) % 2 == 1)
    }

    /// Does for a stuck worker what another thread can do: rules 2 and 3.
    fn relieve(&self, worker: usize) {
        self.take_over(worker);
        // What fails here fails the owner's turn as well, which says so.
        let _ = self.workers[worker].try_turn();
        if !self.queue.is_empty() {
            self.wake_any();
        }
    }
}
