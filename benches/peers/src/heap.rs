//! An allocator that counts, for the program that installs it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that are allocated now.
static LIVE: AtomicU64 = AtomicU64::new(0);
/// Allocations so far.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, counted.
#[derive(Debug)]
pub struct Counting;

// SAFETY: every method passes its arguments to the system's allocator unchanged and returns its
// answer; the counters beside it are atomic and allocate nothing.
#[allow(unsafe_code, reason = "an allocator is unsafe by its contract")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as u64, Ordering::Relaxed);
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller vouches for `layout` as our own contract asks.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: `pointer` came from `alloc` above with this layout, so from the system.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Returns the bytes that are allocated now; 0 without [`Counting`] as the global allocator.
pub fn live() -> u64 {
    LIVE.load(Ordering::Relaxed)
}

/// Returns the allocations so far; 0 without [`Counting`] as the global allocator.
pub fn count() -> u64 {
    COUNT.load(Ordering::Relaxed)
}
