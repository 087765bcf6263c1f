//! Signals in runtimes: several of them, and one after the other.

#[path = "support/fork.rs"]
mod fork;
mod support;

use fork::{kill_self, raise};
use futures::StreamExt;
use std::sync::{Mutex, mpsc};
use std::thread;
use support::{limit, runtime};
use windlass_executor::{Runtime, block_on, spawn};
use windlass_reactor::signal::{Signal, SignalKind, ctrl_c, signal};
use windlass_reactor::time::timeout;

/// Signals are the process's: one test at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone<R>(body: impl FnOnce() -> R) -> R {
    let _alone = ONE_AT_A_TIME.lock();
    let _limit = limit();
    body()
}

#[test]
fn each_of_several_runtimes_hears_of_each_arrival() {
    alone(|| {
        let kind = SignalKind::USER_DEFINED_1;
        let (heard, hears) = mpsc::channel();
        let runtimes = [runtime(1), runtime(2), runtime(4)];
        thread::scope(|scope| {
            for runtime in &runtimes {
                let mut listening = signal(kind).unwrap();
                let heard = heard.clone();
                scope.spawn(move || {
                    runtime.block_on(async move {
                        for _ in 0..10 {
                            listening.recv().await.unwrap();
                            heard.send(()).unwrap();
                        }
                    });
                });
            }
            for _ in 0..10 {
                kill_self(kind.as_raw());
                // All have taken it in before the next one, with which it would count as one.
                (0..runtimes.len()).for_each(|_| hears.recv().unwrap());
            }
        });
        assert!(hears.try_recv().is_err());
    });
}

#[test]
fn a_signal_outlives_the_runtime_that_it_was_awaited_in() {
    alone(|| {
        let kind = SignalKind::USER_DEFINED_2;
        let first = runtime(2);
        let second = runtime(1);
        let mut listening = first.block_on(async { signal(kind) }).unwrap();
        let receive = |runtime: &Runtime, listening: &mut Signal| {
            runtime.block_on(async {
                let (received, ()) = futures::join!(listening.recv(), async {
                    kill_self(kind.as_raw());
                });
                received.unwrap();
            });
        };
        receive(&first, &mut listening);
        // While the first one is there, and afterwards.
        receive(&second, &mut listening);
        receive(&first, &mut listening);
        drop(first);
        receive(&second, &mut listening);
        drop(second);
        kill_self(kind.as_raw());
        assert!(block_on(listening.next()).unwrap().is_ok());
    });
}

#[test]
fn a_ctrl_c_counts_from_the_call_on() {
    alone(|| {
        block_on(async {
            let interrupt = ctrl_c();
            kill_self(libc::SIGINT);
            interrupt.await.unwrap();
            let task = spawn(ctrl_c());
            kill_self(libc::SIGINT);
            task.await.unwrap().unwrap();
        });
    });
}

#[test]
fn the_default_action_stays_replaced() {
    alone(|| {
        let kind = SignalKind::HANGUP;
        drop(signal(kind).unwrap());
        // Would end the process.
        raise(kind.as_raw());
        let mut listening = signal(kind).unwrap();
        block_on(async {
            let soon = std::time::Duration::from_millis(5);
            assert!(
                timeout(soon, listening.recv()).await.is_err(),
                "nobody listened"
            );
        });
    });
}
