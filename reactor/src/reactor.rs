//! The reactor: waits for descriptors and deadlines, and wakes the tasks that wait for them.

use crate::clock::Moment;
use crate::current;
use crate::deadlines::{Deadlines, Insertion};
use crate::poller::{Backend, Events, Features, Interest, Mode, Poller, Token};
use crate::registry::Registry;
use crate::source::Source;
use crate::timers::TimerKey;
use crate::wakes::Wakes;
use parking_lot::Mutex;
use std::fmt;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;
use std::time::{Duration, Instant};

/// Drives descriptors and timers: whoever owns it turns it, and while that thread is held up, others
/// may [in its place](Handle::try_turn).
///
/// Everything else goes through its [`Handle`]. Dropping it, like [`Reactor::detach`], wakes all
/// that wait on it; they wait on with the reactor of the thread that polls them next.
///
/// ```
/// use std::time::Duration;
/// use windlass_reactor::Reactor;
///
/// let mut reactor = Reactor::new()?;
/// let turn = reactor.turn(Some(Duration::from_millis(1)))?;
/// assert_eq!(turn.events, 0);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Reactor {
    handle: Handle,
    /// The events of the last wait.
    events: Events,
    wakes: Wakes,
}

/// What one turn came upon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Turn {
    /// How many descriptors were ready.
    pub events: usize,
    /// How many timers were due.
    pub timers: usize,
    /// Whether [`Handle::notify`] was called, or another thread made a timer that is due earlier
    /// than the turn would have lasted.
    pub notified: bool,
}

impl Reactor {
    /// Makes a reactor on the first back end that works, or on the one that the environment
    /// variable `WINDLASS_BACKEND` names.
    ///
    /// # Errors
    ///
    /// As for [`Poller::new`].
    pub fn new() -> io::Result<Self> {
        Poller::new().map(Self::with_poller)
    }

    /// Makes a reactor on `backend`, whatever the environment says.
    ///
    /// # Errors
    ///
    /// As for [`Poller::with_backend`].
    pub fn with_backend(backend: Backend) -> io::Result<Self> {
        Poller::with_backend(backend).map(Self::with_poller)
    }

    /// Makes a reactor on a poller that is used for nothing else.
    pub fn with_poller(poller: Poller) -> Self {
        let features = poller.features();
        let shared = Shared {
            poller,
            features,
            registry: Mutex::default(),
            deadlines: Deadlines::default(),
            attended: AtomicBool::new(true),
        };
        Self {
            handle: Handle(Arc::new(shared)),
            events: Events::new(),
            wakes: Wakes::default(),
        }
    }

    /// Returns what other threads, and the futures of this crate, reach the reactor by.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Waits until something is ready or due, for `timeout` at the most, and wakes the tasks
    /// concerned. No lock is held while they are woken.
    ///
    /// `None` waits for ever, a timeout of zero not at all.
    ///
    /// # Errors
    ///
    /// What the system says.
    // Inlined, so that a caller who doesn't ask what the turn came upon pays nothing for it.
    #[inline(always)]
    pub fn turn(&mut self, timeout: Option<Duration>) -> io::Result<Turn> {
        let shared = &*self.handle.0;
        let claim = shared.poller.claim();
        claim.take();
        // After an error it stays taken, until the owner comes again: nobody else could do better.
        let notified = shared.wait(&mut self.events, timeout)?;
        let timers = shared.hand_out(&self.events, &mut self.wakes);
        claim.give_up();
        self.wakes.wake_all();
        Ok(Turn {
            events: self.events.len(),
            timers,
            notified,
        })
    }

    /// Turns for as long as the process lives; see [`current`].
    pub(crate) fn turn_for_ever(&mut self) -> io::Error {
        loop {
            if let Err(error) = self.turn(None) {
                return error;
            }
        }
    }

    /// Returns when the earliest timer is due: how long an outside loop may wait at the most before
    /// it calls [`turn`](Reactor::turn), which is also due when
    /// [`descriptor`](Reactor::descriptor) is readable.
    ///
    /// To be asked just before each such wait: the descriptor becomes readable when another thread
    /// makes a timer that is earlier than what was returned last.
    pub fn next_deadline(&self) -> Option<Instant> {
        let deadline = self.handle.0.deadlines.begin_wait(Moment::NEVER);
        deadline.to_instant()
    }

    /// Says whether nothing waits on the reactor, neither for a descriptor nor for a deadline, so
    /// that a turn that doesn't wait would come upon nothing but a notification.
    pub fn is_idle(&self) -> bool {
        let shared = &self.handle.0;
        shared.deadlines.earliest() == Moment::NEVER && shared.registry.lock().is_empty()
    }

    /// Says that somebody turns the reactor from now on. So it is from the beginning.
    pub fn attach(&self) {
        self.handle.0.attach();
    }

    /// Says that nobody turns the reactor until [`attach`](Reactor::attach) is called: wakes all
    /// that wait on it, so that they go on waiting with a reactor that is turned.
    pub fn detach(&mut self) {
        self.handle.0.detach(&mut self.wakes);
    }

    /// Returns the kernel's descriptor, readable when [`turn`](Reactor::turn) has something to do
    /// apart from timers that are due; `None` on back ends without one.
    ///
    /// Once it was asked for, [`Handle::notify`] makes one system call a turn also while nobody
    /// waits in it.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.handle.0.poller.descriptor()
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        self.detach();
    }
}

