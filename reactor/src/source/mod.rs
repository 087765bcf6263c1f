//! One descriptor that is waited for: what the kernel has said of it, and who wants to know.

mod readiness;
mod waiters;

pub(crate) use readiness::{Readiness, Seen};
pub(crate) use waiters::{Key, Waiters};

use crate::current;
use crate::poller::{Event, Interest, Token};
use crate::reactor::Shared;
use crate::sys::address::ends;
use crate::view::{Wait, WaitsFor};
use crate::wakes::Wakes;
use parking_lot::Mutex;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Data to read, the end, or a connection to accept.
    Read,
    /// Room to write, or a connection that has been made.
    Write,
    /// Urgent (out-of-band) data.
    Priority,
}

impl Direction {
    const ALL: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Priority];

    fn interest(self) -> Interest {
        match self {
            Direction::Read => Interest::READABLE,
            Direction::Write => Interest::WRITABLE,
            Direction::Priority => Interest::PRIORITY,
        }
    }
}

/// A descriptor that has been waited for at least once.
///
/// Lock order: the state of a source, then the registry or the poller's table of one reactor.
#[derive(Debug)]
pub(crate) struct Source {
    readiness: [Readiness; 3],
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    registration: Option<Registration>,
    waiters: Waiters,
}

/// Where a source is registered, and as what.
#[derive(Debug)]
struct Registration {
    reactor: Arc<Shared>,
    token: Token,
    fd: RawFd,
    interest: Interest,
    /// Urgent data end a read early, with more behind them that is no new edge, and the reactor does
    /// not tell of them: they may always be there.
    may_hide_urgent: bool,
}

impl Source {
    /// Makes a source that is registered nowhere; every direction counts as ready but `blocked`.
    pub(crate) fn new(blocked: Direction) -> Self {
        let source = Self {
            readiness: Default::default(),
            state: Mutex::default(),
        };
        source
            .readiness(blocked)
            .clear(source.readiness(blocked).seen());
        source
    }

    pub(crate) fn readiness(&self, direction: Direction) -> &Readiness {
        &self.readiness[direction as usize]
    }

    /// Lists the task among those who wait for `direction`, and sees to it that a reactor watches;
    /// or answers what is known, if it has become ready meanwhile.
    ///
    /// `key` names the wait; it is chosen by the first call that has to wait.
    // Inlined into the one caller.
    #[inline(always)]
    pub(crate) fn wait(
        self: &Arc<Self>,
        context: &mut Context<'_>,
        fd: BorrowedFd<'_>,
        direction: Direction,
        key: &mut Option<Key>,
    ) -> Poll<io::Result<Seen>> {
        // A waker is somebody's code: it is cloned before, and dropped after, the lock is held.
        let waker = context.waker().clone();
        let mut state = self.state.lock();
        // Readiness is set before the waiters are looked at, under this lock.
        let seen = self.readiness(direction).seen();
        if seen.is_ready() {
            drop(state);
            return Poll::Ready(Ok(seen));
        }
        let is_attended = state.is_attended();
        if !is_attended {
            state.leave_to_parent();
        }
        let key = *key.get_or_insert_with(|| state.waiters.new_key());
        let replaced = state.waiters.insert(direction, key, waker);
        let watched = self.watch(&mut state, is_attended, fd, direction);
        if let Err(error) = watched {
            let unwatched = state.waiters.remove(direction, key);
            drop(state);
            drop((replaced, unwatched));
            return Poll::Ready(Err(error));
        }
        drop(state);
        drop(replaced);
        Poll::Pending
    }

    /// Says whether the wait `key` is listed with a waker as `waker`, and watched for: then there is
    /// nothing to do for it.
    pub(crate) fn waits_already(
        &self,
        waker: &Waker,
        fd: BorrowedFd<'_>,
        direction: Direction,
        key: Key,
    ) -> bool {
        let mut state = self.state.lock();
        // An event takes the waker off the list: as long as it is there, there was none.
        if !state.waiters.would_wake(direction, key, waker) || !state.is_attended() {
            return false;
        }
        let registration = state.registration.as_mut();
        registration.is_some_and(|registration| registration.watch(fd, direction).is_ok())
    }

