//! Which processors a thread may run on.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

/// Says on which processors each worker is to run; without a function they run on any.
#[derive(Clone, Default)]
pub(super) struct Affinity(pub(super) Option<Arc<dyn Fn(usize) -> Vec<usize> + Send + Sync>>);

/// The processors that a worker is to run on, and who is to learn whether it does.
pub(super) struct Binding {
    processors: Vec<usize>,
    result: Sender<io::Result<()>>,
}

/// Learns what became of a [`Binding`], if there is one.
pub(super) struct Bound(Option<(Vec<usize>, Receiver<io::Result<()>>)>);

impl Affinity {
    /// Returns what the thread of this worker is to do first, and what learns of it.
    pub(super) fn of_worker(&self, worker: usize) -> (Option<Binding>, Bound) {
        let Some(function) = &self.0 else {
            return (None, Bound(None));
        };
        let processors = function(worker);
        let (result, learns) = mpsc::channel();
        let bound = Bound(Some((processors.clone(), learns)));
        (Some(Binding { processors, result }), bound)
    }
}

impl fmt::Debug for Affinity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "set" } else { "unset" })
    }
}

impl Binding {
    /// Binds this thread.
    pub(super) fn apply(self) {
        // Whoever makes the runtime waits for this, and gives up if it is an error.
        let _ = self.result.send(bind(&self.processors));
    }
}

impl Bound {
    /// Waits until the thread is bound.
    ///
    /// # Errors
    ///
    /// Why it can't be.
    pub(super) fn wait(self, worker: usize) -> io::Result<()> {
        let Some((processors, learns)) = self.0 else {
            return Ok(());
        };
        let gone = |_| Err(io::Error::other("its thread has ended"));
        let result = learns.recv().unwrap_or_else(gone);
        result.map_err(|error| {
            let what =
                format!("worker {worker} can't run on the processors {processors:?}: {error}");
            io::Error::new(error.kind(), what)
        })
    }
}

/// Binds this thread to these processors.
///
/// # Errors
///
/// `InvalidInput` if there are none, or if there can be no such; the system's error if it has none of
/// them, or doesn't let this process use them; `Unsupported` where there is no such call.
fn bind(processors: &[usize]) -> io::Result<()> {
    if processors.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it was given no processor to run on",
        ));
    }
    system::bind(processors)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use rustix::thread::{CpuSet, sched_setaffinity};
    use std::io;

    pub(super) fn bind(processors: &[usize]) -> io::Result<()> {
        let mut set = CpuSet::new();
        for processor in processors {
            if *processor >= CpuSet::MAX_CPU {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    format!("a processor must be less than {}", CpuSet::MAX_CPU),
                ));
            }
            set.set(*processor);
        }
        Ok(sched_setaffinity(None, &set)?)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    use std::io;

    pub(super) fn bind(_: &[usize]) -> io::Result<()> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this system can't bind threads to processors",
        ))
    }
}
