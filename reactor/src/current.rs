//! The reactor of this thread; and the one that serves threads without.
//!
//! The fallback is one thread for the whole process, started by the first wait that needs it and
//! never ended. So sockets and timers work under any executor.

use crate::clock::Moment;
use crate::late;
use crate::paused::Paused;
use crate::process::Process;
use crate::reactor::{Reactor, Shared};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::io;
use std::sync::Arc;

thread_local! {
    static CURRENT: RefCell<Option<Arc<Shared>>> = const { RefCell::new(None) };
}

/// Returns the reactor that waits of this thread go to.
pub(crate) fn reactor() -> io::Result<Arc<Shared>> {
    match entered().filter(|reactor| reactor.is_attended()) {
        Some(reactor) => Ok(reactor),
        None => fallback(),
    }
}

/// Returns the reactor that this thread has entered.
pub(crate) fn entered() -> Option<Arc<Shared>> {
    late::enter_if_put_off();
    // A thread that is ending may wait in a destructor; it has no reactor any more.
    CURRENT
        .try_with(|current| current.borrow().clone())
        .ok()
        .flatten()
}

/// Counts a poll on this thread that has used up its budget, for the reactor that it has entered.
pub(crate) fn note_budget_used_up() {
    if let Some(reactor) = entered() {
        reactor.turns().note_budget_used_up();
    }
}

/// Reads the clock that timers of this thread go by.
#[inline]
pub(crate) fn now() -> Moment {
    if Paused::is_any() {
        now_of_reactor()
    } else {
        Moment::now()
    }
}

#[cold]
fn now_of_reactor() -> Moment {
    match entered().filter(|reactor| reactor.is_attended()) {
        Some(reactor) => reactor.now(),
        None => Moment::now(),
    }
}

/// Runs `body` with `reactor` as the current one.
pub(crate) fn enter<R>(reactor: &Arc<Shared>, body: impl FnOnce() -> R) -> R {
    struct Restore(Option<Arc<Shared>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            drop(replace(self.0.take()));
        }
    }
    late::enter_if_put_off();
    let _restore = Restore(replace(Some(reactor.clone())));
    body()
}

/// Makes `reactor` the current one, if it can still be; returns the one before.
pub(crate) fn replace(reactor: Option<Arc<Shared>>) -> Option<Arc<Shared>> {
    let previous = CURRENT.try_with(|current| current.replace(reactor));
    previous.ok().flatten()
}

/// How many places there are for the fallback. A lock may have been held by another thread when the
/// process forked, and then is for ever in the child: so each generation has the next place.
const PLACES: usize = 16;

/// The reactor that serves threads without one, in each of the generations.
static FALLBACK: [Mutex<Option<Arc<Shared>>>; PLACES] = [const { Mutex::new(None) }; PLACES];

/// Returns the place of the fallback in this process.
fn place() -> &'static Mutex<Option<Arc<Shared>>> {
    let generation = Process::current().number() as usize;
    &FALLBACK[generation % PLACES]
}

/// Returns the reactor that a thread of its own turns, if there is one.
pub(crate) fn started_fallback() -> Option<Arc<Shared>> {
    place().lock().clone()
}

/// Returns the reactor that a thread of its own turns, and starts it the first time.
fn fallback() -> io::Result<Arc<Shared>> {
    let mut fallback = place().lock();
    if let Some(reactor) = fallback.as_ref().filter(|reactor| reactor.is_attended()) {
        return Ok(reactor.clone());
    }
    let started = start_fallback()?;
    *fallback = Some(started.clone());
    Ok(started)
}

fn start_fallback() -> io::Result<Arc<Shared>> {
    let mut reactor = Reactor::new()?;
    let shared = reactor.handle().0.clone();
    std::thread::Builder::new()
        .name("windlass-reactor".into())
        .spawn(move || {
            // A reactor that fails is dropped, which has its waiters move on to a new one.
            let _failure = reactor.turn_for_ever();
            drop(reactor);
        })?;
    Ok(shared)
}
