//! The handle that waits for a task.

use std::future::Future;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll, RawWakerVTable, Waker, ready};
use std::{fmt, ptr};

use super::contain::{contain, discard, discard_panic};
use super::error::Ended;
use super::reference::Reference;
use super::state::ToDetached;
use super::{AbortHandle, Id, JoinError};
use crate::wait::wait;
use windlass_reactor::budget;

/// Waits for a task, as a future, and gives its output.
///
/// Dropping the handle detaches the task: it runs on, and its output is dropped.
///
/// # Cancel safety
///
/// A handle awaited by reference may be given up and awaited again; the output is not lost.
///
/// # Panics
///
/// A handle that has given its result must not be polled again; doing so panics.
///
/// # Examples
///
/// ```
/// use windlass_executor::{block_on, spawn};
///
/// block_on(async {
///     let mut task = spawn(async { 40 + 2 });
///     assert_eq!((&mut task).await.unwrap(), 42);
///
///     let failing = spawn(async { panic!("only the joiner sees this") });
///     assert!(failing.await.unwrap_err().is_panic());
///
///     drop(spawn(async { /* runs on by itself */ }));
/// });
/// ```
pub struct JoinHandle<T> {
    /// The reference to the task, given up together with the handle's claim on the output.
    task: ManuallyDrop<Reference>,
    /// The waker that was left in the task, if one was; or that the output was taken.
    registered: Registered,
    /// The handle takes outputs out of the task.
    output: PhantomData<T>,
}

/// What tells whether a waker is like the one that was left in the task.
///
/// The task's may be read only after taking it back, which takes an atomic step. As it keeps its
/// data alive, its two pointers say as much as itself.
///
/// All of a handle is whole words, so that moving one, as each spawn does several times, takes no
/// pieces of words that the processor has to put together again.
#[derive(Clone, Copy, PartialEq)]
struct Registered {
    /// The data pointer of the waker.
    data: *const (),
    /// The table of functions of the waker.
    table: *const RawWakerVTable,
}

impl Registered {
    /// No waker was left.
    const NONE: Self = Self::without_waker(0);
    /// No waker is left, and neither is the output: it was taken.
    const TAKEN: Self = Self::without_waker(1);

    /// What differs from every waker, as no table is at so low an address.
    const fn without_waker(number: usize) -> Self {
        Self {
            data: ptr::null(),
            table: ptr::without_provenance(number),
        }
    }

    /// Says whether a waker was left.
    fn is_waker(self) -> bool {
        self.table != Self::NONE.table && self.table != Self::TAKEN.table
    }
}

// SAFETY: The handle moves outputs out of the task, for which `T: Send` is required. The pointers
// in `registered` are only compared.
unsafe impl<T: Send> Send for JoinHandle<T> {}

// SAFETY: A shared handle gives no access to the output.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

