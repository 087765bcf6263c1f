//! One cell: a server, a call of it that fails, and what comes of it.

use crate::client::{self, Client};
use crate::errors;
use crate::scene::When;
use crate::server::{Process, wait_for, wait_until};
use crate::strace::{self, Attached, Log};
use crate::table::{Cell, Expected, Times};
use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

const REQUEST: &[u8] = b"a request of 40 bytes, of which none is!";

/// Who is not served by then has to wait for another event.
const SOON: Duration = Duration::from_secs(2);

/// How long a server is watched doing nothing.
const REST: Duration = Duration::from_millis(100);
/// So many calls it may make meanwhile.
const MOST_AT_REST: usize = 6;
/// So many calls it may make for a few connections with a request or two each.
const MOST_IN_ALL: usize = 500;
/// A relay of bulk keeps so many pipes for the next.
const PIPES_KEPT: usize = 8;

/// Runs a cell; returns its outcome in words, or what is wrong with it.
pub(crate) fn run(cell: &Cell) -> Result<String, String> {
    let log = Log::new();
    let upstream = match cell.server.has_upstream() {
        true => Some(client::upstream()?),
        false => None,
    };
    let outcome = match cell.when {
        When::Start => at_start(cell, upstream, &log),
        _ => while_serving(cell, upstream, &log),
    };
    outcome.map_err(|what| format!("{what}\n{}", log.tail()))
}

fn at_start(cell: &Cell, upstream: Option<SocketAddr>, log: &Log) -> Result<String, String> {
    let mut server = Process::start(Some(strace::command(cell, log)), cell, upstream)?;
    let address = server.address();
    ensure(log.has_injected(), || "the call was not made".into())?;
    let (address, words) = match (cell.expected, address) {
        (Expected::Refused(words), None) => return refused(&server, cell, words),
        (Expected::Unnoticed, Some(address)) => (address, "unnoticed"),
        (_, Some(_)) => return Err("it starts".into()),
        (_, None) => return Err(format!("it does not start: {:?}", server.errors.all())),
    };
    if !cell.server.is_udp() {
        let mut newcomer = Client::new(cell.server, &address).map_err(in_words("newcomer"))?;
        newcomer.round(REQUEST).map_err(in_words("newcomer"))?;
    }
    server.end()?;
    Ok(words.into())
}

/// What a server that has not started says of it.
fn refused(server: &Process, cell: &Cell, words: &str) -> Result<String, String> {
    let lines = || server.errors.all();
    // The last line may be on its way.
    wait_for(SOON, || !lines().is_empty());
    let text = lines().join("; ");
    let names = text.contains(words) && text.contains(&says(cell));
    ensure(names, || {
        format!(
            "its error does not name {words:?} and {}: {text}",
            says(cell)
        )
    })?;
    ensure(!text.contains("panicked"), || text.clone())?;
    Ok(format!("refused: {text}"))
}

/// The text of the error that is to be told.
fn says(cell: &Cell) -> String {
    cell.says
        .map_or_else(|| errors::text(cell.error), str::to_owned)
}

fn while_serving(cell: &Cell, upstream: Option<SocketAddr>, log: &Log) -> Result<String, String> {
    let mut server = Process::start(None, cell, upstream)?;
    let Some(address) = server.address() else {
        return Err(format!("it does not start: {:?}", server.errors.all()));
    };
    let mut bystander = Client::new(cell.server, &address).map_err(in_words("bystander"))?;
    bystander.round(REQUEST).map_err(in_words("bystander"))?;
    let before = server.settled_descriptors();
    let early = match cell.when {
        When::Comes => None,
        _ => {
            let mut victim = Client::new(cell.server, &address).map_err(in_words("victim"))?;
            victim.round(REQUEST).map_err(in_words("victim"))?;
            Some(victim)
        }
    };
    let attached = Attached::to(server.id(), cell, log)?;
    let mut scene = Scene {
        cell,
        address,
        server,
        bystander,
        log,
    };
    if let Expected::Ends(words) = cell.expected {
        return scene.ends(early, words);
    }
    let outcome = scene.hit(early, attached)?;
    scene.settles(before)?;
    scene.server.end()?;
    Ok(outcome)
}

