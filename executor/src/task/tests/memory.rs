//! The memory of cells.

use std::ptr::NonNull;
use std::thread;

use super::super::memory::{Keeping, MOST_KEPT, allocate, free, kept};

type Small = [usize; 12];
type Other = [usize; 13];
type Large = [usize; 1000];

#[repr(align(64))]
struct Aligned {
    _content: [usize; 16],
}

/// Memory that goes to another thread.
struct Sent(NonNull<Small>);

// SAFETY: It is owned, and nothing is in it.
unsafe impl Send for Sent {}

/// Takes memory for `C` and gives it up; returns where it was.
fn pass<C>() -> NonNull<C> {
    let cell = allocate::<C>();
    // SAFETY: It comes from there, for this type.
    unsafe { free(cell) };
    cell
}

#[test]
fn a_worker_uses_memory_again_for_the_same_size() {
    let keeping = Keeping::begin();
    let first = pass::<Small>();
    assert_eq!(kept(), size_of::<Small>());
    let other = pass::<Other>();
    assert_ne!(first.cast(), other);
    let held = allocate::<Small>();
    assert_eq!(held, first);
    assert_eq!(kept(), size_of::<Other>());
    // SAFETY: It comes from there, for this type.
    unsafe { free(held) };
    drop(keeping);
    assert_eq!(kept(), 0);
}

#[test]
fn what_is_large_or_widely_aligned_is_not_kept() {
    let _keeping = Keeping::begin();
    pass::<Large>();
    let aligned = pass::<Aligned>();
    assert_eq!(aligned.addr().get() % align_of::<Aligned>(), 0);
    assert_eq!(kept(), 0);
}

#[test]
fn no_more_is_kept_than_has_room() {
    let _keeping = Keeping::begin();
    let count = MOST_KEPT / size_of::<Small>();
    let cells: Vec<_> = (0..count + 9).map(|_| allocate::<Small>()).collect();
    for cell in cells {
        // SAFETY: It comes from there, for this type.
        unsafe { free(cell) };
    }
    assert_eq!(kept(), count * size_of::<Small>());
}

#[test]
fn a_thread_that_is_no_worker_keeps_nothing() {
    pass::<Small>();
    assert_eq!(kept(), 0);
    let outer = Keeping::begin();
    let inner = Keeping::begin();
    pass::<Small>();
    drop(inner);
    assert_eq!(kept(), size_of::<Small>());
    drop(outer);
    pass::<Small>();
    assert_eq!(kept(), 0);
}

#[test]
fn memory_may_be_freed_by_another_thread() {
    let _keeping = Keeping::begin();
    let cell = Sent(allocate::<Small>());
    let other = thread::spawn(move || {
        let _keeping = Keeping::begin();
        let Sent(cell) = { cell };
        // SAFETY: It comes from there, for this type.
        unsafe { free(cell) };
        kept()
    });
    assert_eq!(other.join().unwrap(), size_of::<Small>());
    assert_eq!(kept(), 0);
}
