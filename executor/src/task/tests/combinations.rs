//! Every way to end a task, in every state, with every kind of handle, and a panic in every place.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;

use super::super::AbortHandle;
use super::*;

/// What the task is doing when it is struck.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    Queued,
    Running,
    Idle,
    QueuedAgain,
    Complete,
}

/// What it is struck by.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Nothing,
    Abort,
    AbortAndWake,
    Shutdown,
    AbortThenShutdown,
    QueueLost,
}

/// What becomes of the join handle.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Handle {
    DroppedAtOnce,
    PolledThenDropped,
    DroppedWhenStruck,
    DroppedAtTheEnd,
    Joined,
    PolledThenJoined,
    PolledTwiceThenJoined,
}

/// What panics.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Panics {
    Nothing,
    Poll,
    FutureDrop,
    OutputDrop,
}

const WHENS: [When; 5] = [
    When::Queued,
    When::Running,
    When::Idle,
    When::QueuedAgain,
    When::Complete,
];
const BYS: [By; 6] = [
    By::Nothing,
    By::Abort,
    By::AbortAndWake,
    By::Shutdown,
    By::AbortThenShutdown,
    By::QueueLost,
];
const HANDLES: [Handle; 7] = [
    Handle::DroppedAtOnce,
    Handle::PolledThenDropped,
    Handle::DroppedWhenStruck,
    Handle::DroppedAtTheEnd,
    Handle::Joined,
    Handle::PolledThenJoined,
    Handle::PolledTwiceThenJoined,
];
const PANICS: [Panics; 4] = [
    Panics::Nothing,
    Panics::Poll,
    Panics::FutureDrop,
    Panics::OutputDrop,
];

/// What is seen of a task from outside.
#[derive(Default)]
struct Tally {
    /// The waker of the last poll.
    waker: Mutex<Option<Waker>>,
    /// What to do in the middle of the next poll.
    strike: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    futures_dropped: AtomicUsize,
    outputs_made: AtomicUsize,
    outputs_dropped: AtomicUsize,
}

/// A future that is pending once, then ready.
struct Subject {
    polled: bool,
    panics: Panics,
    tally: Arc<Tally>,
}

/// What it gives.
struct Output {
    panics: Panics,
    tally: Arc<Tally>,
}

