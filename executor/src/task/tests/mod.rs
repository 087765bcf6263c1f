//! The cell under a toy scheduler, by behaviour.

mod combinations;
mod home;
mod join;
#[cfg(not(windlass_fresh_memory))]
mod memory;
mod threads;
mod wake;

use std::collections::VecDeque;
use std::future::Future;
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use super::{Id, JoinHandle, List, Listed, Runnable, Schedule, Task};

/// A scheduler that runs its tasks when told to, on the thread that tells.
#[derive(Default)]
struct Toy {
    /// What is ready.
    queue: Mutex<VecDeque<Runnable>>,
    /// What is alive.
    live: List,
    /// How often a task was scheduled.
    scheduled: AtomicUsize,
    /// How many tasks have been released.
    released: AtomicUsize,
}

impl Schedule for Arc<Toy> {
    fn schedule(&self, runnable: Runnable) {
        self.scheduled.fetch_add(1, SeqCst);
        self.queue.lock().unwrap().push_back(runnable);
    }

    fn release(&self, task: Listed<'_>) -> Option<Task> {
        self.released.fetch_add(1, SeqCst);
        self.live.remove(task)
    }
}

impl Toy {
    /// Spawns a task that may go to other threads.
    #[track_caller]
    fn spawn<F>(self: &Arc<Self>, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        self.start(super::new(
            future,
            Arc::clone(self),
            Id::next(),
            Location::caller(),
        ))
    }

    /// Spawns a task that must stay.
    #[track_caller]
    fn spawn_local<F: Future + 'static>(self: &Arc<Self>, future: F) -> JoinHandle<F::Output> {
        self.start(super::new_local(
            future,
            Arc::clone(self),
            Id::next(),
            Location::caller(),
        ))
    }

    /// Lists a task and queues its first poll.
    fn start<T>(&self, (task, runnable, handle): (Task, Runnable, JoinHandle<T>)) -> JoinHandle<T> {
        assert!(self.live.insert(0, task).is_ok(), "it was shut down");
        self.queue.lock().unwrap().push_back(runnable);
        handle
    }

    /// Takes what is at the front of the queue.
    fn next(&self) -> Option<Runnable> {
        self.queue.lock().unwrap().pop_front()
    }

    /// Runs what is ready, until nothing is.
    fn run(&self) {
        while let Some(runnable) = self.next() {
            if let Some(again) = runnable.run() {
                self.queue.lock().unwrap().push_back(again);
            }
        }
    }

    /// Ends all tasks that are alive.
    fn shut_down(&self) {
        self.live.close();
    }

    /// Checks that every cell was freed: only they hold the scheduler besides the caller.
    #[track_caller]
    fn assert_all_freed(self: &Arc<Self>) {
        assert_eq!(
            Arc::strong_count(self),
            1,
            "cells that were not freed, plus one"
        );
    }
}

/// A waker that counts.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Count {
    /// How often it was woken.
    fn so_far(&self) -> usize {
        self.0.load(SeqCst)
    }
}

/// Polls a handle once, with a waker that does nothing.
fn poll<T>(handle: &mut JoinHandle<T>) -> Poll<Result<T, super::JoinError>> {
    poll_with(handle, Waker::noop())
}

/// Polls a handle once.
fn poll_with<T>(handle: &mut JoinHandle<T>, waker: &Waker) -> Poll<Result<T, super::JoinError>> {
    std::pin::Pin::new(handle).poll(&mut Context::from_waker(waker))
}

/// Panics without printing anything.
fn panic_quietly() -> ! {
    std::panic::resume_unwind(Box::new("on purpose"))
}
