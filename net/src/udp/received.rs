//! What is told of a datagram that came.

/// What came of a datagram.
///
/// A length of 0 is an empty datagram, which a peer may send like any other; datagrams have no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Received {
    /// How many bytes of it are in the space that was given.
    pub length: usize,
    /// It was longer than the space, and the rest of it is lost (unless it was only peeked at).
    pub truncated: bool,
}
