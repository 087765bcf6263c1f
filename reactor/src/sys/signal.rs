//! Signal handlers, by way of signal-hook-registry.

use super::fork;
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// Takes its action out again when it is dropped.
///
/// The handler itself stays: signal-hook-registry never gives a signal back to its default.
#[derive(Debug)]
pub(crate) struct Registered {
    id: signal_hook_registry::SigId,
    made_in: u32,
    target: Arc<Target>,
}

/// What an action writes to.
#[derive(Debug)]
struct Target {
    /// The process that the number is for; in any other one the action does nothing.
    process: AtomicU32,
    /// The number of a pipe's write end, which stays open for as long as the action is there.
    pipe: AtomicI32,
    /// The first one of those.
    _first: OwnedFd,
}

impl Registered {
    /// Has the action write to another pipe from now on, in a child of the process that registered.
    ///
    /// The registry is left alone: if a handler ran in another thread when the process forked, a
    /// change would wait for its end for ever.
    pub(crate) fn listen_in_child(&self, pipe: OwnedFd) {
        // Never closed any more, as a handler may be about to write there.
        self.target
            .pipe
            .store(pipe.into_raw_fd(), Ordering::Relaxed);
        // Pairs with the load in the action.
        self.target
            .process
            .store(fork::generation(), Ordering::Release);
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        if self.made_in == fork::generation() {
            signal_hook_registry::unregister(self.id);
        } else {
            self.target.process.store(0, Ordering::Relaxed);
        }
    }
}

/// Has each arrival of `signal` write one byte to `pipe`, a pipe's write end that does not block.
///
/// A full pipe is no loss: it says already that the signal came. In a forked child nothing is
/// written, for at the other end is the parent.
pub(crate) fn write_on_arrival(signal: libc::c_int, pipe: OwnedFd) -> io::Result<Registered> {
    if signal_hook_registry::FORBIDDEN.contains(&signal) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "signal {signal} cannot be caught: the system keeps it, or the program must stop at once"
            ),
        ));
    }
    fork::watch();
    let made_in = fork::generation();
    let target = Arc::new(Target {
        process: AtomicU32::new(made_in),
        pipe: AtomicI32::new(pipe.as_raw_fd()),
        _first: pipe,
    });
    let of_action = target.clone();
    let action = move || {
        if of_action.process.load(Ordering::Acquire) == fork::generation() {
            let fd = of_action.pipe.load(Ordering::Relaxed);
            // SAFETY: the kernel reads the one byte of the array. write(2) may be called in a signal
            // handler. The number names a pipe that is open for as long as the action is there.
            unsafe { libc::write(fd, [1_u8].as_ptr().cast(), 1) };
        }
    };
    // SAFETY: the action only looks at atomics and calls write(2), which is async-signal-safe; it
    // neither allocates nor locks nor panics. signal-hook-registry itself keeps errno for the
    // interrupted code.
    let id = unsafe { signal_hook_registry::register(signal, action) }?;
    Ok(Registered {
        id,
        made_in,
        target,
    })
}
