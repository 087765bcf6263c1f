//! Another thread turns a reactor whose owner is held up.

mod support;

use std::io::Write;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Wake, Waker};
use std::thread;
use std::time::Duration;
use support::{CountingWaker, LONG, each_reactor, pair, poll_once, read};
use windlass_reactor::time;

#[test]
fn what_is_ready_and_due_is_taken_in_by_another_thread() {
    each_reactor(|reactor| {
        let (ours, mut theirs) = pair();
        let (counter, waker) = CountingWaker::new();
        let mut reading = Box::pin(ours.read_with(read));
        let mut sleep = Box::pin(time::sleep(Duration::from_millis(1)));
        reactor.handle().enter(|| {
            assert!(poll_once(&mut reading, &waker).is_pending());
            assert!(poll_once(&mut sleep, &waker).is_pending());
        });
        theirs.write_all(b"x").unwrap();
        let handle = reactor.handle().clone();
        let helper = thread::spawn(move || {
            let (mut events, mut timers) = (0, 0);
            while events + timers < 2 {
                let turn = handle.try_turn().unwrap().expect("nobody else turns it");
                events += turn.events;
                timers += turn.timers;
            }
            (events, timers)
        });
        assert_eq!(helper.join().unwrap(), (1, 1));
        assert_eq!(counter.count(), 2);
        assert!(matches!(
            poll_once(&mut reading, &waker),
            Poll::Ready(Ok(1))
        ));
        assert!(poll_once(&mut sleep, &waker).is_ready());
    });
}

#[test]
fn nobody_turns_what_its_owner_waits_in() {
    each_reactor(|mut reactor| {
        let handle = reactor.handle().clone();
        let owner = thread::spawn(move || reactor.turn(None).unwrap());
        // It refuses as soon as the owner is in, and always from then on.
        while handle.try_turn().unwrap().is_some() {
            thread::yield_now();
        }
        for _ in 0..100 {
            assert_eq!(handle.try_turn().unwrap(), None);
        }
        handle.notify().unwrap();
        assert!(owner.join().unwrap().notified);
    });
}

#[test]
fn a_notification_is_left_for_the_owner() {
    each_reactor(|mut reactor| {
        let handle = reactor.handle().clone();
        handle.notify().unwrap();
        for _ in 0..3 {
            let turn = handle.try_turn().unwrap().unwrap();
            assert!(!turn.notified && turn.events == 0, "{turn:?}");
        }
        assert!(reactor.turn(Some(LONG)).unwrap().notified);
        assert!(!reactor.turn(Some(Duration::ZERO)).unwrap().notified);
    });
}

#[test]
fn an_outside_loop_still_sees_a_notification_that_another_thread_came_upon() {
    each_reactor(|mut reactor| {
        let handle = reactor.handle().clone();
        if reactor.descriptor().is_none() {
            return println!("skipped: it has no descriptor");
        }
        handle.notify().unwrap();
        for _ in 0..3 {
            handle.try_turn().unwrap().unwrap();
        }
        let descriptor = reactor.descriptor().unwrap();
        let mut polled = [rustix::event::PollFd::new(
            &descriptor,
            rustix::event::PollFlags::IN,
        )];
        let now = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        assert_eq!(rustix::event::poll(&mut polled, Some(&now)).unwrap(), 1);
        assert!(reactor.turn(Some(Duration::ZERO)).unwrap().notified);
    });
}

#[test]
fn a_waker_that_blocks_keeps_nobody_from_turning() {
    each_reactor(|mut reactor| {
        let (started, has_started) = mpsc::channel();
        let (release, released) = mpsc::channel();
        let waker = Waker::from(Arc::new(Blocks {
            started,
            released: released.into(),
        }));
        let mut sleep = Box::pin(time::sleep(Duration::from_millis(1)));
        reactor
            .handle()
            .enter(|| assert!(poll_once(&mut sleep, &waker).is_pending()));
        let handle = reactor.handle().clone();
        let helper =
            thread::spawn(move || while handle.try_turn().unwrap().unwrap().timers == 0 {});
        has_started.recv_timeout(LONG).unwrap();
        // It needs the claim, which the helper must have given up before it wakes.
        reactor.turn(Some(Duration::ZERO)).unwrap();
        release.send(()).unwrap();
        helper.join().unwrap();
    });
}

/// A waker that says that it was called, and does not return until it may.
struct Blocks {
    started: mpsc::Sender<()>,
    released: Mutex<mpsc::Receiver<()>>,
}

impl Wake for Blocks {
    fn wake(self: Arc<Self>) {
        self.started.send(()).unwrap();
        let released = self.released.lock().unwrap();
        released.recv_timeout(LONG).unwrap();
    }
}
