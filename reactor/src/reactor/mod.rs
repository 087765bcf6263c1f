//! The reactor: waits for descriptors and deadlines, and wakes the tasks that wait for them.
//!
//! Its owner turns it (here), others reach it by a handle (`handle.rs`), and both have in common what is
//! registered (`shared.rs`).

mod handle;
mod shared;

use crate::clock::Moment;
use crate::deadlines::Deadlines;
use crate::paused::{Paused, Step};
use crate::poller::{Backend, Events, Poller};
use crate::process::{Process, inherited_reactor};
use crate::view::Turns;
use crate::wakes::Wakes;
use parking_lot::Mutex;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub use handle::Handle;
pub(crate) use shared::Shared;

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
