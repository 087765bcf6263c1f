//! User events and timers.

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::support::queue::{Queue, numbered};
use crate::support::{ADD, CLEAR, Kevent, ONESHOT, TIMER, TRIGGER, USER, child::api, system};

pub(crate) fn trigger_is_reported_once_and_coalesces() {
    let queue = Queue::new();
    queue.set(&[numbered(9, USER, ADD | CLEAR).udata(3)]);
    assert_eq!(queue.take(), []);
    for _ in 0..3 {
        queue.trigger(9, 3).unwrap();
    }
    let events = queue.take();
    assert_eq!(events.len(), 1);
    assert_eq!(
        (events[0].ident, events[0].filter, events[0].udata),
        (9, USER, 3)
    );
    assert_eq!(queue.take(), []);
    queue.trigger(9, 3).unwrap();
    assert_eq!(queue.take().len(), 1);
}

pub(crate) fn trigger_replaces_udata() {
    let queue = Queue::new();
    queue.set(&[numbered(9, USER, ADD | CLEAR).udata(3)]);
    queue.trigger(9, 4).unwrap();
    assert_eq!(queue.take()[0].udata, 4);
}

fn add_triggered(queue: &Queue) {
    let add = Kevent {
        fflags: TRIGGER,
        ..numbered(9, USER, ADD | CLEAR)
    };
    queue.set(&[add]);
}

pub(crate) fn trigger_in_the_add_is_lost() {
    let queue = Queue::new();
    add_triggered(&queue);
    assert_eq!(queue.take(), []);
}

pub(crate) fn trigger_in_the_add_works_on_macos() {
    let queue = Queue::new();
    add_triggered(&queue);
    assert_eq!(queue.take().len(), 1);
}

pub(crate) fn clear_in_the_trigger_loses_it() {
    let queue = Queue::new();
    queue.set(&[numbered(9, USER, ADD | CLEAR)]);
    let trigger = Kevent {
        fflags: TRIGGER,
        ..numbered(9, USER, CLEAR)
    };
    queue.call(&[trigger], &mut [], None).unwrap();
    assert_eq!(queue.take(), []);
}

pub(crate) fn trigger_without_a_knote_is_lost() {
    let error = Queue::new().trigger(9, 0).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
}

pub(crate) fn level_trigger_stays_until_cleared() {
    let queue = Queue::new();
    queue.set(&[numbered(9, USER, ADD)]);
    queue.trigger(9, 0).unwrap();
    assert_eq!(queue.take().len(), 1);
    assert_eq!(queue.take().len(), 1);
    queue
        .call(&[numbered(9, USER, CLEAR)], &mut [], None)
        .unwrap();
    assert_eq!(queue.take(), []);
}

static TARGET: AtomicI32 = AtomicI32::new(-1);
static SENT: AtomicU32 = AtomicU32::new(0);

extern "C" fn trigger_from_handler(_signal: i32) {
    let trigger = Kevent {
        fflags: TRIGGER,
        ..numbered(9, USER, 0)
    };
    let (none, target) = (std::ptr::null_mut(), TARGET.load(Relaxed));
    // SAFETY: one live change, no room for events.
    let count = unsafe { (api().kevent)(target, &raw const trigger, 1, none, 0, std::ptr::null()) };
    if count == 0 {
        SENT.fetch_add(1, Relaxed);
    }
}

pub(crate) fn trigger_from_a_signal_handler() {
    let queue = Queue::new();
    queue.set(&[numbered(9, USER, ADD | CLEAR)]);
    TARGET.store(queue.0, Relaxed);
    let mut seen = 0;
    system::while_signalled(trigger_from_handler, || {
        // Calls of the thread that is interrupted, so that the handler meets every state.
        while seen < 50 {
            let mut events = [Kevent::default(); 4];
            match queue.call(&[], &mut events, Some(Duration::from_secs(5))) {
                Ok(count) => seen += count,
                Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EINTR)),
            }
        }
    });
    assert!(SENT.load(Relaxed) as usize >= seen);
}

pub(crate) fn timers_fire_once_and_again() {
    let (start, queue) = (Instant::now(), Queue::new());
    queue.set(&[Kevent {
        data: 20,
        ..numbered(1, TIMER, ADD | ONESHOT)
    }]);
    assert_eq!(queue.take(), []);
    assert_eq!(queue.wait()[0].data, 1);
    assert!(start.elapsed() >= Duration::from_millis(20));
    let start = Instant::now();
    queue.set(&[Kevent {
        data: 5,
        ..numbered(2, TIMER, ADD)
    }]);
    let mut fired = 0;
    while fired < 4 {
        fired += queue.wait()[0].data;
    }
    assert!(start.elapsed() >= Duration::from_millis(20));
    system::wait_readable(queue.0);
}
