//! Sleeps, timeouts and intervals.

mod support;

use futures::executor::block_on;
use futures::future::{FutureExt, join_all};
use std::future::{pending, poll_fn, ready};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};
use support::{
    CountingWaker, LONG, TimeLimit, each_reactor, poll_once, run_on, shortest_wait, turn_until,
};
use windlass_reactor::time::{
    MissedTicks, interval, interval_at, sleep, sleep_until, timeout, timeout_at,
};

const MILLISECOND: Duration = Duration::from_millis(1);

// D18, D2
#[test]
fn a_sleep_is_never_early_and_late_within_reason() {
    each_reactor(|mut reactor| {
        for duration in [900, 1_000, 1_700].map(Duration::from_micros) {
            let shortest = duration.max(shortest_wait(reactor.handle().backend()));
            let mut time_of_sleep = || {
                let begin = Instant::now();
                run_on(&mut reactor, sleep(duration));
                let took = begin.elapsed();
                assert!(took >= duration, "{took:?} instead of {duration:?}");
                took
            };
            let in_time = shortest + Duration::from_micros(1_500);
            for _ in 0..20 {
                time_of_sleep();
            }
            let is_in_time = |_| time_of_sleep() < in_time;
            assert!((0..500).any(is_in_time), "{duration:?} is always late");
        }
    });
}

// D7
#[test]
fn what_is_due_is_over_at_once() {
    each_reactor(|mut reactor| {
        run_on(&mut reactor, async {
            sleep(Duration::ZERO).await;
            sleep_until(Instant::now()).await;
            let past = Instant::now().checked_sub(MILLISECOND).unwrap();
            sleep_until(past).await;
        });
        // Also without a wait: a turn that does not wait looks at the timers.
        let (counter, waker) = CountingWaker::new();
        let mut soon = sleep(Duration::from_secs(3600));
        assert!(
            reactor
                .handle()
                .enter(|| poll_once(&mut soon, &waker))
                .is_pending()
        );
        soon.reset_after(MILLISECOND);
        thread::sleep(2 * MILLISECOND);
        let turn = reactor.turn(Some(Duration::ZERO)).unwrap();
        assert_eq!((turn.timers, counter.count()), (1, 1));
    });
}

// D4
#[test]
fn a_deadline_that_is_too_far_away_is_never() {
    each_reactor(|mut reactor| {
        let (counter, waker) = CountingWaker::new();
        let far = Instant::now()
            .checked_add(Duration::from_secs(1 << 33))
            .unwrap();
        let handle = reactor.handle().clone();
        handle.enter(|| {
            let never = Duration::MAX;
            for duration in [never, never - MILLISECOND, Duration::from_nanos(u64::MAX)] {
                assert!(poll_once(&mut sleep(duration), &waker).is_pending());
                let mut limited = pin!(timeout(duration, pending::<()>()));
                assert!(poll_once(&mut limited, &waker).is_pending());
                assert!(poll_once(&mut pin!(timeout(duration, ready(1))), &waker).is_ready());
                let mut ticks = interval(duration);
                assert!(ticks.poll_tick(&mut Context::from_waker(&waker)).is_ready());
                assert!(
                    ticks
                        .poll_tick(&mut Context::from_waker(&waker))
                        .is_pending()
                );
                assert!(
                    sleep(duration)
                        .deadline()
                        .is_none_or(|end| end > Instant::now())
                );
            }
            assert!(poll_once(&mut sleep_until(far), &waker).is_pending());
            let mut kept = sleep(never);
            assert!(poll_once(&mut kept, &waker).is_pending());
            assert!(reactor.next_deadline().is_none());
            reactor.turn(Some(MILLISECOND)).unwrap();
        });
        assert_eq!(counter.count(), 0);
    });
}

