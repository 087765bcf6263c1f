//! Pipes: pairs, and named ones (FIFOs).
//!
//! What may be used as an end is in `end.rs`, opening by name in `fifo.rs`.

mod copied;
mod end;
mod fifo;
mod reader;
mod writer;

pub use reader::PipeReader;
pub use writer::PipeWriter;

use std::io;
use windlass_reactor::sys;

/// Makes a pipe (pipe(2)): what is written to one end is read from the other.
///
/// Both ends are closed on exec. To give one to a child process, use
/// [`into_blocking_fd`](PipeReader::into_blocking_fd): most programs don't expect an end that
/// doesn't block.
///
/// ```
/// # futures::executor::block_on(async {
/// let (reader, writer) = windlass_net::pipe()?;
/// writer.write_all(b"hello").await?;
/// drop(writer);
///
/// let mut space = [0; 16];
/// assert_eq!(reader.read(&mut space).await?, 5);
/// assert_eq!(reader.read(&mut space).await?, 0, "all writers are gone");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
///
/// # Errors
///
/// What the system says: most often that there are no descriptors left.
pub fn pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (read_end, write_end) = sys::pipe::create()?;
    Ok((
        PipeReader::from_nonblocking(read_end, false),
        PipeWriter::from_nonblocking(write_end),
    ))
}
