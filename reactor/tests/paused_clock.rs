//! A clock that stands still until it is moved.

mod support;

use futures::future::{join, join_all};
use std::cell::RefCell;
use std::future::{Future, pending, poll_fn};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};
use support::{CountingWaker, LONG, TimeLimit, back_ends, poll_once, run_on};
use windlass_reactor::time::{
    Idle, MissedTicks, advance, hold, interval, now, sleep, sleep_until, timeout,
};
use windlass_reactor::{Async, Poller, Reactor};

const HOUR: Duration = Duration::from_secs(3600);
const MILLISECOND: Duration = Duration::from_millis(1);

/// Runs `test` with a paused reactor on every back end, and sees to it that it takes no time.
fn each_paused(test: impl Fn(&mut Reactor)) {
    for backend in back_ends() {
        println!("{backend}");
        let _limit = TimeLimit::of(Duration::from_secs(60));
        let poller = Poller::with_backend(backend).unwrap();
        test(&mut Reactor::with_paused_clock(poller));
    }
}

#[test]
fn sleeps_of_hours_end_at_once_in_order_and_on_time() {
    each_paused(|reactor| {
        for _ in 0..100 {
            let ends = RefCell::new(Vec::new());
            let nap = async |hours: u32| {
                let begin = now();
                sleep(hours * HOUR).await;
                ends.borrow_mut().push((hours, now() - begin));
            };
            run_on(reactor, join_all([3, 1, 2].map(nap)));
            let expected = [1, 2, 3].map(|hours| (hours, hours * HOUR));
            assert_eq!(*ends.borrow(), expected);
        }
    });
}

#[test]
fn a_limit_for_doing_nothing_begins_anew_whenever_something_happens() {
    each_paused(|reactor| {
        run_on(reactor, async {
            let begin = now();
            let mut idle = Idle::new(2 * HOUR);
            // Something happens after each of three hours, the task being woken for that.
            for _ in 0..3 {
                let mut nap = Box::pin(sleep(HOUR));
                poll_fn(|context| {
                    let happening = nap.as_mut().poll(context);
                    assert!(idle.poll(context, happening.is_ready()).is_pending());
                    happening
                })
                .await;
            }
            poll_fn(|context| idle.poll(context, false)).await;
            assert_eq!(now() - begin, 5 * HOUR);

            // Of what never rests it is only noted once in a while that something happens: it may
            // be ended later, by a thirty-second, but no earlier.
            let mut busy = Idle::new(2 * HOUR);
            let mut last = now();
            for _ in 0..6 * 60 + 17 {
                let mut nap = Box::pin(sleep(HOUR / 60));
                poll_fn(|context| {
                    let happening = nap.as_mut().poll(context);
                    if happening.is_ready() {
                        last = now();
                    }
                    assert!(busy.poll(context, happening.is_ready()).is_pending());
                    happening
                })
                .await;
            }
            poll_fn(|context| busy.poll(context, false)).await;
            let late = now() - last - 2 * HOUR;
            assert!(late <= 2 * HOUR / 32, "{late:?} late");

            let mut never = Idle::new(Duration::MAX);
            let mut nap = Box::pin(sleep(1000 * HOUR));
            poll_fn(|context| {
                assert!(never.poll(context, true).is_pending());
                nap.as_mut().poll(context)
            })
            .await;
            let mut at_once = Idle::new(Duration::ZERO);
            poll_fn(|context| at_once.poll(context, false)).await;
        });
    });
}

#[test]
fn what_is_woken_may_set_a_timer_that_is_due_before_the_next() {
    each_paused(|reactor| {
        let order = RefCell::new(Vec::new());
        let note = |name| order.borrow_mut().push(name);
        run_on(reactor, async {
            let twice = async {
                sleep(HOUR).await;
                note("first");
                sleep(MILLISECOND).await;
                note("second");
            };
            let once = async {
                sleep(HOUR + 2 * MILLISECOND).await;
                note("third");
            };
            join(once, twice).await;
        });
        assert_eq!(*order.borrow(), ["first", "second", "third"]);
    });
}

