//! I1: what a forked child can do, and that the parent does not notice.
//!
//! Each test runs in a process of its own, on epoll and on poll.

#[path = "support/fork.rs"]
mod fork;
mod support;

use fork::{in_child, kill_self};
use futures::future::join;
use std::future::poll_fn;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;
use support::{LIMIT, child, limit};
use windlass_executor::{Runtime, block_on, spawn, spawn_blocking, spawn_local, try_spawn};
use windlass_reactor::signal::{Signal, SignalKind};
use windlass_reactor::time::{sleep, timeout};
use windlass_reactor::{Async, Reactor};

/// Runs `body` in a process of its own, on each back end that lasts beyond a fork.
#[track_caller]
fn on_each_back_end(test: &str, body: impl Fn()) {
    for back_end in ["epoll", "poll"] {
        child::alone_with(test, &[("WINDLASS_BACKEND", back_end)], || {
            let _limit = limit();
            body();
        });
    }
}

/// A socket, and the plain other end of it.
fn pair() -> (Async<UnixStream>, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    (Async::new(ours).unwrap(), theirs)
}

/// Waits for a byte that is sent after the wait has begun.
async fn receive(ours: &Async<UnixStream>, mut theirs: &UnixStream, byte: u8) {
    let mut space = [0];
    let reading = timeout(LIMIT / 2, ours.read_with(|mut end| end.read(&mut space)));
    let writing = async { assert_eq!(theirs.write(&[byte]).unwrap(), 1) };
    let (read, ()) = join(reading, writing).await;
    assert_eq!(read.expect("the event gets lost").unwrap(), 1);
    assert_eq!(space, [byte]);
}

/// What any process can do.
async fn live(ours: &Async<UnixStream>, theirs: &UnixStream) {
    sleep(Duration::from_millis(1)).await;
    receive(ours, theirs, b'1').await;
    assert_eq!(spawn(async { 5 }).await.unwrap(), 5);
    assert_eq!(spawn_local(async { 6 }).await.unwrap(), 6);
    assert_eq!(spawn_blocking(|| 7).await.unwrap(), 7);
    receive(ours, theirs, b'2').await;
}

/// Returns the text of the panic of `body`.
#[track_caller]
fn panic_of<R>(body: impl FnOnce() -> R) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(body)) else {
        panic!("it does not panic");
    };
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast::<&str>().unwrap()).to_owned(),
    }
}

#[test]
fn the_free_block_on_has_a_fresh_runtime() {
    on_each_back_end("the_free_block_on_has_a_fresh_runtime", || {
        let (ours, theirs) = pair();
        block_on(live(&ours, &theirs));
        let ours = std::cell::RefCell::new(Some(ours));
        in_child(|| {
            // Registered by the parent; then taken out and closed.
            let ours = ours.take().unwrap();
            block_on(live(&ours, &theirs));
            drop(ours);
            let (ours, theirs) = pair();
            block_on(live(&ours, &theirs));
            // A child of the child.
            in_child(|| block_on(live(&ours, &theirs)));
            block_on(live(&ours, &theirs));
        });
        let ours = ours.take().unwrap();
        block_on(live(&ours, &theirs));
        in_child(|| drop(ours));
    });
}

#[test]
fn sockets_that_are_closed_in_the_child_stay_with_the_parent() {
    on_each_back_end(
        "sockets_that_are_closed_in_the_child_stay_with_the_parent",
        || {
            let (ours, theirs) = pair();
            block_on(live(&ours, &theirs));
            let mut ours = Some(ours);
            in_child(|| drop(ours.take()));
            block_on(receive(ours.as_ref().unwrap(), &theirs, b'3'));
        },
    );
}

#[test]
fn a_runtime_says_that_it_is_the_parents() {
    on_each_back_end("a_runtime_says_that_it_is_the_parents", || {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let (ours, mut theirs) = pair();
        let echo = runtime.spawn(async move {
            loop {
                let mut space = [0];
                ours.read_with(|mut end| end.read(&mut space))
                    .await
                    .unwrap();
                ours.write_with(|mut end| end.write(&space)).await.unwrap();
            }
        });
        let mut say = |byte| {
            theirs.write_all(&[byte]).unwrap();
            let mut space = [0];
            theirs.read_exact(&mut space).unwrap();
            assert_eq!(space, [byte]);
        };
        say(b'a');
        let mut runtime = Some(runtime);
        in_child(|| {
            let inherited = runtime.take().unwrap();
            let texts = [
                panic_of(|| inherited.block_on(async {})),
                panic_of(|| inherited.spawn(async {})),
                panic_of(|| inherited.handle().spawn_blocking(|| ())),
            ];
            for text in texts {
                assert!(
                    text.contains("before fork()") && text.contains("new one"),
                    "{text}"
                );
            }
            // Wakes the task of the parent here, where nobody runs it.
            echo.abort();
            drop(inherited);
            let (ours, theirs) = pair();
            let own = Runtime::builder().workers(2).build().unwrap();
            own.block_on(live(&ours, &theirs));
            drop(own);
        });
        say(b'b');
        assert!(!echo.is_finished());
        drop(runtime);
        assert!(echo.wait().unwrap_err().is_cancelled());
    });
}

