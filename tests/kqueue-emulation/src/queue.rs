//! One queue: its knotes, which of them are pending, and the descriptors that let it be waited for.
//!
//! How the kernel is made to tell about changes:
//!
//! 1. The queue's descriptor is an epoll set (`front`) that holds two more and a flag. Polling the
//!    queue polls those.
//! 2. One inner set (`edges`) is for the read filter and one for the write filter, so that the two
//!    knotes of a descriptor have edges of their own. Every entry is edge-triggered, whatever the
//!    knote's mode: an edge only means that the filter must be asked.
//! 3. A knote whose filter says yes becomes pending and stays in `pending` until it has been
//!    reported or its filter says no. The flag is up while `pending` is not empty.
//! 4. A knote is in its inner set while it is enabled, and leaves it before its descriptor is
//!    closed, for epoll would keep it while another name of the file is open.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::fd::RawFd;

use crate::knote::{Filter, Key, Knote, Report, Source};
use crate::sys::Errno;
use crate::sys::set::{Alarm, Flag, Set};

/// A queue.
#[derive(Debug)]
pub(crate) struct Queue {
    /// Every knote.
    pub(crate) knotes: BTreeMap<Key, Knote>,
    /// The pending knotes in the order in which they will be looked at, each once.
    pub(crate) pending: VecDeque<Key>,
    /// Knotes that went by close or one-shot, so that deleting them is no breach.
    pub(crate) gone: BTreeSet<Key>,
    /// How many numbers name this queue.
    pub(crate) names: usize,
    /// How many threads sleep in it.
    pub(crate) sleepers: usize,
    /// Whether the client has been told off for a name that lives through exec.
    pub(crate) checked_close_on_exec: bool,
    front: Set,
    edges: [Set; 2],
    flag: Flag,
    flag_is_up: bool,
    /// Made with the first timer.
    alarm: Option<Alarm>,
    /// Knotes that no edge tells about: timers and files, looked at in every call.
    pub(crate) unwatched: Vec<Key>,
    next_serial: u32,
}

impl Queue {
    /// Makes an empty queue without a name.
    pub(crate) fn new() -> Result<Self, Errno> {
        let (front, edges, flag) = (Set::new()?, [Set::new()?, Set::new()?], Flag::new()?);
        for inner in [edges[0].number(), edges[1].number(), flag.number()] {
            front.add(inner, libc::EPOLLIN, 0)?;
        }
        Ok(Self {
            knotes: BTreeMap::new(),
            pending: VecDeque::new(),
            gone: BTreeSet::new(),
            names: 0,
            sleepers: 0,
            checked_close_on_exec: false,
            front,
            edges,
            flag,
            flag_is_up: false,
            alarm: None,
            unwatched: Vec::new(),
            next_serial: 0,
        })
    }

    /// Makes a name for the client; the caller counts it.
    pub(crate) fn make_name(&self) -> Result<RawFd, Errno> {
        self.front.name()
    }

    /// Gives the number to sleep on, which outlives the names.
    pub(crate) fn front(&self) -> RawFd {
        self.front.number()
    }

    /// Gives the numbers of the inner sets.
    pub(crate) fn edge_sets(&self) -> [RawFd; 2] {
        [self.edges[0].number(), self.edges[1].number()]
    }

    /// Lists the queue's own numbers.
    pub(crate) fn own_numbers(&self) -> impl Iterator<Item = RawFd> {
        let alarm = self.alarm.as_ref().map(Alarm::number);
        [self.front(), self.flag.number()]
            .into_iter()
            .chain(self.edge_sets())
            .chain(alarm)
    }

    /// Tells whether a number is one of the queue's own.
    pub(crate) fn owns(&self, fd: RawFd) -> bool {
        self.own_numbers().any(|number| number == fd)
    }

    /// Gives a serial that no living knote has.
    pub(crate) fn next_serial(&mut self) -> u32 {
        self.next_serial = self.next_serial.wrapping_add(1);
        self.next_serial
    }

    /// Puts a new knote in; room for it to be pending is made now, so that triggering it from a
    /// signal handler allocates nothing.
    pub(crate) fn insert(&mut self, key: Key, knote: Knote) -> Result<(), Errno> {
        if matches!(knote.source, Source::Timer { .. }) && self.alarm.is_none() {
            let alarm = Alarm::new()?;
            self.front.add(alarm.number(), libc::EPOLLIN, 0)?;
            self.alarm = Some(alarm);
        }
        self.gone.remove(&key);
        self.knotes.insert(key, knote);
        self.pending.reserve(self.knotes.len() - self.pending.len());
        Ok(())
    }

