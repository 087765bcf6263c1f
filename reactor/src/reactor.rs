//! The reactor: waits for descriptors and deadlines, and wakes the tasks that wait for them.

use crate::clock::Moment;
use crate::current;
use crate::deadlines::{Deadlines, Insertion};
use crate::paused::{Paused, Step};
use crate::poller::{Backend, Events, Features, Interest, Mode, Poller, Token};
use crate::process::{Process, inherited_reactor};
use crate::registry::Registry;
use crate::source::Source;
use crate::sys::fork;
use crate::time::Hold;
use crate::timers::TimerKey;
use crate::view::Turns;
use crate::wakes::Wakes;
use parking_lot::Mutex;
use std::fmt;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::Waker;
use std::time::{Duration, Instant};

/// A turn that fails is tried again so often, after a pause of a millisecond that doubles each time.
const MOST_FAILURES: u32 = 11;

/// Drives descriptors and timers: whoever owns it turns it, and while that thread is held up, others
/// may [in its place](Handle::try_turn).
///
/// Everything else goes through its [`Handle`]. Dropping it, like [`Reactor::detach`], wakes all
/// that wait on it; they wait on with the reactor of the thread that polls them next.
///
/// ```
/// use std::time::Duration;
/// use windlass_reactor::Reactor;
///
/// let mut reactor = Reactor::new()?;
/// let turn = reactor.turn(Some(Duration::from_millis(1)))?;
/// assert_eq!(turn.events, 0);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Reactor {
    handle: Handle,
    /// The events of the last wait.
    events: Events,
    wakes: Wakes,
}

/// What one turn came upon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Turn {
    /// How many descriptors were ready.
    pub events: usize,
    /// How many timers were due.
    pub timers: usize,
    /// Whether [`Handle::notify`] was called, or another thread made a timer that is due earlier
    /// than the turn would have lasted.
    pub notified: bool,
}

impl Reactor {
    /// Makes a reactor on the first back end that works, or on the one that the environment
    /// variable `WINDLASS_BACKEND` names.
    ///
    /// # Errors
    ///
    /// As for [`Poller::new`].
    pub fn new() -> io::Result<Self> {
        Poller::new().map(Self::with_poller)
    }

    /// Makes a reactor on `backend`, whatever the environment says.
    ///
    /// # Errors
    ///
    /// As for [`Poller::with_backend`].
    pub fn with_backend(backend: Backend) -> io::Result<Self> {
        Poller::with_backend(backend).map(Self::with_poller)
    }

    /// Makes a reactor on a poller that is used for nothing else.
    pub fn with_poller(poller: Poller) -> Self {
        Self::with_clock(poller, None)
    }

