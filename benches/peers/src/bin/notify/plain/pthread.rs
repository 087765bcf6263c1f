//! The condition variable of the C library.
#![allow(
    unsafe_code,
    reason = "std's condition variable is not the C library's"
)]

use super::Wait;
use crate::protocol::Notify;
use std::cell::UnsafeCell;

/// A condition variable with its lock and what the lock protects.
///
/// It is made in place on the heap and never moves while it is in use: whoever shares it holds it
/// in an `Arc`.
pub(crate) struct Pthread {
    lock: UnsafeCell<libc::pthread_mutex_t>,
    changed: UnsafeCell<libc::pthread_cond_t>,
    /// Touched only with the lock held.
    count: UnsafeCell<u64>,
}

// SAFETY: the C library's types are made to be used from several threads through a shared address,
// and `count` is only touched by who holds the lock.
unsafe impl Sync for Pthread {}

impl Default for Pthread {
    fn default() -> Self {
        Self {
            lock: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            changed: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
            count: UnsafeCell::new(0),
        }
    }
}

impl Pthread {
    fn lock(&self) {
        // SAFETY: the lock was initialized and has not moved since it was first used.
        let answer = unsafe { libc::pthread_mutex_lock(self.lock.get()) };
        assert_eq!(answer, 0, "a plain mutex can be locked");
    }

    fn unlock(&self) {
        // SAFETY: as for `lock`; each caller has locked it before.
        let answer = unsafe { libc::pthread_mutex_unlock(self.lock.get()) };
        assert_eq!(answer, 0, "it was locked");
    }
}

impl Notify for Pthread {
    fn notify(&self) {
        self.lock();
        // SAFETY: the lock is held, so nobody else touches the count.
        unsafe { *self.count.get() += 1 };
        // SAFETY: the condition variable was initialized and has not moved since.
        let answer = unsafe { libc::pthread_cond_signal(self.changed.get()) };
        assert_eq!(answer, 0, "signalling cannot fail");
        self.unlock();
    }
}

impl Wait for Pthread {
    fn wait(&self) -> u64 {
        self.lock();
        // SAFETY: the lock is held, so nobody else touches the count.
        while unsafe { *self.count.get() } == 0 {
            let (changed, lock) = (self.changed.get(), self.lock.get());
            // SAFETY: both were initialized and have not moved; the lock is held, as the call asks.
            let answer = unsafe { libc::pthread_cond_wait(changed, lock) };
            assert_eq!(answer, 0, "waiting cannot fail");
        }
        // SAFETY: the lock is held again, so nobody else touches the count.
        let taken = unsafe { self.count.get().replace(0) };
        self.unlock();
        taken
    }
}
