//! Finding out what is pending, and handing it out.

use crate::abi;
use crate::counters::{self, Counter};
use crate::environment::environment;
use crate::filter::kind::Kind;
use crate::filter::{self, read, write};
use crate::knote::{Filter, Key, Knote, Report, Seen, Source};
use crate::lists::Entries;
use crate::sys;
use crate::table::{QueueId, Table};

impl Table {
    /// Turns the edges that have come, and the time that has passed, into pending knotes.
    pub(crate) fn gather(&mut self, id: QueueId) {
        for filter in [Filter::Read, Filter::Write] {
            self.gather_edges(id, filter);
        }
        let now = sys::now();
        for index in 0..self.queue(id).unwatched.len() {
            let queue = self.queue(id);
            let key = queue.unwatched[index];
            if let Some(knote) = queue.knotes.get_mut(&key) {
                let once = knote.is(abi::EV_ONESHOT);
                filter::timer::advance(&mut knote.source, once, now);
            }
            self.activate(id, key);
        }
    }

    fn gather_edges(&mut self, id: QueueId, filter: Filter) {
        let mut taken = [0; 64];
        loop {
            let count = self.queue(id).take_edges(filter, &mut taken);
            for &value in &taken[..count] {
                let key = self.queue(id).edge_key(filter, value);
                if let Some(key) = key.filter(|&key| self.is_news(id, key)) {
                    self.activate(id, key);
                }
            }
            if count < taken.len() {
                return;
            }
        }
    }

    /// Tells whether an edge can be the knote's own, and is not that of the other side alone.
    fn is_news(&mut self, id: QueueId, key: Key) -> bool {
        let knote = self.queue(id).knotes.get(&key);
        let Some(reported) = knote.and_then(|knote| knote.reported) else {
            return true;
        };
        let Some(progress) = self.progress(id, key) else {
            return true;
        };
        let report = self.look(id, key);
        report.is_none_or(|report| Seen::new(progress, report) != reported)
    }

    /// Counts the bytes of a knote that reports changes only, if that can be done.
    fn progress(&mut self, id: QueueId, key: Key) -> Option<u64> {
        let knote = self.queue(id).knotes.get(&key)?;
        match knote.source {
            Source::Descriptor { kind, .. } if knote.is(abi::EV_CLEAR) => {
                filter::socket::progress(key.descriptor(), kind, key.filter)
            }
            _ => None,
        }
    }

    /// Asks a knote's filter and makes it pending if it says yes.
    pub(crate) fn activate(&mut self, id: QueueId, key: Key) {
        let knote = self.queue(id).knotes.get(&key);
        if !knote.is_some_and(|knote| knote.enabled && !knote.queued) {
            return;
        }
        if let Some(report) = self.look(id, key) {
            self.queue(id).enqueue(key, report);
        }
    }

    /// Hands out pending knotes until the list is full or each has been looked at once. What still
    /// holds goes to the end, so that a small list starves nobody.
    pub(crate) fn hand_out(&mut self, id: QueueId, entries: &mut Entries) {
        let mut left = self.queue(id).pending.len();
        while left > 0 && !entries.is_full() {
            left -= 1;
            let queue = self.queue(id);
            let Some(key) = queue.pending.pop_front() else {
                return;
            };
            let Some(knote) = queue.knotes.get_mut(&key) else {
                continue;
            };
            knote.queued = false;
            if knote.is(abi::EV_ONESHOT) {
                // The filter is not asked again: the report can be stale.
                counters::count(Counter::Events);
                entries.push(knote.event(key, knote.captured));
                queue.remove(key);
                queue.gone.insert(key);
            } else {
                self.hand_out_if_ready(id, key, entries);
            }
        }
    }

    fn hand_out_if_ready(&mut self, id: QueueId, key: Key, entries: &mut Entries) {
        let progress = self.progress(id, key);
        let Some(report) = self.look(id, key) else {
            return;
        };
        let queue = self.queue(id);
        let Some(knote) = queue.knotes.get_mut(&key) else {
            return;
        };
        counters::count(Counter::Events);
        entries.push(knote.event(key, report));
        knote.reported = progress.map(|progress| Seen::new(progress, report));
        let stays = !knote.is(abi::EV_CLEAR) && key.filter != Filter::Timer;
        if !stays {
            clear(knote);
        }
        if knote.is(abi::EV_DISPATCH) {
            knote.enabled = false;
            queue.unwatch(key);
        } else if stays {
            queue.enqueue(key, report);
        }
    }

    /// Asks a knote's filter what is the case now.
    fn look(&mut self, id: QueueId, key: Key) -> Option<Report> {
        let knote = self.queue(id).knotes.get(&key)?;
        let kind = match knote.source {
            Source::User { triggered } => return filter::user::look(knote, triggered),
            Source::Timer { expirations, .. } => return filter::timer::look(expirations),
            Source::Descriptor { kind, .. } => kind,
        };
        match key.filter {
            Filter::Write => write::look(key.descriptor(), kind),
            _ if kind == Kind::Queue => self.look_at_queue(key),
            _ => read::look(key.descriptor(), kind, self.write_shows_refusal(id, key)),
        }
    }

    /// Reports a queue within a queue: how many of its knotes are pending.
    fn look_at_queue(&mut self, key: Key) -> Option<Report> {
        let inner = self.queue_named(key.descriptor())?;
        // Ends, as the kernel refuses queues that contain each other.
        self.gather(inner);
        let queue = self.queue(inner);
        queue.publish();
        let data = isize::try_from(queue.pending.len()).unwrap_or(isize::MAX);
        (data > 0).then(|| Report {
            data,
            ..Report::default()
        })
    }

    /// Tells whether a refused connect is for the write filter alone to report: a client must let
    /// an end in either filter wake both directions. With no write knote the reader is told.
    fn write_shows_refusal(&mut self, id: QueueId, key: Key) -> bool {
        let write = Key {
            filter: Filter::Write,
            ..key
        };
        let knote = self.queue(id).knotes.get(&write);
        !environment().variant.refusal_in_both_filters() && knote.is_some_and(|knote| knote.enabled)
    }
}

/// Takes back what has now been reported; a descriptor has its edges for that.
fn clear(knote: &mut Knote) {
    match &mut knote.source {
        Source::User { triggered } => *triggered = false,
        Source::Timer { expirations, .. } => *expirations = 0,
        Source::Descriptor { .. } => {}
    }
}