// D9
#[test]
fn a_reset_wakes_who_waits_whatever_the_end_was_before() {
    each_reactor(|mut reactor| {
        let handle = reactor.handle().clone();
        for before in [Duration::from_secs(3600), Duration::MAX] {
            let (counter, waker) = CountingWaker::new();
            let mut moved = sleep(before);
            assert!(handle.enter(|| poll_once(&mut moved, &waker)).is_pending());
            moved.reset(Instant::now());
            turn_until(&mut reactor, || counter.count() == 1);
            assert!(poll_once(&mut moved, &waker).is_ready());
            // And again after it was over.
            moved.reset_after(Duration::from_secs(3600));
            assert!(handle.enter(|| poll_once(&mut moved, &waker)).is_pending());
            moved.reset_after(Duration::MAX);
            let (latest, waker) = CountingWaker::new();
            assert!(handle.enter(|| poll_once(&mut moved, &waker)).is_pending());
            moved.reset_after(MILLISECOND);
            turn_until(&mut reactor, || latest.count() == 1);
            assert_eq!(counter.count(), 1);
        }
    });
}

// D9, D11
#[test]
fn an_earlier_timer_ends_the_wait_of_another_thread() {
    each_reactor(|mut reactor| {
        let handle = reactor.handle().clone();
        let (late, waker) = CountingWaker::new();
        let mut tens_of_seconds = sleep(Duration::from_secs(100));
        assert!(
            handle
                .enter(|| poll_once(&mut tens_of_seconds, &waker))
                .is_pending()
        );
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..100 {
                    let (counter, waker) = CountingWaker::new();
                    let mut soon = sleep(MILLISECOND);
                    let begin = Instant::now();
                    if handle.enter(|| poll_once(&mut soon, &waker)).is_ready() {
                        continue;
                    }
                    support::look_until(|| counter.count() == 1);
                    assert!(begin.elapsed() >= MILLISECOND);
                }
                tens_of_seconds.reset(Instant::now());
                support::look_until(|| late.count() == 1);
                done.store(true, Ordering::SeqCst);
                handle.notify().unwrap();
            });
            while !done.load(Ordering::SeqCst) {
                reactor.turn(None).unwrap();
            }
        });
    });
}

// D13, D14
#[test]
fn a_timer_that_was_taken_out_wakes_nobody() {
    each_reactor(|mut reactor| {
        let handle = reactor.handle().clone();
        let (counter, waker) = CountingWaker::new();
        let mut timer = sleep(Duration::from_secs(3600));
        assert!(handle.enter(|| poll_once(&mut timer, &waker)).is_pending());
        timer.reset_after(MILLISECOND);
        drop(timer);
        assert!(reactor.next_deadline().is_none());
        let (begin, timeout) = (Instant::now(), 5 * MILLISECOND);
        let turn = reactor.turn(Some(timeout)).unwrap();
        assert!(begin.elapsed() >= timeout);
        assert_eq!((turn.timers, counter.count()), (0, 0));
    });
}