    /// Has `direction` not be reported until somebody waits for it, unless somebody does already, or
    /// it is only reported to those who wait anyway. The next wait widens the interest again, upon
    /// which what is there by then is reported: so nothing is lost. What is asked for along with it
    /// (urgent data) goes as well, as for each piece of data the kernel looks whether those are there.
    pub(crate) fn pause(&self, fd: BorrowedFd<'_>, direction: Direction) {
        let mut state = self.state.lock();
        if !state.is_attended() {
            return;
        }
        let State {
            registration: Some(registration),
            waiters,
        } = &mut *state
        else {
            return;
        };
        let asked_for = registration.reactor.interest_for(direction.interest());
        let mut directions = Direction::ALL.into_iter();
        let is_waited_for = directions.any(|direction| {
            asked_for.contains(direction.interest()) && waiters.waits_for(direction)
        });
        if !is_waited_for {
            registration.narrow(fd, asked_for);
        }
    }

    /// Forgets the wait that goes by `key`.
    pub(crate) fn cancel(&self, direction: Direction, key: Key) {
        let forgotten = self.state.lock().waiters.remove(direction, key);
        drop(forgotten);
    }

    /// Has a reactor that is being turned watch `direction`: the one that does already, or else
    /// the current one of this thread.
    #[inline]
    fn watch(
        self: &Arc<Self>,
        state: &mut State,
        is_attended: bool,
        fd: BorrowedFd<'_>,
        direction: Direction,
    ) -> io::Result<()> {
        match &mut state.registration {
            Some(registration) if is_attended => registration.watch(fd, direction),
            _ => self.move_here(state, fd, direction),
        }
    }

    /// Registers the source with the current reactor, and takes it out of the one that it is
    /// registered with, which nobody turns any more.
    #[cold]
    fn move_here(
        self: &Arc<Self>,
        state: &mut State,
        fd: BorrowedFd<'_>,
        direction: Direction,
    ) -> io::Result<()> {
        loop {
            drop(state.registration.take().map(Registration::remove));
            let reactor = current::reactor()?;
            let interest = reactor.interest_for(direction.interest());
            let token = reactor.register(self, fd, interest)?;
            let fd = fd.as_raw_fd();
            let features = reactor.features();
            let registration = state.registration.insert(Registration {
                reactor,
                token,
                fd,
                interest,
                may_hide_urgent: features.native_edges && !features.priority,
            });
            // Looked at now, for it may have been left before the source was in.
            if registration.reactor.is_attended() {
                return Ok(());
            }
        }
    }

    /// Takes in what a wait of the reactor reported, and collects the wakers it concerns.
    ///
    /// An event under a token that isn't this source's any more is dropped.
    #[inline]
    pub(crate) fn take_event(&self, event: &Event, wakes: &mut Wakes) {
        let mut state = self.state.lock();
        let registration = state.registration.as_ref();
        let Some(registration) = registration.filter(|now| now.token == event.token()) else {
            return;
        };
        if event.is_readable() || event.is_priority() {
            let urgent = registration.may_hide_urgent;
            self.readiness(Direction::Read).note_read(event, urgent);
        }
        if event.is_readable() {
            state.waiters.take(Direction::Read, wakes);
        }
        if event.is_writable() {
            self.readiness(Direction::Write).note();
            state.waiters.take(Direction::Write, wakes);
        }
        // Nothing urgent comes after the end.
        if event.is_priority()
            || event.is_error()
            || event.is_read_closed()
            || event.is_write_closed()
        {
            self.readiness(Direction::Priority).note();
            state.waiters.take(Direction::Priority, wakes);
        }
    }

