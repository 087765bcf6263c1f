//! The loop of a worker: run what is ready, look at I/O, sleep in the reactor.

use crate::context;
use crate::help::{Help, NAP};
use crate::idle::{Sleep, Woken};
use crate::metrics::Counters;
use crate::pace::{Now, Pace};
use crate::pinned::Pinned;
use crate::queue::{Lane, SharedQueue};
use crate::runtime::Shared;
use crate::task::{Runnable, Tick};
use crate::watch::Post;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use windlass_reactor::Reactor;
use windlass_reactor::budget::Budget;

/// How many tasks a worker runs before it looks at its goal, at least, if there are so many.
const BATCH: u32 = 61;
/// How many tasks a worker with none of its own takes from the shared queue at once, at the most.
const LARGEST_PART: usize = 128;
/// How many it takes when it has some.
const LARGEST_PART_BESIDES: usize = 32;
/// What a worker runs for: the end of a future, or of the runtime.
pub(crate) trait Goal {
    type Output;

    /// Works towards the goal, if it [is due](Goal::is_due); returns something once it is reached.
    fn check(&mut self) -> Option<Self::Output>;

    /// Says whether [`check`](Goal::check) has something to do, so that the worker must not sleep.
    fn is_due(&self) -> bool;
}

/// The kinds of batches, which each have a copy of [`context::pop`].
struct Batch<G, const IS_SPECIAL: bool>(PhantomData<G>);

/// One worker, on the thread that runs it.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    index: usize,
    sleep: Sleep,
    pinned: Arc<Pinned>,
    /// What others see of this worker.
    lane: Arc<Lane<Runnable>>,
    /// What other threads send to whoever is free.
    queue: Arc<SharedQueue<Runnable>>,
    /// What the watch is shown.
    post: Arc<Post>,
    /// What it counts for others.
    counters: Arc<Counters>,
    /// The clock, when it was looked at last.
    tick: Tick,
    /// How long polls take is measured.
    is_timed: bool,
    /// Which task is next is drawn by lot.
    is_drawn: bool,
    /// There is no other worker.
    is_alone: bool,
    /// There is a watch, which is to be shown what the worker runs.
    is_watched: bool,
    /// There are other workers, or a watch, who look at each poll; or else polls are counted from
    /// one look at the clock to the next.
    is_observed: bool,
    /// Somebody wants to know when the worker sleeps.
    is_sleep_told: bool,
    reactor: Reactor,
    /// What a task may do in one poll.
    budget: Budget,
    pace: Pace,
    /// How many tasks are run from one look at the clock, to see whether I/O is due, to the next.
    grant: u32,
    /// How many of them are left, but for one.
    granted: u32,
    /// How many have been run since the goal was looked at, until the last look at the clock.
    ran: u32,
    /// It was woken by somebody or began by itself to search, and has not found work since: see
    /// `idle`.
    is_searching: bool,
    /// After how many polls something from elsewhere was taken: if that was the last poll, it is now
    /// the turn of the own queue.
    took_mail_at: usize,
    /// What was sent to this thread has had its turn, so that now it is that of the shared queue.
    shared_is_next: bool,
    /// Where the search among the other workers begins.
    next_victim: usize,
    /// What it has come for, if it was to help others.
    help: Option<Help>,
}

impl Worker {
    pub(crate) fn new(
        shared: Arc<Shared>,
        index: usize,
        pinned: Arc<Pinned>,
        reactor: Reactor,
    ) -> Self {
        let lane = shared.lanes[index].clone();
        Self {
            sleep: shared.idle.sleep_of(index),
            lane,
            queue: shared.queue.clone(),
            post: shared.posts[index].clone(),
            counters: shared.counters[index].clone(),
            tick: Tick::now(),
            is_timed: shared.is_timed,
            is_drawn: shared.lots.is_some(),
            is_alone: shared.workers.len() == 1,
            is_watched: shared.watch.is_some(),
            is_observed: shared.workers.len() > 1 || shared.watch.is_some(),
            is_sleep_told: shared.hooks.watch_sleep(),
            budget: shared.budget,
            shared,
            index,
            pinned,
            reactor,
            pace: Pace::new(),
            grant: 2,
            granted: 1,
            ran: 0,
            is_searching: false,
            took_mail_at: usize::MAX,
            shared_is_next: false,
            next_victim: index,
            help: None,
        }
    }