// D20: also when the reactor is not turned, because the future is always busy.
#[test]
fn a_timeout_ends_a_future_that_is_always_busy() {
    each_reactor(|reactor| {
        let (_, waker) = CountingWaker::new();
        let busy = poll_fn(|context: &mut Context<'_>| {
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        let mut limited = pin!(timeout(10 * MILLISECOND, busy));
        let begin = Instant::now();
        reactor.handle().enter(|| {
            while poll_once(&mut limited, &waker).is_pending() {
                assert!(begin.elapsed() < LONG, "the timeout is not looked at");
            }
        });
        assert!(begin.elapsed() >= 10 * MILLISECOND);
        assert!(reactor.next_deadline().is_none());
    });
}

#[test]
fn a_future_that_is_done_wins_over_the_clock() {
    each_reactor(|mut reactor| {
        run_on(&mut reactor, async {
            assert_eq!(timeout(Duration::ZERO, ready(1)).await, Ok(1));
            let past = Instant::now();
            assert_eq!(timeout_at(past, ready(2)).await, Ok(2));
            let elapsed = timeout(MILLISECOND, pending::<()>()).await.unwrap_err();
            let error = std::io::Error::from(elapsed);
            assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        });
    });
}

// D21
#[test]
fn missed_ticks_are_dealt_with_as_the_policy_says() {
    each_reactor(|mut reactor| {
        let period = 20 * MILLISECOND;
        for policy in [MissedTicks::Burst, MissedTicks::Delay, MissedTicks::Skip] {
            let start = Instant::now();
            let mut ticks = interval_at(start, period).missed_ticks(policy);
            let late = run_on(&mut reactor, async {
                let first = ticks.tick().await;
                // Between the fifth and the sixth.
                thread::sleep(5 * period + period / 2);
                let second = ticks.tick().await;
                let third = ticks.tick().await;
                let returned = Instant::now();
                [first, second, third, returned].map(|tick| tick.saturating_duration_since(start))
            });
            let [first, second, third, returned] = late;
            assert!(
                first < MILLISECOND && second.abs_diff(period) < MILLISECOND,
                "{late:?}"
            );
            match policy {
                MissedTicks::Burst => assert!(third.abs_diff(2 * period) < MILLISECOND, "{late:?}"),
                MissedTicks::Delay => {
                    assert!(third >= 6 * period + period / 2 - MILLISECOND, "{late:?}");
                }
                MissedTicks::Skip => {
                    let periods = third.as_secs_f64() / period.as_secs_f64();
                    assert!(
                        periods > 5.9 && (periods - periods.round()).abs() < 0.1,
                        "{late:?}"
                    );
                }
            }
            assert!(returned >= third.saturating_sub(MILLISECOND));
        }
    });
}

#[test]
fn an_interval_keeps_its_schedule() {
    each_reactor(|mut reactor| {
        let begin = Instant::now();
        let mut ticks = interval(MILLISECOND);
        run_on(&mut reactor, async {
            for _ in 0..=20 {
                ticks.tick().await;
            }
        });
        assert!(begin.elapsed() >= 20 * MILLISECOND);
    });
}

#[test]
#[should_panic(expected = "period")]
fn an_interval_of_nothing_panics() {
    let _ticks = interval(Duration::ZERO);
}

#[test]
fn a_hundred_thousand_timers_fire_once_each_and_leave_nothing() {
    const COUNT: usize = 100_000;
    each_reactor(|mut reactor| {
        let handle = reactor.handle().clone();
        let (counter, waker) = CountingWaker::new();
        let mut sleeps: Vec<_> = (0..COUNT)
            .map(|number| {
                sleep(Duration::from_micros((number * 7919 % COUNT) as u64) + MILLISECOND)
            })
            .collect();
        let mut expected = 0;
        handle.enter(|| {
            for (number, sleep) in sleeps.iter_mut().enumerate() {
                // A deadline that has passed by the time of its first poll is over without a wake.
                if poll_once(sleep, &waker).is_ready() {
                    continue;
                }
                if number % 10 == 0 {
                    sleep.reset_after(Duration::from_secs(3600));
                } else {
                    expected += 1;
                }
            }
        });
        turn_until(&mut reactor, || counter.count() >= expected);
        assert_eq!(reactor.turn(Some(2 * MILLISECOND)).unwrap().timers, 0);
        assert_eq!(counter.count(), expected);
        drop(sleeps);
        assert!(reactor.next_deadline().is_none());
    });
}

#[test]
fn sleeps_work_under_any_executor() {
    let _limit = TimeLimit::of(LONG);
    let begin = Instant::now();
    block_on(join_all((0..100).map(|_| sleep(5 * MILLISECOND))));
    assert!(begin.elapsed() >= 5 * MILLISECOND);
    let threads: Vec<_> = (0..8)
        .map(|_| thread::spawn(|| block_on(async { sleep(2 * MILLISECOND).await })))
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert!(block_on(timeout(MILLISECOND, pending::<()>().boxed())).is_err());
}