/// Reaches a [`Reactor`] from any thread.
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
    /// What the system says.
    pub fn try_turn(&self) -> io::Result<Option<Turn>> {
        let shared = &*self.0;
        let Some(claimed) = shared.poller.claim().try_take() else {
            return Ok(None);
        };
        let (mut events, mut wakes) = (Events::new(), Wakes::default());
        shared.poller.look(&mut events)?;
        let timers = shared.hand_out(&events, &mut wakes);
        drop(claimed);
        wakes.wake_all();
        Ok(Some(Turn {
            events: events.len(),
            timers,
            notified: false,
        }))
    }

    /// Ends the turn in progress, or else the next one. Makes no system call unless a thread is
    /// waiting in it, and then one a turn at the most.
    ///
    /// # Errors
    ///
    /// What the system says of the write that ends the wait.
    pub fn notify(&self) -> io::Result<()> {
        self.0.poller.notify()
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

/// What a reactor and its handles have in common.
///
/// Locks, in the order in which they may be taken: the claim of the poller, which one thread at a
/// time has while it waits and hands out events (see `claim`), the state of a source (which is not
/// in here), then one of these. None is held while a waker is cloned, woken or dropped.
#[derive(Debug)]
pub(crate) struct Shared {
    poller: Poller,
    features: Features,
    /// The sources that are registered.
    registry: Mutex<Registry>,
    /// The timers, and until when the turning thread waits.
    deadlines: Deadlines,
    /// Somebody turns the reactor, or will.
    attended: AtomicBool,
}

impl Shared {
    /// Waits for events, at most `timeout` and until the earliest timer is due. For the owner, who
    /// has the claim.
    #[inline(always)]
    fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<bool> {
        let (mut now, limit) = match timeout {
            None => (Moment::START, Moment::NEVER),
            Some(Duration::ZERO) => {
                return self.poller.wait_until(events, Moment::START, Moment::START);
            }
            Some(timeout) => {
                let now = Moment::now();
                (now, now.saturating_add(timeout))
            }
        };
        let until = self.deadlines.begin_wait(limit);
        if until != limit {
            now = Moment::now();
        }
        match self.poller.wait_until(events, now, until) {
            Ok(notified) => {
                self.deadlines.end_wait();
                Ok(notified)
            }
            Err(error) => {
                self.deadlines.end_wait();
                Err(error)
            }
        }
    }

    /// Collects the wakers that the events and the timers that are due concern; returns how many
    /// timers are. For a caller who has the claim.
    #[inline(always)]
    fn hand_out(&self, events: &Events, wakes: &mut Wakes) -> usize {
        self.dispatch(events, wakes);
        self.deadlines.expire(Moment::now, wakes)
    }

    /// Hands each event to its source. The registry is not locked while the source is.
    #[inline(always)]
    fn dispatch(&self, events: &Events, wakes: &mut Wakes) {
        for event in events {
            let source = self.registry.lock().find(event.token()).cloned();
            if let Some(source) = source {
                source.take_event(event, wakes);
            }
        }
    }

    fn attach(&self) {
        self.attended.store(true, Ordering::SeqCst);
    }

    /// Nobody turns the reactor from now on: wakes all that wait here.
    fn detach(&self, wakes: &mut Wakes) {
        self.attended.store(false, Ordering::SeqCst);
        let sources = self.registry.lock().all();
        for source in &sources {
            source.take_waiters(wakes);
        }
        self.deadlines.take_all(wakes);
        wakes.wake_all();
    }

    pub(crate) fn is_attended(&self) -> bool {
        self.attended.load(Ordering::SeqCst)
    }

    pub(crate) fn features(&self) -> Features {
        self.features
    }

    /// What is registered for somebody who asks for `interest`.
    ///
    /// Urgent data end a read early and leave more behind without another edge, so that where
    /// reading relies on edges they have to be known of.
    pub(crate) fn interest_for(&self, interest: Interest) -> Interest {
        if self.features.native_edges && interest.contains(Interest::READABLE) {
            interest | Interest::PRIORITY
        } else {
            interest
        }
    }

    /// Registers `source` and returns the token that its events carry.
    pub(crate) fn register(
        &self,
        source: &Arc<Source>,
        fd: BorrowedFd<'_>,
        interest: Interest,
    ) -> io::Result<Token> {
        let token = self.registry.lock().insert(source.clone());
        let added = self.poller.add(fd, token, interest, Mode::Edge);
        if added.is_err() {
            // Our caller holds the source as well, so that this drops nothing under a lock.
            let _ = self.registry.lock().remove(token);
        }
        added.map(|()| token)
    }

    pub(crate) fn modify(
        &self,
        fd: BorrowedFd<'_>,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        self.poller.modify(fd, token, interest, Mode::Edge)
    }

    pub(crate) fn rearm(&self, fd: BorrowedFd<'_>, interest: Interest) -> io::Result<()> {
        self.poller.rearm(fd, interest)
    }

    /// Takes out what was registered as `fd` under `token`; hands the source back.
    pub(crate) fn deregister(&self, fd: RawFd, token: Token) -> Option<Arc<Source>> {
        // An error means that the number was closed and reused: nothing of ours is left there.
        let _ = self.poller.remove_registered(fd, token);
        self.registry.lock().remove(token)
    }

    /// Has `waker` woken at `deadline`.
    pub(crate) fn insert_timer(&self, deadline: Moment, waker: Waker) -> TimerKey {
        let (key, insertion) = self.deadlines.insert(deadline, waker);
        if insertion == Insertion::EndsWait {
            // If the write fails, the descriptors of the process are beyond help.
            let _ = self.poller.notify();
        }
        key
    }

    /// Has another waker woken; hands it back if the timer is over.
    pub(crate) fn replace_timer_waker(&self, key: TimerKey, waker: Waker) -> Result<Waker, Waker> {
        self.deadlines.replace_waker(key, waker)
    }

    /// Takes a timer out; returns its waker, to be dropped outside of the lock.
    pub(crate) fn remove_timer(&self, key: TimerKey) -> Option<Waker> {
        self.deadlines.remove(key)
    }
}
