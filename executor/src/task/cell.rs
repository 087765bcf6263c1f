//! The one allocation of a task.

use std::mem::ManuallyDrop;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64};
use std::task::Waker;

use super::error::Ended;
use super::life;
use super::list::Links;
use super::memory;
use super::reference::Reference;
use super::state::State;
use super::{Id, Name, Runnable, Schedule};
use crate::sync::UnsafeCell;

/// What every task has, whatever its future and scheduler are.
pub(super) struct Header {
    /// Who may touch what, and the number of references.
    pub(super) state: State,
    /// The operations that need to know the types.
    pub(super) operations: &'static Operations,
    /// The waker of who awaits the join handle; rule 5 of the state says whose it is.
    pub(super) join_waker: UnsafeCell<Option<Waker>>,
    /// The neighbours of the task in the list of live tasks, whose lock permits touching this.
    pub(super) links: UnsafeCell<Links>,
    /// Which of the scheduler's lists the task is in; set before the task is shared.
    pub(super) list: AtomicU16,
    /// The future has asked, in this poll, to be polled again. Only who polls it uses this.
    pub(super) has_yielded: AtomicBool,
    /// How often the task was polled; for those who look, as the next three. See `sight`.
    pub(super) polls: AtomicU32,
    /// When the last poll began.
    pub(super) last_poll: AtomicU32,
    /// Who awaits the join handle, if that is a task.
    pub(super) joiner: AtomicU32,
    /// How long the polls took, in nanoseconds, if that is measured.
    pub(super) busy: AtomicU64,
    /// The number of the task.
    pub(super) id: Id,
    /// The call that spawned the task.
    pub(super) spawned_at: &'static Location<'static>,
}

/// With a pointer to what its executor shares, an idle task takes so much beyond its future.
#[cfg(all(target_pointer_width = "64", not(windlass_loom)))]
const _: () = assert!(size_of::<Header>() + size_of::<usize>() <= 96);

/// The operations on a cell whose types have been forgotten.
///
/// All of them require that the cell is of the types that the table was made for.
pub(super) struct Operations {
    /// Polls the future once, or drops it if the task was cancelled.
    ///
    /// The reference must be that of the task's runnable.
    pub(super) run: unsafe fn(Reference) -> Option<Runnable>,
    /// Hands a new runnable of the task to its scheduler.
    ///
    /// The first reference is that of who wakes: it keeps the scheduler in place during the call,
    /// for the task may well be over, and all others gone, before the call returns. The second
    /// must have been counted for the runnable.
    pub(super) schedule: unsafe fn(&Reference, Reference),
    /// Drops the future and completes.
    ///
    /// The caller must own the future.
    pub(super) cancel: unsafe fn(Reference),
    /// Finds the output, an `Ended<F::Output>`.
    ///
    /// The task must be complete and the output the caller's.
    pub(super) output: unsafe fn(&Reference) -> *mut (),
    /// Finds the name, which is there for as long as the scheduler.
    pub(super) name: unsafe fn(&Reference) -> Option<NonNull<Name>>,
    /// Lets the scheduler give up a task that was aborted while it was queued.
    pub(super) withdraw: unsafe fn(&Reference),
    /// Frees the cell.
    ///
    /// No reference may be left, and the task must be complete.
    pub(super) free: unsafe fn(NonNull<Header>),
}

/// A task in memory.
///
/// The header comes first, so that a pointer to it is a pointer to the cell.
#[repr(C)]
pub(super) struct Cell<F: Future, S> {
    header: Header,
    /// Where the task goes when it is woken.
    pub(super) scheduler: S,
    /// The future until the task is complete, then the output until somebody takes it.
    stage: UnsafeCell<Stage<F>>,
}

/// What a task holds; which of the two it is follows from the state, so no tag is needed.
union Stage<F: Future> {
    /// Until the task is complete.
    future: ManuallyDrop<F>,
    /// From then on.
    output: ManuallyDrop<Ended<F::Output>>,
}

impl<F: Future, S: Schedule> Cell<F, S> {
    /// The operations of cells of these types.
    const OPERATIONS: Operations = Operations {
        run: life::run::<F, S>,
        schedule: life::schedule::<F, S>,
        cancel: life::cancel::<F, S>,
        output: life::output::<F, S>,
        name: life::name::<F, S>,
        withdraw: life::withdraw::<F, S>,
        free: Self::free,
    };

    /// Makes a task, of which the caller gets the three references that the state counts.
    pub(super) fn allocate(
        future: F,
        scheduler: S,
        id: Id,
        spawned_at: &'static Location<'static>,
    ) -> [Reference; 3] {
        let cell = memory::allocate::<Self>();
        let contents = Self {
            header: Header {
                state: State::new(),
                operations: &Self::OPERATIONS,
                join_waker: UnsafeCell::new(None),
                links: UnsafeCell::new(Links::default()),
                list: AtomicU16::new(0),
                has_yielded: AtomicBool::new(false),
                polls: AtomicU32::new(0),
                last_poll: AtomicU32::new(0),
                joiner: AtomicU32::new(0),
                busy: AtomicU64::new(0),
                id,
                spawned_at,
            },
            scheduler,
            stage: UnsafeCell::new(Stage {
                future: ManuallyDrop::new(future),
            }),
        };
        // SAFETY: The memory is there for this.
        unsafe { cell.write(contents) };
        let header = cell.cast::<Header>();
        // SAFETY: The state counts three references, and these are they.
        std::array::from_fn(|_| unsafe { Reference::from_raw(header) })
    }

    /// Lends the future for exclusive use.
    pub(super) fn with_future<R>(&self, use_it: impl FnOnce(*mut F) -> R) -> R {
        self.stage.with_mut(|stage| {
            // SAFETY: This only finds a field of the stage, which is there.
            let future = unsafe { &raw mut (*stage).future };
            use_it(future.cast())
        })
    }

    /// Lends the place of the output for exclusive use.
    pub(super) fn with_output<R>(&self, use_it: impl FnOnce(*mut Ended<F::Output>) -> R) -> R {
        self.stage.with_mut(|stage| {
            // SAFETY: This only finds a field of the stage, which is there.
            let output = unsafe { &raw mut (*stage).output };
            use_it(output.cast())
        })
    }

    /// Frees the cell; see [`Operations::free`].
    unsafe fn free(header: NonNull<Header>) {
        let cell = header.cast::<Self>();
        {
            // SAFETY: `allocate` made the header part of a cell of this type, as the caller promises.
            let cell = unsafe { cell.as_ref() };
            // Nothing is left in these. Freeing them is an access all the same, which a model must see.
            cell.stage.with_mut(|_| ());
            cell.header.join_waker.with_mut(|_| ());
            cell.header.links.with_mut(|_| ());
        }
        // SAFETY: No reference to it is left.
        unsafe { cell.drop_in_place() };
        // SAFETY: `allocate` got it from there.
        unsafe { memory::free(cell) };
    }
}