    pub(crate) fn into_reactor(mut self) -> Reactor {
        // A panic of the goal may have come in the middle of a search.
        self.end_search();
        self.count_polls();
        self.lane.end_polls();
        self.reactor
    }

    /// Runs tasks until the goal is reached. The thread has entered the context of this worker and
    /// its reactor.
    pub(crate) fn run<G: Goal>(&mut self, goal: &mut G) -> G::Output {
        self.budget.scope(|| self.run_tasks(goal, true))
    }

    /// As [`run`](Self::run), where the goal has had its turn just now, so that that of tasks is next.
    pub(crate) fn run_on<G: Goal>(&mut self, goal: &mut G) -> G::Output {
        self.budget.scope(|| self.run_tasks(goal, false))
    }

    fn run_tasks<G: Goal>(&mut self, goal: &mut G, mut goal_is_next: bool) -> G::Output {
        self.show_up();
        loop {
            if (goal_is_next || self.ran >= BATCH) && goal.is_due() {
                self.ran = 0;
                self.lane.begin_poll();
                self.budget.begin_poll();
                self.post.run_root();
                if let Some(output) = goal.check() {
                    self.end_search();
                    return output;
                }
            }
            let nothing_left = if self.is_timed | self.is_drawn {
                self.run_special_batch::<G>()
            } else {
                self.run_batch::<G, false>()
            };
            if nothing_left {
                self.sleep(goal);
            }
            goal_is_next = nothing_left;
        }
    }

    /// Runs tasks until the clock has been looked at, after as many as `pace` grants; returns whether
    /// there are no more.
    #[inline(always)]
    fn run_batch<G, const IS_SPECIAL: bool>(&mut self) -> bool {
        let mut kept = None;
        loop {
            if IS_SPECIAL && self.is_drawn && kept.is_none() {
                self.draw();
            }
            let next = match kept {
                None => self.next_task::<Batch<G, IS_SPECIAL>>(),
                kept => kept,
            };
            let Some(task) = next else {
                return true;
            };
            self.prepare(&task);
            task.note_poll(self.tick);
            let yielded = if IS_SPECIAL && self.is_timed {
                self.run_timed(task)
            } else {
                task.run()
            };
            let (granted, is_used_up) = self.granted.overflowing_sub(1);
            self.granted = granted;
            if is_used_up {
                self.look_at_clock();
                // None is kept in hand, as the goal may take its time.
                if let Some(yielded) = yielded {
                    Self::put_back(yielded);
                }
                return false;
            }
            kept = match yielded {
                None => None,
                Some(yielded) => self.exchange::<Batch<G, IS_SPECIAL>>(yielded),
            };
        }
    }

    /// As [`run_batch`](Self::run_batch), where it is measured how long polls take, or drawn by lot
    /// which are next. Apart from that, so that it costs nothing where it is not.
    #[inline(never)]
    fn run_special_batch<G>(&mut self) -> bool {
        self.run_batch::<G, true>()
    }

    /// Has the next task be any of those that are ready, also of those that came from elsewhere.
    fn draw(&self) {
        let Some(lots) = &self.shared.lots else {
            return;
        };
        context::with_queues(|queues| {
            let first = self.pinned.take_mail(usize::MAX, &mut queues.pinned_ready);
            queues.pinned_ready.extend(first);
            let ready = &mut queues.ready;
            let first = self.queue.take(|all| all, |other| ready.push_back(other));
            if let Some(first) = first {
                queues.ready.push_back(first);
            }
            queues.draw(lots);
        });
    }

