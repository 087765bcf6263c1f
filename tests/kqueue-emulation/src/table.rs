//! Every queue of the process, under one lock, and what fork does to them.
//!
//! One lock for all is enough: nothing is done under it that could block, and closing a descriptor
//! concerns every queue at once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use crate::counters::{self, Counter};
use crate::environment::environment;
use crate::queue::Queue;
use crate::sys::signals::Blocked;
use crate::sys::{self, Errno};
use crate::violations::{self, Kind};

/// Names a queue for as long as it lives, unlike a number, which may be reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueueId(u64);

/// Every queue.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) queues: BTreeMap<QueueId, Queue>,
    /// The numbers that the client knows; several may name one queue.
    pub(crate) names: BTreeMap<RawFd, QueueId>,
    /// The process that made the queues.
    process: libc::pid_t,
    /// Whether this process is a child whose parent had queues.
    pub(crate) is_forked_child: bool,
    next_id: u64,
}

static TABLE: Mutex<Table> = Mutex::new(Table {
    queues: BTreeMap::new(),
    names: BTreeMap::new(),
    process: 0,
    is_forked_child: false,
    next_id: 0,
});

/// Whether there has ever been a queue; until then the interposed functions do nothing of their
/// own. Relaxed suffices: whoever uses a queue's number has got it from the thread that made it.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// Tells whether there has ever been a queue.
pub(crate) fn is_in_use() -> bool {
    IN_USE.load(Relaxed)
}

/// Holds the lock, with signals kept out. The fields are dropped in this order.
pub(crate) struct Guard {
    /// `None` only while its holder sleeps.
    table: Option<MutexGuard<'static, Table>>,
    signals: Blocked,
}

/// Takes the lock.
pub(crate) fn lock() -> Guard {
    let signals = Blocked::new();
    Guard {
        table: Some(acquire()),
        signals,
    }
}

fn acquire() -> MutexGuard<'static, Table> {
    // A panic aborts at the C boundary, so a poisoned lock is only ever seen by tests.
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Guard {
    /// Sleeps with the lock released and the program's signals let in.
    pub(crate) fn sleep(&mut self, fd: RawFd, nanoseconds: Option<u64>) -> Result<(), Errno> {
        self.table = None;
        let result = sys::set::sleep(fd, nanoseconds, self.signals.program());
        self.table = Some(acquire());
        result
    }
}

impl Deref for Guard {
    type Target = Table;

    fn deref(&self) -> &Table {
        self.table.as_ref().expect("nobody looks while asleep")
    }
}

impl DerefMut for Guard {
    fn deref_mut(&mut self) -> &mut Table {
        self.table.as_mut().expect("nobody looks while asleep")
    }
}

/// Makes a queue and gives its number and its name for ever.
pub(crate) fn make_queue() -> Result<(RawFd, QueueId), Errno> {
    if let Some(error) = environment().variant.open_error {
        return Err(error);
    }
    prepare_process();
    let queue = Queue::new()?;
    let mut table = lock();
    let number = queue.make_name()?;
    table.process = sys::process();
    table.is_forked_child = false;
    table.next_id += 1;
    let id = QueueId(table.next_id);
    table.queues.insert(id, queue);
    table.add_name(number, id);
    counters::count(Counter::Queues);
    Ok((number, id))
}

impl Table {
    /// Finds the queue that a number names in this process.
    pub(crate) fn queue_named(&self, number: RawFd) -> Option<QueueId> {
        let id = self.names.get(&number)?;
        // A child that was made without the handlers below has the table, but not the queues.
        (self.process == sys::process()).then_some(*id)
    }

    /// Gives a queue that is known to live.
    pub(crate) fn queue(&mut self, id: QueueId) -> &mut Queue {
        self.queues.get_mut(&id).expect("a queue in use is kept")
    }

    /// Makes a number another name of a queue.
    pub(crate) fn add_name(&mut self, number: RawFd, id: QueueId) {
        self.names.insert(number, id);
        self.queue(id).names += 1;
    }

    /// Drops a queue that has neither names nor sleepers.
    pub(crate) fn drop_if_unused(&mut self, id: QueueId) {
        let queue = self.queue(id);
        if queue.names == 0 && queue.sleepers == 0 {
            self.queues.remove(&id);
        }
    }
}

fn prepare_process() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        sys::at_fork(before_fork, after_fork_in_parent, after_fork_in_child);
        sys::at_exit(at_exit);
    });
    IN_USE.store(true, Relaxed);
}

thread_local! {
    /// The lock, held from before a fork until after it so that the child finds the table whole.
    static HELD_OVER_FORK: RefCell<Option<Guard>> = const { RefCell::new(None) };
}

extern "C" fn before_fork() {
    HELD_OVER_FORK.set(Some(lock()));
}

extern "C" fn after_fork_in_parent() {
    HELD_OVER_FORK.take();
}

/// Queues are not inherited: their numbers are free in the child.
extern "C" fn after_fork_in_child() {
    let Some(mut table) = HELD_OVER_FORK.take() else {
        return;
    };
    table.is_forked_child |= !table.names.is_empty();
    for number in mem::take(&mut table.names).into_keys() {
        sys::next::close(number);
    }
    // Dropping them closes their descriptors; the parent's names keep the files.
    table.queues.clear();
    counters::reset();
}

/// Reports what was left behind, and the counters.
extern "C" fn at_exit() {
    let table = lock();
    for (number, id) in &table.names {
        let knotes = table.queues.get(id).map_or(0, |queue| queue.knotes.len());
        if knotes > 0 && table.queue_named(*number).is_some() {
            let what = format_args!("queue {number} with {knotes} knotes");
            violations::record(Kind::QueueLeaked, what);
        }
    }
    let something_happened = counters::read() != counters::Counters::default();
    if let Some(path) = &environment().statistics {
        if something_happened {
            sys::append(path, counters::line(sys::process()).as_bytes());
        }
    }
}
