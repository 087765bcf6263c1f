//! The ring of a worker's own queue: one thread fills it, any thread empties it.
//!
//! 1. `tail` is written by the owner alone: first it fills the place, then it counts it. `head`
//!    only grows, by a compare-exchange, and whoever moves it has what lies between its old and
//!    its new value.
//! 2. Whoever takes copies the places first, then moves `head`. If that succeeds, nobody had moved
//!    it in between (it never comes back to a value), so the copies are what was queued. If it
//!    fails, they are forgotten: they may have been anything.
//! 3. The owner fills a place again only after it has seen `head` move past it. It sees that by an
//!    acquiring load, and `head` is moved by a releasing step, so the copy of whoever moved it was
//!    made before.
//!
//! The counters are as wide as a pointer and wrap around; the length is their difference. (Where
//! pointers are short a thread would have to stop between two instructions of rule 2 for exactly
//! four thousand million tasks.)

use crate::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::iter;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// How many elements are moved at once, at the most.
pub(super) const LARGEST_BATCH: usize = if cfg!(windlass_loom) { 2 } else { 128 };

/// What can be kept as a pointer.
pub(crate) trait Pointer: Sized {
    /// Turns it into a pointer, which owns what it did.
    fn into_pointer(self) -> NonNull<()>;

    /// Turns the pointer back.
    ///
    /// # Safety
    ///
    /// The pointer must come from `into_pointer`, and be turned back once only.
    unsafe fn from_pointer(pointer: NonNull<()>) -> Self;
}

/// A counter in a line of memory of its own, so that who writes the one does not slow down who
/// reads the other.
#[derive(Debug)]
#[repr(align(128))]
struct Counter(AtomicUsize);

/// First come, first served, up to a capacity; see the module.
#[derive(Debug)]
pub(super) struct Ring<T: Pointer> {
    head: Counter,
    tail: Counter,
    /// As many as a power of two, or none at all.
    places: Box<[AtomicPtr<()>]>,
    elements: PhantomData<T>,
}

/// Elements that were taken in one step.
pub(super) struct Batch<T: Pointer> {
    pointers: [*mut (); LARGEST_BATCH],
    /// Which of them are still there.
    left: std::ops::Range<usize>,
    elements: PhantomData<T>,
}

impl<T: Pointer> Ring<T> {
    pub(super) fn new(capacity: usize) -> Self {
        assert!(capacity == 0 || capacity.is_power_of_two());
        // As if it had been in use for long: that the counters wrap around is not left to be
        // found out after years.
        let start = usize::MAX - capacity / 2;
        Self {
            head: Counter(AtomicUsize::new(start)),
            tail: Counter(AtomicUsize::new(start)),
            places: iter::repeat_with(|| AtomicPtr::new(ptr::null_mut()))
                .take(capacity)
                .collect(),
            elements: PhantomData,
        }
    }

    /// Adds an element at the end; hands it back if the ring is full.
    ///
    /// # Safety
    ///
    /// Only one thread at a time may do this.
    #[inline]
    pub(super) unsafe fn push(&self, element: T) -> Result<(), T> {
        let tail = self.tail.0.load(Ordering::Relaxed);
        // Rule 3.
        let head = self.head.0.load(Ordering::Acquire);
        if tail.wrapping_sub(head) == self.places.len() {
            return Err(element);
        }
        let pointer = element.into_pointer().as_ptr();
        self.place(tail).store(pointer, Ordering::Relaxed);
        self.tail.0.store(tail.wrapping_add(1), Ordering::Release);
        Ok(())
    }

    /// Takes the element at the front.
    #[inline]
    pub(super) fn pop(&self) -> Option<T> {
        loop {
            let head = self.head.0.load(Ordering::Acquire);
            if head == self.tail.0.load(Ordering::Acquire) {
                return None;
            }
            let pointer = self.place(head).load(Ordering::Relaxed);
            if self.move_head(head, 1) {
                // SAFETY: By rule 2 the pointer is what was queued, and this thread's alone.
                return Some(unsafe { restore(pointer) });
            }
        }
    }

    /// Takes `part` elements of each two at the front, at least one, at most a batch: with 1 it
    /// leaves half of them, with 2 none.
    pub(super) fn take(&self, part: usize) -> Batch<T> {
        let mut pointers = [ptr::null_mut(); LARGEST_BATCH];
        loop {
            let head = self.head.0.load(Ordering::Acquire);
            let tail = self.tail.0.load(Ordering::Acquire);
            // If `head` has moved meanwhile this may be far off; then moving it fails.
            let length = tail.wrapping_sub(head).min(self.places.len());
            let count = (length * part).div_ceil(2).min(LARGEST_BATCH);
            for (index, pointer) in pointers[..count].iter_mut().enumerate() {
                let place = self.place(head.wrapping_add(index));
                *pointer = place.load(Ordering::Relaxed);
            }
            if count == 0 || self.move_head(head, count) {
                return Batch {
                    pointers,
                    left: 0..count,
                    elements: PhantomData,
                };
            }
        }
    }

    /// Says whether there seems to be nothing. For the owner it is so, if it says so.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many there seem to be; there are no more, if the owner asks.
    #[inline]
    pub(super) fn len(&self) -> usize {
        let head = self.head.0.load(Ordering::Acquire);
        self.tail.0.load(Ordering::Acquire).wrapping_sub(head)
    }

    pub(super) fn capacity(&self) -> usize {
        self.places.len()
    }

    #[inline]
    fn place(&self, number: usize) -> &AtomicPtr<()> {
        &self.places[number & (self.places.len() - 1)]
    }

    /// Rule 2: tries to take so many from the front, where `head` was.
    #[inline]
    fn move_head(&self, head: usize, count: usize) -> bool {
        let next = head.wrapping_add(count);
        let moved = self
            .head
            .0
            .compare_exchange(head, next, Ordering::AcqRel, Ordering::Relaxed);
        moved.is_ok()
    }
}

/// # Safety
///
/// As for [`Pointer::from_pointer`]; and it must not be null.
#[inline]
pub(super) unsafe fn restore<T: Pointer>(pointer: *mut ()) -> T {
    // SAFETY: The caller's promise.
    let pointer = unsafe { NonNull::new_unchecked(pointer) };
    // SAFETY: Likewise.
    unsafe { T::from_pointer(pointer) }
}

impl<T: Pointer> Drop for Ring<T> {
    fn drop(&mut self) {
        iter::from_fn(|| self.pop()).for_each(drop);
    }
}

impl<T: Pointer> Iterator for Batch<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let index = self.left.next()?;
        // SAFETY: Whoever made the batch has taken these, and each index comes once.
        Some(unsafe { restore(self.pointers[index]) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<T: Pointer> Drop for Batch<T> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}
