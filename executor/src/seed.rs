//! The order in which ready tasks run, drawn by lot: with the same seed, the same lots.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Numbers as if by chance: `SplitMix64` (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014), which has no state that it can't leave.
///
/// Only the worker of its runtime draws from it, so that no step has to be atomic.
#[derive(Debug)]
pub(crate) struct Lots(AtomicU64);

impl Lots {
    pub(crate) fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Draws a number below `end`, which is not zero.
    pub(crate) fn below(&self, end: usize) -> usize {
        // What a remainder prefers among so few is nothing against 64 bits.
        (self.next() % end as u64) as usize
    }

    fn next(&self) -> u64 {
        let state = self.0.load(Relaxed).wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.0.store(state, Relaxed);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;

    /// The first numbers of the published generator for the seed 1234567.
    #[test]
    fn the_numbers_are_those_of_splitmix() {
        let lots = Lots::new(1_234_567);
        let numbers = [lots.next(), lots.next(), lots.next()];
        let known = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(numbers, known);
    }

    #[test]
    fn all_below_the_end_are_drawn() {
        let lots = Lots::new(0);
        let mut drawn = [0; 7];
        (0..700).for_each(|_| drawn[lots.below(7)] += 1);
        assert!(
            drawn.iter().all(|count| (50..200).contains(count)),
            "{drawn:?}"
        );
    }
}
