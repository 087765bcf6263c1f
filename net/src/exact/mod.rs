//! Reading and writing whole pieces, in a way that survives being cancelled.
//!
//! How far it came is kept in a value that belongs to the caller, together with the bytes. A future
//! only borrows it, and moves bytes and the note of that in one step, without a wait in between. So
//! there is nothing that could be lost with the future, and nobody can go on with another buffer,
//! or with a count that belongs to another.

mod error;
mod lines;
mod read_exact;
mod read_until;
mod write_all;

pub use error::ReadUntilError;
pub use lines::Lines;
pub use read_exact::ReadExact;
pub use read_until::ReadUntil;
pub use write_all::WriteAll;
