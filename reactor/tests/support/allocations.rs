//! Counts the allocations of the calling thread.

#![allow(unsafe_code, reason = "an allocator is unsafe by its contract")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator with a count; to be declared as the global one.
pub(crate) struct Counting;

// SAFETY: everything is handed on to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: our caller keeps the conditions, which are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

fn count() {
    // A thread that is ending has no count any more.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

/// How many allocations of this thread `body` makes.
pub(crate) fn of(body: impl FnOnce()) -> usize {
    let before = COUNT.get();
    body();
    COUNT.get() - before
}
