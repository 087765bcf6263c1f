//! The table, times the modes, times the moments and threads.

use crate::facts::{Facts, NONE};
use crate::kinds::Subject;
use crate::support::{LONG, each_poller, wait};
use crate::table::{Row, TABLE};
use std::os::fd::AsFd;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use windlass_reactor::{Event, Interest, Mode, Poller, Token};

/// When, and by whom, the two halves of a case are done: the registration and what happens.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// It has happened when the descriptor is registered.
    BeforeRegistration,
    /// It happens after the registration, before the wait.
    BeforeWait,
    /// Another thread has it happen during the wait.
    DuringWait,
    /// It has happened, and another thread registers during the wait.
    RegisteredDuringWait,
    /// It has happened, and another thread changes the registration during the wait.
    ModifiedDuringWait,
}

const MOMENTS: [Moment; 5] = [
    Moment::BeforeRegistration,
    Moment::BeforeWait,
    Moment::DuringWait,
    Moment::RegisteredDuringWait,
    Moment::ModifiedDuringWait,
];

/// How long nothing has to come to count as nothing.
const SILENCE: Duration = Duration::from_millis(2);

const TOKEN: Token = Token(77);
const OLD_TOKEN: Token = Token(76);

fn check_all(mode: Mode) {
    each_poller(|poller| {
        for row in TABLE {
            for moment in MOMENTS {
                Case {
                    poller,
                    row: *row,
                    mode,
                    moment,
                }
                .check();
            }
        }
    });
}

#[test]
fn level_triggered_registrations_keep_the_table() {
    check_all(Mode::Level);
}

#[test]
fn edge_triggered_registrations_keep_the_table() {
    check_all(Mode::Edge);
}

#[test]
fn one_shot_registrations_keep_the_table() {
    check_all(Mode::Oneshot);
}

struct Case<'a> {
    poller: &'a Poller,
    row: Row,
    mode: Mode,
    moment: Moment,
}

