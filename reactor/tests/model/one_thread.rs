//! Sequences on one thread, where each wait is known to report what it must, and no more.

use crate::facts::{Facts, NONE};
use crate::steps::{AMPLE, Step};
use crate::world::{Checked, World};
use std::time::{Duration, Instant};
use windlass_reactor::{Event, Events, Mode, Poller};

/// Longer than a wait takes for what is ready before it begins.
const PATIENCE: Duration = Duration::from_secs(3);

struct Run<'p> {
    world: World<'p>,
    is_notified: bool,
    /// How many waits have reported all that there was since something was done.
    quiet_waits: usize,
}

/// Runs one sequence, and then has everything that is left reported and removed.
pub(crate) fn run(poller: &Poller, steps: &[Step]) -> Checked {
    let mut run = Run {
        world: World::new(poller, false),
        is_notified: false,
        quiet_waits: 0,
    };
    for step in steps {
        run.take(*step)?;
    }
    run.finish()
}

impl Run<'_> {
    fn take(&mut self, step: Step) -> Checked {
        match step {
            Step::Wait(room) => return self.wait(room).map(|_| ()),
            Step::Notify => {
                self.world
                    .poller
                    .notify()
                    .map_err(|error| error.to_string())?;
                self.is_notified = true;
            }
            step => {
                self.world.take(step)?;
                self.quiet_waits = 0;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Checked {
        self.have_turns()?;
        for _ in 0..4 {
            self.wait(AMPLE)?;
        }
        self.world.remove_all()?;
        self.quiet_waits = 0;
        self.wait(AMPLE).map(|_| ())
    }

    /// With room for one at a time, each has its turn.
    fn have_turns(&mut self) -> Checked {
        let mut missing: Vec<u64> = self.expected().iter().map(|(token, _)| *token).collect();
        for _ in 0..8 * missing.len() {
            if missing.is_empty() {
                break;
            }
            let came = self.wait(1)?;
            missing.retain(|token| came.iter().all(|event| event.token().0 != *token));
        }
        if missing.is_empty() {
            return Ok(());
        }
        Err(format!("the tokens {missing:?} do not have their turns"))
    }

    fn expected(&self) -> Vec<(u64, Facts)> {
        self.world.expected()
    }

    /// Waits, for as long as something has to come, and checks what comes.
    fn wait(&mut self, room: usize) -> Checked<Vec<Event>> {
        let expected = self.expected();
        let has_to_end = self.is_notified || !expected.is_empty();
        let timeout = if has_to_end { PATIENCE } else { Duration::ZERO };
        let mut events = Events::with_capacity(room).unwrap();
        let begin = Instant::now();
        let waited = self.world.poller.wait(&mut events, Some(timeout));
        waited.map_err(|error| format!("wait: {error}"))?;
        if has_to_end && begin.elapsed() >= PATIENCE {
            return Err(format!("nothing ends the wait for {expected:?}"));
        }
        let was_notified = std::mem::take(&mut self.is_notified);
        let came: Vec<Event> = events.iter().copied().collect();
        if came.len() > room || (came.is_empty() && !expected.is_empty() && !was_notified) {
            return Err(format!("{came:?} came for {expected:?}"));
        }
        if room == AMPLE {
            expect_all(&expected, &came)?;
        }
        for (index, event) in came.iter().enumerate() {
            if came[..index]
                .iter()
                .any(|other| other.token() == event.token())
            {
                return Err(format!("{event:?} comes twice"));
            }
            self.check(event)?;
        }
        if room == AMPLE {
            self.quiet_waits += 1;
        }
        Ok(came)
    }

    fn check(&mut self, event: &Event) -> Checked {
        let (token, facts) = (event.token().0, Facts::of(event));
        let quiet_waits = self.quiet_waits;
        let Some((registered, state)) = self.world.registered(token) else {
            return self.world.unregistered(token);
        };
        let may = state.may(registered.interest);
        if facts == NONE || !may.contains(facts) {
            return Err(format!("{event:?} of {registered:?}, {state:?}"));
        }
        if registered.mode == Mode::Edge && quiet_waits >= 2 {
            return Err(format!("{event:?} of {registered:?} comes for ever"));
        }
        registered.reported(state, facts)
    }
}

fn expect_all(expected: &[(u64, Facts)], came: &[Event]) -> Checked {
    for (token, facts) in expected {
        let is_it = |event: &&Event| event.token().0 == *token;
        let came = came.iter().find(is_it).map_or(NONE, Facts::of);
        if !came.contains(*facts) {
            return Err(format!("{came:?} came of {token}, not {facts:?}"));
        }
    }
    Ok(())
}
