//! The numbers that tell tasks apart.

use std::cell::Cell;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Identifies a task; no two tasks of a process have the same.
///
/// The numbers that one thread gives out rise, but say nothing about the order of spawns of
/// different threads.
///
/// # Examples
///
/// ```
/// # use windlass_executor::{block_on, spawn};
/// # block_on(async {
/// let task = spawn(async {});
/// println!("task {}", task.id());
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(NonZeroU64);

/// How many numbers a thread takes at a time, so that threads seldom write to the same memory.
const BLOCK: u64 = 1 << 10;

/// How many blocks have been taken.
static BLOCKS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The number that this thread gave out last. A multiple of the block's size means that the
    /// block is used up.
    static LAST: Cell<u64> = const { Cell::new(0) };
}

impl Id {
    /// Takes the next number.
    #[inline]
    pub(crate) fn next() -> Self {
        LAST.with(|last| {
            let mut number = last.get();
            if number % BLOCK == 0 {
                number = take_block();
            }
            number += 1;
            last.set(number);
            // The sum cannot be zero: that would take all the numbers there are.
            NonZeroU64::new(number).map_or_else(|| unreachable!(), Self)
        })
    }

    /// Gives the number.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{block_on, spawn};
    /// # block_on(async {
    /// let (one, two) = (spawn(async {}), spawn(async {}));
    /// assert_ne!(one.id().as_u64(), two.id().as_u64());
    /// # });
    /// ```
    pub fn as_u64(self) -> u64 {
        self.0.get()
    }
}

impl Id {
    /// Makes it from the number that [`as_u64`](Id::as_u64) gave.
    pub(crate) fn from_u64(number: u64) -> Option<Self> {
        NonZeroU64::new(number).map(Self)
    }
}

/// Takes a block of numbers for this thread, and returns the one before its first.
#[cold]
fn take_block() -> u64 {
    BLOCKS.fetch_add(1, Relaxed) as u64 * BLOCK
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}
