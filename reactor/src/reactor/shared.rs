//! What a reactor and its handles have in common: what is registered, and until when a turn waits.

use crate::clock::Moment;
use crate::deadlines::{Deadlines, Insertion};
use crate::paused::Paused;
use crate::poller::{Events, Features, Interest, Mode, Poller, Token};
use crate::process::Process;
use crate::registry::Registry;
use crate::source::Source;
use crate::sys::fork;
use crate::timers::TimerKey;
use crate::view::Turns;
use crate::wakes::Wakes;
use parking_lot::Mutex;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::Waker;
use std::time::Duration;

/// What a reactor and its handles have in common.
///
/// Locks, in the order in which they may be taken: the claim of the poller, which one thread at a
/// time has while it waits and hands out events (see `claim`), the state of a source (which is not
/// in here), then one of these. None is held while a waker is cloned, woken or dropped.
///
/// What each wait for a descriptor or a timer looks at comes first, so that it is in the same lines of
/// the cache.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Shared {
    /// The number of the process in which somebody turns the reactor, or will; zero if nobody does.
    pub(super) attended: AtomicU32,
    /// Who made it: see `process` for what others leave alone.
    pub(super) process: Process,
    /// The timers, and until when the turning thread waits.
    pub(super) deadlines: Deadlines,
    pub(super) poller: Poller,
    pub(super) features: Features,
    /// The sources that are registered.
    pub(super) registry: Mutex<Registry>,
    /// The clock, if it is not the real one.
    pub(super) paused: Option<Paused>,
    /// What the turns have come upon.
    pub(super) turns: Turns,
    /// Until when the turn in progress may last, if it has found that out; for paused clocks.
    pub(super) limit: AtomicU64,
}

impl Shared {
    /// Waits for events, at most `timeout` and until the earliest timer is due. For the owner, who
    /// has the claim.
    #[inline(always)]
    pub(super) fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<bool> {
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
    pub(super) fn dispatch(&self, events: &Events, wakes: &mut Wakes) {
        for event in events {
            let source = self.registry.lock().find(event.token()).cloned();
            if let Some(source) = source {
                source.take_event(event, wakes);
            }
        }
    }

    /// Says whether somebody waits for a descriptor.
    pub(super) fn is_waited_for(&self) -> bool {
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

    pub(super) fn attach(&self) {
        // The parent's, of which a child has a copy, stays as it is.
        if !self.is_inherited() {
            self.attended.store(self.process.number(), Ordering::SeqCst);
        }
    }

    /// Nobody turns the reactor from now on: wakes all that wait here.
    pub(super) fn detach(&self, wakes: &mut Wakes) {
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
    pub(super) fn try_notify(&self) -> io::Result<()> {
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
