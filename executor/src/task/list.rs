//! The tasks that are alive, in a list that runs through their cells: so that being in it costs
//! neither memory of its own nor, now and then, the growth of a table.
//!
//! The lock of a list permits touching the links of the tasks that are in it, and only these are
//! touched: a task is put in once, before it is shared, and says itself which list that was. It has
//! a predecessor or is the first; if neither, it is in none.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

use super::cell::Header;
use super::reference::Reference;
use super::{Id, Name, Origin, PINNED, PLACED, Sight, Task};
use crate::sync::Mutex;

/// Owns the tasks of a runtime or of a thread, so that they can be ended.
///
/// A task in the list keeps itself alive: its cell holds what holds the list. So a list has to be
/// closed, it never is dropped by itself.
#[derive(Default)]
pub(crate) struct List(Mutex<Alive>);

#[derive(Default)]
struct Alive {
    first: Option<NonNull<Header>>,
    length: usize,
    /// How many tasks there ever were.
    taken_in: u64,
    closed: bool,
}

// SAFETY: The pointer stands for a `Task`, which is `Send`.
unsafe impl Send for Alive {}

/// The neighbours of a task.
#[derive(Clone, Copy, Default)]
pub(super) struct Links {
    previous: Option<NonNull<Header>>,
    next: Option<NonNull<Header>>,
}

/// A task that is over, to be taken out of its list.
#[derive(Clone, Copy)]
pub(crate) struct Listed<'a>(&'a Reference);

impl<'a> Listed<'a> {
    pub(super) fn new(task: &'a Reference) -> Self {
        Self(task)
    }

    /// Returns the number that the task was put in with.
    pub(crate) fn list(self) -> u16 {
        self.0.header().list.load(Relaxed) & !(PLACED | PINNED)
    }
}

impl List {
    /// Takes a new task in, and notes in it the number `list`, by which it is found again.
    ///
    /// # Errors
    ///
    /// The task, if the list is closed.
    pub(crate) fn insert(&self, list: u16, task: Task) -> Result<(), Task> {
        let mut alive = self.0.lock();
        if alive.closed {
            return Err(task);
        }
        task.reference().header().list.store(list, Relaxed);
        let header = task.into_reference().into_raw();
        // SAFETY: The task is new, and in no list yet but for this one; the lock is held.
        unsafe { alive.link(header) };
        Ok(())
    }

    /// Takes a task out that is over; `None` if it isn't here, as when the list was closed.
    pub(crate) fn remove(&self, task: Listed<'_>) -> Option<Task> {
        let header = task.0.as_raw();
        let mut alive = self.0.lock();
        // SAFETY: The task is in this list or in none, and the lock is held.
        let is_here = alive.first == Some(header) || unsafe { links(header) }.previous.is_some();
        // SAFETY: As above, and it is in this one.
        is_here.then(|| unsafe { alive.unlink(header) })
    }

    /// Ends all tasks and refuses new ones. Their futures are dropped here and now, with no lock
    /// held, but for those that are being polled: they are dropped after that poll.
    pub(crate) fn close(&self) {
        self.0.lock().closed = true;
        while let Some(task) = self.take_first() {
            drop(task);
        }
    }

    fn take_first(&self) -> Option<Task> {
        let mut alive = self.0.lock();
        let first = alive.first?;
        // SAFETY: It is in this list, and the lock is held.
        Some(unsafe { alive.unlink(first) })
    }

    /// Counts the tasks that are ready and wait for a thread, and names some.
    pub(crate) fn waiting(&self, most_named: usize) -> (usize, Vec<Origin>) {
        let (mut count, mut named) = (0, Vec::new());
        self.for_each(|task| {
            if task.state().is_waiting() {
                count += 1;
                if named.len() < most_named {
                    named.push(Origin {
                        id: task.header().id,
                        name: task.name().cloned(),
                        spawned_at: task.header().spawned_at,
                    });
                }
            }
        });
        (count, named)
    }

