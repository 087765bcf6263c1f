//! Bytes that tell where in a stream they belong, so that a lost, doubled or moved one shows.

use std::fmt;

/// Fills `buffer` with the bytes that stand at `offset` and after it in the pattern.
pub fn fill(buffer: &mut [u8], offset: u64) {
    for (byte, position) in buffer.iter_mut().zip(offset..) {
        *byte = byte_at(position);
    }
}

/// Follows a stream and compares it with the pattern.
#[derive(Debug, Default)]
pub struct Checker {
    /// How many bytes of the stream have been seen.
    offset: u64,
}

impl Checker {
    /// Compares the next bytes of the stream with the pattern.
    ///
    /// # Errors
    ///
    /// Names the first position at which they differ.
    pub fn check(&mut self, bytes: &[u8]) -> Result<(), Mismatch> {
        for (&byte, position) in bytes.iter().zip(self.offset..) {
            if byte != byte_at(position) {
                return Err(Mismatch { position, byte });
            }
        }
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Returns how many bytes have been seen and were right.
    pub fn seen(&self) -> u64 {
        self.offset
    }
}

/// A byte that does not belong where it was seen.
#[derive(Debug)]
pub struct Mismatch {
    /// Where in the stream it was seen.
    position: u64,
    /// What was seen.
    byte: u8,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { position, byte } = self;
        write!(
            formatter,
            "byte {position} is {byte}, should be {}",
            byte_at(*position)
        )
    }
}

impl std::error::Error for Mismatch {}

/// Returns the byte that belongs at `position`.
///
/// The higher bytes of the position are mixed in, so that blocks of 256 bytes, of 64 KiB and of
/// 16 MiB all differ from their neighbours.
fn byte_at(position: u64) -> u8 {
    let [a, b, c, d, ..] = position.to_le_bytes();
    a ^ b.wrapping_mul(3) ^ c.wrapping_mul(5) ^ d.wrapping_mul(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fill_writes_passes_in_any_pieces() {
        let mut stream = vec![0; 200_000];
        fill(&mut stream, 0);
        let mut checker = Checker::default();
        for piece in stream.chunks(777) {
            checker.check(piece).unwrap();
        }
        assert_eq!(checker.seen(), 200_000);
    }

    #[test]
    fn a_lost_byte_and_a_moved_block_show() {
        let mut stream = vec![0; 200_000];
        fill(&mut stream, 0);
        stream.remove(1_000);
        assert!(Checker::default().check(&stream).is_err());
        fill(&mut stream, 65_536);
        assert!(Checker::default().check(&stream).is_err());
    }
}
