//! Locks that threads may sleep on for long, also while another one forks.
//!
//! `parking_lot` keeps who sleeps in one table for the process, by pointers into their stacks. A
//! forked child has the table and not the threads, and its own threads take over their stacks: then
//! the table is wrong, and whoever sleeps on something that falls in the same place of it crashes.
//! The standard library keeps such things in the lock itself, if at all. So whoever sleeps for longer
//! than a lock is held does it here; the surface is that of `parking_lot`.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{self, PoisonError};
use std::time::{Duration, Instant};

/// A lock that can't be poisoned.
#[derive(Debug, Default)]
pub struct Mutex<T>(sync::Mutex<T>);

/// The right to use what a [`Mutex`] guards.
pub struct MutexGuard<'a, T>(Option<sync::MutexGuard<'a, T>>);

/// Has threads sleep until another one signals.
#[derive(Debug, Default)]
pub struct Condvar(sync::Condvar);

/// Says why a wait has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl<T> Mutex<T> {
    /// Makes a lock around `value`.
    pub const fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    /// Takes the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("it is away only in a wait")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("it is away only in a wait")
    }
}

impl<T: fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl Condvar {
    /// Makes one on which nobody sleeps.
    pub const fn new() -> Self {
        Self(sync::Condvar::new())
    }

    /// Wakes one who sleeps.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all who sleep.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }

    /// Sleeps until woken, or for no reason.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        if let Some(held) = guard.0.take() {
            guard.0 = Some(self.0.wait(held).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Sleeps until woken, or for no reason, or for `timeout`.
    pub fn wait_for<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        let mut timed_out = false;
        if let Some(held) = guard.0.take() {
            let waited = self.0.wait_timeout(held, timeout);
            let (held, result) = waited.unwrap_or_else(PoisonError::into_inner);
            timed_out = result.timed_out();
            guard.0 = Some(held);
        }
        WaitTimeoutResult(timed_out)
    }

    /// Sleeps until woken, or for no reason, or until `deadline`.
    pub fn wait_until<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        deadline: Instant,
    ) -> WaitTimeoutResult {
        self.wait_for(guard, deadline.saturating_duration_since(Instant::now()))
    }

    /// Sleeps while `condition` holds.
    pub fn wait_while<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) {
        while condition(guard) {
            self.wait(guard);
        }
    }

    /// Sleeps while `condition` holds, until `deadline` at the most.
    pub fn wait_while_until<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
        deadline: Instant,
    ) -> WaitTimeoutResult {
        let mut result = WaitTimeoutResult(false);
        while !result.timed_out() && condition(guard) {
            result = self.wait_until(guard, deadline);
        }
        WaitTimeoutResult(result.timed_out() && condition(guard))
    }
}

impl WaitTimeoutResult {
    /// Says whether the time was over.
    pub fn timed_out(self) -> bool {
        self.0
    }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_signal_ends_a_wait_and_so_does_time() {
        let shared = (Mutex::new(0), Condvar::new());
        let soon = || Instant::now() + Duration::from_millis(5);
        let is_zero = |number: &mut i32| *number == 0;
        let mut number = shared.0.lock();
        assert!(
            shared
                .1
                .wait_while_until(&mut number, is_zero, soon())
                .timed_out()
        );
        assert!(
            !shared
                .1
                .wait_while_until(&mut number, |_| false, soon())
                .timed_out()
        );
        thread::scope(|scope| {
            scope.spawn(|| {
                *shared.0.lock() = 1;
                shared.1.notify_one();
            });
            shared.1.wait_while(&mut number, is_zero);
        });
        assert_eq!(*number, 1);
    }
}
