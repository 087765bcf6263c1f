//! The model: what is ready, by what was written, read and shut down; and what a registration owes.
//!
//! 1. What a registration may report is what holds when the wait is over, no more.
//! 2. In [`Mode::Level`] it must, by every wait with room for it.
//! 3. In [`Mode::Oneshot`] it must, once; then nothing comes until it is changed.
//! 4. In [`Mode::Edge`] it must report a direction that is *owed*: after registration, and once an
//!    operation has said `WouldBlock` and `rearm` was called, until it has been reported. Where
//!    edges are the kernel's own, `WouldBlock` is enough. The end is owed after registration.
//! 5. An edge that is reported though nothing happens is reported twice at the most.

use crate::facts::{ERROR, Facts, NONE, READ_CLOSED, READABLE, WRITABLE, WRITE_CLOSED};
use crate::steps::{Kind, Wish};
use windlass_reactor::{Features, Interest, Mode};

/// A full counter.
pub(crate) const FULL: u64 = u64::MAX - 1;

/// What has become of one file and its other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    pub(crate) kind: Kind,
    /// Bytes that can be read; of a counter, its value.
    pub(crate) incoming: u64,
    /// Bytes written that nobody has read.
    pub(crate) outgoing: u64,
    pub(crate) is_full: bool,
    pub(crate) has_shut_down: bool,
    pub(crate) peer_has_shut_down: bool,
    pub(crate) peer_has_closed: bool,
    /// What was written was not read when the peer closed.
    pub(crate) was_reset: bool,
}

impl State {
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind,
            incoming: 0,
            outgoing: 0,
            is_full: false,
            has_shut_down: false,
            peer_has_shut_down: false,
            peer_has_closed: false,
            was_reset: false,
        }
    }

    /// Says whether a read would block, of something that can be read.
    pub(crate) fn blocks_reads(&self) -> bool {
        self.incoming == 0 && !self.peer_has_shut_down && !self.peer_has_closed
    }

    /// Says whether a write would block, of something that can be written.
    pub(crate) fn blocks_writes(&self) -> bool {
        self.is_full && !self.has_shut_down && !self.peer_has_closed
    }

    /// Says whether both directions are over.
    pub(crate) fn is_over(&self) -> bool {
        self.peer_has_closed || (self.has_shut_down && self.peer_has_shut_down)
    }

    /// What holds of a registration of `interest`.
    fn truth(&self, interest: Interest) -> Facts {
        let asked = |direction| interest.contains(direction);
        let mut facts = NONE;
        if self.is_over() {
            facts |= READABLE | WRITABLE;
            if self.kind != Kind::PipeWriter {
                facts |= READ_CLOSED | WRITE_CLOSED;
            }
        }
        if asked(Interest::READABLE) && self.kind != Kind::PipeWriter {
            if self.incoming > 0 {
                facts |= READABLE;
            }
            if self.peer_has_shut_down {
                facts |= READABLE | READ_CLOSED;
            }
        }
        if asked(Interest::WRITABLE) && self.kind != Kind::PipeReader && !self.is_full {
            facts |= WRITABLE;
        }
        facts
    }

    /// What may be reported of a registration of `interest` (rule 1).
    pub(crate) fn may(&self, interest: Interest) -> Facts {
        let mut facts = self.truth(interest);
        if self.kind == Kind::PipeWriter && self.peer_has_closed {
            facts |= ERROR | READ_CLOSED | WRITE_CLOSED;
        }
        if self.was_reset {
            facts |= ERROR;
        }
        if self.has_shut_down && interest.contains(Interest::WRITABLE) {
            facts |= WRITABLE | WRITE_CLOSED;
        }
        facts
    }
}

/// What one registration is, and what it owes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registered {
    pub(crate) token: u64,
    pub(crate) interest: Interest,
    pub(crate) mode: Mode,
    /// Rule 3.
    is_spent: bool,
    /// Rule 4.
    owed: Interest,
    owes_end: bool,
    /// The directions in which an operation has said `WouldBlock`, and nothing was reported since.
    blocked: Interest,
}

impl Registered {
    pub(crate) fn new(token: u64, wish: Wish) -> Self {
        Self {
            token,
            interest: wish.interest,
            mode: wish.mode,
            is_spent: false,
            owed: wish.interest,
            owes_end: true,
            blocked: Interest::NONE,
        }
    }

    /// Rule 4: an operation said `WouldBlock`.
    pub(crate) fn block(&mut self, direction: Interest, features: Features) {
        self.blocked |= direction;
        if features.native_edges {
            self.rearm(direction);
        }
    }

    /// Rule 4.
    pub(crate) fn rearm(&mut self, interest: Interest) {
        let directions = interest.intersection(self.interest);
        self.owed |= directions.intersection(self.blocked);
    }

    /// The end that it brought about itself need not be an edge.
    pub(crate) fn shut_down(&mut self) {
        self.owes_end = false;
    }

    /// What the next wait must report (rules 2 to 4).
    pub(crate) fn must(&self, state: &State, features: Features) -> Facts {
        let facts = state
            .truth(self.interest)
            .where_told(features, self.interest);
        match self.mode {
            Mode::Level => facts,
            Mode::Oneshot if self.is_spent => NONE,
            Mode::Oneshot => facts,
            Mode::Edge if self.owes_end && state.is_over() => facts,
            Mode::Edge => facts.without(facts.without(directions(self.owed))),
        }
    }

    /// Notes that `facts` were reported.
    pub(crate) fn reported(&mut self, state: &State, facts: Facts) -> Result<(), String> {
        if self.is_spent {
            return Err(format!("a second shot of {self:?}"));
        }
        self.is_spent = self.mode == Mode::Oneshot;
        for (fact, direction) in [
            (READABLE, Interest::READABLE),
            (WRITABLE, Interest::WRITABLE),
        ] {
            if facts.contains(fact) {
                self.owed = self.owed.difference(direction);
                self.blocked = self.blocked.difference(direction);
            }
        }
        self.owes_end &= !state.is_over();
        Ok(())
    }
}

fn directions(interest: Interest) -> Facts {
    let mut facts = NONE;
    if interest.contains(Interest::READABLE) {
        facts |= READABLE;
    }
    if interest.contains(Interest::WRITABLE) {
        facts |= WRITABLE;
    }
    facts
}
