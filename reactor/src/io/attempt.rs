//! One attempt after the other at an operation: what is known before, and what is known after.

use super::{Async, Registered, Taken};
use crate::budget;
use crate::source::{Direction, Key, Readiness, Seen, Source};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

/// The readiness of a direction, and what it was before an operation; nothing while there is no
/// source.
pub(super) type Look<'a> = Option<(&'a Readiness, Seen)>;

impl<T: AsFd> Async<T> {
    pub(super) fn poll_operation<R>(
        &self,
        context: &mut Context<'_>,
        direction: Direction,
        key: &mut Option<Key>,
        mut operation: impl FnMut(&T) -> io::Result<Taken<R>>,
    ) -> Poll<io::Result<R>> {
        loop {
            let look = ready!(self.poll_ready(context, direction, key))?;
            let permit = ready!(budget::poll_proceed(context));
            match self.attempt(direction, look, &mut operation) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => drop(permit),
                // By a signal, or by its own doing, so that others get their turn.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => permit.spend(),
                done => {
                    permit.spend();
                    return Poll::Ready(done);
                }
            }
        }
    }

    /// Runs `operation`, which follows the `look` at the readiness, and notes what it means.
    #[inline]
    pub(super) fn attempt<R>(
        &self,
        direction: Direction,
        look: Look<'_>,
        operation: impl FnOnce(&T) -> io::Result<Taken<R>>,
    ) -> io::Result<R> {
        match operation(&self.io) {
            Ok(Taken::Some(result)) => Ok(result),
            Ok(Taken::All(result)) => {
                self.note_drained(direction, look);
                Ok(result)
            }
            Err(error) => {
                if error.kind() == io::ErrorKind::WouldBlock {
                    self.note_blocked(direction, look);
                }
                Err(error)
            }
        }
    }

    /// Looks at the readiness before an operation.
    #[inline]
    pub(super) fn look(&self, direction: Direction) -> Look<'_> {
        self.registered.get().map(|Registered(source)| {
            let readiness = source.readiness(direction);
            (readiness, readiness.seen())
        })
    }

    #[inline]
    fn note_blocked(&self, direction: Direction, look: Look<'_>) {
        match look {
            Some((readiness, seen)) => readiness.clear(seen),
            None => self.block(direction),
        }
    }

    #[inline]
    fn note_drained(&self, direction: Direction, look: Look<'_>) {
        match look {
            Some((readiness, seen)) => readiness.clear_drained(seen),
            // Registering reports whatever there is by then.
            None => self.block(direction),
        }
    }

    /// Remembers it for the source to come. If that came while the operation ran, nobody asks for
    /// this any more, and the next operation finds out.
    #[cold]
    fn block(&self, direction: Direction) {
        self.blocked
            .fetch_or(1 << direction as u8, Ordering::Relaxed);
    }

    /// Answers at once if `direction` may be ready and it is still the turn of this task, else waits.
    #[inline]
    pub(super) fn poll_ready_in_turn(
        &self,
        context: &mut Context<'_>,
        direction: Direction,
        key: &mut Option<Key>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_ready(context, direction, key))?;
        // Whoever waits for readiness goes on to an operation that nothing keeps from being tried.
        ready!(budget::poll_proceed(context)).spend();
        Poll::Ready(Ok(()))
    }

    /// Answers at once if `direction` may be ready, else waits; `None` says that there is no
    /// source yet, so that nothing is known.
    // Inlined for the sake of callers who name the direction and the key, as the next.
    #[inline(always)]
    fn poll_ready(
        &self,
        context: &mut Context<'_>,
        direction: Direction,
        key: &mut Option<Key>,
    ) -> Poll<io::Result<Look<'_>>> {
        match self.look(direction) {
            Some((readiness, seen)) if seen.is_ready() => {
                return Poll::Ready(Ok(Some((readiness, seen))));
            }
            None if !self.is_blocked(direction) => return Poll::Ready(Ok(None)),
            _ => {}
        }
        self.wait(context, direction, key)
    }

    fn is_blocked(&self, direction: Direction) -> bool {
        self.blocked.load(Ordering::Relaxed) & (1 << direction as u8) != 0
    }

    /// Waits until `direction` may be ready.
    #[inline(always)]
    fn wait(
        &self,
        context: &mut Context<'_>,
        direction: Direction,
        key: &mut Option<Key>,
    ) -> Poll<io::Result<Look<'_>>> {
        let Registered(source) = self
            .registered
            .get_or_init(|| Registered(Arc::new(Source::new(direction))));
        source
            .wait(context, self.io.as_fd(), direction, key)
            .map_ok(|seen| Some((source.readiness(direction), seen)))
    }
}
