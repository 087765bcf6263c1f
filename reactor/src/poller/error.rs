//! Why a registration was refused; the same on every back end.

use super::Backend;
use crate::sys::file::{Identity, Unpollable, identify};
use std::fmt;
use std::io;
use std::os::fd::RawFd;

/// Why a [`Poller`](crate::Poller) refused a registration; inside the [`io::Error`] it returns.
///
/// ```
/// use windlass_reactor::{Interest, Mode, Poller, RegisterError, Token};
/// use std::os::fd::AsFd;
///
/// let file = std::fs::File::open("/proc/self/stat").or_else(|_| std::fs::File::open("/etc/hosts"))?;
/// let poller = Poller::new()?;
/// let error = poller.add(file.as_fd(), Token(1), Interest::READABLE, Mode::Level).unwrap_err();
/// assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
/// assert!(error.get_ref().unwrap().is::<RegisterError>());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegisterError {
    descriptor: RawFd,
    backend: Backend,
    refusal: Refusal,
}

/// The reasons of a [`RegisterError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The descriptor is in the set already. Kind `AlreadyExists`.
    AlreadyRegistered,
    /// The descriptor is not in the set. Kind `NotFound`.
    NotRegistered,
    /// It is a regular file, which is always ready. Kind `Unsupported`.
    RegularFile,
    /// It is a directory. Kind `Unsupported`.
    Directory,
    /// It is a device that cannot be waited for. Kind `Unsupported`.
    Device,
    /// The number names no open descriptor. Kind `InvalidInput`.
    NotOpen,
    /// The token is the one that the poller keeps for itself. Kind `InvalidInput`.
    ReservedToken,
}

impl RegisterError {
    /// Returns the reason.
    pub fn refusal(&self) -> Refusal {
        self.refusal
    }

    /// Returns the descriptor that was refused.
    pub fn descriptor(&self) -> RawFd {
        self.descriptor
    }

    /// Makes the error that is returned for `refusal`.
    pub(crate) fn refuse(backend: Backend, descriptor: RawFd, refusal: Refusal) -> io::Error {
        let kind = match refusal {
            Refusal::AlreadyRegistered => io::ErrorKind::AlreadyExists,
            Refusal::NotRegistered => io::ErrorKind::NotFound,
            Refusal::RegularFile | Refusal::Directory | Refusal::Device => {
                io::ErrorKind::Unsupported
            }
            Refusal::NotOpen | Refusal::ReservedToken => io::ErrorKind::InvalidInput,
        };
        io::Error::new(
            kind,
            RegisterError {
                descriptor,
                backend,
                refusal,
            },
        )
    }

    /// Turns what the system said about a registration into the error that all back ends return;
    /// what has no reason of its own keeps its kind.
    pub(crate) fn from_system(backend: Backend, fd: RawFd, error: &io::Error) -> io::Error {
        let refusal = match error.raw_os_error() {
            Some(libc::EEXIST) => Refusal::AlreadyRegistered,
            Some(libc::ENOENT) => Refusal::NotRegistered,
            Some(libc::EBADF) => Refusal::NotOpen,
            Some(libc::EPERM) => match identify(fd) {
                Ok(Err(kind)) => kind.into(),
                _ => Refusal::Device,
            },
            _ => return Self::not_watched(backend, fd, error),
        };
        Self::refuse(backend, fd, refusal)
    }

    /// Says of an error that has no reason of its own what it is about: most often whoever gets it
    /// has asked for a read or a write.
    #[cold]
    fn not_watched(backend: Backend, fd: RawFd, error: &io::Error) -> io::Error {
        let remedy = match error.raw_os_error() {
            Some(libc::ENOSPC) => "; on Linux fs.epoll.max_user_watches says how many may be",
            _ => "",
        };
        io::Error::new(
            error.kind(),
            format!("the back end {backend} can't watch descriptor {fd}: {error}{remedy}"),
        )
    }

    /// Refuses what is not open, a regular file or a directory, for back ends that don't; else
    /// returns which file it is.
    pub(crate) fn unless_pollable(backend: Backend, fd: RawFd) -> io::Result<Identity> {
        match identify(fd) {
            Ok(Ok(identity)) => Ok(identity),
            Ok(Err(kind)) => Err(Self::refuse(backend, fd, kind.into())),
            Err(error) => Err(Self::from_system(backend, fd, &error)),
        }
    }
}

impl From<Unpollable> for Refusal {
    fn from(kind: Unpollable) -> Self {
        match kind {
            Unpollable::RegularFile => Refusal::RegularFile,
            Unpollable::Directory => Refusal::Directory,
        }
    }
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            descriptor,
            backend,
            refusal,
        } = self;
        let blocking = "read and write it where blocking is allowed, as in spawn_blocking";
        match refusal {
            Refusal::AlreadyRegistered => write!(
                f,
                "descriptor {descriptor} is registered with this {backend} poller already; use modify, or remove it first"
            ),
            Refusal::NotRegistered => write!(
                f,
                "descriptor {descriptor} is not registered with this {backend} poller; add it first"
            ),
            Refusal::RegularFile => write!(
                f,
                "descriptor {descriptor} is a regular file, which is always ready and which {backend} does not wait for; {blocking}"
            ),
            Refusal::Directory => write!(
                f,
                "descriptor {descriptor} is a directory, which {backend} does not wait for; {blocking}"
            ),
            Refusal::Device => write!(
                f,
                "descriptor {descriptor} is a device that {backend} cannot wait for; {blocking}"
            ),
            Refusal::NotOpen => write!(
                f,
                "descriptor {descriptor}, given to the {backend} poller, is not open; register before closing"
            ),
            Refusal::ReservedToken => write!(
                f,
                "the token {} was given for descriptor {descriptor}, but the {backend} poller keeps it for itself; use a smaller one",
                super::Token::RESERVED.0
            ),
        }
    }
}

impl std::error::Error for RegisterError {}