impl<T> Unpin for JoinHandle<T> {}
impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// Makes the handle of a new task, whose output must be a `T`.
    pub(super) fn new(task: Reference) -> Self {
        Self {
            task: ManuallyDrop::new(task),
            registered: Registered::NONE,
            output: PhantomData,
        }
    }

    /// Asks the task to end: it is not polled again, and its future is dropped where it runs.
    ///
    /// The handle then gives an error that says so, unless the task was complete before. A closure
    /// of `spawn_blocking` that has started runs on to its end.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{block_on, spawn};
    /// # block_on(async {
    /// let task = spawn(std::future::pending::<()>());
    /// task.abort();
    /// assert!(task.await.unwrap_err().is_cancelled());
    /// # });
    /// ```
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Makes a handle that can abort the task and be handed around.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{block_on, spawn};
    /// # block_on(async {
    /// let task = spawn(std::future::pending::<()>());
    /// let handle = task.abort_handle();
    /// spawn(async move { handle.abort() });
    /// assert!(task.await.is_err());
    /// # });
    /// ```
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle::new(Reference::clone(&self.task))
    }

    /// Says whether the task is complete, so that awaiting the handle will not wait.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{block_on, spawn, yield_now};
    /// # block_on(async {
    /// let task = spawn(async {});
    /// while !task.is_finished() {
    ///     yield_now().await;
    /// }
    /// # });
    /// ```
    pub fn is_finished(&self) -> bool {
        self.task.state().is_complete()
    }

    /// Says which task it is.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{block_on, spawn};
    /// # block_on(async {
    /// let (one, two) = (spawn(async {}), spawn(async {}));
    /// assert_ne!(one.id(), two.id());
    /// # });
    /// ```
    pub fn id(&self) -> Id {
        self.task.header().id
    }

    /// Gives the name of the task, if it has one; see [`TaskBuilder`](crate::TaskBuilder).
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{TaskBuilder, block_on, spawn};
    /// # block_on(async {
    /// let task = TaskBuilder::new().name("baker").spawn(async {});
    /// assert_eq!(task.name(), Some("baker"));
    /// assert_eq!(spawn(async {}).name(), None);
    /// # });
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.task.name().map(|name| &**name)
    }

    /// Says which call spawned the task.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{block_on, spawn};
    /// # block_on(async {
    /// let task = spawn(async {});
    /// assert_eq!(task.spawned_at().line(), line!() - 1);
    /// # });
    /// ```
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.task.header().spawned_at
    }

    /// Blocks the thread until the task is complete, and gives its output.
    ///
    /// This is for threads that run no tasks: a thread that runs some would hold them up, perhaps
    /// the awaited one among them.
    ///
    /// # Errors
    ///
    /// As awaiting the handle: that the task panicked or was cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::Runtime;
    ///
    /// // A worker apart from the one that only runs in `block_on`.
    /// let runtime = Runtime::builder().workers(2).build()?;
    /// assert_eq!(runtime.spawn(async { 5 }).wait()?, 5);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn wait(self) -> Result<T, JoinError> {
        wait(self)
    }

    /// Says whether the output was taken.
    fn is_taken(&self) -> bool {
        self.registered.table == Registered::TAKEN.table
    }

    /// Leaves a waker in the task, to be woken when it is complete. Returns whether it is already,
    /// so that the waker won't be.
    ///
    /// # Panics
    ///
    /// If the handle has given its result.
    #[track_caller]
    pub(crate) fn leave_waker(&mut self, waker: &Waker) -> bool {
        assert!(
            !self.is_taken(),
            "a JoinHandle was waited for after it had given its result"
        );
        self.is_finished() || self.register(waker)
    }

    /// Leaves a waker in the task. Returns whether the task is complete, so that none is needed.
    #[inline(never)]
    fn register(&mut self, waker: &Waker) -> bool {
        if self.registered == Registered::from(waker) {
            return false;
        }
        // Cloning runs code of the waker's, which may panic; nothing has changed yet.
        let waker = waker.clone();
        let former = mem::replace(&mut self.registered, Registered::NONE);
        if former.is_waker() && self.task.state().transition_from_joining() {
            return true;
        }
        let registered = Registered::from(&waker);
        self.task.header().note_joiner(&waker);
        // SAFETY: `JOINING` is clear: it never was set, or the step above has cleared it.
        let former = unsafe { self.replace_waker(Some(waker)) };
        let complete = self.task.state().transition_to_joining();
        if complete {
            // SAFETY: The task was complete before the step, so the waker has stayed the handle's.
            drop(unsafe { self.replace_waker(None) });
        } else {
            self.registered = registered;
        }
        // Likewise dropping; all is settled by now.
        drop(former);
        complete
    }

    /// Puts another waker into the task, or none, and returns the one that was there.
    ///
    /// # Safety
    ///
    /// The join waker must be the handle's (rule 5 of the state).
    unsafe fn replace_waker(&self, waker: Option<Waker>) -> Option<Waker> {
        // SAFETY: The join waker is the handle's, and the handle is here.
        self.task
            .header()
            .join_waker
            .with_mut(|place| unsafe { ptr::replace(place, waker) })
    }

    /// Finds the output.
    ///
    /// # Safety
    ///
    /// The task must be complete, and the output not taken.
    unsafe fn output(&self) -> *mut Ended<T> {
        let operations = self.task.header().operations;
        // SAFETY: The table is that of the cell. The task is complete, and its handle exists, so
        // the output is the handle's (rule 4).
        unsafe { (operations.output)(&self.task) }.cast()
    }
}

impl<T> JoinHandle<T> {
    /// Takes the result of a task that is finished.
    ///
    /// # Panics
    ///
    /// If it is not, or if the result was taken.
    pub(crate) fn take(&mut self) -> Result<T, JoinError> {
        assert!(
            self.is_finished() && !self.is_taken(),
            "a result was taken that is not there"
        );
        // SAFETY: So it was not.
        unsafe { self.take_output() }
    }

    /// Takes the result.
    ///
    /// # Safety
    ///
    /// The task must be complete, and the result not taken.
    #[inline(always)]
    unsafe fn take_output(&mut self) -> Result<T, JoinError> {
        self.registered = Registered::TAKEN;
        // SAFETY: The task is complete, and `TAKEN` was not set until now.
        let output = unsafe { self.output() };
        // SAFETY: The output is there, of this type, and nobody else will read it.
        let ended = unsafe { output.read() };
        ended.map_err(|failure| JoinError::new(&self.task, failure))
    }

    /// Lets go of a task whose result was not taken, by the reference that the handle had.
    #[inline(never)]
    fn detach(&self, task: Reference) {
        match task
            .state()
            .transition_to_detached(self.registered.is_waker())
        {
            ToDetached::Nothing => task.forget(),
            // SAFETY: The state has given the join waker back.
            ToDetached::DropWaker => discard(unsafe { self.replace_waker(None) }),
            ToDetached::DropOutput => {
                // SAFETY: The task is complete, and the output was not taken.
                let output = unsafe { self.output() };
                // SAFETY: The output is there, of this type, and nobody else will use it.
                discard_panic(contain(|| unsafe { ptr::drop_in_place(output) }));
            }
        }
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(
            !self.is_taken(),
            "a JoinHandle was polled after it had given its result"
        );
        if !self.is_finished() && !self.register(context.waker()) {
            return Poll::Pending;
        }
        ready!(budget::poll_proceed(context)).spend();
        // SAFETY: The task is complete, and the result was not taken, as was seen above.
        Poll::Ready(unsafe { self.take_output() })
    }
}

impl<T> Drop for JoinHandle<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: This is the end of the handle; the field is not dropped again.
        let task = unsafe { ManuallyDrop::take(&mut self.task) };
        if !self.is_taken() {
            self.detach(task);
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("JoinHandle")
            .field("id", &self.id())
            .field("spawned_at", &format_args!("{}", self.spawned_at()))
            .finish_non_exhaustive()
    }
}

impl From<&Waker> for Registered {
    fn from(waker: &Waker) -> Self {
        Self {
            data: waker.data(),
            table: waker.vtable(),
        }
    }
}
