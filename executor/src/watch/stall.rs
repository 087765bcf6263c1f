//! What is told of a worker that is stuck.

use crate::task::{Id, Origin};
use std::borrow::Cow;
use std::fmt;
use std::panic::Location;
use std::time::Duration;

/// A task, as a [`Stall`] names it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StalledTask {
    /// Its number.
    pub id: Id,
    /// Its name, if it has one.
    pub name: Option<Cow<'static, str>>,
    /// The call that spawned it.
    pub spawned_at: &'static Location<'static>,
}

/// What a worker was running when it got stuck.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Culprit {
    /// A task.
    Task(StalledTask),
    /// The future of `block_on`.
    Root,
}

/// A worker that has been running one thing for so long that others had to help.
///
/// What may run elsewhere does: tasks, their I/O, their timers. What can't is named here.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use std::{sync::mpsc, thread};
/// use windlass_executor::Runtime;
///
/// let (tell, told) = mpsc::channel();
/// let runtime = Runtime::builder()
///     .workers(2)
///     .on_stall(move |stall| tell.send(stall.clone()).unwrap())
///     .build()?;
/// let task = runtime.spawn(async { thread::sleep(Duration::from_millis(100)) });
/// let stall = told.recv()?;
/// assert!(stall.lasted >= Duration::from_millis(10));
/// println!("{stall}"); // worker 1 is stuck in task 1, spawned at src/main.rs:9:20, for ...
/// # task.wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stall {
    /// The number of the worker; 0 is the thread in `block_on`.
    pub worker: usize,
    /// What the worker runs.
    pub culprit: Culprit,
    /// For how long at least.
    pub lasted: Duration,
    /// It goes on again: this is the second and last report of this stall.
    pub is_over: bool,
    /// How many tasks that can't leave this thread are ready and wait.
    pub left_behind: usize,
    /// The first of those, [`Stall::MOST_NAMED`] at the most.
    pub named: Vec<StalledTask>,
    /// The future of `block_on` on this thread is ready and waits.
    pub root_waits: bool,
}

impl Stall {
    /// How many of the tasks that wait are named.
    pub const MOST_NAMED: usize = 8;
}

impl StalledTask {
    pub(super) fn new(origin: Origin) -> Self {
        Self {
            id: origin.id,
            name: origin.name,
            spawned_at: origin.spawned_at,
        }
    }
}

impl fmt::Display for StalledTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}", self.id)?;
        if let Some(name) = &self.name {
            write!(f, " {name:?}")?;
        }
        write!(f, ", spawned at {}", self.spawned_at)
    }
}

impl fmt::Display for Culprit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(task) => task.fmt(f),
            Self::Root => f.write_str("the future of block_on"),
        }
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.is_over { "was" } else { "is" };
        let (worker, culprit, lasted) = (self.worker, &self.culprit, self.lasted);
        write!(
            f,
            "worker {worker} {verb} stuck in {culprit}, for {lasted:.1?}"
        )?;
        if self.root_waits {
            f.write_str("; the future of block_on waits")?;
        }
        if self.left_behind > 0 {
            write!(f, "; {} tasks of its thread wait", self.left_behind)?;
            for (index, task) in self.named.iter().enumerate() {
                write!(f, "{} {task}", if index == 0 { ":" } else { ";" })?;
            }
            if self.left_behind > self.named.len() {
                f.write_str("; ...")?;
            }
        }
        Ok(())
    }
}
