//! The protocol of the cell under every interleaving.
//!
//! `RUSTFLAGS="--cfg windlass_loom" cargo test -p windlass-executor --lib loom --release \
//! --target-dir target/loom`
//!
//! loom itself fails a model in which a part of a cell is touched by two threads without order
//! between them, or in which an `Arc` of its own is left over: every cell holds one, so also one in
//! which a cell is not freed.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Wake, Waker};

use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use loom::sync::{Arc, Mutex};
use loom::thread;

use super::{Id, JoinError, JoinHandle, Listed, Runnable, Schedule, Task};

/// A scheduler of one task.
#[derive(Default)]
struct Toy {
    /// What is ready.
    queue: Mutex<VecDeque<Runnable>>,
    /// The task, if it is alive.
    live: Mutex<Option<Task>>,
}

impl Schedule for Arc<Toy> {
    fn schedule(&self, runnable: Runnable) {
        self.queue.lock().unwrap().push_back(runnable);
    }

    fn release(&self, _: Listed<'_>) -> Option<Task> {
        self.live.lock().unwrap().take()
    }
}

impl Toy {
    /// Runs what is ready, until nothing is.
    fn run(&self) {
        loop {
            let next = self.queue.lock().unwrap().pop_front();
            let Some(runnable) = next else { return };
            run(runnable);
        }
    }

    /// Ends the task if it is alive.
    fn shut_down(&self) {
        let task = self.live.lock().unwrap().take();
        drop(task);
    }
}

/// Spawns the task, and gives its first runnable to the caller.
fn spawn<F>(toy: &Arc<Toy>, future: F) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    let (task, runnable, handle) =
        super::new(future, Arc::clone(toy), Id::next(), Location::caller());
    *toy.live.lock().unwrap() = Some(task);
    (runnable, handle)
}

/// Runs a task for as long as it yields.
fn run(runnable: Runnable) {
    let mut next = Some(runnable);
    while let Some(runnable) = next {
        next = runnable.run();
    }
}

/// Explores `model`, with at most `preemptions` at places where a thread could go on.
fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// What a task and its wakers share: the waker, and what waking announces.
#[derive(Default)]
struct Mailbox {
    waker: Mutex<Option<Waker>>,
    letters: AtomicUsize,
}

impl Mailbox {
    /// Takes the waker out, so that no cycle is left.
    fn take_waker(&self) -> Waker {
        self.waker.lock().unwrap().take().unwrap()
    }

    /// Drops a letter in. Only the wake that must follow makes it seen for certain.
    fn post(&self) {
        self.letters.fetch_add(1, Relaxed);
    }
}