    /// Takes a knote out, wherever it is.
    pub(crate) fn remove(&mut self, key: Key) -> Option<Knote> {
        if !self.knotes.contains_key(&key) {
            return None;
        }
        self.unwatch(key);
        self.unqueue(key);
        self.knotes.remove(&key)
    }

    /// Lets edges come to a knote (rule 4).
    pub(crate) fn watch(&mut self, key: Key) -> Result<(), Errno> {
        let (set, events) = match key.filter {
            Filter::Read => (&self.edges[0], libc::EPOLLIN | libc::EPOLLRDHUP),
            Filter::Write => (&self.edges[1], libc::EPOLLOUT),
            Filter::Timer => {
                self.unwatched.push(key);
                return Ok(());
            }
            Filter::User => return Ok(()),
        };
        let Some(Source::Descriptor { serial, .. }) = self.source(key) else {
            return Ok(());
        };
        let value = u64::from(serial) << 32 | u64::from(key.descriptor().unsigned_abs());
        let add = || set.add(key.descriptor(), events | libc::EPOLLET, value);
        match add() {
            // Left by a close that was not seen while the file lives on.
            Err(libc::EEXIST) => {
                set.remove(key.descriptor());
                add()
            }
            other => other,
        }
    }

    /// Stops edges from coming to a knote.
    pub(crate) fn unwatch(&mut self, key: Key) {
        match key.filter {
            Filter::Read => self.edges[0].remove(key.descriptor()),
            Filter::Write => self.edges[1].remove(key.descriptor()),
            Filter::Timer | Filter::User => {}
        }
        self.unwatched.retain(|&other| other != key);
    }

    /// Takes a batch of edges of one filter.
    pub(crate) fn take_edges(&self, filter: Filter, taken: &mut [u64; 64]) -> usize {
        self.edges[usize::from(filter == Filter::Write)].take(taken)
    }

    /// Finds the knote that an edge is for, if it still is the same.
    pub(crate) fn edge_key(&self, filter: Filter, value: u64) -> Option<Key> {
        let key = Key {
            ident: (value & u64::from(u32::MAX)) as usize,
            filter,
        };
        match self.source(key)? {
            Source::Descriptor { serial, .. } if u64::from(serial) == value >> 32 => Some(key),
            _ => None,
        }
    }

    fn source(&self, key: Key) -> Option<Source> {
        self.knotes.get(&key).map(|knote| knote.source.clone())
    }

    /// Makes a knote pending with what it would report.
    pub(crate) fn enqueue(&mut self, key: Key, report: Report) {
        let Some(knote) = self.knotes.get_mut(&key) else {
            return;
        };
        if !knote.queued {
            knote.queued = true;
            knote.captured = report;
            self.pending.push_back(key);
        }
    }

    /// Makes a knote no longer pending.
    pub(crate) fn unqueue(&mut self, key: Key) {
        let Some(knote) = self.knotes.get_mut(&key) else {
            return;
        };
        if knote.queued {
            knote.queued = false;
            self.pending.retain(|&other| other != key);
        }
    }

    /// Shows the outside whether something is pending, and when the next timer is due.
    pub(crate) fn publish(&mut self) {
        let pending = !self.pending.is_empty();
        if pending != self.flag_is_up {
            if pending {
                self.flag.raise();
            } else {
                self.flag.lower();
            }
            self.flag_is_up = pending;
        }
        if let Some(alarm) = &self.alarm {
            alarm.set(self.next_deadline());
        }
    }

    /// Tells whether a sleep must be short because a file is watched, about which no edge tells.
    pub(crate) fn watches_files(&self) -> bool {
        self.unwatched
            .iter()
            .any(|key| key.filter.watches_descriptor())
    }

    fn next_deadline(&self) -> Option<u64> {
        let deadline = |key: &Key| match self.knotes.get(key)?.source {
            // What has fired already is pending.
            Source::Timer { deadline, .. } => deadline,
            _ => None,
        };
        self.unwatched.iter().filter_map(deadline).min()
    }
}
