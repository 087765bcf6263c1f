//! The space that bytes are copied through.
//!
//! Each thread keeps one piece, lent to whatever copy is being polled, to both directions in turn.
//! Between two polls a copy has none, unless bytes are left that couldn't be written: so idle
//! connections cost no buffer. A copy that is polled within another, as by a reader, makes its own.

use std::cell::Cell;

/// Large enough that a system call costs little a byte.
pub(super) const SIZE: usize = 64 * 1024;
/// What is left over, if it is no more than this, moves to a piece of its own size.
const SMALL: usize = SIZE / 4;

thread_local! {
    static SPARE: Cell<Option<Box<[u8]>>> = const { Cell::new(None) };
}

/// Space of this thread, taken when it is needed first, which goes back to it when dropped.
#[derive(Default)]
pub(super) struct Lent(Option<Box<[u8]>>);

impl Lent {
    #[inline]
    pub(super) fn space(&mut self) -> &mut [u8] {
        self.0.get_or_insert_with(take)
    }

    /// Keeps the bytes from `start` to `end` for later; other space takes the place of theirs.
    pub(super) fn keep(&mut self, start: usize, end: usize) -> Kept {
        if end - start <= SMALL {
            let bytes = self.space()[start..end].into();
            return Kept {
                bytes,
                start: 0,
                end: end - start,
            };
        }
        let bytes = self.0.take().unwrap_or_default();
        Kept { bytes, start, end }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(bytes) = self.0.take() {
            give_back(bytes);
        }
    }
}

fn take() -> Box<[u8]> {
    // A thread that is ending has no spare piece any more.
    let spare = SPARE.try_with(Cell::take).ok().flatten();
    spare.unwrap_or_else(|| vec![0; SIZE].into())
}

fn give_back(bytes: Box<[u8]>) {
    if bytes.len() == SIZE {
        // The piece that is replaced, if any, is freed.
        let _ = SPARE.try_with(|spare| spare.set(Some(bytes)));
    }
}

/// Bytes that were read and not yet written.
#[derive(Debug)]
pub(super) struct Kept {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Kept {
    /// Takes bytes that were read in another way.
    pub(super) fn from_vec(bytes: Vec<u8>) -> Self {
        let end = bytes.len();
        let bytes = bytes.into();
        Self {
            bytes,
            start: 0,
            end,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Takes in that the first `count` of the bytes were written.
    pub(super) fn advance(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.end);
    }

    /// Has the thread use the space again.
    pub(super) fn give_back(self) {
        give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::{Lent, SIZE, SMALL};

    #[test]
    fn what_is_left_is_kept_and_the_space_is_used_again() {
        let mut lent = Lent::default();
        let address = lent.space().as_ptr();
        lent.space()[..5].copy_from_slice(b"abcde");
        let mut kept = lent.keep(1, 5);
        drop(lent);
        assert_eq!(kept.bytes(), b"bcde");
        kept.advance(3);
        assert_eq!(kept.bytes(), b"e");
        kept.give_back();
        assert_eq!(Lent::default().space().as_ptr(), address);
    }

    #[test]
    fn much_is_kept_where_it_is() {
        let mut lent = Lent::default();
        let address = lent.space().as_ptr();
        let kept = lent.keep(0, SMALL + 1);
        assert_eq!(kept.bytes().as_ptr(), address);
        assert_ne!(lent.space().as_ptr(), address);
        assert_eq!(lent.space().len(), SIZE);
        drop(lent);
        kept.give_back();
        assert_eq!(Lent::default().space().len(), SIZE);
    }
}