/// Makes the future that waits for so many letters.
fn wait_for(mailbox: &Arc<Mailbox>, letters: usize) -> impl Future<Output = ()> + Send + use<> {
    let mailbox = Arc::clone(mailbox);
    poll_fn(move |context| {
        let first = mailbox.waker.lock().unwrap().is_none();
        if first {
            *mailbox.waker.lock().unwrap() = Some(context.waker().clone());
        }
        if mailbox.letters.load(Relaxed) == letters {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
}

/// Sets up a task that waits for letters and has been polled once.
fn waiting_task(letters: usize) -> (Arc<Toy>, Arc<Mailbox>, Waker, JoinHandle<()>) {
    let toy = Arc::new(Toy::default());
    let mailbox = Arc::new(Mailbox::default());
    let (runnable, handle) = spawn(&toy, wait_for(&mailbox, letters));
    assert!(runnable.run().is_none());
    let waker = mailbox.waker.lock().unwrap().clone().unwrap();
    (toy, mailbox, waker, handle)
}

#[test]
fn a_wake_of_a_task_that_is_idle_queued_running_or_over() {
    for queued in [false, true] {
        explore(4, move || {
            let (toy, mailbox, waker, handle) = waiting_task(1);
            if queued {
                waker.wake_by_ref();
            }
            let other = {
                let mailbox = Arc::clone(&mailbox);
                thread::spawn(move || {
                    mailbox.post();
                    waker.wake();
                })
            };
            toy.run();
            other.join().unwrap();
            toy.run();
            assert!(handle.is_finished());
            drop(mailbox.take_waker());
        });
    }
}

#[test]
fn two_wakers_and_two_runners() {
    explore(2, || {
        let (toy, mailbox, waker, handle) = waiting_task(2);
        let others = [0, 1].map(|_| {
            let (toy, mailbox, waker) = (Arc::clone(&toy), Arc::clone(&mailbox), waker.clone());
            thread::spawn(move || {
                mailbox.post();
                waker.wake();
                toy.run();
            })
        });
        drop(waker);
        toy.run();
        for other in others {
            other.join().unwrap();
        }
        toy.run();
        assert!(handle.is_finished());
        drop(mailbox.take_waker());
    });
}

/// A value whose destructor counts, on a cell that only one thread may touch at a time.
struct Counted(Arc<AtomicUsize>, loom::cell::UnsafeCell<()>);

impl Counted {
    fn new(drops: &Arc<AtomicUsize>) -> Self {
        Self(Arc::clone(drops), loom::cell::UnsafeCell::new(()))
    }

    /// Touches the value.
    fn touch(&self) {
        self.1.with_mut(|_| ());
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.touch();
        self.0.fetch_add(1, Relaxed);
    }
}

// SAFETY: loom checks that the cell is not touched by two threads at once; nothing is in it.
unsafe impl Send for Counted {}

/// A future that yields once and then gives its value.
fn yield_then(value: Counted) -> impl Future<Output = Counted> + Send {
    let mut value = Some(value);
    let mut polled = false;
    poll_fn(move |context| {
        value.as_ref().unwrap().touch();
        if std::mem::replace(&mut polled, true) {
            return Poll::Ready(value.take().unwrap());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

/// A future that waits for ever, holding a value.
fn hold(value: Counted) -> impl Future<Output = ()> + Send {
    poll_fn(move |_| {
        value.touch();
        Poll::Pending
    })
}

#[test]
fn abort_and_run_and_drop_of_the_handle() {
    explore(3, || {
        let toy = Arc::new(Toy::default());
        let drops = Arc::new(AtomicUsize::new(0));
        let (runnable, handle) = spawn(&toy, yield_then(Counted::new(&drops)));
        let abort = handle.abort_handle();
        let aborter = thread::spawn(move || abort.abort());
        let runner = thread::spawn(move || run(runnable));
        drop(handle);
        aborter.join().unwrap();
        runner.join().unwrap();
        toy.run();
        assert_eq!(drops.load(Relaxed), 1);
    });
}

#[test]
fn an_abort_around_a_poll_needs_no_wake() {
    explore(4, || {
        let toy = Arc::new(Toy::default());
        let drops = Arc::new(AtomicUsize::new(0));
        let (runnable, handle) = spawn(&toy, hold(Counted::new(&drops)));
        let aborter = thread::spawn(move || handle.abort());
        run(runnable);
        aborter.join().unwrap();
        toy.run();
        assert_eq!(drops.load(Relaxed), 1);
    });
}

#[test]
fn two_aborts_of_an_idle_task() {
    explore(3, || {
        let toy = Arc::new(Toy::default());
        let drops = Arc::new(AtomicUsize::new(0));
        let (runnable, handle) = spawn(&toy, hold(Counted::new(&drops)));
        run(runnable);
        let abort = handle.abort_handle();
        let runner = {
            let toy = Arc::clone(&toy);
            thread::spawn(move || toy.run())
        };
        let aborter = thread::spawn(move || abort.abort());
        handle.abort();
        aborter.join().unwrap();
        runner.join().unwrap();
        toy.run();
        assert_eq!(drops.load(Relaxed), 1);
        assert!(handle.is_finished());
    });
}

/// A waker that counts.
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// Makes a waker that counts.
fn counting_waker() -> (std::sync::Arc<Count>, Waker) {
    let count = std::sync::Arc::new(Count(AtomicUsize::new(0)));
    (std::sync::Arc::clone(&count), count.into())
}

/// Polls a handle once.
fn poll<T>(handle: &mut JoinHandle<T>, waker: &Waker) -> Poll<Result<T, JoinError>> {
    Pin::new(handle).poll(&mut Context::from_waker(waker))
}

#[test]
fn a_join_and_the_completion() {
    // One poll leaves a waker, the second replaces it, and the third finds it to be the same.
    for polls in 1..=3 {
        explore(4, move || join_by(polls));
    }
}

/// Joins a task while it runs, by so many polls before it is over.
fn join_by(polls: usize) {
    let toy = Arc::new(Toy::default());
    let drops = Arc::new(AtomicUsize::new(0));
    let (runnable, mut handle) = spawn(&toy, yield_then(Counted::new(&drops)));
    let runner = thread::spawn(move || run(runnable));
    let ((former, first), (count, second)) = (counting_waker(), counting_waker());
    let wakers = [&first, &second, &second];
    let mut result = Poll::Pending;
    for waker in &wakers[..polls] {
        if result.is_pending() {
            result = poll(&mut handle, waker);
        }
    }
    runner.join().unwrap();
    if result.is_pending() {
        // The waker of the last poll, and only that, was woken.
        let woken = [&former, &count].map(|count| count.0.load(Relaxed));
        assert_eq!(woken, if polls == 1 { [1, 0] } else { [0, 1] });
        result = poll(&mut handle, &second);
    }
    let Poll::Ready(Ok(output)) = result else {
        panic!("no output")
    };
    output.touch();
    assert_eq!(drops.load(Relaxed), 0);
    // The task has kept no waker, though the handle still keeps the task.
    drop((first, second));
    assert!(
        [former, count]
            .iter()
            .all(|count| std::sync::Arc::strong_count(count) == 1)
    );
    drop(handle);
}

#[test]
fn a_join_that_is_given_up_and_the_completion() {
    for registered in [false, true] {
        explore(4, move || {
            let toy = Arc::new(Toy::default());
            let drops = Arc::new(AtomicUsize::new(0));
            let (runnable, mut handle) = spawn(&toy, yield_then(Counted::new(&drops)));
            let (count, waker) = counting_waker();
            let runner = thread::spawn(move || run(runnable));
            if registered {
                drop(poll(&mut handle, &waker));
            }
            drop(handle);
            runner.join().unwrap();
            assert_eq!(drops.load(Relaxed), 1);
            drop(waker);
            // Whoever had the task's copy of the waker has dropped it.
            assert_eq!(std::sync::Arc::strong_count(&count), 1);
        });
    }
}

#[test]
fn a_lost_runnable_and_abort_and_shutdown() {
    explore(3, || {
        let toy = Arc::new(Toy::default());
        let drops = Arc::new(AtomicUsize::new(0));
        let (runnable, handle) = spawn(&toy, hold(Counted::new(&drops)));
        let loser = thread::spawn(move || drop(runnable));
        let aborter = thread::spawn(move || handle.abort());
        toy.shut_down();
        // The future is dropped by now, whatever became of the runnable.
        assert_eq!(drops.load(Relaxed), 1);
        loser.join().unwrap();
        aborter.join().unwrap();
        assert!(toy.queue.lock().unwrap().is_empty());
    });
}

#[test]
fn shutdown_and_wake_and_run() {
    explore(3, || {
        let (toy, mailbox, waker, handle) = waiting_task(1);
        let other = {
            let (toy, mailbox) = (Arc::clone(&toy), Arc::clone(&mailbox));
            thread::spawn(move || {
                mailbox.post();
                waker.wake();
                toy.run();
            })
        };
        toy.shut_down();
        other.join().unwrap();
        assert!(handle.is_finished());
        drop(mailbox.take_waker());
    });
}

#[test]
fn the_last_reference() {
    explore(4, || {
        let toy = Arc::new(Toy::default());
        let mailbox = Arc::new(Mailbox::default());
        let (runnable, handle) = spawn(&toy, wait_for(&mailbox, 0));
        let runner = thread::spawn(move || run(runnable));
        let abort = handle.abort_handle();
        let other = thread::spawn(move || drop(abort));
        drop(handle);
        runner.join().unwrap();
        let waker = mailbox.take_waker();
        let last = thread::spawn(move || drop(waker));
        last.join().unwrap();
        other.join().unwrap();
    });
}