    /// Says whether anybody waits.
    pub(crate) fn is_waited_for(&self) -> bool {
        !self.state.lock().waiters.is_empty()
    }

    /// Lists those who wait, and what for.
    pub(crate) fn list_waits(&self, waits: &mut Vec<Wait>) {
        let state = self.state.lock();
        let Some(registration) = &state.registration else {
            return;
        };
        if state.waiters.is_empty() {
            return;
        }
        // It leaves its reactor, for which the lock is needed, before the descriptor is closed.
        let ends = ends(registration.fd);
        state.waiters.for_each(|direction, waker| {
            waits.push(Wait {
                waker: waker.data().addr(),
                waits_for: WaitsFor::Descriptor {
                    number: registration.fd,
                    direction,
                    local: ends.local,
                    peer: ends.peer,
                    is_listening: ends.is_listening,
                },
            });
        });
    }

    /// Wakes all who wait, so that they wait elsewhere.
    pub(crate) fn take_waiters(&self, wakes: &mut Wakes) {
        let mut state = self.state.lock();
        for direction in Direction::ALL {
            state.waiters.take(direction, wakes);
        }
    }

    /// Takes the source out of its reactor, and forgets who still waits; has to happen before the
    /// descriptor is closed.
    pub(crate) fn deregister(&self) {
        // A turn in progress may hold the source a little longer, but no waker of it: one that is
        // dropped is somebody's code.
        let mut state = std::mem::take(&mut *self.state.lock());
        state.leave_to_parent();
        let State {
            registration,
            waiters,
        } = state;
        drop(registration.map(Registration::remove));
        drop(waiters);
    }
}

impl State {
    /// Says whether it is registered with a reactor that somebody turns.
    #[inline]
    fn is_attended(&self) -> bool {
        let registration = self.registration.as_ref();
        registration.is_some_and(|registration| registration.reactor.is_attended())
    }

    /// Forgets where it is registered and who waits, if that was in the process that has forked into
    /// this one: nothing of that may be touched, nor dropped.
    #[cold]
    fn leave_to_parent(&mut self) {
        let of_parent = |registration: &mut Registration| registration.reactor.is_inherited();
        if let Some(registration) = self.registration.take_if(of_parent) {
            std::mem::forget(registration);
            std::mem::forget(self.waiters.take_all());
        }
    }
}

impl Registration {
    /// Sees to it that events of `direction` are reported, the next one included.
    #[inline]
    fn watch(&mut self, fd: BorrowedFd<'_>, direction: Direction) -> io::Result<()> {
        if !self.interest.contains(direction.interest()) {
            self.widen(fd, direction)
        } else if !self.reactor.features().native_edges {
            self.reactor.rearm(fd, direction.interest())
        } else {
            Ok(())
        }
    }

    /// Asks for events of one more direction.
    #[cold]
    fn widen(&mut self, fd: BorrowedFd<'_>, direction: Direction) -> io::Result<()> {
        let more = self.reactor.interest_for(direction.interest());
        let wanted = self.interest.union(more);
        self.reactor.modify(fd, self.token, wanted)?;
        self.interest = wanted;
        Ok(())
    }

    /// Asks for no more events of some directions, where they are reported without being waited for.
    fn narrow(&mut self, fd: BorrowedFd<'_>, unwanted: Interest) {
        // Urgent data stay with reading, which relies on knowing of them.
        let wanted = self.interest.difference(unwanted);
        let wanted = self.reactor.interest_for(wanted);
        if wanted == self.interest || !self.reactor.features().native_edges {
            return;
        }
        // If it fails, they are reported, as before.
        if self.reactor.modify(fd, self.token, wanted).is_ok() {
            self.interest = wanted;
        }
    }

    /// Leaves the reactor. The source is handed back, to be dropped outside of any lock.
    fn remove(self) -> Option<Arc<Source>> {
        self.reactor.deregister(self.fd, self.token)
    }
}
