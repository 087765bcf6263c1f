//! Sequences in which one thread waits and the other makes the changes; and what holds however the
//! two are interleaved.
//!
//! 1. A batch whose wait began after a removal returned does not have its token.
//! 2. What has to be reported comes, also to a wait that was under way when it came about.
//! 3. One shot is one.
//! 4. A notification ends the wait under way, or the next one.
//! 5. Nothing is reported that was not asked for, unless the descriptor has ended.

use crate::facts::{ERROR, Facts, NONE, READ_CLOSED, READABLE, WRITABLE, WRITE_CLOSED};
use crate::steps::{AMPLE, Step};
use crate::support::LONG;
use crate::world::{Checked, World};
use std::collections::HashSet;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Instant;
use windlass_reactor::{Events, Interest, Mode, Poller};

#[derive(Default)]
struct Shared {
    log: Mutex<Log>,
    grew: Condvar,
}

/// What the waiting thread tells and is told.
#[derive(Default)]
struct Log {
    /// What has been reported, and not been looked at yet.
    reports: Vec<(u64, Facts)>,
    /// How many waits are over.
    waits: u64,
    /// Rule 1: what is removed.
    retired: HashSet<u64>,
    room: usize,
    is_done: bool,
    failure: Option<String>,
}

/// Runs one sequence, and then looks at what is left.
pub(crate) fn run(poller: &Poller, steps: &[Step]) -> Checked {
    let shared = Shared::default();
    shared.log().room = AMPLE;
    thread::scope(|scope| {
        scope.spawn(|| wait_on(poller, &shared));
        let result = change(poller, &shared, steps);
        shared.log().is_done = true;
        poller.notify().map_err(|error| error.to_string())?;
        result
    })?;
    let failure = shared.log().failure.take();
    failure.map_or(Ok(()), Err)
}

impl Shared {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap()
    }

    /// Looks at the log, again and again while it grows, until `done` says that it is enough.
    fn look(&self, mut done: impl FnMut(&mut Log) -> Checked<bool>) -> Checked<bool> {
        let end = Instant::now() + LONG;
        let mut log = self.log();
        while !done(&mut log)? {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            log = self.grew.wait_timeout(log, left).unwrap().0;
        }
        Ok(true)
    }
}

/// The thread that waits, for ever each time.
fn wait_on(poller: &Poller, shared: &Shared) {
    let mut retired = HashSet::new();
    loop {
        let room = {
            let log = shared.log();
            if log.is_done {
                return;
            }
            retired.clone_from(&log.retired);
            log.room
        };
        let mut events = Events::with_capacity(room).unwrap();
        let waited = poller.wait(&mut events, None);
        let mut log = shared.log();
        log.waits += 1;
        if let Err(error) = waited {
            log.failure = Some(format!("wait: {error}"));
            log.is_done = true;
        }
        for event in &events {
            if retired.contains(&event.token().0) {
                log.failure = Some(format!("{event:?} comes after its removal"));
            }
            log.reports.push((event.token().0, Facts::of(event)));
        }
        drop(log);
        shared.grew.notify_one();
        // What stays ready is reported again and again: the other thread is to get its turn.
        thread::yield_now();
    }
}

/// The thread that makes the changes.
fn change(poller: &Poller, shared: &Shared, steps: &[Step]) -> Checked {
    let mut world = World::new(poller, true);
    for step in steps {
        take_in(&mut world, &mut shared.log())?;
        match *step {
            Step::Notify => expect_end_of_wait(poller, shared)?,
            Step::Wait(room) => {
                shared.log().room = room;
                expect_reports(&mut world, shared)?;
            }
            step => world.take(step)?,
        }
        shared.log().retired.extend(world.retired.drain(..));
    }
    expect_reports(&mut world, shared)?;
    world.remove_all()?;
    shared.log().retired.extend(world.retired.drain(..));
    expect_end_of_wait(poller, shared)?;
    expect_end_of_wait(poller, shared)
}

/// Rule 4.
fn expect_end_of_wait(poller: &Poller, shared: &Shared) -> Checked {
    let before = shared.log().waits;
    poller.notify().map_err(|error| error.to_string())?;
    if shared.look(|log| Ok(log.waits > before || log.is_done))? {
        return Ok(());
    }
    Err("a notification ends no wait".into())
}

/// Rule 2.
fn expect_reports(world: &mut World<'_>, shared: &Shared) -> Checked {
    take_in(world, &mut shared.log())?;
    let mut missing = world.expected();
    let is_complete = shared.look(|log| {
        for (token, facts) in take_in(world, log)? {
            for (_, left) in missing.iter_mut().filter(|(one, _)| *one == token) {
                *left = left.without(facts);
            }
        }
        // A shot that was taken before all this came about is taken.
        let due = world.expected();
        missing.retain(|(token, left)| *left != NONE && due.iter().any(|(one, _)| one == token));
        Ok(missing.is_empty() || log.is_done)
    })?;
    if is_complete {
        return Ok(());
    }
    Err(format!("{missing:?} is not reported"))
}

/// Has the model know what was reported (rules 3 and 5).
fn take_in(world: &mut World<'_>, log: &mut Log) -> Checked<Vec<(u64, Facts)>> {
    if let Some(failure) = log.failure.take() {
        return Err(failure);
    }
    let reports = std::mem::take(&mut log.reports);
    for (token, facts) in &reports {
        // Else it was removed after the wait began.
        let Some((registered, state)) = world.registered(*token) else {
            continue;
        };
        let mut may = asked(registered.interest) | state.may(registered.interest);
        if registered.mode != Mode::Level && state.is_over() {
            may |= ERROR;
        }
        if !may.contains(*facts) {
            return Err(format!("{facts:?} of {registered:?}, {state:?}"));
        }
        registered.reported(state, *facts)?;
    }
    Ok(reports)
}

/// What may have held at some time, of what is asked for.
fn asked(interest: Interest) -> Facts {
    let mut facts = NONE;
    if interest.contains(Interest::READABLE) {
        facts |= READABLE | READ_CLOSED;
    }
    if interest.contains(Interest::WRITABLE) {
        facts |= WRITABLE | WRITE_CLOSED;
    }
    facts
}