    /// Makes a reactor on a poller that is used for nothing else, with a clock that stands still
    /// until it is moved; see [`time`](crate::time#paused-clocks).
    ///
    /// It moves in turns that may wait: their caller says by it that he has nothing to run. A
    /// turn's own timeout is real.
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass_reactor::{Poller, Reactor, time};
    ///
    /// let mut reactor = Reactor::with_paused_clock(Poller::new()?);
    /// let handle = reactor.handle().clone();
    /// let begin = handle.enter(time::now);
    /// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// let mut hour = handle.enter(|| time::sleep(Duration::from_secs(3600)));
    /// # assert!(handle.enter(|| std::future::Future::poll(std::pin::Pin::new(&mut hour), &mut context)).is_pending());
    /// // Somebody waits for the hour; the turn after the one that takes note of it moves the time.
    /// while reactor.turn(None)?.timers == 0 {}
    /// assert_eq!(handle.enter(time::now) - begin, Duration::from_secs(3600));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn with_paused_clock(poller: Poller) -> Self {
        Self::with_clock(poller, Some(Paused::new(Moment::now())))
    }

    fn with_clock(poller: Poller, paused: Option<Paused>) -> Self {
        let features = poller.features();
        let process = Process::current();
        let shared = Shared {
            poller,
            features,
            registry: Mutex::default(),
            deadlines: match paused {
                None => Deadlines::default(),
                Some(_) => Deadlines::looked_at_always(),
            },
            process,
            attended: AtomicU32::new(process.number()),
            paused,
            turns: Turns::default(),
            limit: AtomicU64::new(Moment::START.to_bits()),
        };
        Self {
            handle: Handle(Arc::new(shared)),
            events: Events::new(),
            wakes: Wakes::default(),
        }
    }

    /// Returns what other threads, and the futures of this crate, reach the reactor by.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Waits until something is ready or due, for `timeout` at the most, and wakes the tasks
    /// concerned. No lock is held while they are woken.
    ///
    /// `None` waits for ever, a timeout of zero not at all.
    ///
    /// # Errors
    ///
    /// What the system says; `Unsupported` in a child process if it was made before the fork.
    // Inlined, so that a caller who doesn't ask what the turn came upon pays nothing for it.
    #[inline(always)]
    pub fn turn(&mut self, timeout: Option<Duration>) -> io::Result<Turn> {
        let shared = &*self.handle.0;
        if shared.is_inherited() {
            return Err(inherited_reactor());
        }
        let claim = shared.poller.claim();
        claim.take();
        // After an error it stays taken, until the owner comes again: nobody else could do better.
        let notified = shared.wait(&mut self.events, timeout)?;
        if !shared.deadlines.is_empty() {
            return self.turn_timers(notified);
        }
        shared.turns.note(self.events.len());
        shared.dispatch(&self.events, &mut self.wakes);
        claim.give_up();
        self.wakes.wake_all();
        Ok(Turn {
            events: self.events.len(),
            timers: 0,
            notified,
        })
    }

    /// Completes a turn where there are timers, or may be, and gives up the claim.
    #[inline(never)]
    fn turn_timers(&mut self, notified: bool) -> io::Result<Turn> {
        let found = self.take_in(notified);
        let shared = &*self.handle.0;
        if shared.paused.is_none() {
            return Ok(found);
        }
        let limit = Moment::from_bits(
            shared
                .limit
                .swap(Moment::START.to_bits(), Ordering::Relaxed),
        );
        if limit == Moment::START || found != Turn::default() {
            return Ok(found);
        }
        self.turn_paused(limit)
    }

    /// Takes in what is ready and due, gives up the claim, and wakes all that are concerned.
    fn take_in(&mut self, notified: bool) -> Turn {
        let shared = &*self.handle.0;
        shared.turns.note(self.events.len());
        shared.dispatch(&self.events, &mut self.wakes);
        let timers = shared.deadlines.expire(|| shared.now(), &mut self.wakes);
        shared.turns.note_timers(timers);
        shared.poller.claim().give_up();
        self.wakes.wake_all();
        Turn {
            events: self.events.len(),
            timers,
            notified,
        }
    }

    /// Moves a paused clock, or waits until something comes, and until `limit` by the real clock, if
    /// there is nothing now.
    #[cold]
    fn turn_paused(&mut self, limit: Moment) -> io::Result<Turn> {
        // Before the look at notifications, by rule 4 of paused clocks.
        let is_held = self.clock().is_held();
        let found = self.look(Moment::START, Moment::START)?;
        if found != Turn::default() {
            return Ok(found);
        }
        let shared = &*self.handle.0;
        let earliest = shared.deadlines.earliest_of_all();
        let moves_by_itself = !is_held && !shared.is_waited_for();
        if let Some(step) = self.clock().next_step(earliest, moves_by_itself) {
            return Ok(self.step(step));
        }
        // Who sets a timer meanwhile ends the wait.
        self.look(Moment::now(), limit)
    }

    /// Waits until `end`, and takes in what is there, without moving a paused clock.
    fn look(&mut self, now: Moment, end: Moment) -> io::Result<Turn> {
        let shared = &*self.handle.0;
        let claim = shared.poller.claim();
        claim.take();
        let notified = shared.poller.wait_until(&mut self.events, now, end)?;
        Ok(self.take_in(notified))
    }

    /// Moves a paused clock.
    fn step(&mut self, step: Step) -> Turn {
        let Self { handle, wakes, .. } = self;
        let shared = &*handle.0;
        let mut turn = Turn::default();
        let claim = shared.poller.claim();
        claim.take();
        if let Some(clock) = shared.paused() {
            match step {
                Step::ToTimer(moment) => {
                    clock.move_to(moment);
                    turn.timers = shared.deadlines.expire(|| moment, wakes);
                    shared.turns.note_timers(turn.timers);
                }
                Step::ToGoal(moment) => {
                    clock.move_to(moment);
                    clock.take_reached(wakes);
                }
            }
        }
        claim.give_up();
        wakes.wake_all();
        turn
    }

    fn clock(&self) -> &Paused {
        let paused = self.handle.0.paused.as_ref();
        paused.expect("this is asked only where the clock is paused")
    }

    /// Turns for as long as the process lives; see [`current`]. Ends when it is of no use to
    /// [try again](Reactor::turn_again).
    pub(crate) fn turn_for_ever(&mut self) -> io::Error {
        loop {
            let turned = self.turn(None).or_else(|error| self.turn_again(error));
            if let Err(error) = turned {
                return error;
            }
        }
    }

    /// Tries a turn again that has failed, for two seconds with pauses: memory for a wait may be short
    /// for a while. Not part of the public interface.
    ///
    /// # Errors
    ///
    /// The last one, if it goes on failing: then the set of descriptors itself is broken.
    #[cold]
    #[doc(hidden)]
    pub fn turn_again(&mut self, mut error: io::Error) -> io::Result<Turn> {
        for failure in 0..MOST_FAILURES {
            std::thread::sleep(Duration::from_millis(1 << failure));
            match self.turn(Some(Duration::ZERO)) {
                Ok(turn) => return Ok(turn),
                Err(again) => error = again,
            }
        }
        Err(error)
    }

    /// Returns when the earliest timer is due: how long an outside loop may wait at the most before
    /// it calls [`turn`](Reactor::turn), which is also due when
    /// [`descriptor`](Reactor::descriptor) is readable.
    ///
    /// To be asked just before each such wait: the descriptor becomes readable when another thread
    /// makes a timer that is earlier than what was returned last.
    pub fn next_deadline(&self) -> Option<Instant> {
        let shared = &*self.handle.0;
        let deadline = match shared.paused() {
            None => shared.deadlines.begin_wait(Moment::NEVER),
            Some(_) => shared.deadlines.earliest_of_all(),
        };
        deadline.to_instant()
    }

    /// Says whether nothing waits on the reactor, neither for a descriptor nor for a deadline, so
    /// that a turn that doesn't wait would come upon nothing but a notification.
    pub fn is_idle(&self) -> bool {
        let shared = &self.handle.0;
        shared.deadlines.earliest() == Moment::NEVER && shared.registry.lock().is_empty()
    }

    /// Says that somebody turns the reactor from now on. So it is from the beginning.
    pub fn attach(&self) {
        self.handle.0.attach();
    }

    /// Says that nobody turns the reactor until [`attach`](Reactor::attach) is called: wakes all
    /// that wait on it, so that they go on waiting with a reactor that is turned.
    pub fn detach(&mut self) {
        self.handle.0.detach(&mut self.wakes);
    }

    /// Returns the kernel's descriptor, readable when [`turn`](Reactor::turn) has something to do
    /// apart from timers that are due; `None` on back ends without one.
    ///
    /// Once it was asked for, [`Handle::notify`] makes one system call a turn also while nobody
    /// waits in it.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.handle.0.poller.descriptor()
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        if self.handle.0.is_inherited() {
            // With kqueue, the number of its descriptor may be somebody else's here; and its sources
            // hold wakers of the parent's.
            std::mem::forget(self.handle.clone());
        }
        self.detach();
    }
}

