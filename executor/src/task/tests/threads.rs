//! Wakes, aborts and joins from other threads, many times over.

use std::sync::Condvar;
use std::sync::atomic::AtomicBool;
use std::thread;

use super::*;

/// How often each race is run.
const ROUNDS: usize = 5_000;

/// A scheduler whose tasks run on threads of their own.
#[derive(Default)]
struct Pool {
    toy: Arc<Toy>,
    /// Whether the threads shall end.
    over: Mutex<bool>,
    /// What they sleep on; goes with `over`.
    changed: Condvar,
}

impl Schedule for Arc<Pool> {
    fn schedule(&self, runnable: Runnable) {
        self.toy.schedule(runnable);
        drop(self.over.lock().unwrap());
        self.changed.notify_one();
    }

    fn release(&self, task: Listed<'_>) -> Option<Task> {
        self.toy.release(task)
    }
}

impl Pool {
    fn spawn<F>(self: &Arc<Self>, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        let parts = super::super::new(future, Arc::clone(self), Id::next(), Location::caller());
        let handle = self.toy.start(parts);
        drop(self.over.lock().unwrap());
        self.changed.notify_one();
        handle
    }

    /// Runs tasks until told to stop.
    fn work(&self) {
        loop {
            self.toy.run();
            let over = self.over.lock().unwrap();
            if *over {
                return;
            }
            let idle = self.toy.queue.lock().unwrap().is_empty();
            if idle {
                drop(self.changed.wait(over).unwrap());
            }
        }
    }

    /// Runs tasks on two threads while `test` runs on this one.
    fn run_while(test: impl FnOnce(&Arc<Self>)) {
        let pool = Arc::new(Self::default());
        let workers = [0, 1].map(|_| {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.work())
        });
        test(&pool);
        *pool.over.lock().unwrap() = true;
        pool.changed.notify_all();
        for worker in workers {
            worker.join().unwrap();
        }
        pool.toy.shut_down();
        pool.toy.queue.lock().unwrap().clear();
        assert_eq!(
            Arc::strong_count(&pool),
            1,
            "cells that were not freed, plus one"
        );
    }
}

#[test]
fn no_wake_is_lost_and_no_two_polls_overlap() {
    Pool::run_while(|pool| {
        let waker = Arc::new(Mutex::new(None::<Waker>));
        let sent = Arc::new(AtomicUsize::new(0));
        let busy = AtomicBool::new(false);
        let (seen, received) = (Arc::clone(&waker), Arc::clone(&sent));
        let handle = pool.spawn(std::future::poll_fn(move |context| {
            assert!(!busy.swap(true, SeqCst), "two polls at once");
            *seen.lock().unwrap() = Some(context.waker().clone());
            // Relaxed: the wake itself must carry the value.
            let all = received.load(std::sync::atomic::Ordering::Relaxed) == 2 * ROUNDS;
            busy.store(false, SeqCst);
            if all { Poll::Ready(()) } else { Poll::Pending }
        }));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        sent.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        let waker = waker.lock().unwrap().clone();
                        if let Some(waker) = waker {
                            waker.wake();
                        }
                    }
                });
            }
        });
        handle.wait().unwrap();
        waker.lock().unwrap().take();
    });
}

#[test]
fn abort_races_with_completion_and_the_handle() {
    Pool::run_while(|pool| {
        for round in 0..ROUNDS {
            let handle = pool.spawn(async move {
                crate::yield_now().await;
                vec![round]
            });
            let abort = handle.abort_handle();
            match round % 4 {
                0 => drop(handle),
                1 => abort.abort(),
                2 => {
                    abort.abort();
                    let result = handle.wait();
                    assert!(result.map_or_else(|error| error.is_cancelled(), |it| it == [round]));
                }
                _ => assert_eq!(handle.wait().unwrap(), [round]),
            }
        }
    });
}

#[test]
fn tasks_that_join_tasks_get_every_output() {
    Pool::run_while(|pool| {
        let inner = Arc::clone(pool);
        let handle = pool.spawn(async move {
            let mut sum = 0;
            for round in 0..ROUNDS {
                let child = inner.spawn(async move { Box::new(round) });
                sum += *child.await.unwrap();
            }
            sum
        });
        assert_eq!(handle.wait().unwrap(), ROUNDS * (ROUNDS - 1) / 2);
    });
}

#[test]
fn shutting_down_races_with_wakes() {
    for _ in 0..ROUNDS / 10 {
        let toy = Arc::new(Toy::default());
        let waker = Arc::new(Mutex::new(None::<Waker>));
        let seen = Arc::clone(&waker);
        let handle = toy.spawn(std::future::poll_fn(move |context| -> Poll<()> {
            *seen.lock().unwrap() = Some(context.waker().clone());
            Poll::Pending
        }));
        toy.run();
        let waker = waker.lock().unwrap().take().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| waker.wake_by_ref());
            toy.shut_down();
            // The future is dropped by now, wherever the runnable is.
            assert!(handle.is_finished());
        });
        toy.queue.lock().unwrap().clear();
        assert!(handle.wait().unwrap_err().is_cancelled());
        drop(waker);
        toy.assert_all_freed();
    }
}