    /// Runs a task and measures how long that takes.
    fn run_timed(&self, task: Runnable) -> Option<Runnable> {
        let (yielded, took) = task.run_timed();
        self.counters.busy_nanoseconds.add(took.as_nanos() as u64);
        yielded
    }

    fn put_back(yielded: Runnable) {
        context::with_queues(|queues| queues.push_back(yielded));
    }

    /// Does what is due before a task is run.
    #[inline(always)]
    fn prepare(&mut self, task: &Runnable) {
        if self.is_observed {
            self.prepare_for_others(task);
        }
        self.budget.begin_poll();
    }

    /// Has other workers, and the watch, see what they need to.
    #[inline(always)]
    fn prepare_for_others(&mut self, task: &Runnable) {
        self.end_search();
        if !self.is_alone {
            self.offer_what_is_left();
        }
        if self.is_watched {
            self.post.run(task);
        }
        self.lane.begin_poll();
    }

    /// Counts the polls that nobody has been shown yet, and says of the next ones that they are to
    /// be counted.
    fn count_polls(&mut self) {
        let run = self.uncounted();
        self.ran = self.ran.saturating_add(run);
        if !self.is_observed {
            self.lane.count_polls(run);
        }
        self.grant = self.granted.wrapping_add(1);
    }

    /// Returns how many polls of those that were granted are over.
    fn uncounted(&self) -> u32 {
        // After the last of them, `granted` is one less than none.
        self.grant - self.granted.wrapping_add(1)
    }

    /// Has the watch see that the worker is awake, and so what it runs.
    #[inline]
    fn show_up(&mut self) {
        if let Some(watch) = &self.shared.watch {
            self.lane.begin_poll();
            watch.rouse();
        }
    }

    /// Looks at I/O if it is due, and finds out after how many tasks it may be again. A task that has
    /// yielded is not queued yet: it goes behind those that I/O wakes.
    #[inline(never)]
    fn look_at_clock(&mut self) {
        self.count_polls();
        let now = self.pace.now();
        self.look_at_io_if_due(now);
        self.tick = Tick::now();
        let ready = context::with_queues(|queues| queues.len());
        if self.is_alone {
            self.counters.queue.store(ready, Relaxed);
        }
        let grant = match &self.shared.lots {
            None => self.pace.grant(now, ready),
            Some(lots) => {
                // The goal has its turn after each batch, of whatever length.
                self.ran = BATCH;
                1 + lots.below(BATCH as usize) as u32
            }
        };
        self.set_grant(grant);
    }

    /// Has the clock be looked at by the last of so many tasks, of which there must be one.
    #[inline(always)]
    fn set_grant(&mut self, grant: u32) {
        self.grant = grant;
        self.granted = grant - 1;
    }

    fn look_at_io_if_due(&mut self, now: Now) {
        if self.is_drawn {
            // Not by time, for the order in which timers fire that are due together shows when they
            // were taken in.
            return self.turn(Some(Duration::ZERO));
        }
        if self.pace.is_due(now) {
            if self.reactor.is_idle() {
                self.pace.restart_at(now);
            } else {
                self.turn(Some(Duration::ZERO));
                // However long the look took, tasks get their time until the next.
                self.pace.restart_at(self.pace.now());
            }
        }
    }

    /// Queues a task that has yielded and takes the next one, which is the same if there are no
    /// others; takes none if it may be the turn of what came from elsewhere.
    #[inline(always)]
    fn exchange<Caller>(&mut self, yielded: Runnable) -> Option<Runnable> {
        if self.has_mail() {
            Self::put_back(yielded);
            return None;
        }
        context::exchange::<Caller>(yielded)
    }

    /// Finds the next task: among its own, or among what came from elsewhere, in turn; or else
    /// among those of others.
    #[inline(always)]
    fn next_task<Caller>(&mut self) -> Option<Runnable> {
        if !self.has_mail() {
            let own = context::pop::<Caller>();
            if own.is_some() || self.is_alone {
                return own;
            }
        }
        self.next_from_elsewhere()
    }