impl Future for Subject {
    type Output = Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Output> {
        *self.tally.waker.lock().unwrap() = Some(context.waker().clone());
        let strike = self.tally.strike.lock().unwrap().take();
        if let Some(strike) = strike {
            strike();
        }
        if !std::mem::replace(&mut self.polled, true) {
            return Poll::Pending;
        }
        if self.panics == Panics::Poll {
            panic_quietly();
        }
        self.tally.outputs_made.fetch_add(1, SeqCst);
        Poll::Ready(Output {
            panics: self.panics,
            tally: Arc::clone(&self.tally),
        })
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        self.tally.futures_dropped.fetch_add(1, SeqCst);
        if self.panics == Panics::FutureDrop {
            panic_quietly();
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.tally.outputs_dropped.fetch_add(1, SeqCst);
        if self.panics == Panics::OutputDrop {
            panic_quietly();
        }
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
struct Case {
    when: When,
    by: By,
    handle: Handle,
    panics: Panics,
}

/// How a task ended.
#[derive(Debug, PartialEq)]
enum Outcome {
    Output,
    Cancelled,
    Panicked,
}

impl Case {
    /// What the joiner must see.
    fn expected(self) -> Outcome {
        let runs_to_the_end = self.by == By::Nothing
            || self.when == When::Complete
            || (self.by == By::QueueLost && !matches!(self.when, When::Queued | When::QueuedAgain));
        match (runs_to_the_end, self.panics) {
            (_, Panics::FutureDrop) => Outcome::Panicked,
            (false, _) => Outcome::Cancelled,
            (true, Panics::Poll) => Outcome::Panicked,
            (true, _) => Outcome::Output,
        }
    }

    /// Plays the case through.
    fn check(self) {
        let toy = Arc::new(Toy::default());
        let tally = Arc::new(Tally::default());
        let subject = Subject {
            polled: false,
            panics: self.panics,
            tally: Arc::clone(&tally),
        };
        let handle = toy.spawn(subject);
        let strike = self.strike(&toy, &tally, handle.abort_handle());
        let woken = Arc::new(Count::default());
        let mut handle = self.prepare(handle, &woken);

        self.bring_about(&toy, &tally);
        if self.when == When::Running {
            *tally.strike.lock().unwrap() = Some(strike);
        } else {
            strike();
        }
        if self.handle == Handle::DroppedWhenStruck {
            handle = None;
        }
        self.bring_to_the_end(&toy, &tally);

        assert_eq!(tally.futures_dropped.load(SeqCst), 1, "{self:?}");
        assert_eq!(toy.released.load(SeqCst), 1, "{self:?}");
        self.check_join(handle, &woken);
        check_late_wakes(&toy, &tally);
        let made = tally.outputs_made.load(SeqCst);
        assert_eq!(tally.outputs_dropped.load(SeqCst), made, "{self:?}");
        assert_eq!(Arc::strong_count(&toy), 1, "not freed: {self:?}");
    }

    /// Drops or polls the handle at the beginning.
    fn prepare(
        self,
        mut handle: JoinHandle<Output>,
        woken: &Arc<Count>,
    ) -> Option<JoinHandle<Output>> {
        if self.handle == Handle::PolledTwiceThenJoined {
            let other = Arc::new(Count::default()).into();
            assert!(poll_with(&mut handle, &other).is_pending());
        }
        let polled = [
            Handle::PolledThenDropped,
            Handle::PolledThenJoined,
            Handle::PolledTwiceThenJoined,
        ];
        if polled.contains(&self.handle) {
            let waker = Arc::clone(woken).into();
            assert!(poll_with(&mut handle, &waker).is_pending());
            assert!(poll_with(&mut handle, &waker).is_pending());
        }
        let dropped = [Handle::DroppedAtOnce, Handle::PolledThenDropped];
        (!dropped.contains(&self.handle)).then_some(handle)
    }

    /// Brings the task into the state in which it shall be struck.
    fn bring_about(self, toy: &Toy, tally: &Tally) {
        if matches!(self.when, When::Idle | When::QueuedAgain | When::Complete) {
            toy.run();
        }
        if matches!(self.when, When::QueuedAgain | When::Complete) {
            tally.waker.lock().unwrap().as_ref().unwrap().wake_by_ref();
        }
        if self.when == When::Complete {
            toy.run();
        }
    }

    /// Makes the blow.
    fn strike(
        self,
        toy: &Arc<Toy>,
        tally: &Arc<Tally>,
        abort: AbortHandle,
    ) -> Box<dyn FnOnce() + Send> {
        let (toy, tally) = (Arc::clone(toy), Arc::clone(tally));
        Box::new(move || match self.by {
            By::Nothing => {}
            By::Abort => abort.abort(),
            By::AbortAndWake => {
                abort.abort();
                wake(&tally);
            }
            By::Shutdown => toy.shut_down(),
            By::AbortThenShutdown => {
                abort.abort();
                toy.shut_down();
            }
            By::QueueLost => toy.queue.lock().unwrap().clear(),
        })
    }

    /// Brings the task to its end, whatever state it is in.
    fn bring_to_the_end(self, toy: &Toy, tally: &Tally) {
        toy.run();
        if !matches!(self.by, By::Nothing | By::QueueLost) {
            assert_eq!(
                tally.futures_dropped.load(SeqCst),
                1,
                "it needs a wake: {self:?}"
            );
        }
        wake(tally);
        toy.run();
        toy.shut_down();
    }

    /// Takes what is due from the handle, and drops it.
    fn check_join(self, handle: Option<JoinHandle<Output>>, woken: &Count) {
        let polled = matches!(
            self.handle,
            Handle::PolledThenJoined | Handle::PolledTwiceThenJoined
        );
        assert_eq!(woken.so_far(), usize::from(polled), "{self:?}");
        let Some(mut handle) = handle else { return };
        assert!(handle.is_finished(), "{self:?}");
        if self.handle == Handle::DroppedAtTheEnd {
            return;
        }
        let Poll::Ready(result) = poll(&mut handle) else {
            panic!("not ready: {self:?}")
        };
        let outcome = match result {
            Ok(output) => {
                // Its destructor may panic, here where the user can see it.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(output)));
                Outcome::Output
            }
            Err(error) if error.is_cancelled() => Outcome::Cancelled,
            Err(error) => {
                assert_eq!(error.into_panic().downcast_ref(), Some(&"on purpose"));
                Outcome::Panicked
            }
        };
        assert_eq!(outcome, self.expected(), "{self:?}");
    }
}

/// Wakes the task, if it was ever polled.
fn wake(tally: &Tally) {
    let waker = tally.waker.lock().unwrap().clone();
    waker.inspect(Waker::wake_by_ref);
}

/// Checks that waking a task that is over does nothing.
fn check_late_wakes(toy: &Toy, tally: &Tally) {
    let scheduled = toy.scheduled.load(SeqCst);
    wake(tally);
    let waker = tally.waker.lock().unwrap().take();
    if let Some(waker) = waker {
        waker.wake();
    }
    assert_eq!(toy.scheduled.load(SeqCst), scheduled);
}

#[test]
fn every_end_drops_everything_once_and_tells_the_joiner() {
    for when in WHENS {
        for by in BYS {
            for handle in HANDLES {
                for panics in PANICS {
                    Case {
                        when,
                        by,
                        handle,
                        panics,
                    }
                    .check();
                }
            }
        }
    }
}
