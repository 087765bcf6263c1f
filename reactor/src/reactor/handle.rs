//! What reaches a reactor from any thread.

use super::{Shared, Turn};
use crate::current;
use crate::poller::{Backend, Events};
use crate::process::inherited_reactor;
use crate::time::Hold;
use crate::wakes::Wakes;
use std::fmt;
use std::io;
use std::sync::Arc;

/// Reaches a [`Reactor`](super::Reactor) from any thread.
#[derive(Clone)]
pub struct Handle(pub(crate) Arc<Shared>);

impl Handle {
    /// Returns the reactor that new waits of this thread go to, if it has one of its own.
    pub fn current() -> Option<Handle> {
        current::entered().map(Handle)
    }

    /// Runs `body` with this reactor as the current one of the thread.
    pub fn enter<R>(&self, body: impl FnOnce() -> R) -> R {
        current::enter(&self.0, body)
    }

    /// Runs `body`, which blocks the thread that turns this reactor: what waits on it is woken, and
    /// waits elsewhere until the reactor is turned again.
    pub fn step_aside<R>(&self, body: impl FnOnce() -> R) -> R {
        struct Back<'a>(&'a Shared);
        impl Drop for Back<'_> {
            fn drop(&mut self) {
                self.0.attach();
            }
        }
        let _back = Back(&self.0);
        self.0.detach(&mut Wakes::default());
        body()
    }

    /// Takes in what is ready and due, without waiting, in place of a thread that ought to turn the
    /// reactor and is held up. The tasks concerned are woken here.
    ///
    /// `None` if somebody turns it at the moment. A notification is left for the turn of the owner,
    /// who may come at any time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass_reactor::Reactor;
    ///
    /// let reactor = Reactor::new()?;
    /// let handle = reactor.handle().clone();
    /// let turn = std::thread::spawn(move || handle.try_turn()).join().unwrap()?;
    /// assert_eq!(turn.unwrap().events, 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What the system says; `Unsupported` in a child process if it was made before the fork.
    pub fn try_turn(&self) -> io::Result<Option<Turn>> {
        let shared = &*self.0;
        if shared.is_inherited() {
            return Err(inherited_reactor());
        }
        let Some(claimed) = shared.poller.claim().try_take() else {
            return Ok(None);
        };
        let (mut events, mut wakes) = (Events::new(), Wakes::default());
        shared.poller.look(&mut events)?;
        shared.turns.note(events.len());
        shared.dispatch(&events, &mut wakes);
        let timers = shared.deadlines.expire(|| shared.now(), &mut wakes);
        shared.turns.note_timers(timers);
        drop(claimed);
        wakes.wake_all();
        Ok(Some(Turn {
            events: events.len(),
            timers,
            notified: false,
        }))
    }

    /// Ends the turn in progress, or else the next one. Makes no system call unless a thread is
    /// waiting in it, and then one a turn at the most. In a child process it does nothing if the
    /// reactor was made before the fork.
    ///
    /// # Errors
    ///
    /// What the system says of the write that ends the wait.
    pub fn notify(&self) -> io::Result<()> {
        self.0.try_notify()
    }

    /// Keeps the time of this reactor, if its clock is paused, from moving by itself until what is
    /// returned is dropped; see [`time::hold`](crate::time::hold).
    pub fn hold_time(&self) -> Hold {
        Hold::of(&self.0)
    }

    /// Returns the mechanism in use.
    pub fn backend(&self) -> Backend {
        self.0.poller.backend()
    }

    /// Says whether both reach the same reactor.
    pub fn is_same(&self, other: &Handle) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns how many times the interest of a registered descriptor was changed where the kernel
    /// sees it.
    pub fn interest_changes(&self) -> u64 {
        self.0.poller.interest_changes()
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("backend", &self.backend())
            .finish_non_exhaustive()
    }
}