#[test]
fn timeouts_and_intervals_go_by_the_paused_clock() {
    each_paused(|reactor| {
        run_on(reactor, async {
            let begin = now();
            assert!(timeout(HOUR, pending::<()>()).await.is_err());
            assert_eq!(now() - begin, HOUR);
            assert!(timeout(HOUR, sleep(HOUR - MILLISECOND)).await.is_ok());
            let mut ticks = interval(HOUR).missed_ticks(MissedTicks::Skip);
            let first = ticks.tick().await;
            for number in 1..100 {
                assert_eq!(ticks.tick().await - first, number * HOUR);
                assert_eq!(now() - first, number * HOUR);
            }
            sleep(HOUR * 5 / 2).await;
            assert_eq!(ticks.tick().await - first, 100 * HOUR);
            assert_eq!(ticks.tick().await - first, 102 * HOUR);
            sleep_until(now() + HOUR).await;
            assert_eq!(now() - first, 103 * HOUR);
        });
    });
}

#[test]
fn a_clock_that_nobody_waits_for_stands() {
    each_paused(|reactor| {
        let handle = reactor.handle().clone();
        let begin = handle.enter(now);
        let elapsed = Instant::now();
        reactor.turn(Some(5 * MILLISECOND)).unwrap();
        assert!(elapsed.elapsed() >= 5 * MILLISECOND);
        let (counter, waker) = CountingWaker::new();
        let (mut never, mut soon) = handle.enter(|| (sleep(Duration::MAX), sleep(HOUR)));
        assert!(handle.enter(|| poll_once(&mut never, &waker)).is_pending());
        reactor.turn(Some(MILLISECOND)).unwrap();
        // Nor does it move in a turn of somebody who has something else to do.
        assert!(handle.enter(|| poll_once(&mut soon, &waker)).is_pending());
        reactor.turn(Some(Duration::ZERO)).unwrap();
        assert_eq!((handle.enter(now), counter.count()), (begin, 0));
        assert_eq!(reactor.turn(None).unwrap().timers, 1);
        assert_eq!((handle.enter(now), counter.count()), (begin + HOUR, 1));
    });
}

#[test]
fn advancing_stops_at_each_deadline() {
    each_paused(|reactor| {
        let passed = RefCell::new(Vec::new());
        run_on(reactor, async {
            let begin = now();
            let note = |name| passed.borrow_mut().push((name, now() - begin));
            let sleeper = async {
                for _ in 0..4 {
                    sleep(HOUR).await;
                    note("slept");
                }
            };
            let mover = async {
                advance(Duration::ZERO).await;
                note("stood");
                advance(HOUR / 2).await;
                note("moved");
                advance(HOUR * 3 / 2).await;
                note("moved");
                advance(HOUR / 2).await;
                note("moved");
            };
            join(mover, sleeper).await;
        });
        let halves = passed.borrow().clone();
        let halves: Vec<_> = halves
            .iter()
            .map(|(name, at)| (*name, at.as_secs() / 1_800))
            .collect();
        // What is due at the goal has run when it is reached.
        let expected = [
            ("stood", 0),
            ("moved", 1),
            ("slept", 2),
            ("slept", 4),
            ("moved", 4),
            ("moved", 5),
            ("slept", 6),
            ("slept", 8),
        ];
        assert_eq!(halves, expected);
    });
}

#[test]
fn two_may_advance_at_once_and_one_may_give_up() {
    each_paused(|reactor| {
        run_on(reactor, async {
            let begin = now();
            join(advance(HOUR), advance(2 * HOUR)).await;
            assert_eq!(now() - begin, 2 * HOUR);
            assert!(timeout(HOUR, advance(3 * HOUR)).await.is_err());
            assert_eq!(now() - begin, 3 * HOUR);
            sleep(HOUR).await;
            assert_eq!(now() - begin, 4 * HOUR);
        });
    });
}

