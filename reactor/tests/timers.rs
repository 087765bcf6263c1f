//! Sleeps, timeouts and intervals.

mod support;

use futures::executor::block_on;
use futures::future::{FutureExt, join_all};
use std::cell::Cell;
use std::future::{Future, pending, poll_fn, ready};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};
use support::{
    CountingWaker, LONG, TimeLimit, each_reactor, poll_once, run_on, shortest_wait, turn_until,
};
use windlass_reactor::Backend;
use windlass_reactor::time::{
    MissedTicks, interval, interval_at, sleep, sleep_until, timeout, timeout_at,
};

const MILLISECOND: Duration = Duration::from_millis(1);

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

// The first poll goes by the clock as it was when the sleep was made.
#[test]
fn what_was_due_before_its_first_poll_is_over_with_the_next_turn() {
    each_reactor(|mut reactor| {
        let (counter, waker) = CountingWaker::new();
        let mut late = sleep(MILLISECOND);
        thread::sleep(2 * MILLISECOND);
        let handle = reactor.handle().clone();
        if handle.enter(|| poll_once(&mut late, &waker)).is_pending() {
            let turn = reactor.turn(Some(Duration::ZERO)).unwrap();
            assert_eq!((turn.timers, counter.count()), (1, 1));
            assert!(poll_once(&mut late, &waker).is_ready());
        }
    });
}

// Without a look at the slack of the thread, a wait ends that much later.
#[cfg(target_os = "linux")]
#[test]
fn a_sleep_is_not_late_by_the_slack_of_the_thread() {
    let slack = std::fs::read_to_string("/proc/self/timerslack_ns").unwrap();
    let slack = Duration::from_nanos(slack.trim().parse().unwrap());
    each_reactor(|mut reactor| {
        let backend = reactor.handle().backend();
        if !matches!(backend, Backend::Epoll | Backend::Poll) {
            return println!("skipped: it is not of this kernel");
        }
        let mut lateness = || {
            let begin = Instant::now();
            run_on(&mut reactor, sleep(MILLISECOND));
            begin.elapsed() - MILLISECOND
        };
        // Even the best of them would be.
        let is_in_time = (0..2_000).any(|_| lateness() < slack);
        assert!(is_in_time, "{backend}: all are late by more than {slack:?}");
    });
}

