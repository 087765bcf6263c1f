//! Reactors that nobody turns any more, and those who waited on them.

mod support;

use futures::executor::block_on;
use futures::future::FutureExt;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};
use support::{
    CountingWaker, LONG, TimeLimit, each_reactor, pair, poll_once, read, run_on, turn_until,
};
use windlass_reactor::{Direction, Handle, Reactor, Taken, time};

#[test]
fn dropping_a_reactor_wakes_all_who_wait_and_they_wait_elsewhere() {
    each_reactor(|first| {
        let mut second = Reactor::with_backend(first.handle().backend()).unwrap();
        let (ours, mut theirs) = pair();
        let (counter, waker) = CountingWaker::new();
        let mut reading = ours.read_with(read).boxed_local();
        let mut sleep = time::sleep(Duration::from_secs(3600));
        first.handle().enter(|| {
            assert!(poll_once(&mut reading, &waker).is_pending());
            assert!(poll_once(&mut sleep, &waker).is_pending());
        });
        drop(first);
        assert_eq!(counter.count(), 2);
        let handle = second.handle().clone();
        handle.enter(|| {
            assert!(poll_once(&mut reading, &waker).is_pending());
            assert!(poll_once(&mut sleep, &waker).is_pending());
        });
        theirs.write_all(b"x").unwrap();
        sleep.reset_after(Duration::from_millis(1));
        turn_until(&mut second, || counter.count() == 4);
        assert!(matches!(
            poll_once(&mut reading, &waker),
            Poll::Ready(Ok(1))
        ));
        assert!(poll_once(&mut sleep, &waker).is_ready());
    });
}

#[test]
fn a_poll_method_that_has_waited_on_a_dropped_reactor_waits_elsewhere() {
    each_reactor(|first| {
        let mut second = Reactor::with_backend(first.handle().backend()).unwrap();
        let (ours, mut theirs) = pair();
        let (counter, waker) = CountingWaker::new();
        let poll_read = |handle: &Handle| {
            let mut context = Context::from_waker(&waker);
            handle.enter(|| {
                ours.poll_io_with(&mut context, Direction::Read, |stream| {
                    read(stream).map(Taken::Some)
                })
            })
        };
        assert!(poll_read(first.handle()).is_pending());
        assert!(poll_read(first.handle()).is_pending());
        drop(first);
        assert_eq!(counter.count(), 1);
        let handle = second.handle().clone();
        assert!(poll_read(&handle).is_pending());
        assert!(poll_read(&handle).is_pending());
        theirs.write_all(b"x").unwrap();
        turn_until(&mut second, || counter.count() == 2);
        assert!(matches!(poll_read(&handle), Poll::Ready(Ok(1))));
    });
}

#[test]
fn what_was_made_on_one_reactor_works_without_any() {
    each_reactor(|mut reactor| {
        let (ours, mut theirs) = pair();
        theirs.write_all(b"x").unwrap();
        assert_eq!(run_on(&mut reactor, ours.read_with(read)).unwrap(), 1);
        let (_, waker) = CountingWaker::new();
        let mut waiting = ours.read_with(read).boxed_local();
        assert!(
            reactor
                .handle()
                .enter(|| poll_once(&mut waiting, &waker))
                .is_pending()
        );
        drop(waiting);
        drop(reactor);
        // The fallback thread takes it over.
        let writer = thread::spawn(move || {
            thread::sleep(Duration::from_millis(2));
            theirs.write_all(b"yz").unwrap();
            theirs
        });
        assert_eq!(block_on(ours.read_with(read)).unwrap(), 2);
        drop(writer.join().unwrap());
        assert_eq!(block_on(ours.read_with(read)).unwrap(), 0);
    });
}

#[test]
fn a_reactor_that_is_left_takes_no_new_waits_until_somebody_turns_it_again() {
    each_reactor(|mut reactor| {
        let handle = reactor.handle().clone();
        let (counter, waker) = CountingWaker::new();
        let mut sleep = time::sleep(Duration::from_secs(3600));
        assert!(handle.enter(|| poll_once(&mut sleep, &waker)).is_pending());
        assert!(reactor.next_deadline().is_some());
        reactor.detach();
        assert_eq!(counter.count(), 1);
        assert!(reactor.next_deadline().is_none());
        // Polled under the reactor that was left, it goes to one that is turned.
        assert!(handle.enter(|| poll_once(&mut sleep, &waker)).is_pending());
        assert!(reactor.next_deadline().is_none());
        drop(sleep);

        reactor.attach();
        let mut sleep = time::sleep(Duration::from_secs(3600));
        assert!(handle.enter(|| poll_once(&mut sleep, &waker)).is_pending());
        assert!(reactor.next_deadline().is_some());
        sleep.reset_after(Duration::from_millis(1));
        turn_until(&mut reactor, || counter.count() == 2);
    });
}

// Waiting, leaving and taking over at once: nobody is forgotten.
#[test]
fn nobody_is_forgotten_while_reactors_come_and_go() {
    let _limit = TimeLimit::of(Duration::from_secs(60));
    let handles = std::sync::Mutex::new(Vec::<Handle>::new());
    let done = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::SeqCst) {
                let mut reactor = Reactor::new().unwrap();
                handles.lock().unwrap().push(reactor.handle().clone());
                for _ in 0..3 {
                    reactor.turn(Some(Duration::from_micros(200))).unwrap();
                }
                reactor.detach();
                handles.lock().unwrap().clear();
                drop(reactor);
            }
        });
        for _ in 0..300 {
            let (ours, mut theirs) = pair();
            let latest = handles.lock().unwrap().last().cloned();
            let begin = Instant::now();
            scope_write(&mut theirs, || {
                let wait = async {
                    let mut sleep = time::sleep(Duration::from_micros(300));
                    sleep.reset_after(Duration::from_micros(200));
                    sleep.await;
                    ours.read_with(read).await
                };
                // Entered anew for each poll, as an executor does.
                let mut wait = wait.boxed_local();
                let read = block_on(std::future::poll_fn(|context| match &latest {
                    Some(handle) => handle.enter(|| wait.poll_unpin(context)),
                    None => wait.poll_unpin(context),
                }));
                assert_eq!(read.unwrap(), 1);
            });
            assert!(begin.elapsed() < LONG);
        }
        done.store(true, std::sync::atomic::Ordering::SeqCst);
    });
}

/// Has one byte written by another thread while `body` runs.
fn scope_write(theirs: &mut UnixStream, body: impl FnOnce()) {
    thread::scope(|scope| {
        scope.spawn(|| theirs.write_all(b"x").unwrap());
        body();
    });
}

#[test]
fn entering_is_undone_in_order_also_by_a_panic() {
    each_reactor(|outer| {
        let inner = Reactor::with_backend(outer.handle().backend()).unwrap();
        let is_current = |reactor: &Reactor| {
            Handle::current().is_some_and(|current| current.is_same(reactor.handle()))
        };
        assert!(Handle::current().is_none());
        outer.handle().enter(|| {
            assert!(is_current(&outer));
            inner.handle().enter(|| assert!(is_current(&inner)));
            assert!(is_current(&outer));
            let panics = std::panic::AssertUnwindSafe(|| {
                inner.handle().enter(|| panic!("as the test wants it to"));
            });
            assert!(std::panic::catch_unwind(panics).is_err());
            assert!(is_current(&outer));
        });
        assert!(Handle::current().is_none());
    });
}