#[test]
fn inside_of_a_task_only_what_is_new_works() {
    on_each_back_end("inside_of_a_task_only_what_is_new_works", || {
        block_on(async {
            let (ours, theirs) = pair();
            live(&ours, &theirs).await;
            in_child(|| {
                assert!(
                    try_spawn(async {})
                        .unwrap_err()
                        .to_string()
                        .contains("before fork()")
                );
                assert!(panic_of(|| spawn(async {})).contains("before fork()"));
                assert!(panic_of(|| spawn_local(async {})).contains("before fork()"));
                block_on(live(&ours, &theirs));
            });
            live(&ours, &theirs).await;
        });
    });
}

#[test]
fn a_loop_that_goes_on_in_the_child_ends_with_a_clear_panic() {
    on_each_back_end(
        "a_loop_that_goes_on_in_the_child_ends_with_a_clear_panic",
        || {
            in_child(|| {
                let text = panic_of(|| {
                    block_on(async {
                        in_child_that_returns();
                        sleep(Duration::from_millis(1)).await;
                    });
                });
                if IS_CHILD.load(Ordering::SeqCst) {
                    assert!(text.contains("before fork()"), "{text}");
                }
            });
        },
    );
}

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Becomes a child; the parent panics.
#[allow(unsafe_code, reason = "fork is unsafe where there are threads")]
fn in_child_that_returns() {
    // SAFETY: there is no other thread.
    let child = unsafe { libc::fork() };
    assert_ne!(child, -1);
    if child == 0 {
        IS_CHILD.store(true, Ordering::SeqCst);
        return;
    }
    let mut status = 0;
    // SAFETY: the call writes to the space for one status.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(status, 0);
    panic!("the parent is done");
}

#[test]
fn the_fallback_is_started_anew() {
    on_each_back_end("the_fallback_is_started_anew", || {
        use futures::executor::block_on;
        let (ours, theirs) = pair();
        let exercise = || {
            block_on(async {
                sleep(Duration::from_millis(1)).await;
                receive(&ours, &theirs, b'x').await;
            });
        };
        exercise();
        in_child(|| {
            exercise();
            in_child(exercise);
            exercise();
        });
        exercise();
    });
}

#[test]
fn a_sleep_goes_on_in_both() {
    on_each_back_end("a_sleep_goes_on_in_both", || {
        let mut sleep = sleep(Duration::from_millis(20));
        block_on(async {
            assert!(futures::poll!(&mut sleep).is_pending());
        });
        let mut sleep = Some(sleep);
        in_child(|| block_on(sleep.take().unwrap()));
        block_on(sleep.take().unwrap());
    });
}

#[test]
fn a_reactor_of_the_parent_is_refused() {
    on_each_back_end("a_reactor_of_the_parent_is_refused", || {
        let mut reactor = Reactor::new().unwrap();
        in_child(|| {
            let error = reactor.turn(Some(Duration::ZERO)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains("before fork()"));
            assert!(reactor.handle().try_turn().is_err());
            reactor.handle().notify().unwrap();
        });
        let turn = reactor.turn(Some(Duration::from_millis(1))).unwrap();
        assert!(!turn.notified, "the child has reached its parent");
    });
}

/// What is dropped in the child could be seen by the parent, as the shutdown of a connection.
#[test]
fn tasks_of_the_parent_are_not_dropped_when_the_child_ends() {
    struct NeverInChild;
    impl Drop for NeverInChild {
        fn drop(&mut self) {
            assert!(!IS_CHILD.load(Ordering::SeqCst), "dropped in the child");
        }
    }
    on_each_back_end(
        "tasks_of_the_parent_are_not_dropped_when_the_child_ends",
        || {
            let held = (NeverInChild, NeverInChild);
            block_on(async {
                spawn(async move {
                    let _held = held.0;
                    std::future::pending::<()>().await;
                });
                spawn_local(async move {
                    let _held = held.1;
                    std::future::pending::<()>().await;
                });
            });
            in_child(|| {
                IS_CHILD.store(true, Ordering::SeqCst);
                // Ends with the destructors of this thread's locals.
                std::process::exit(0);
            });
        },
    );
}

#[test]
fn signals_come_to_the_process_that_they_were_sent_to() {
    on_each_back_end("signals_come_to_the_process_that_they_were_sent_to", || {
        let kind = SignalKind::USER_DEFINED_1;
        let mut signal = Signal::new(kind).unwrap();
        let mut waiting = Signal::new(kind).unwrap();
        block_on(async { assert!(is_pending(&mut waiting).await) });
        kill_self(kind.as_raw());
        block_on(waiting.recv()).unwrap();
        in_child(|| {
            kill_self(kind.as_raw());
            block_on(async {
                assert!(is_pending(&mut signal).await, "that one was the parent's");
                assert!(is_pending(&mut waiting).await);
                kill_self(kind.as_raw());
                signal.recv().await.unwrap();
                waiting.recv().await.unwrap();
            });
        });
        block_on(async {
            assert!(is_pending(&mut waiting).await, "that was the child's");
            signal.recv().await.expect("the one from before the fork");
            assert!(is_pending(&mut signal).await);
            kill_self(kind.as_raw());
            signal.recv().await.unwrap();
            waiting.recv().await.unwrap();
        });
    });
}

async fn is_pending(signal: &mut Signal) -> bool {
    poll_fn(|context| Poll::Ready(signal.poll_recv(context).is_pending())).await
}
