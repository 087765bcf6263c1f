//! Which process something belongs to, since fork copies everything but the threads.
//!
//! What a child finds in its copy of the memory is its parent's: the kernel's set of descriptors is
//! one and the same for both, the threads that served it are not there, and a lock may be held by
//! one of them for ever. So in the child:
//!
//! 1. A reactor of the parent counts as one that nobody turns. It is never turned, notified, or told
//!    to forget a descriptor, as that would be seen by the parent; and no lock of it is taken.
//! 2. Sources and timers move to a reactor of the child when they are polled there, as they do from
//!    any other reactor that was left. Who waited for them in the parent is forgotten, without
//!    running any code of theirs.
//! 3. What would have to be dropped is left in memory instead, if dropping it could be seen outside.

use crate::sys::fork;
use std::io;

/// A process, as far as fork is concerned: a child is another one than its parent.
///
/// Children that come about without the handlers of `pthread_atfork` are not told apart: those of
/// `vfork`, and of a bare `clone`.
///
/// ```
/// use windlass_reactor::Process;
///
/// let process = Process::current();
/// assert!(process.is_current());
/// // ... and after a fork it still is in the parent, but not in the child.
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process(u32);

impl Process {
    /// Names the process that this is.
    pub fn current() -> Self {
        fork::watch();
        Self(fork::generation())
    }

    /// Says whether this is that process still, or else a child of it.
    #[inline(always)]
    pub fn is_current(self) -> bool {
        self.0 == fork::generation()
    }

    /// Returns a number that another process is not likely to have, and that is not zero.
    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

/// The error of whoever tries to turn a reactor of the parent.
#[cold]
pub(crate) fn inherited_reactor() -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        "this reactor was made before fork(), and is the parent's; make a new one in the child",
    )
}