impl Case<'_> {
    fn check(&self) {
        let mut subject = Subject::new(self.row.kind);
        self.row.situation.prepare(&mut subject);
        let mut seen = self.first_events(&mut subject);
        let must = self.must();
        if self.is_first_part(seen) {
            self.modify(&subject);
            seen |= self.collect_until_told();
        }
        assert!(
            seen.contains(must),
            "{self:?}: {seen:?} came, {must:?} must"
        );
        if must != NONE {
            self.repeat(&mut subject);
        }
        self.poller.remove(subject.as_fd()).unwrap();
        drop(subject);
        let late = wait(self.poller, Duration::ZERO);
        assert!(late.is_empty(), "{self:?}: {late:?} after the removal");
    }

    /// Registers and has it happen, in the order of the moment, and returns what came.
    fn first_events(&self, subject: &mut Subject) -> Facts {
        let situation = self.row.situation;
        match self.moment {
            Moment::BeforeRegistration => {
                situation.happen(subject);
                self.add(subject);
                self.collect(None)
            }
            Moment::BeforeWait => {
                self.add(subject);
                situation.happen(subject);
                self.collect(None)
            }
            Moment::DuringWait => {
                self.add(subject);
                self.collect(Some(&mut || situation.happen(subject)))
            }
            Moment::RegisteredDuringWait => {
                situation.happen(subject);
                self.collect(Some(&mut || self.add(subject)))
            }
            Moment::ModifiedDuringWait => {
                self.add_silently(subject);
                situation.happen(subject);
                self.collect(Some(&mut || self.modify(subject)))
            }
        }
    }

    /// Says whether the one shot was of something that was half done then.
    fn is_first_part(&self, seen: Facts) -> bool {
        let is_part = seen != NONE && !seen.contains(self.must());
        is_part && self.mode == Mode::Oneshot && self.row.situation.comes_in_parts()
    }

    /// What has to come here.
    fn must(&self) -> Facts {
        let Row { must, interest, .. } = self.row;
        must.where_told(self.poller.features(), interest)
    }

    fn add(&self, subject: &Subject) {
        self.poller
            .add(subject.as_fd(), TOKEN, self.row.interest, self.mode)
            .unwrap();
    }

    fn modify(&self, subject: &Subject) {
        self.poller
            .modify(subject.as_fd(), TOKEN, self.row.interest, self.mode)
            .unwrap();
    }

    /// Registers with an old token, for nothing. Errors and hang-ups are reported all the same; as
    /// an edge, lest the wait turns around and around before the change is made.
    fn add_silently(&self, subject: &Subject) {
        let interest = Interest::NONE;
        self.poller
            .add(subject.as_fd(), OLD_TOKEN, interest, Mode::Edge)
            .unwrap();
    }

    /// Waits until what must come has come, or else for a little silence; `meanwhile` runs on
    /// another thread during the wait.
    fn collect(&self, meanwhile: Option<&mut (dyn FnMut() + Send)>) -> Facts {
        thread::scope(|scope| {
            let (done, is_done) = mpsc::channel::<()>();
            if let Some(action) = meanwhile {
                scope.spawn(move || {
                    // Long enough for the wait to have begun, most times; either way it has to work.
                    thread::sleep(Duration::from_micros(500));
                    action();
                    drop(done);
                });
            } else {
                drop(done);
            }
            let seen = self.collect_until_told();
            assert!(is_done.recv().is_err());
            if self.must() == NONE {
                return seen | self.take(SILENCE);
            }
            seen
        })
    }

    fn collect_until_told(&self) -> Facts {
        let must = self.must();
        if must == NONE {
            return self.take(SILENCE);
        }
        let end = Instant::now() + LONG;
        let mut seen = NONE;
        while !seen.contains(must) && Instant::now() < end {
            seen |= self.take(LONG);
            if self.mode == Mode::Oneshot && seen != NONE {
                break;
            }
        }
        seen
    }

    /// Waits once, and returns what came, of which nothing may be forbidden.
    fn take(&self, timeout: Duration) -> Facts {
        let mut seen = NONE;
        for event in wait(self.poller, timeout) {
            if event.token() == TOKEN {
                seen |= self.permitted(&event);
            } else {
                let silent = matches!(self.moment, Moment::ModifiedDuringWait);
                assert!(silent && event.token() == OLD_TOKEN, "{self:?}: {event:?}");
            }
        }
        seen
    }

    fn permitted(&self, event: &Event) -> Facts {
        let facts = Facts::of(event);
        let excess = facts.without(self.row.must | self.row.may);
        assert!(excess == NONE, "{self:?}: {excess:?} must not come");
        facts
    }

    /// What comes after the first event.
    fn repeat(&self, subject: &mut Subject) {
        match self.mode {
            Mode::Level => {
                let again = self.take(Duration::ZERO);
                assert!(again != NONE, "{self:?}: a level is reported once only");
            }
            Mode::Oneshot => {
                let again = self.take(SILENCE);
                assert!(again == NONE, "{self:?}: {again:?} came after the one shot");
                self.modify(subject);
                let again = self.take(LONG);
                assert!(again != NONE, "{self:?}: nothing came after modify");
            }
            Mode::Edge => self.expect_no_storm(),
        }
        if self.row.situation.settle(subject) {
            self.happen_again(subject);
        }
    }

    /// An edge that nobody answers is not reported over and over.
    fn expect_no_storm(&self) {
        let events = (0..20).filter(|_| self.take(Duration::ZERO) != NONE);
        let count = events.count();
        assert!(count <= 2, "{self:?}: {count} events for one edge");
    }

    /// The lower bound: after `WouldBlock` and rearm, or modify for one shot, the next comes.
    fn happen_again(&self, subject: &mut Subject) {
        match self.mode {
            Mode::Level => {}
            Mode::Oneshot => self.modify(subject),
            Mode::Edge => {
                let rearmed = self.poller.rearm(subject.as_fd(), self.row.interest);
                rearmed.unwrap();
            }
        }
        // What is still under way from before may be reported, and uses up the one shot.
        let stale = self.take(Duration::ZERO);
        if stale != NONE && self.mode == Mode::Oneshot {
            self.modify(subject);
        }
        self.row.situation.happen(subject);
        let must = self.must();
        let seen = self.collect_until_told();
        assert!(
            seen.contains(must),
            "{self:?}: {seen:?} came the second time"
        );
    }
}

impl std::fmt::Debug for Case<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            poller,
            row,
            mode,
            moment,
        } = self;
        let (backend, notifier) = (poller.backend(), poller.notifier());
        write!(
            f,
            "{backend} with {notifier}, {mode:?}, {moment:?}, {row:?}"
        )
    }
}
