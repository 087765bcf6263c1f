//! Changes that are made while the kernel looks, step by step.

use super::*;
use crate::poller::Mode;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

fn registration(token: u64, mode: Mode) -> Registration {
    Registration {
        token: Token(token),
        interest: Interest::READABLE,
        mode,
    }
}

/// A set of two streams, which the kernel is to find readable while a change is made.
struct Looked {
    poll: Poll,
    streams: [UnixStream; 2],
}

impl Looked {
    fn new(mode: Mode) -> Self {
        let (a, b) = UnixStream::pair().unwrap();
        let looked = Self {
            poll: Poll::open().unwrap(),
            streams: [a, b],
        };
        for index in 0..2 {
            let wanted = registration(index as u64, mode);
            let _ = looked.poll.add(looked.fd(index), wanted).unwrap();
        }
        looked
    }

    fn fd(&self, index: usize) -> RawFd {
        self.streams[index].as_raw_fd()
    }

    /// Goes in, has every entry readable, makes `change`, and returns the tokens of the batch.
    fn batch_after(&self, change: impl FnOnce()) -> Vec<u64> {
        let mut entries = self.poll.entries.lock();
        {
            let mut table = self.poll.table.lock();
            entries.update(&mut table);
            table.set_waiting(true);
        }
        for entry in &mut entries.list {
            entry.revents = entry.events & sys::POLLIN;
        }
        change();
        let mut table = self.poll.table.lock();
        table.set_waiting(false);
        let ready = entries.list.iter().filter(|entry| entry.revents != 0);
        let ready = ready.count();
        let mut events = Events::new();
        entries.report(ready, &mut table, &mut events);
        events.iter().map(|event| event.token().0).collect()
    }
}

const MODES: [Mode; 3] = [Mode::Level, Mode::Oneshot, Mode::Edge];

#[test]
fn a_change_that_the_wait_under_way_does_not_see_ends_it() {
    let looked = Looked::new(Mode::Level);
    looked.batch_after(|| {
        let fd = looked.fd(0);
        let level = registration(5, Mode::Level);
        assert_eq!(looked.poll.modify(fd, level).unwrap(), Effect::NextWait);
        assert_eq!(looked.poll.remove(fd, None).unwrap(), Effect::NextWait);
        assert_eq!(looked.poll.add(fd, level).unwrap(), Effect::NextWait);
    });
    let effect = looked.poll.remove(looked.fd(0), None).unwrap();
    assert_eq!(effect, Effect::Immediate);
}

#[test]
fn what_was_removed_is_not_reported_and_the_rest_comes_at_the_latest_with_the_next() {
    for mode in MODES {
        let looked = Looked::new(mode);
        // The last takes the place of the first.
        let batch = looked.batch_after(|| {
            let _ = looked.poll.remove(looked.fd(0), None).unwrap();
        });
        assert!(!batch.contains(&0), "{mode:?}");
        let next = looked.batch_after(|| {});
        assert!(batch == [1] || next == [1], "{mode:?}: {batch:?}, {next:?}");
    }
}

#[test]
fn whoever_takes_a_number_over_gets_no_event_of_its_last_owner() {
    for mode in MODES {
        let looked = Looked::new(mode);
        let batch = looked.batch_after(|| {
            let _ = looked.poll.remove(looked.fd(1), None).unwrap();
            let wanted = registration(7, mode);
            let _ = looked.poll.add(looked.fd(1), wanted).unwrap();
        });
        assert_eq!(batch, [0], "{mode:?}");
        let next = looked.batch_after(|| {});
        assert!(next.contains(&7), "{mode:?}");
    }
}

#[test]
fn a_token_that_was_replaced_is_not_reported() {
    for mode in MODES {
        let looked = Looked::new(mode);
        let batch = looked.batch_after(|| {
            let wanted = registration(7, mode);
            let _ = looked.poll.modify(looked.fd(1), wanted).unwrap();
        });
        assert_eq!(batch, [0], "{mode:?}");
        assert!(looked.batch_after(|| {}).contains(&7), "{mode:?}");
    }
}

// What is rearmed while the kernel looks is answered by this batch or by the next.
#[test]
fn a_rearm_during_the_look_is_answered() {
    let looked = Looked::new(Mode::Edge);
    assert_eq!(looked.batch_after(|| {}), [0, 1]);
    let rearm = || {
        let _ = looked.poll.rearm(looked.fd(1), Interest::READABLE).unwrap();
    };
    assert_eq!(looked.batch_after(rearm), [1]);
    // Nobody has wanted the first for two looks: the kernel is not asked for it any more.
    assert_eq!(looked.batch_after(|| {}), []);
    let during = looked.batch_after(rearm);
    let after = looked.batch_after(|| {});
    assert_eq!([during, after].concat(), [1]);
}