#[test]
fn no_sleep_is_early_wherever_it_was_moved() {
    each_reactor(|mut reactor| {
        let random = Cell::new(1_u64);
        let below = |limit: u64| {
            random.set(random.get().wrapping_mul(6_364_136_223_846_793_005) + 1);
            (random.get() >> 33) % limit
        };
        let sleeps = (0..200).map(|_| {
            let resets: Vec<_> = (0..below(4))
                .map(|_| Duration::from_micros(below(20_000)))
                .collect();
            let first = Duration::from_micros(below(20_000));
            async move {
                let mut sleep = pin!(sleep(first));
                let mut resets = resets.into_iter();
                let mut end = Instant::now();
                poll_fn(|context| {
                    let polled = sleep.as_mut().poll(context);
                    assert!(polled.is_pending() || Instant::now() >= end, "too early");
                    // Moved before it is over, as it is over, and after.
                    if let Some(reset) = resets.next() {
                        end = Instant::now() + reset;
                        sleep.reset(end);
                        context.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    polled
                })
                .await;
            }
        });
        run_on(&mut reactor, join_all(sleeps));
        assert!(reactor.next_deadline().is_none());
    });
}

// A timer that is moved to later keeps its place for a while: it must neither fire there nor hide
// what is due between.
#[test]
fn timers_that_were_moved_fire_at_their_new_deadlines() {
    const COUNT: usize = 300;
    each_reactor(|mut reactor| {
        let handle = reactor.handle().clone();
        let begin = Instant::now();
        let at = |number: usize| begin + Duration::from_micros(200) * number as u32;
        let (counter, waker) = CountingWaker::new();
        let mut sleeps: Vec<_> = (0..COUNT)
            .map(|number| sleep_until(at(number) + LONG))
            .collect();
        handle.enter(|| {
            for sleep in &mut sleeps {
                assert!(poll_once(sleep, &waker).is_pending());
            }
        });
        // Later, earlier, and the two of them mixed.
        for (number, sleep) in sleeps.iter_mut().enumerate() {
            sleep.reset(at(number) + 2 * LONG);
        }
        for (number, sleep) in sleeps.iter_mut().enumerate() {
            sleep.reset(at(COUNT - number));
        }
        for sleep in sleeps.iter_mut().step_by(3) {
            sleep.reset(at(COUNT + 1));
        }
        while counter.count() < COUNT {
            reactor.turn(None).unwrap();
            let elapsed = begin.elapsed().as_micros() as usize;
            assert!(counter.count() <= elapsed / 200 + 1, "some are early");
        }
        assert!(begin.elapsed() >= Duration::from_micros(200) * (COUNT as u32 + 1));
        assert!(reactor.next_deadline().is_none());
    });
}

#[test]
fn threads_may_set_move_and_drop_timers_while_they_fire() {
    const ROUNDS: u32 = 2_000;
    each_reactor(|mut reactor| {
        let handle = reactor.handle().clone();
        let (done, wait) = (AtomicUsize::new(0), Duration::from_micros(50));
        let (handle, done) = (&handle, &done);
        let work = |thread: u32| {
            let (counter, waker) = CountingWaker::new();
            for round in 0..ROUNDS {
                let mut timer = sleep(wait * (round % 3));
                let is_over = handle.enter(|| poll_once(&mut timer, &waker)).is_ready();
                match (round + thread) % 4 {
                    0 => timer.reset_after(wait),
                    1 => timer.reset_after(LONG),
                    // Left to another thread to be dropped, or to fire.
                    2 => thread::scope(|scope| {
                        scope.spawn(move || drop(timer)).join().unwrap();
                    }),
                    _ if is_over => {}
                    _ => {
                        let before = counter.count();
                        timer.reset_after(wait);
                        support::look_until(|| counter.count() > before || round % 64 > 0);
                    }
                }
            }
            done.fetch_add(1, Ordering::SeqCst);
            handle.notify().unwrap();
        };
        thread::scope(|scope| {
            for number in 0..3 {
                scope.spawn(move || work(number));
            }
            while done.load(Ordering::SeqCst) < 3 {
                reactor.turn(None).unwrap();
            }
        });
        assert!(reactor.next_deadline().is_none());
    });
}

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

// Also when the reactor is not turned, because the future is always busy.
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
fn a_million_timers_are_no_burden() {
    const COUNT: usize = 1_000_000;
    let _limit = TimeLimit::of(Duration::from_secs(120));
    let mut reactor = windlass_reactor::Reactor::new().unwrap();
    let handle = reactor.handle().clone();
    let (counter, waker) = CountingWaker::new();
    let hour = Duration::from_secs(3600);
    let of_new_ones = |count: usize| {
        let begin = Instant::now();
        handle.enter(|| {
            for _ in 0..count {
                assert!(poll_once(&mut sleep(MILLISECOND), &waker).is_pending());
            }
        });
        begin.elapsed()
    };
    let alone = of_new_ones(COUNT / 50);
    let mut sleeps: Vec<_> = (0..COUNT)
        .map(|number| sleep(hour + Duration::from_micros((number * 7919 % COUNT) as u64)))
        .collect();
    handle.enter(|| {
        for sleep in &mut sleeps {
            assert!(poll_once(sleep, &waker).is_pending());
        }
    });
    // Each is earlier than all the others.
    let among_others = of_new_ones(COUNT / 50);
    let most = 4 * alone + Duration::from_millis(100);
    assert!(among_others < most, "{among_others:?} instead of {alone:?}");
    for sleep in &mut sleeps {
        sleep.reset_after(2 * hour);
    }
    for sleep in sleeps.iter_mut().rev().take(COUNT / 10) {
        sleep.reset_after(MILLISECOND);
    }
    turn_until(&mut reactor, || counter.count() == COUNT / 10);
    drop(sleeps);
    assert!(reactor.next_deadline().is_none());
    assert_eq!(counter.count(), COUNT / 10);
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