    /// Says whether other threads have left something for this one to run.
    #[inline(always)]
    fn has_mail(&self) -> bool {
        // As numbers, so that both together take one branch.
        (self.queue.len() | self.pinned.mail()) != 0
    }

    #[inline(never)]
    fn next_from_elsewhere(&mut self) -> Option<Runnable> {
        if self.polls() == self.took_mail_at.wrapping_add(1) {
            let own = context::pop::<Self>();
            if own.is_some() {
                return own;
            }
        }
        let next = self.take_mail().or_else(|| {
            // With others to take from, they may have emptied the shared queue meanwhile.
            context::pop::<Self>().or_else(|| self.steal())
        });
        self.took_mail_at = self.polls();
        next
    }

    /// Takes from what was sent to this thread, and from the shared queue, in turn.
    fn take_mail(&mut self) -> Option<Runnable> {
        self.shared_is_next = !self.shared_is_next;
        if self.shared_is_next {
            self.take_shared().or_else(|| self.take_own_mail())
        } else {
            self.take_own_mail().or_else(|| self.take_shared())
        }
    }

    /// Takes what other threads have sent to this one: all, if it has nothing else to do.
    fn take_own_mail(&self) -> Option<Runnable> {
        context::with_queues(|queues| {
            let more = if queues.is_empty() { usize::MAX } else { 0 };
            self.pinned.take_mail(more, &mut queues.pinned_ready)
        })
    }

    /// Takes from the shared queue: its share, if it has nothing else to do; or else little, so
    /// that what it takes does not wait behind its own queue while others could run it.
    fn take_shared(&self) -> Option<Runnable> {
        let workers = self.shared.workers.len();
        context::with_queues(|queues| {
            let is_idle = queues.is_empty();
            let room = queues.ready.room().saturating_add(1);
            let part = |length: usize| {
                let part = if is_idle {
                    length.div_ceil(workers).min(LARGEST_PART)
                } else {
                    (length / 2 / workers).clamp(1, LARGEST_PART_BESIDES)
                };
                part.min(room)
            };
            let keep = |runnable| queues.ready.push_back(runnable);
            self.queue.take(part, keep)
        })
    }

    /// Takes half of what another worker has.
    fn steal(&mut self) -> Option<Runnable> {
        if !self.is_alone && !self.is_searching {
            self.is_searching = self.shared.idle.begin_search();
        }
        if !self.is_searching {
            return None;
        }
        self.counters.steal_attempts.add(1);
        let workers = self.shared.workers.len();
        for _ in 0..workers {
            self.next_victim = (self.next_victim + 1) % workers;
            if self.next_victim != self.index {
                let victim = &self.shared.lanes[self.next_victim];
                let stolen = context::with_queues(|queues| {
                    let stolen = queues.ready.steal(victim);
                    let more = queues.ready.len() as u64;
                    stolen.map(|stolen| (stolen, 1 + more))
                });
                if let Some((stolen, count)) = stolen {
                    self.counters.steals.add(1);
                    self.counters.stolen_tasks.add(count);
                    return Some(stolen);
                }
            }
        }
        // Whoever pushed to the shared queue meanwhile has relied on this search.
        self.take_shared()
    }

    /// Work was found: if more is left, the next sleeper is to look for it.
    #[inline(always)]
    fn end_search(&mut self) {
        if self.is_searching {
            self.pass_search_on();
        }
    }

    #[inline(never)]
    fn pass_search_on(&mut self) {
        self.is_searching = false;
        self.shared.idle.end_search();
        if self.shared.has_work() {
            self.shared.wake_one();
        }
    }

    /// Has a sleeper come for what waits behind the task that is about to be run.
    #[inline(always)]
    fn offer_what_is_left(&self) {
        if self.lane.has_work() {
            self.shared.offer(false);
        }
    }