    /// Finds the name of the task with this number.
    pub(crate) fn name_of(&self, id: Id) -> Option<Name> {
        let mut name = None;
        self.for_each(|task| {
            if task.header().id == id {
                name = task.name().cloned();
            }
        });
        name
    }

    /// Looks at all tasks, while no other is put in or taken out.
    fn for_each(&self, mut look: impl FnMut(&Reference)) {
        let alive = self.0.lock();
        let mut next = alive.first;
        while let Some(task) = next {
            // SAFETY: It is in this list, and the lock is held.
            next = unsafe { links(task) }.next;
            // SAFETY: What is in the list is there, and stands for a reference, which is not given
            // up here.
            look(&ManuallyDrop::new(unsafe { Reference::from_raw(task) }));
        }
    }

    /// Looks at all tasks.
    pub(crate) fn look(&self, mut show: impl FnMut(Sight)) {
        let mut sights = Vec::with_capacity(self.len());
        self.for_each(|task| sights.push(Sight::of(task)));
        // Not while the lock is held.
        sights.into_iter().for_each(&mut show);
    }

    /// Returns how many tasks there ever were.
    pub(crate) fn taken_in(&self) -> u64 {
        self.0.lock().taken_in
    }

    /// Returns how many tasks are alive.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().length
    }
}

impl Alive {
    /// Puts a task at the front.
    ///
    /// # Safety
    ///
    /// The pointer must stand for a `Task` that is in no list; the lock must be held.
    unsafe fn link(&mut self, task: NonNull<Header>) {
        let next = self.first.replace(task);
        let links = Links {
            previous: None,
            next,
        };
        // SAFETY: The caller's promise.
        unsafe { set_links(task, links) };
        if let Some(next) = next {
            // SAFETY: It is in this list, whose lock is held.
            unsafe { change_links(next, |links| links.previous = Some(task)) };
        }
        self.length += 1;
        self.taken_in += 1;
    }

    /// Takes a task out.
    ///
    /// # Safety
    ///
    /// The task must be in this list; the lock must be held.
    unsafe fn unlink(&mut self, task: NonNull<Header>) -> Task {
        // SAFETY: The caller's promise.
        let Links { previous, next } = unsafe { links(task) };
        match previous {
            // SAFETY: Neighbours are in the same list.
            Some(previous) => unsafe { change_links(previous, |links| links.next = next) },
            None => self.first = next,
        }
        if let Some(next) = next {
            // SAFETY: Likewise.
            unsafe { change_links(next, |links| links.previous = previous) };
        }
        // SAFETY: The caller's promise.
        unsafe { set_links(task, Links::default()) };
        self.length -= 1;
        // SAFETY: The list has owned the task, and doesn't any more.
        Task::new(unsafe { Reference::from_raw(task) })
    }
}

/// Reads the links of a task.
///
/// # Safety
///
/// The task must be there, and in the list whose lock is held, or in none.
unsafe fn links(task: NonNull<Header>) -> Links {
    // SAFETY: The caller's promise.
    let header = unsafe { task.as_ref() };
    // SAFETY: The lock is held that permits this.
    header.links.with_mut(|links| unsafe { *links })
}

/// Writes the links of a task.
///
/// # Safety
///
/// As for [`links`].
unsafe fn set_links(task: NonNull<Header>, new: Links) {
    // SAFETY: The caller's promise.
    unsafe { change_links(task, |links| *links = new) };
}

/// Changes the links of a task.
///
/// # Safety
///
/// As for [`links`].
unsafe fn change_links(task: NonNull<Header>, change: impl FnOnce(&mut Links)) {
    // SAFETY: The caller's promise.
    let header = unsafe { task.as_ref() };
    // SAFETY: The lock is held that permits this, and nothing else refers to them meanwhile.
    header
        .links
        .with_mut(|links| change(unsafe { &mut *links }));
}
