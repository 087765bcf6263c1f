//! Opening named pipes (FIFOs), which never blocks.

use super::end::{End, no_pipe};
use super::{PipeReader, PipeWriter};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;
use windlass_reactor::time::sleep;

/// How long to wait before the first look whether a reader has come, and at the most.
const FIRST_WAIT: Duration = Duration::from_millis(1);
const LONGEST_WAIT: Duration = Duration::from_millis(50);

impl PipeReader {
    /// Opens a named pipe (FIFO) for reading, at once: whether somebody writes to it or not.
    ///
    /// The first read waits until somebody has opened it for writing. (Where the system doesn't
    /// tell a pipe that nobody has written to yet from one that all writers have left, it may be
    /// the end instead.) Once all writers have closed it, reads return 0, and do so until another
    /// one opens it. Who wants no end in between keeps a [`PipeWriter`] of the same pipe, opened
    /// after the reader.
    ///
    /// ```no_run
    /// # futures::executor::block_on(async {
    /// use windlass_net::PipeReader;
    ///
    /// let commands = PipeReader::open("/run/my-service/commands")?;
    /// let mut space = [0; 4096];
    /// let count = commands.read(&mut space).await?;
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// What the system says of the path; `InvalidInput` if it names no pipe.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let fd = open(path, End::Read).map_err(|error| refused(path, error))?;
        End::Read.check(fd.as_fd())?;
        Ok(Self::from_nonblocking(fd, true))
    }
}

impl PipeWriter {
    /// Opens a named pipe (FIFO) for writing, if somebody has it open for reading.
    ///
    /// # Errors
    ///
    /// `NotConnected` if nobody has (which open(2) calls `ENXIO`); else as for
    /// [`PipeReader::open`].
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let fd = open(path, End::Write).map_err(|error| refused(path, error))?;
        End::Write.check(fd.as_fd())?;
        Ok(Self::from_nonblocking(fd))
    }

    /// Opens a named pipe (FIFO) for writing once somebody has opened it for reading.
    ///
    /// No system tells of that, so that it is tried again and again, with pauses of up to 50 ms.
    ///
    /// ```no_run
    /// # futures::executor::block_on(async {
    /// use windlass_net::PipeWriter;
    ///
    /// let log = PipeWriter::open_when_read("/run/my-service/log").await?;
    /// log.write_all(b"begun\n").await?;
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`open`](PipeWriter::open), but for `NotConnected`.
    ///
    /// # Cancel safety
    ///
    /// Nothing is open when it is dropped.
    pub async fn open_when_read(path: impl AsRef<Path>) -> io::Result<Self> {
        let mut pause = FIRST_WAIT;
        loop {
            match Self::open(path.as_ref()) {
                Err(error) if error.kind() == io::ErrorKind::NotConnected => {}
                opened => return opened,
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_WAIT);
        }
    }
}

fn open(path: &Path, end: End) -> Result<OwnedFd, Errno> {
    let access = match end {
        End::Read => OFlags::RDONLY,
        End::Write => OFlags::WRONLY,
    };
    // A terminal that is named by mistake doesn't become that of the process.
    let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    loop {
        match rustix::fs::open(path, flags, Mode::empty()) {
            Err(Errno::INTR) => {}
            opened => return opened,
        }
    }
}

/// Says what open(2) means: by the same error, that nobody reads, or that it is a socket or a device
/// that isn't there, which waiting would not change.
#[cold]
fn refused(path: &Path, error: Errno) -> io::Error {
    if error != Errno::NXIO {
        return error.into();
    }
    match rustix::fs::stat(path) {
        Ok(found) => match FileType::from_raw_mode(found.st_mode) {
            FileType::Fifo => nobody_reads(path),
            kind => no_pipe(kind),
        },
        Err(error) => error.into(),
    }
}

fn nobody_reads(path: &Path) -> io::Error {
    let path = path.display();
    io::Error::new(
        io::ErrorKind::NotConnected,
        format!(
            "nobody has {path} open for reading; open it there first, or wait for that with \
             PipeWriter::open_when_read"
        ),
    )
}