/// Reaches a [`Reactor`] from any thread.
#[derive(Clone)]
pub struct Handle(pub(crate) Arc<Shared>);

impl Handle {
    /// Returns the reactor that new waits of this thread go to, if it has one of its own.
    pub fn current() -> Option<Handle> {
        current::entered().map(Handle)
    }

    /// Runs `body` with this reactor as the current one of the thread.
    pub fn enter<R>(&self, body: impl FnOnce() -> R) -> R {
        current::enter(&self.0, body)
    }

    /// Runs `body`, which blocks the thread that turns this reactor: what waits on it is woken, and
    /// waits elsewhere until the reactor is turned again.
    pub fn step_aside<R>(&self, body: impl FnOnce() -> R) -> R {
        struct Back<'a>(&'a Shared);
        impl Drop for Back<'_> {
            fn drop(&mut self) {
                self.0.attach();
            }
        }
        let _back = Back(&self.0);
        self.0.detach(&mut Wakes::default());
        body()
    }

    /// Takes in what is ready and due, without waiting, in place of a thread that ought to turn the
    /// reactor and is held up. The tasks concerned are woken here.
    ///
    /// `None` if somebody turns it at the moment. A notification is left for the turn of the owner,
    /// who may come at any time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass_reactor::Reactor;
    ///
    /// let reactor = Reactor::new()?;
    /// let handle = reactor.handle().clone();
    /// let turn = std::thread::spawn(move || handle.try_turn()).join().unwrap()?;
    /// assert_eq!(turn.unwrap().events, 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What the system says; `Unsupported` in a child process if it was made before the fork.
    pub fn try_turn(&self) -> io::Result<Option<Turn>> {
        let shared = &*self.0;
        if shared.is_inherited() {
            return Err(inherited_reactor());
        }
        let Some(claimed) = shared.poller.claim().try_take() else {
            return Ok(None);
        };
        let (mut events, mut wakes) = (Events::new(), Wakes::default());
        shared.poller.look(&mut events)?;
        shared.turns.note(events.len());
        shared.dispatch(&events, &mut wakes);
        let timers = shared.deadlines.expire(|| shared.now(), &mut wakes);
        shared.turns.note_timers(timers);
        drop(claimed);
        wakes.wake_all();
        Ok(Some(Turn {
            events: events.len(),
            timers,
            notified: false,
        }))
    }

    /// Ends the turn in progress, or else the next one. Makes no system call unless a thread is
    /// waiting in it, and then one a turn at the most. In a child process it does nothing if the
    /// reactor was made before the fork.
    ///
    /// # Errors
    ///
    /// What the system says of the write that ends the wait.
    pub fn notify(&self) -> io::Result<()> {
        self.0.try_notify()
    }

    /// Keeps the time of this reactor, if its clock is paused, from moving by itself until what is
    /// returned is dropped; see [`time::hold`](crate::time::hold).
    pub fn hold_time(&self) -> Hold {
        Hold::of(&self.0)
    }

    /// Returns the mechanism in use.
    pub fn backend(&self) -> Backend {
        self.0.poller.backend()
    }

    /// Says whether both reach the same reactor.
    pub fn is_same(&self, other: &Handle) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns how many times the interest of a registered descriptor was changed where the kernel
    /// sees it.
    pub fn interest_changes(&self) -> u64 {
        self.0.poller.interest_changes()
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("backend", &self.backend())
            .finish_non_exhaustive()
    }
}

