//! Where the memory of cells comes from: the allocator, or cells that this worker has freed.
//!
//! Tasks come and go in batches that overflow what an allocator keeps at hand (glibc: seven pieces
//! of a size and thread); the long way round costs more than all else that a spawn does. So a worker
//! keeps what it frees for the next tasks of the same size. Built with `--cfg windlass_fresh_memory`
//! nothing is kept, so that a tool that watches the allocator (valgrind, a sanitizer) sees each cell.
//!
//! 1. A spare is memory for a cell of one size, with nothing in it, and is in one list of one thread.
//!    Only that thread touches its lists.
//! 2. All memory of a size that is kept is asked for, and given back, with the same layout, so that
//!    any spare does for any cell of that size, and may be freed by whichever thread has it.
//! 3. A thread keeps spares only while it is a worker, and only so many bytes. Whoever stops being
//!    one gives them back, so no thread ends with any.

use std::alloc::{self, Layout};
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// How many bytes a worker keeps at the most: a batch of ten thousand small tasks.
pub(super) const MOST_KEPT: usize = 2 << 20;
/// The size from which on cells are not kept.
const TOO_LARGE: usize = 1 << 10;
/// What spares are aligned to, as allocators do by themselves.
const ALIGNMENT: usize = 2 * size_of::<usize>();
/// What the sizes of cells are multiples of.
const STEP: usize = align_of::<usize>();

/// Memory that waits for its next cell.
struct Spare {
    next: *mut Spare,
}

/// The spares of a thread.
struct Spares {
    /// The lists, by size.
    first: [Cell<*mut Spare>; TOO_LARGE / STEP],
    /// How many bytes more may be kept; none unless the thread is a worker.
    room: Cell<usize>,
    /// How many workers the thread is, one within the other.
    workers: Cell<usize>,
}

thread_local! {
    static SPARES: Spares = const {
        Spares {
            first: [const { Cell::new(ptr::null_mut()) }; TOO_LARGE / STEP],
            room: Cell::new(0),
            workers: Cell::new(0),
        }
    };
}

/// Has this thread keep spares, for as long as this lives.
pub(crate) struct Keeping(PhantomData<*const ()>);

/// Finds memory for a cell.
#[inline(always)]
pub(super) fn allocate<C>() -> NonNull<C> {
    if const { is_kept::<C>() } {
        if let Some(spare) = SPARES.with(|spares| spares.take(size_of::<C>())) {
            return spare.cast();
        }
    }
    allocate_anew(layout::<C>()).cast()
}

/// Gives up the memory of a cell.
///
/// # Safety
///
/// It must come from [`allocate`] for the same type, and is not used again.
#[inline(always)]
pub(super) unsafe fn free<C>(cell: NonNull<C>) {
    if const { is_kept::<C>() } && SPARES.with(|spares| spares.has_room(size_of::<C>())) {
        // SAFETY: It is memory of this size, the caller's promise, and of the layout of rule 2.
        return SPARES.with(|spares| unsafe { spares.put(cell.cast(), size_of::<C>()) });
    }
    // SAFETY: `allocate` got it with this layout.
    unsafe { alloc::dealloc(cell.as_ptr().cast(), layout::<C>()) }
}

/// Says whether the memory of such cells is kept.
const fn is_kept<C>() -> bool {
    !cfg!(windlass_fresh_memory)
        && size_of::<C>() < TOO_LARGE
        && size_of::<C>() % STEP == 0
        && align_of::<C>() <= ALIGNMENT
}

/// Returns the layout that such cells are allocated with.
const fn layout<C>() -> Layout {
    if is_kept::<C>() {
        kept_layout(size_of::<C>())
    } else {
        Layout::new::<C>()
    }
}

/// Returns the layout of rule 2.
const fn kept_layout(size: usize) -> Layout {
    match Layout::from_size_align(size, ALIGNMENT) {
        Ok(layout) => layout,
        Err(_) => panic!("the size is small"),
    }
}

#[inline(never)]
fn allocate_anew(layout: Layout) -> NonNull<u8> {
    // SAFETY: No cell is of no size: it has a header.
    let memory = unsafe { alloc::alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| alloc::handle_alloc_error(layout))
}

impl Spares {
    #[inline(always)]
    fn take(&self, size: usize) -> Option<NonNull<Spare>> {
        let first = &self.first[size / STEP];
        let spare = NonNull::new(first.get())?;
        // SAFETY: By rule 1 it is there, and this thread's.
        first.set(unsafe { spare.as_ref() }.next);
        self.room.set(self.room.get() + size);
        Some(spare)
    }

    #[inline(always)]
    fn has_room(&self, size: usize) -> bool {
        self.room.get() >= size
    }

    /// # Safety
    ///
    /// The memory must be the caller's, of this size and of the layout of rule 2.
    #[inline(always)]
    unsafe fn put(&self, spare: NonNull<Spare>, size: usize) {
        let first = &self.first[size / STEP];
        if cfg!(debug_assertions) {
            // Whoever uses a cell that is gone shall find nonsense.
            // SAFETY: It is the caller's, and so large.
            unsafe { spare.cast::<u8>().write_bytes(0xdd, size) };
        }
        // SAFETY: It is large enough, as a cell is larger, and aligned to more than a word.
        unsafe { spare.write(Spare { next: first.get() }) };
        first.set(spare.as_ptr());
        self.room.set(self.room.get() - size);
    }

    /// Gives everything back.
    #[cold]
    fn clear(&self) {
        for (index, first) in self.first.iter().enumerate() {
            let mut next = NonNull::new(first.replace(ptr::null_mut()));
            while let Some(spare) = next {
                // SAFETY: By rule 1 it is there, and this thread's.
                next = NonNull::new(unsafe { spare.as_ref() }.next);
                // SAFETY: It was allocated so, by rule 2.
                unsafe { alloc::dealloc(spare.as_ptr().cast(), kept_layout(index * STEP)) }
            }
        }
    }
}

impl Keeping {
    /// Begins to keep spares on this thread.
    pub(crate) fn begin() -> Self {
        SPARES.with(|spares| {
            if spares.workers.replace(spares.workers.get() + 1) == 0 {
                spares.room.set(MOST_KEPT);
            }
        });
        Self(PhantomData)
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        SPARES.with(|spares| {
            spares.workers.set(spares.workers.get() - 1);
            if spares.workers.get() == 0 && spares.room.take() < MOST_KEPT {
                spares.clear();
            }
        });
    }
}

/// Returns how many bytes this thread keeps.
#[cfg(all(test, not(windlass_loom), not(windlass_fresh_memory)))]
pub(super) fn kept() -> usize {
    SPARES.with(|spares| match spares.workers.get() {
        0 => spares
            .first
            .iter()
            .filter(|first| !first.get().is_null())
            .count(),
        _ => MOST_KEPT - spares.room.get(),
    })
}
