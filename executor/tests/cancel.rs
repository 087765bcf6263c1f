//! Cancellation tokens: whom they reach, and what waits for them.

mod support;

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Wake, Waker};
use std::thread;
use support::{each_runtime, limit, panicking_waker, tells_drop};
use windlass_executor::{CancellationToken, block_on, spawn, yield_now};

const DEEP: usize = 100_000;

/// Makes a line of tokens, the eldest first.
fn line() -> Vec<CancellationToken> {
    let mut line = vec![CancellationToken::new()];
    for _ in 0..DEEP {
        line.push(line[line.len() - 1].child_token());
    }
    line
}

#[test]
fn a_deep_line_is_cancelled_from_the_top_and_dropped_from_either_end() {
    let _limit = limit();
    let cancelled = line();
    cancelled[0].cancel();
    assert!(cancelled.iter().all(CancellationToken::is_cancelled));
    let from_the_top = line();
    let last = from_the_top[DEEP].clone();
    drop(from_the_top);
    drop(last);
    let mut from_the_bottom = line();
    while from_the_bottom.pop().is_some() {}
}

#[test]
fn a_cancellation_reaches_the_descendants_of_who_is_gone() {
    let root = CancellationToken::new();
    let middle = root.child_token();
    let children: Vec<_> = (0..3).map(|_| middle.child_token()).collect();
    drop(middle);
    assert!(!children[0].is_cancelled());
    root.cancel();
    assert!(children.iter().all(CancellationToken::is_cancelled));
}

#[test]
fn all_who_wait_are_woken() {
    each_runtime(|runtime| {
        let token = CancellationToken::new();
        let child = token.child_token();
        let tasks: Vec<_> = (0..100)
            .map(|number| {
                let token = if number % 2 == 0 { &token } else { &child };
                runtime.spawn(token.clone().cancelled_owned())
            })
            .collect();
        thread::spawn(move || token.cancel());
        runtime.block_on(async {
            child.cancelled().await;
            for task in tasks {
                task.await.unwrap();
            }
        });
    });
}

#[test]
fn what_runs_until_then_is_dropped_or_done() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            let token = CancellationToken::new();
            assert_eq!(token.run_until_cancelled(async { 5 }).await, Some(5));
            let (tell, dropped) = tells_drop();
            let own = token.clone();
            let task = spawn(async move {
                let waits = async move {
                    let _tell = tell;
                    pending::<()>().await;
                };
                own.run_until_cancelled(waits).await
            });
            yield_now().await;
            token.cancel();
            assert_eq!(task.await.unwrap(), None);
            assert!(dropped.has_happened());
            let never_polled = async { panic!("it is too late") };
            assert!(token.run_until_cancelled(never_polled).await.is_none());
        });
    });
}

#[test]
fn a_guard_cancels_also_in_a_panic() {
    let _limit = limit();
    block_on(async {
        let token = CancellationToken::new();
        let guard = token.clone().drop_guard();
        let task = spawn(async move {
            let _guard = guard;
            support::panic_quietly();
        });
        token.cancelled().await;
        assert!(task.await.unwrap_err().is_panic());
    });
}

/// Comes back to the token whenever its code is run.
struct ComesBack {
    token: CancellationToken,
    woken: Arc<AtomicUsize>,
}

impl Wake for ComesBack {
    fn wake(self: Arc<Self>) {
        self.token.cancel();
        let mut waits = pin!(self.token.child_token().cancelled_owned());
        let mut context = Context::from_waker(Waker::noop());
        assert!(waits.as_mut().poll(&mut context).is_ready());
        self.woken.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_waker_may_use_the_token() {
    let _limit = limit();
    let (token, woken) = (CancellationToken::new(), Arc::new(AtomicUsize::new(0)));
    let waker = Waker::from(Arc::new(ComesBack {
        token: token.clone(),
        woken: woken.clone(),
    }));
    let mut waits = Box::pin(token.clone().cancelled_owned());
    let mut context = Context::from_waker(&waker);
    assert!(waits.as_mut().poll(&mut context).is_pending());
    token.cancel();
    assert_eq!(woken.load(Ordering::Relaxed), 1);
    assert!(waits.as_mut().poll(&mut context).is_ready());
}

#[test]
fn a_waker_that_panics_stops_nothing() {
    let _limit = limit();
    let (token, woken) = (CancellationToken::new(), Arc::new(AtomicUsize::new(0)));
    let child = token.child_token();
    let tokens = [&token, &token, &token, &child, &child, &child];
    let mut waits: Vec<_> = tokens
        .iter()
        .map(|token| Box::pin(token.cancelled()))
        .collect();
    for (number, wait) in waits.iter_mut().enumerate() {
        let waker = if number % 3 == 1 {
            Waker::from(Arc::new(ComesBack {
                token: CancellationToken::new(),
                woken: woken.clone(),
            }))
        } else {
            panicking_waker()
        };
        assert!(
            wait.as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
    }
    token.cancel();
    assert_eq!(woken.load(Ordering::Relaxed), 2);
}

/// Two threads cancel while others make children and wait: nobody waits for ever, and whoever has
/// cancelled sees that all is cancelled.
#[test]
fn threads_that_cancel_at_once_agree() {
    let _limit = limit();
    for _ in 0..300 {
        let root = CancellationToken::new();
        let child = root.child_token();
        let start = Barrier::new(4);
        thread::scope(|scope| {
            for cancels in [&root, &child] {
                scope.spawn(|| {
                    start.wait();
                    cancels.cancel();
                    assert!(cancels.is_cancelled() && child.is_cancelled());
                    assert!(cancels.child_token().is_cancelled());
                });
            }
            for waits_for in [&root, &child] {
                scope.spawn(|| {
                    start.wait();
                    block_on(waits_for.child_token().cancelled());
                });
            }
        });
    }
}
