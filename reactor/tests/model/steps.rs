//! What a sequence is made of.

use proptest::prelude::*;
use windlass_reactor::{Interest, Mode};

/// A kind of descriptor whose readiness follows at once, and only, from what is done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Stream,
    PipeReader,
    PipeWriter,
    Counter,
}

/// What a registration is to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) interest: Interest,
    pub(crate) mode: Mode,
    /// A change goes by the token that is there.
    pub(crate) keeps_token: bool,
}

/// One step; the number picks one of the descriptors that are open, counted round.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Open(Kind),
    Duplicate(usize),
    /// Removes and closes.
    Close(usize),
    /// Closes without removal, which is a fault.
    Abandon(usize),
    Add(usize, Wish),
    Modify(usize, Wish),
    Rearm(usize, Interest),
    Remove(usize),
    /// Reads one byte.
    Read(usize),
    /// Reads until it would block.
    Drain(usize),
    /// Writes one byte.
    Write(usize),
    /// Writes until it would block.
    Fill(usize),
    Shutdown(usize),
    PeerWrites(usize),
    PeerDrains(usize),
    PeerShutsDown(usize),
    PeerCloses(usize),
    Notify,
    /// Waits with room for so many events.
    Wait(usize),
}

/// Room for whatever is ready.
pub(crate) const AMPLE: usize = 64;

/// Any sequence; with descriptors that are closed without removal if there are to be `faults`.
pub(crate) fn sequences(faults: bool) -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(steps(faults), 1..48)
}

fn steps(faults: bool) -> BoxedStrategy<Step> {
    let of_one = |make: fn(usize) -> Step| (0..6_usize).prop_map(make);
    let last = if faults { Step::Abandon } else { Step::Close };
    prop_oneof![
        5 => kinds().prop_map(Step::Open),
        2 => of_one(Step::Duplicate),
        2 => of_one(Step::Close),
        if faults { 4 } else { 1 } => of_one(last),
        8 => (0..6_usize, wishes()).prop_map(|(one, wish)| Step::Add(one, wish)),
        5 => (0..6_usize, wishes()).prop_map(|(one, wish)| Step::Modify(one, wish)),
        5 => (0..6_usize, interests()).prop_map(|(one, interest)| Step::Rearm(one, interest)),
        3 => of_one(Step::Remove),
        2 => of_one(Step::Read),
        5 => of_one(Step::Drain),
        2 => of_one(Step::Write),
        3 => of_one(Step::Fill),
        1 => of_one(Step::Shutdown),
        6 => of_one(Step::PeerWrites),
        3 => of_one(Step::PeerDrains),
        1 => of_one(Step::PeerShutsDown),
        1 => of_one(Step::PeerCloses),
        2 => Just(Step::Notify),
        12 => prop_oneof![4 => Just(AMPLE), 1 => 1..3_usize].prop_map(Step::Wait),
    ]
    .boxed()
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![
        3 => Just(Kind::Stream),
        1 => Just(Kind::PipeReader),
        1 => Just(Kind::PipeWriter),
        1 => Just(Kind::Counter),
    ]
}

fn interests() -> impl Strategy<Value = Interest> {
    let both = Interest::READABLE | Interest::WRITABLE;
    prop_oneof![
        1 => Just(Interest::NONE),
        4 => Just(Interest::READABLE),
        2 => Just(Interest::WRITABLE),
        2 => Just(both),
    ]
}

fn wishes() -> impl Strategy<Value = Wish> {
    let modes = prop_oneof![Just(Mode::Edge), Just(Mode::Level), Just(Mode::Oneshot)];
    (interests(), modes, any::<bool>()).prop_map(|(interest, mode, keeps_token)| Wish {
        interest,
        mode,
        keeps_token,
    })
}