#[test]
fn a_wait_for_a_descriptor_holds_the_time_but_not_who_advances_it() {
    each_paused(|reactor| {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let ours = Async::new(ours).unwrap();
        run_on(reactor, async {
            let begin = now();
            // So that readiness is not taken for granted.
            let blocked = |_: &UnixStream| Err::<(), _>(std::io::ErrorKind::WouldBlock.into());
            let reading = ours.read_with(blocked);
            let advanced = timeout(HOUR, reading);
            let mover = async {
                thread::scope(|scope| {
                    // Nothing moves while the other side takes its time.
                    let slow = scope.spawn(|| thread::sleep(5 * MILLISECOND));
                    slow.join().unwrap();
                });
                assert_eq!(now(), begin);
                advance(HOUR).await;
            };
            let (read, ()) = join(advanced, mover).await;
            assert!(read.is_err());
            assert_eq!(now() - begin, HOUR);
        });
        // By itself, it waits for what comes.
        let handle = reactor.handle().clone();
        let begin = handle.enter(now);
        let writer = thread::spawn(move || {
            thread::sleep(20 * MILLISECOND);
            std::io::Write::write_all(&mut &theirs, b"x").unwrap();
            theirs
        });
        let read = run_on(reactor, async {
            let reading =
                ours.read_with(|mut stream| std::io::Read::read(&mut stream, &mut [0; 8]));
            timeout(HOUR, reading).await
        });
        assert_eq!(read.unwrap().unwrap(), 1);
        assert_eq!(handle.enter(now), begin);
        // Nobody waits any more.
        run_on(reactor, sleep(HOUR));
        drop(writer.join());
    });
}

#[test]
fn a_hold_keeps_the_time_until_it_is_dropped() {
    each_paused(|reactor| {
        let handle = reactor.handle().clone();
        let begin = handle.enter(now);
        let is_done = AtomicBool::new(false);
        let (counter, waker) = CountingWaker::new();
        let mut timer = handle.enter(|| sleep(HOUR));
        assert!(handle.enter(|| poll_once(&mut timer, &waker)).is_pending());
        thread::scope(|scope| {
            let hold = (handle.hold_time(), handle.enter(hold));
            let (is_done, handle) = (&is_done, &handle);
            scope.spawn(move || {
                thread::sleep(5 * MILLISECOND);
                assert_eq!(handle.enter(now), begin);
                is_done.store(true, Ordering::SeqCst);
                drop(hold);
            });
            while counter.count() == 0 {
                reactor.turn(None).unwrap();
            }
            assert!(is_done.load(Ordering::SeqCst), "the time moved before");
        });
        assert_eq!(handle.enter(now), begin + HOUR);
    });
}

// A reactor that stands still, with nothing to do, is told of what moves it.
#[test]
fn another_thread_may_set_a_timer_or_advance() {
    each_paused(|reactor| {
        let handle = reactor.handle().clone();
        let begin = handle.enter(now);
        let (counter, waker) = CountingWaker::new();
        let waits = AtomicBool::new(true);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut timer = handle.enter(|| sleep(HOUR));
                assert!(handle.enter(|| poll_once(&mut timer, &waker)).is_pending());
                support::look_until(|| counter.count() == 1);
                let mut moved = handle.enter(|| advance(HOUR));
                assert!(poll_once(&mut moved, &waker).is_pending());
                support::look_until(|| counter.count() == 2);
                assert!(poll_once(&mut moved, &waker).is_ready());
                waits.store(false, Ordering::SeqCst);
                handle.notify().unwrap();
            });
            while waits.load(Ordering::SeqCst) {
                reactor.turn(None).unwrap();
            }
        });
        assert_eq!(handle.enter(now), begin + 2 * HOUR);
    });
}

#[test]
fn a_future_that_is_always_busy_lets_the_time_stand() {
    each_paused(|reactor| {
        let handle = reactor.handle().clone();
        let begin = handle.enter(now);
        let mut left = 1_000;
        let busy = poll_fn(|context| {
            left -= 1;
            if left == 0 {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        });
        assert!(run_on(reactor, timeout(HOUR, busy)).is_ok());
        assert_eq!(handle.enter(now), begin);
    });
}

#[test]
fn the_clock_of_others_is_real() {
    let _limit = TimeLimit::of(LONG);
    let paused = Reactor::with_paused_clock(Poller::new().unwrap());
    let mut real = Reactor::new().unwrap();
    let before = Instant::now();
    assert!(now() >= before);
    run_on(&mut real, async {
        let begin = Instant::now();
        let _hold = hold();
        sleep(2 * MILLISECOND).await;
        assert!(begin.elapsed() >= 2 * MILLISECOND);
        assert!(now() >= begin + 2 * MILLISECOND);
    });
    drop(paused);
}

#[test]
#[should_panic(expected = "paused_clock")]
fn a_real_clock_is_not_advanced() {
    let reactor = Reactor::new().unwrap();
    let _advance = reactor.handle().enter(|| advance(HOUR));
}
