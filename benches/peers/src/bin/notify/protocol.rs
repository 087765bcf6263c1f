//! The two protocols, and the contest that is the same for all means.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use windlass_peers::case::Report;
use windlass_peers::usage::Usage;

/// Threads that notify.
pub(crate) const PRODUCERS: u64 = 10;

/// What the consumer has to see.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Protocol {
    /// That there was a notification since it last looked.
    Coalescing,
    /// How many there were.
    Taken,
}

impl Protocol {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Coalescing, Self::Taken];

    /// Its name between processes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Coalescing => "coalescing",
            Self::Taken => "taken",
        }
    }
}

/// A way to notify, from any thread.
pub(crate) trait Notify: Send + Sync + 'static {
    /// Notifies the consumer once.
    fn notify(&self);
}

/// One contest: ten producers against one consumer.
#[derive(Debug)]
pub(crate) struct Contest {
    protocol: Protocol,
    /// Notifications of each producer.
    each: u64,
    /// Where all meet when every thread runs.
    ready: Barrier,
    /// What holds the producers back until the clock runs.
    line: Barrier,
    /// Producers that have made all but their last notification.
    ended: AtomicU64,
}

impl Contest {
    /// Prepares one in which each producer notifies so often.
    pub(crate) fn new(protocol: Protocol, each: u64) -> Arc<Self> {
        Arc::new(Self {
            protocol,
            each,
            ready: Barrier::new(PRODUCERS as usize + 1),
            line: Barrier::new(PRODUCERS as usize + 1),
            ended: AtomicU64::new(0),
        })
    }

    /// Starts the producers; they wait for the consumer.
    pub(crate) fn produce<N: Notify>(self: &Arc<Self>, means: &Arc<N>) -> Producers {
        let start = || {
            let (contest, means) = (self.clone(), means.clone());
            std::thread::spawn(move || contest.produce_one(&*means))
        };
        Producers((0..PRODUCERS).map(|_| start()).collect())
    }

    fn produce_one(&self, means: &impl Notify) {
        self.ready.wait();
        self.line.wait();
        for _ in 1..self.each {
            means.notify();
        }
        // Before the last notification, so that whoever sees it sees this as well.
        self.ended.fetch_add(1, Ordering::SeqCst);
        means.notify();
    }

    /// Starts the clock of the consumer, and lets the producers go.
    pub(crate) fn begin(&self) -> Consumer<'_> {
        self.ready.wait();
        // Until all have come to rest at the line. The clock starts before the line is crossed:
        // this thread, which is the last to arrive, may be the last to leave as well.
        std::thread::sleep(Duration::from_millis(10));
        let consumer = Consumer {
            contest: self,
            used: Usage::now(),
            start: Instant::now(),
            seen: 0,
            taken: 0,
        };
        self.line.wait();
        consumer
    }
}

/// The consumer's account.
#[derive(Debug)]
pub(crate) struct Consumer<'a> {
    contest: &'a Contest,
    start: Instant,
    used: Usage,
    /// How often it has woken up.
    seen: u64,
    /// How many notifications it has taken.
    taken: u64,
}

impl Consumer<'_> {
    /// Notes that it has woken up and taken so many; says whether that is all.
    pub(crate) fn note(&mut self, taken: u64) -> bool {
        self.seen += 1;
        self.taken += taken;
        match self.contest.protocol {
            Protocol::Coalescing => self.contest.ended.load(Ordering::SeqCst) == PRODUCERS,
            Protocol::Taken => self.taken == self.contest.each * PRODUCERS,
        }
    }

    /// Stops the clock.
    pub(crate) fn end(&self) -> Outcome {
        Outcome {
            wall: self.start.elapsed().as_secs_f64() * 1e3,
            used: self.used,
            seen: self.seen,
        }
    }
}

/// What the consumer has seen when it was done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    wall: f64,
    used: Usage,
    seen: u64,
}

/// The threads that notify.
#[derive(Debug)]
pub(crate) struct Producers(Vec<JoinHandle<()>>);

impl Producers {
    /// Waits for them, and reports on the contest.
    pub(crate) fn report(self, outcome: Outcome) -> Report {
        for producer in self.0 {
            producer.join().expect("a producer does not panic");
        }
        let used = Usage::now().since(outcome.used);
        Report::of("wall", outcome.wall)
            .and("user", used.user)
            .and("system", used.system)
            .and("switches", used.switches)
            .and("seen", outcome.seen as f64)
    }
}