/// What a reactor and its handles have in common.
///
/// Locks, in the order in which they may be taken: the claim of the poller, which one thread at a
/// time has while it waits and hands out events (see `claim`), the state of a source (which is not
/// in here), then one of these. None is held while a waker is cloned, woken or dropped.
#[derive(Debug)]
pub(crate) struct Shared {
    poller: Poller,
    features: Features,
    /// The sources that are registered.
    registry: Mutex<Registry>,
    /// The timers, and until when the turning thread waits.
    deadlines: Deadlines,
    /// Who made it: see `process` for what others leave alone.
    process: Process,
    /// The number of the process in which somebody turns the reactor, or will; zero if nobody does.
    attended: AtomicU32,
    /// The clock, if it is not the real one.
    paused: Option<Paused>,
    /// What the turns have come upon.
    turns: Turns,
    /// Until when the turn in progress may last, if it has found that out; for paused clocks.
    limit: AtomicU64,
}

impl Shared {
    /// Waits for events, at most `timeout` and until the earliest timer is due. For the owner, who
    /// has the claim.
    #[inline(always)]
    fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<bool> {
        let (mut now, limit) = match timeout {
            None => (Moment::START, Moment::NEVER),
            Some(Duration::ZERO) => {
                return self.poller.wait_until(events, Moment::START, Moment::START);
            }
            Some(timeout) => {
                let now = Moment::now();
                (now, now.saturating_add(timeout))
            }
        };
        let until = self.deadlines.begin_wait(limit);
        if until != limit {
            // A timer's; or, where the clock is paused, none to wait for.
            now = Moment::NEVER;
            self.limit.store(limit.to_bits(), Ordering::Relaxed);
        }
        match self.poller.wait_until(events, now, until) {
            Ok(notified) => {
                self.deadlines.end_wait();
                Ok(notified)
            }
            Err(error) => {
                self.deadlines.end_wait();
                Err(error)
            }
        }
    }

