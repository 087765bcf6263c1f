//! A dump for people, and for `serde`.

use super::{Dump, Endpoint, RootView, TaskState, TaskView, WaitingFor};
use std::fmt;
use std::time::Duration;

/// How many tasks of one place are shown, unless all are asked for.
const MOST_SHOWN: usize = 10;

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |is: fn(&TaskState) -> bool| {
            let found = self.tasks.iter().filter(|task| is(&task.state));
            found.count()
        };
        writeln!(
            f,
            "{}: {} run, {} are ready, {} wait",
            Counted(self.tasks.len() as u64, "task"),
            count(|state| matches!(state, TaskState::Running { .. })),
            count(|state| *state == TaskState::Ready),
            count(|state| *state == TaskState::Idle),
        )?;
        let most = if f.alternate() {
            usize::MAX
        } else {
            MOST_SHOWN
        };
        let of_one_place = |one: &TaskView, two: &TaskView| one.spawned_at == two.spawned_at;
        for tasks in self.tasks.chunk_by(of_one_place) {
            writeln!(f, "{} spawned at {}", tasks.len(), tasks[0].spawned_at)?;
            for task in tasks.iter().take(most) {
                writeln!(f, "  {task}")?;
            }
            if tasks.len() > most {
                writeln!(f, "  ... and {} more", tasks.len() - most)?;
            }
        }
        match &self.root {
            Some(root) => writeln!(f, "{root}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for RootView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the future of block_on: ")?;
        write_doing(f, self.state, &self.waits_for)
    }
}

impl fmt::Display for TaskView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}", self.id)?;
        if let Some(name) = &self.name {
            write!(f, " {name:?}")?;
        }
        if self.is_blocking {
            f.write_str(" (blocking)")?;
        }
        f.write_str(": ")?;
        write_doing(f, self.state, &self.waits_for)?;
        write!(f, "; {}", Counted(u64::from(self.polls), "poll"))?;
        if let Some(ago) = self.last_poll {
            write!(f, ", the last {} ago", Seconds(ago))?;
        }
        if self.busy > Duration::ZERO {
            write!(f, ", busy for {:.3?}", self.busy)?;
        }
        Ok(())
    }
}

/// Says what a task is doing.
fn write_doing(
    f: &mut fmt::Formatter<'_>,
    state: TaskState,
    waits_for: &[WaitingFor],
) -> fmt::Result {
    match state {
        TaskState::Running {
            worker: Some(worker),
        } => write!(f, "runs on worker {worker}")?,
        TaskState::Running { worker: None } => f.write_str("runs")?,
        TaskState::Ready => f.write_str("is ready")?,
        TaskState::Complete => f.write_str("is over")?,
        TaskState::Idle => {
            for (number, waits_for) in waits_for.iter().enumerate() {
                f.write_str(if number == 0 { "waits " } else { ", or " })?;
                fmt::Display::fmt(waits_for, f)?;
            }
        }
    }
    Ok(())
}

impl fmt::Display for WaitingFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(endpoint) => write!(f, "to read from {endpoint}"),
            Self::Write(endpoint) => write!(f, "to write to {endpoint}"),
            Self::Urgent(endpoint) => write!(f, "for urgent data from {endpoint}"),
            Self::Accept(endpoint) => write!(f, "to accept on {endpoint}"),
            Self::Sleep { left } => write!(f, "for a timer, due in {}", Seconds(*left)),
            Self::Task {
                id,
                is_blocking: true,
            } => write!(f, "for the blocking task {id}"),
            Self::Task { id, .. } => write!(f, "for task {id}"),
            Self::Other => f.write_str("for something else"),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.peer.or(self.local) {
            Some(address) => write!(f, "{address} (descriptor {})", self.descriptor),
            None => write!(f, "descriptor {}", self.descriptor),
        }
    }
}

/// A number of things.
struct Counted(u64, &'static str);

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} {}{end}", self.0, self.1)
    }
}

/// A time in seconds, in tenths; a very long one is for ever.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} s", self.0.as_secs_f64())
    }
}

/// Writes the number of a task.
#[cfg(feature = "serde")]
pub(super) fn number<S: serde::Serializer>(
    id: &crate::Id,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(id.as_u64())
}

/// Writes what is shown to people.
#[cfg(feature = "serde")]
pub(super) fn text<S: serde::Serializer>(
    shown: &impl fmt::Display,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(shown)
}
