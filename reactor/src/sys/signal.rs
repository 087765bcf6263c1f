//! Signal handlers, by way of signal-hook-registry.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// Takes its action out again when it is dropped.
///
/// The handler itself stays: signal-hook-registry never gives a signal back to its default.
#[derive(Debug)]
pub(crate) struct Registered(signal_hook_registry::SigId);

impl Drop for Registered {
    fn drop(&mut self) {
        signal_hook_registry::unregister(self.0);
    }
}

/// Has each arrival of `signal` write one byte to `pipe`, a pipe's write end that does not block.
///
/// A full pipe is no loss: it says already that the signal came. In a forked child nothing is
/// written, for at the other end is the parent.
pub(crate) fn write_on_arrival(signal: libc::c_int, pipe: Arc<OwnedFd>) -> io::Result<Registered> {
    if signal_hook_registry::FORBIDDEN.contains(&signal) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "signal {signal} cannot be caught: the system keeps it, or the program must stop at once"
            ),
        ));
    }
    super::fork::watch();
    let generation = super::fork::generation();
    let action = move || {
        if super::fork::generation() != generation {
            return;
        }
        let fd = std::os::fd::AsRawFd::as_raw_fd(&pipe.as_fd());
        // SAFETY: the kernel reads the one byte of the array. write(2) may be called in a signal
        // handler. `pipe` is owned by the action, so that the number names the pipe.
        unsafe { libc::write(fd, [1_u8].as_ptr().cast(), 1) };
    };
    // SAFETY: the action only looks at an atomic and calls write(2), which is async-signal-safe; it neither allocates nor
    // locks nor panics. signal-hook-registry itself keeps errno for the interrupted code.
    let id = unsafe { signal_hook_registry::register(signal, action) }?;
    Ok(Registered(id))
}