    /// Hands each event to its source. The registry is not locked while the source is.
    #[inline(always)]
    fn dispatch(&self, events: &Events, wakes: &mut Wakes) {
        for event in events {
            let source = self.registry.lock().find(event.token()).cloned();
            if let Some(source) = source {
                source.take_event(event, wakes);
            }
        }
    }

    /// Says whether somebody waits for a descriptor.
    fn is_waited_for(&self) -> bool {
        let sources = self.registry.lock().all();
        sources.iter().any(|source| source.is_waited_for())
    }

    /// Reads the clock.
    #[inline]
    pub(crate) fn now(&self) -> Moment {
        match &self.paused {
            None => Moment::now(),
            Some(paused) => paused.now(),
        }
    }

    /// Returns the clock, if it is paused.
    pub(crate) fn paused(&self) -> Option<&Paused> {
        self.paused.as_ref()
    }

    /// Returns what the turns have come upon.
    pub(crate) fn turns(&self) -> &Turns {
        &self.turns
    }

    pub(crate) fn poller(&self) -> &Poller {
        &self.poller
    }

    pub(crate) fn deadlines(&self) -> &Deadlines {
        &self.deadlines
    }

    /// Returns all sources that are registered.
    pub(crate) fn all_sources(&self) -> Vec<Arc<Source>> {
        self.registry.lock().all()
    }

    fn attach(&self) {
        // The parent's, of which a child has a copy, stays as it is.
        if !self.is_inherited() {
            self.attended.store(self.process.number(), Ordering::SeqCst);
        }
    }

    /// Nobody turns the reactor from now on: wakes all that wait here.
    fn detach(&self, wakes: &mut Wakes) {
        self.attended.store(0, Ordering::SeqCst);
        if self.is_inherited() {
            return;
        }
        let sources = self.registry.lock().all();
        for source in &sources {
            source.take_waiters(wakes);
        }
        self.deadlines.take_all(wakes);
        wakes.wake_all();
    }

    /// Says whether somebody turns the reactor, or will, in this process.
    #[inline]
    pub(crate) fn is_attended(&self) -> bool {
        self.attended.load(Ordering::SeqCst) == fork::generation()
    }