    /// Sleeps in the reactor until there is something to do.
    fn sleep<G: Goal>(&mut self, goal: &G) {
        if self.is_searching {
            self.is_searching = false;
            self.shared.idle.end_search();
        }
        if self.help.is_some() && self.nap(goal) {
            return;
        }
        self.count_polls();
        self.lane.end_polls();
        self.shared.idle.begin_sleep(&self.sleep);
        // Whatever came before the worker counted as a sleeper has woken nobody: it must be seen
        // here. Its own queues are empty, as only this thread fills them.
        let is_work_seen = self.has_mail() || self.is_search_needed();
        let is_needed = goal.is_due() || is_work_seen;
        if !is_needed {
            if self.is_sleep_told {
                self.sleep_and_tell(goal);
            } else {
                self.turn(None);
            }
            self.counters.parks.add(1);
            self.tick = Tick::now();
            self.pace.restart();
            // The clock is looked at by the second task that is ready: most turns wake one.
            self.set_grant(2);
        }
        self.is_searching = self.shared.idle.end_sleep(&self.sleep) == Woken::ToSearch;
        if self.is_searching {
            self.help = Some(Help::begin(Instant::now(), self.polls()));
        }
        self.show_up();
        if is_needed {
            self.go_on(is_work_seen);
        }
    }

    /// Waits for a moment, if all that it came to help with was short: rule 8 of `idle`. Returns
    /// whether there may be something to do.
    #[inline(never)]
    fn nap<G: Goal>(&mut self, goal: &G) -> bool {
        let polls = self.polls();
        let was_short = |help: Help| help.was_short(Instant::now(), polls);
        if !self.help.take().is_some_and(was_short) {
            return false;
        }
        self.lane.end_polls();
        self.shared.idle.begin_nap(&self.sleep);
        let is_needed = goal.is_due() || self.has_mail() || self.is_search_needed();
        if !is_needed {
            self.turn(Some(NAP));
            self.pace.restart();
            self.set_grant(2);
        }
        self.shared.idle.end_nap(&self.sleep);
        // What its own I/O has brought is no help to others.
        if !self.queue.is_empty() || self.is_search_needed() {
            self.help = Some(Help::begin(Instant::now(), self.polls()));
        }
        self.show_up();
        true
    }

    /// Returns how often it has begun to run something; wraps around.
    fn polls(&self) -> usize {
        let counted = self.lane.polls() / 2;
        if self.is_observed {
            return counted;
        }
        counted.wrapping_add(self.uncounted() as usize)
    }

    /// Does what is due for a worker that was about to sleep, but is needed.
    #[inline(never)]
    fn go_on(&mut self, is_work_seen: bool) {
        if is_work_seen && !self.is_searching && !self.is_alone {
            self.shared.idle.resume_search();
            self.is_searching = true;
        }
        // A goal that is always due must not keep I/O from being looked at.
        self.look_at_io_if_due(self.pace.now());
    }

    /// Sleeps, and says so to who wants to know, which may make something ready.
    #[cold]
    fn sleep_and_tell<G: Goal>(&mut self, goal: &G) {
        self.shared.hooks.park.call();
        let is_needed = goal.is_due() || context::with_queues(|queues| !queues.is_empty());
        self.turn(is_needed.then_some(Duration::ZERO));
        self.shared.hooks.unpark.call();
    }

    /// Says whether other workers have something to be stolen, and nobody is after it: rule 5 of
    /// `idle`.
    fn is_search_needed(&self) -> bool {
        !self.is_alone && !self.shared.idle.is_searched() && self.shared.has_work()
    }

    /// Takes in what is ready and due, and waits for it as long as `timeout`.
    #[inline(never)]
    fn turn(&mut self, timeout: Option<Duration>) {
        if let Err(error) = self.reactor.turn(timeout) {
            self.turn_again(error);
        }
    }

    /// Tries again for a while.
    ///
    /// # Panics
    ///
    /// If it goes on failing: no I/O of this worker can go on.
    #[cold]
    fn turn_again(&mut self, error: std::io::Error) {
        if let Err(error) = self.reactor.turn_again(error) {
            panic!("the reactor of worker {} failed: {error}", self.index);
        }
    }
}
