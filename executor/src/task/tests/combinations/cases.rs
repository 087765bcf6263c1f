//! The table.

/// Whether the task may go to other threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Free,
    Bound,
}

/// What the task is doing when it is struck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum When {
    Queued,
    FirstPoll,
    Idle,
    QueuedAgain,
    LastPoll,
    FutureDrop,
    Complete,
}

/// What it is struck by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum By {
    Nothing,
    Abort,
    AbortAndWake,
    Shutdown,
    AbortThenShutdown,
    QueueLost,
}

/// From where something comes: the thread that runs the task or another; inside is while the future
/// is polled or dropped, which waits for the other thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum From {
    OwnInside,
    OwnOutside,
    OtherInside,
    OtherOutside,
}

/// How often the join handle is polled at the beginning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Polls {
    None,
    OneWaker,
    TwoWakers,
}

/// What becomes of the join handle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum End {
    DroppedAtOnce,
    DroppedBeforeTheBlow,
    DroppedAfterTheBlow,
    DroppedLast,
    Joined,
}

/// Whether the future, when it is dropped, takes back the waker that it has given away. If so the
/// task is freed when it completes or is joined, else by the last wake.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Waker {
    TakenBack,
    Outlives,
}

/// What panics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Panics {
    Nothing,
    Poll,
    FutureDrop,
    OutputDrop,
}

const KINDS: [Kind; 2] = [Kind::Free, Kind::Bound];
const WHENS: [When; 7] = [
    When::Queued,
    When::FirstPoll,
    When::Idle,
    When::QueuedAgain,
    When::LastPoll,
    When::FutureDrop,
    When::Complete,
];
const BYS: [By; 6] = [
    By::Nothing,
    By::Abort,
    By::AbortAndWake,
    By::Shutdown,
    By::AbortThenShutdown,
    By::QueueLost,
];
const FROMS: [From; 4] = [
    From::OwnInside,
    From::OwnOutside,
    From::OtherInside,
    From::OtherOutside,
];
const POLLS: [Polls; 3] = [Polls::None, Polls::OneWaker, Polls::TwoWakers];
const ENDS: [End; 5] = [
    End::DroppedAtOnce,
    End::DroppedBeforeTheBlow,
    End::DroppedAfterTheBlow,
    End::DroppedLast,
    End::Joined,
];
const WAKERS: [Waker; 2] = [Waker::TakenBack, Waker::Outlives];
const PANICS: [Panics; 4] = [
    Panics::Nothing,
    Panics::Poll,
    Panics::FutureDrop,
    Panics::OutputDrop,
];

/// How many cells the table has.
pub(super) const CELLS: usize = WHENS.len()
    * KINDS.len()
    * BYS.len()
    * FROMS.len()
    * POLLS.len()
    * ENDS.len()
    * FROMS.len()
    * WAKERS.len()
    * PANICS.len();

/// One cell of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) when: When,
    pub(super) kind: Kind,
    pub(super) by: By,
    pub(super) by_from: From,
    pub(super) polls: Polls,
    pub(super) end: End,
    pub(super) end_from: From,
    pub(super) waker: Waker,
    pub(super) panics: Panics,
}

impl Case {
    /// Finds the cell with this number.
    pub(super) fn numbered(mut number: usize) -> Self {
        let rest = &mut number;
        Self {
            when: pick(rest, &WHENS),
            kind: pick(rest, &KINDS),
            by: pick(rest, &BYS),
            by_from: pick(rest, &FROMS),
            polls: pick(rest, &POLLS),
            end: pick(rest, &ENDS),
            end_from: pick(rest, &FROMS),
            waker: pick(rest, &WAKERS),
            panics: pick(rest, &PANICS),
        }
    }

    /// Says why the case makes no sense, if it makes none.
    pub(super) fn senseless(self) -> Option<&'static str> {
        let is_inside = self.when.is_inside();
        let ends_at_the_blow = matches!(
            self.end,
            End::DroppedBeforeTheBlow | End::DroppedAfterTheBlow
        );
        let owner_acts = matches!(self.by, By::Shutdown | By::AbortThenShutdown);
        if self.by_from.is_inside() && !is_inside {
            Some("struck from inside while nothing of the task runs")
        } else if !self.by_from.is_inside() && is_inside {
            Some("struck from outside while the future is polled or dropped")
        } else if self.by == By::Nothing && self.by_from.is_other() {
            Some("nothing comes from no other thread")
        } else if self.by == By::Nothing && self.end == End::DroppedAfterTheBlow {
            Some("after nothing is before nothing")
        } else if ends_at_the_blow && self.end_from.is_inside() != is_inside {
            Some("the handle goes with the blow, but not from where that is")
        } else if !ends_at_the_blow && self.end_from.is_inside() {
            Some("the handle goes at the beginning or the end, when nothing of the task runs")
        } else if self.kind == Kind::Bound && owner_acts && self.by_from.is_other() {
            Some("only its own thread may end a task that is bound")
        } else {
            None
        }
    }
}

impl When {
    /// Says whether the future is being polled or dropped.
    pub(super) fn is_inside(self) -> bool {
        matches!(self, Self::FirstPoll | Self::LastPoll | Self::FutureDrop)
    }
}

impl From {
    fn is_inside(self) -> bool {
        matches!(self, Self::OwnInside | Self::OtherInside)
    }

    /// Says whether that is another thread than that which runs the task.
    pub(super) fn is_other(self) -> bool {
        matches!(self, Self::OtherInside | Self::OtherOutside)
    }
}

/// Takes one digit off a number, and what it stands for.
fn pick<T: Copy>(number: &mut usize, choices: &[T]) -> T {
    let choice = choices[*number % choices.len()];
    *number /= choices.len();
    choice
}