    /// Says whether it is the reactor of a process that has forked into this one.
    #[inline]
    pub(crate) fn is_inherited(&self) -> bool {
        !self.process.is_current()
    }

    pub(crate) fn features(&self) -> Features {
        self.features
    }

    /// What is registered for somebody who asks for `interest`.
    ///
    /// Urgent data end a read early and leave more behind without another edge, so that where
    /// reading relies on edges they have to be known of.
    pub(crate) fn interest_for(&self, interest: Interest) -> Interest {
        if self.features.native_edges && interest.contains(Interest::READABLE) {
            interest | Interest::PRIORITY
        } else {
            interest
        }
    }

    /// Registers `source` and returns the token that its events carry.
    pub(crate) fn register(
        &self,
        source: &Arc<Source>,
        fd: BorrowedFd<'_>,
        interest: Interest,
    ) -> io::Result<Token> {
        let token = self.registry.lock().insert(source.clone());
        let added = self.poller.add(fd, token, interest, Mode::Edge);
        if added.is_err() {
            // Our caller holds the source as well, so that this drops nothing under a lock.
            let _ = self.registry.lock().remove(token);
        }
        added.map(|()| token)
    }

    pub(crate) fn modify(
        &self,
        fd: BorrowedFd<'_>,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        self.poller.modify(fd, token, interest, Mode::Edge)
    }

    pub(crate) fn rearm(&self, fd: BorrowedFd<'_>, interest: Interest) -> io::Result<()> {
        self.poller.rearm(fd, interest)
    }

    /// Takes out what was registered as `fd` under `token`; hands the source back.
    pub(crate) fn deregister(&self, fd: RawFd, token: Token) -> Option<Arc<Source>> {
        if self.is_inherited() {
            return None;
        }
        // An error means that the number was closed and reused: nothing of ours is left there.
        let _ = self.poller.remove_registered(fd, token);
        self.registry.lock().remove(token)
    }

    /// Has `waker` woken at `deadline`.
    pub(crate) fn insert_timer(&self, deadline: Moment, waker: Waker) -> TimerKey {
        let (key, insertion) = self.deadlines.insert(deadline, waker);
        self.complete_timer(insertion);
        key
    }

    /// Moves a timer to another deadline; says whether there was one, which is not over.
    pub(crate) fn reset_timer(&self, key: TimerKey, deadline: Moment) -> bool {
        if self.is_inherited() {
            return false;
        }
        let insertion = self.deadlines.reset(key, deadline);
        insertion
            .map(|insertion| self.complete_timer(insertion))
            .is_some()
    }

    /// Ends a wait that would last beyond a timer; a paused clock may have to move for any.
    fn complete_timer(&self, insertion: Insertion) {
        if insertion == Insertion::EndsWait || self.paused.is_some() {
            self.notify();
        }
    }

    /// Ends the turn in progress, or else the next one.
    pub(crate) fn notify(&self) {
        // If the write fails, the descriptors of the process are beyond help.
        let _ = self.try_notify();
    }

    #[inline]
    fn try_notify(&self) -> io::Result<()> {
        if self.is_inherited() {
            return Ok(());
        }
        self.poller.notify()
    }

    /// Has the task of `waker` woken by a timer; says whether there is one, which is not over.
    pub(crate) fn watch_timer(&self, key: TimerKey, waker: &Waker) -> bool {
        if self.is_inherited() {
            return false;
        }
        match self.deadlines.would_wake(key, waker) {
            None => false,
            Some(true) => true,
            Some(false) => {
                // A waker is somebody's code: it is cloned and dropped while no lock is held.
                let replaced = self.deadlines.replace_waker(key, waker.clone());
                replaced.is_ok()
            }
        }
    }

    /// Takes a timer out; returns its waker, to be dropped outside of the lock.
    pub(crate) fn remove_timer(&self, key: TimerKey) -> Option<Waker> {
        if self.is_inherited() {
            return None;
        }
        self.deadlines.remove(key)
    }
}