/// A server at work, of which a call fails.
struct Scene<'a> {
    cell: &'a Cell,
    address: String,
    server: Process,
    bystander: Client,
    log: &'a Log,
}

impl Scene<'_> {
    /// Has the victim hit, and the others served; returns the outcome.
    fn hit(&mut self, early: Option<Client>, attached: Attached) -> Result<String, String> {
        let cell = self.cell;
        let mut victim = match early {
            Some(victim) => victim,
            None => Client::new(cell.server, &self.address).map_err(in_words("victim"))?,
        };
        let who = victim.address().map_err(in_words("victim"))?;
        let mut served = self.act(&mut victim);
        let is_late = is_timeout(&served);
        let is_injected = wait_for(SOON, || self.log.has_injected());
        ensure(is_injected, || format!("the call was not made: {served:?}"))?;
        let attached = match cell.times {
            // The others go on before it ends.
            Times::Always => {
                self.bystander
                    .round(REQUEST)
                    .map_err(in_words("bystander"))?;
                self.is_at_rest()?;
                drop(attached);
                None
            }
            Times::Once => Some(attached),
        };
        self.others()?;
        if is_late {
            served = self.act_late(&mut victim);
        }
        let is_served = served.is_ok();
        if is_served && cell.when != When::Ends {
            victim.end(SOON).map_err(in_words("victim's end"))?;
        }
        drop(victim);
        let told = self.told(&who);
        if cell.times == Times::Once {
            self.is_at_rest()?;
        }
        self.is_within_bounds()?;
        drop(attached);
        self.judge(is_served, is_late, &told)
            .map_err(|what| format!("{what}; the victim: {served:?}"))
    }

    /// What the victim does; says whether it is served.
    fn act(&self, victim: &mut Client) -> io::Result<()> {
        match self.cell.when {
            When::Comes => {
                // The server comes to wait for it.
                thread::sleep(Duration::from_millis(30));
                victim.say(REQUEST)?;
                victim.hear(REQUEST, SOON)
            }
            When::Speaks => {
                victim.say(REQUEST)?;
                victim.hear(REQUEST, SOON)
            }
            When::Ends => victim.end(SOON),
            When::Floods => victim.much(true),
            When::Bulk => victim.much(false),
            When::Start => Ok(()),
        }
    }

    /// As `act`, after something else has happened to it.
    fn act_late(&self, victim: &mut Client) -> io::Result<()> {
        match self.cell.when {
            When::Ends => Ok(()),
            When::Comes => victim.hear(REQUEST, SOON),
            _ => {
                victim.say(REQUEST)?;
                victim.hear(REQUEST, SOON)?;
                victim.hear(REQUEST, SOON)
            }
        }
    }

    /// The bystander and a newcomer are served.
    fn others(&mut self) -> Result<(), String> {
        self.bystander
            .round(REQUEST)
            .map_err(in_words("bystander"))?;
        let newcomer = Client::new(self.cell.server, &self.address);
        let mut newcomer = newcomer.map_err(in_words("newcomer"))?;
        newcomer.round(REQUEST).map_err(in_words("newcomer"))?;
        // Where the close of another one failed, the end may not be seen; that is not asked here.
        newcomer.end(SOON).map_err(in_words("newcomer's end"))
    }

    /// What the server tells of the victim, or of no connection, once it tells that this has ended.
    fn told(&self, victim: &str) -> Vec<String> {
        let ended = format!("ended {victim}");
        let lines = || self.server.output.all();
        let is_about = |line: &String| line.starts_with(&ended) || line.starts_with("told: ");
        // Of datagrams nothing is told unless something fails.
        let is_silent = self.cell.server.is_udp() && !self.is_told();
        if !is_silent {
            let awaited = if self.cell.server.is_udp() {
                "told: "
            } else {
                &ended
            };
            wait_for(SOON, || {
                lines().iter().any(|line| line.starts_with(awaited))
            });
        }
        let told = lines().into_iter().filter(is_about);
        told.filter(|line| *line != ended).collect()
    }

    /// Says whether the server is to be told the error.
    fn is_told(&self) -> bool {
        matches!(self.cell.expected, Expected::Told | Expected::Lost)
    }

    /// Compares what has happened with what was expected.
    fn judge(&self, is_served: bool, is_late: bool, told: &[String]) -> Result<String, String> {
        let says = says(self.cell);
        let names_it = told.iter().any(|line| line.contains(&says));
        let is_expected = match self.cell.expected {
            Expected::Unnoticed => is_served && !is_late && told.is_empty(),
            Expected::Later => is_served && is_late && told.is_empty(),
            Expected::Told => is_served && names_it && told.len() == 1,
            Expected::Lost => names_it && told.len() == 1 && self.is_lost(is_served, is_late),
            Expected::Refused(_) | Expected::Ends(_) => false,
        };
        let outcome = || {
            let word = match self.cell.expected {
                Expected::Unnoticed => return "unnoticed".to_owned(),
                Expected::Later => return "later".to_owned(),
                Expected::Told => "told",
                _ => "lost",
            };
            let text = told.first().and_then(|line| line.split_once(": "));
            format!("{word}: {}", text.map_or("", |(_, text)| text))
        };
        ensure(is_expected, || {
            format!(
                "served: {is_served}, late: {is_late}, {says:?} is to be told, told is {told:?}"
            )
        })?;
        Ok(outcome())
    }

    /// Says whether the victim has learnt that it is not served, as far as it can.
    fn is_lost(&self, is_served: bool, is_late: bool) -> bool {
        match self.cell.when {
            // It has been served by then.
            When::Ends => is_served,
            // Nobody tells it that a datagram is lost.
            _ if self.cell.server.is_udp() => !is_served,
            _ => !is_served && !is_late,
        }
    }

    /// Nothing happens, so the server does nothing.
    fn is_at_rest(&self) -> Result<(), String> {
        let mut count = 0;
        let is_quiet = || {
            let before = self.log.calls();
            thread::sleep(REST);
            count = self.log.calls() - before;
            count <= MOST_AT_REST
        };
        let rests = wait_until(is_quiet);
        ensure(rests, || format!("it spins: {count} calls in {REST:?}"))
    }

    /// Few calls were made in all.
    fn is_within_bounds(&self) -> Result<(), String> {
        let calls = self.log.calls();
        let is_much = matches!(self.cell.when, When::Bulk | When::Floods);
        ensure(is_much || calls <= MOST_IN_ALL, || {
            format!("{calls} calls were made")
        })
    }

    /// It has as many descriptors as before, and nothing has panicked.
    fn settles(&mut self, before: usize) -> Result<(), String> {
        let most = before + self.cell.leaves_open;
        let kept = if self.cell.when == When::Bulk {
            PIPES_KEPT
        } else {
            0
        };
        let is_back = wait_until(|| (most..=most + kept).contains(&self.server.descriptors()));
        let now = self.server.descriptors();
        ensure(is_back, || {
            format!("{now} descriptors are open, and {most} should be")
        })?;
        let errors = self.server.errors.all();
        ensure(errors.is_empty(), || format!("it says {errors:?}"))?;
        ensure(self.server.status().is_none(), || "it has ended".into())
    }

    /// The server ends, and says these words and the error.
    fn ends(mut self, early: Option<Client>, words: &str) -> Result<String, String> {
        if let Some(mut victim) = early {
            // It may be served, or not.
            let _ = victim.say(REQUEST);
        }
        let ended = wait_until(|| self.server.status().is_some());
        ensure(ended, || "it goes on".into())?;
        let calls = self.log.calls();
        ensure(calls <= MOST_IN_ALL, || format!("{calls} calls were made"))?;
        let says = says(self.cell);
        let lines = self.server.errors.all();
        let named = lines
            .iter()
            .find(|line| line.contains(words) && line.contains(&says));
        let named =
            named.ok_or_else(|| format!("it does not say {words} and {says}: {lines:?}"))?;
        Ok(format!("ends: {named}"))
    }
}

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

fn in_words(who: &'static str) -> impl Fn(io::Error) -> String {
    move |error| format!("the {who} is not served: {error}")
}

fn is_timeout(done: &io::Result<()>) -> bool {
    use io::ErrorKind::{TimedOut, WouldBlock};
    done.as_ref()
        .is_err_and(|error| matches!(error.kind(), TimedOut | WouldBlock))
}
