//! Means without a runtime: the consumer is a thread that blocks.
//!
//! What is under the lock of a condition variable is a count. When notifications may merge it
//! stands for a flag: the consumer only looks whether it is 0. All of them signal with the lock
//! held, as Traffic Server did.

mod pthread;

use crate::protocol::{Contest, Notify, Protocol};
use rustix::event::EventfdFlags;
use rustix::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::thread::Thread;
use windlass_peers::case::Report;

pub(crate) use pthread::Pthread;

/// What a thread can block on.
pub(crate) trait Wait: Notify + Default {
    /// Waits until there was a notification, and takes all there are.
    fn wait(&self) -> u64;
}

/// Holds the contest with the consumer on this thread.
pub(crate) fn contest<W: Wait>(protocol: Protocol, each: u64) -> Report {
    let (contest, means) = (Contest::new(protocol, each), Arc::new(W::default()));
    let producers = contest.produce(&means);
    let mut consumer = contest.begin();
    while !consumer.note(means.wait()) {}
    let outcome = consumer.end();
    producers.report(outcome)
}

/// The condition variable of the standard library.
#[derive(Default)]
pub(crate) struct Std {
    count: Mutex<u64>,
    changed: Condvar,
}

impl Notify for Std {
    fn notify(&self) {
        let mut count = self.count.lock().expect("no panic in here");
        *count += 1;
        self.changed.notify_one();
    }
}

impl Wait for Std {
    fn wait(&self) -> u64 {
        let mut count = self.count.lock().expect("no panic in here");
        while *count == 0 {
            count = self.changed.wait(count).expect("no panic in here");
        }
        std::mem::take(&mut *count)
    }
}

/// The condition variable of `parking_lot`.
#[derive(Default)]
pub(crate) struct ParkingLot {
    count: parking_lot::Mutex<u64>,
    changed: parking_lot::Condvar,
}

impl Notify for ParkingLot {
    fn notify(&self) {
        let mut count = self.count.lock();
        *count += 1;
        self.changed.notify_one();
    }
}

impl Wait for ParkingLot {
    fn wait(&self) -> u64 {
        let mut count = self.count.lock();
        while *count == 0 {
            self.changed.wait(&mut count);
        }
        std::mem::take(&mut *count)
    }
}

/// An eventfd: a write for each notification, a read takes them all.
pub(crate) struct EventFd(OwnedFd);

impl Default for EventFd {
    fn default() -> Self {
        Self(rustix::event::eventfd(0, EventfdFlags::CLOEXEC).expect("there are descriptors"))
    }
}

impl Notify for EventFd {
    fn notify(&self) {
        rustix::io::write(&self.0, &1_u64.to_ne_bytes()).expect("the count is far from full");
    }
}

impl Wait for EventFd {
    fn wait(&self) -> u64 {
        let mut count = [0; 8];
        rustix::io::read(&self.0, &mut count).expect("it is readable");
        u64::from_ne_bytes(count)
    }
}

/// A pipe: a byte for each notification; a producer waits while it is full.
pub(crate) struct Pipe {
    reader: OwnedFd,
    writer: OwnedFd,
}

impl Default for Pipe {
    fn default() -> Self {
        let (reader, writer) = rustix::pipe::pipe().expect("there are descriptors");
        Self { reader, writer }
    }
}

impl Notify for Pipe {
    fn notify(&self) {
        rustix::io::write(&self.writer, &[0]).expect("somebody reads");
    }
}

impl Wait for Pipe {
    fn wait(&self) -> u64 {
        let mut space = [0_u8; 64 << 10];
        rustix::io::read(&self.reader, &mut space).expect("it is readable") as u64
    }
}

/// A count, and the parking of threads: the least that a waker could be, so the floor.
#[derive(Default)]
pub(crate) struct Park {
    /// Who adds the first since it was taken unparks the consumer.
    count: AtomicU64,
    /// Left by the consumer before it first looks at the count.
    consumer: OnceLock<Thread>,
}

impl Notify for Park {
    fn notify(&self) {
        // Of this and the look in `wait`, the later sees what was done before the earlier: the
        // count, or the consumer that has been left.
        if self.count.fetch_add(1, Ordering::AcqRel) == 0 {
            self.consumer.get().map(Thread::unpark);
        }
    }
}

impl Wait for Park {
    fn wait(&self) -> u64 {
        self.consumer.get_or_init(std::thread::current);
        loop {
            match self.count.swap(0, Ordering::AcqRel) {
                0 => std::thread::park(),
                taken => return taken,
            }
        }
    }
}
