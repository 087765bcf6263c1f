//! The task that a thread runs, for others to see.

use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

use super::{Id, Name, Runnable};

/// A task for people.
#[derive(Debug)]
pub(crate) struct Origin {
    /// Its number.
    pub(crate) id: Id,
    /// Its name, if it has one that was looked for.
    pub(crate) name: Option<Name>,
    /// The call that spawned it.
    pub(crate) spawned_at: &'static Location<'static>,
}

/// A place where one thread writes down what it runs, by two plain stores.
///
/// What is read may be of two tasks. Whoever reads makes sure that the thread did not go on to
/// another task meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    id: AtomicU64,
    /// Null while no task is shown.
    spawned_at: AtomicPtr<Location<'static>>,
}

impl Shown {
    /// Shows a task.
    #[inline(always)]
    pub(crate) fn show(&self, task: &Runnable) {
        let header = task.0.header();
        self.id.store(header.id.as_u64(), Relaxed);
        let spawned_at = ptr::from_ref(header.spawned_at).cast_mut();
        self.spawned_at.store(spawned_at, Relaxed);
    }

    /// Shows that it is no task that is run.
    #[inline(always)]
    pub(crate) fn show_none(&self) {
        self.spawned_at.store(ptr::null_mut(), Relaxed);
    }

    /// Reads what is shown; names are not.
    pub(crate) fn read(&self) -> Option<Origin> {
        let id = Id::from_u64(self.id.load(Relaxed))?;
        let spawned_at = self.spawned_at.load(Relaxed);
        // SAFETY: It is null, or was made of a reference to a location, which are there for ever and
        // don't change.
        let spawned_at = unsafe { spawned_at.as_ref() }?;
        Some(Origin {
            id,
            name: None,
            spawned_at,
        })
    }
}
