//! Sequences that did something wrong once, as small as they could be made; or that the random ones
//! are unlikely to make.

use crate::steps::{AMPLE, Kind, Step, Wish};
use crate::{ALONE, one_thread, support};
use std::sync::PoisonError;
use windlass_reactor::{Interest, Mode};

fn wish(interest: Interest, mode: Mode) -> Wish {
    Wish {
        interest,
        mode,
        keeps_token: false,
    }
}

/// Runs a sequence in which descriptors are closed without removal, in each mode.
fn in_each_mode(steps: impl Fn(Mode) -> Vec<Step>) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    support::each_poller(|poller| {
        for mode in [Mode::Level, Mode::Oneshot, Mode::Edge] {
            if let Err(why) = one_thread::run(poller, &steps(mode)) {
                panic!("{mode:?}: {why}");
            }
        }
    });
}

// A number that was closed before the kernel of /dev/poll knew it hid the others.
#[test]
fn faulty_what_was_closed_hides_nothing() {
    in_each_mode(|mode| {
        vec![
            Step::Open(Kind::Stream),
            Step::Open(Kind::Stream),
            Step::Add(0, wish(Interest::WRITABLE, mode)),
            Step::Add(1, wish(Interest::NONE, mode)),
            Step::Abandon(1),
            Step::Wait(AMPLE),
        ]
    });
}

// A pipe that nobody reads is reported without the kernel of kqueue, which goes on after its close.
#[test]
fn faulty_a_broken_pipe_that_was_closed_does_not_spin() {
    for interest in [Interest::NONE, Interest::WRITABLE] {
        in_each_mode(|mode| {
            vec![
                Step::Open(Kind::PipeWriter),
                Step::PeerCloses(0),
                Step::Add(0, wish(interest, mode)),
                Step::Wait(AMPLE),
                Step::Abandon(0),
                Step::Wait(AMPLE),
                Step::Wait(AMPLE),
                Step::Wait(AMPLE),
            ]
        });
    }
}
