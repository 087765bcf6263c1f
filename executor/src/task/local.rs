//! Values that belong to a task, or to a part of one, and are found from anywhere inside.
//!
//! While a future with such a value is polled or dropped, a frame on the stack of its thread says
//! where the value is; the frames of a thread form a list, the innermost first. So a scope costs no
//! allocation, and nothing has to be moved in or out when a poll begins, ends or panics.

use super::contain::contain;
use pin_project_lite::pin_project;
use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::ptr;
use std::sync::atomic::AtomicU8;
use std::task::{Context, Poll};

/// A value that each task can have for itself, as a thread has those of `thread_local!`.
///
/// It is a `static`, and has a value inside of [`scope`](Self::scope) and
/// [`sync_scope`](Self::sync_scope) only. Tasks that are spawned in there don't inherit it.
///
/// # Examples
///
/// ```
/// use windlass_executor::{TaskLocal, block_on, spawn, yield_now};
///
/// static REQUEST: TaskLocal<u32> = TaskLocal::new();
///
/// async fn log(text: &str) -> String {
///     yield_now().await;
///     REQUEST.with(|number| format!("request {number}: {text}"))
/// }
///
/// block_on(async {
///     let one = spawn(REQUEST.scope(1, log("hello")));
///     let two = spawn(REQUEST.scope(2, log("goodbye")));
///     assert_eq!(one.await.unwrap(), "request 1: hello");
///     assert_eq!(two.await.unwrap(), "request 2: goodbye");
/// });
/// ```
pub struct TaskLocal<T: 'static> {
    /// Tells this one from all others by its address: something that could be changed is never
    /// merged with another of the same content, nor copied where a `const` is used.
    address: AtomicU8,
    value: PhantomData<fn() -> T>,
}

/// Where a value is, while code runs that may look at it.
struct Frame {
    /// The address of its `TaskLocal`.
    key: *const (),
    /// The value, of the type that belongs to the key.
    value: *const (),
    outer: *const Frame,
}

thread_local! {
    /// The innermost frame of this thread; null if there is none. It needs no destructor, so that
    /// it is there also while those of others run.
    static INNERMOST: Cell<*const Frame> = const { Cell::new(ptr::null()) };
}

impl<T: 'static> TaskLocal<T> {
    /// Makes one, for a `static`.
    ///
    /// # Examples
    ///
    /// ```
    /// static REQUEST: windlass_executor::TaskLocal<u32> = windlass_executor::TaskLocal::new();
    /// ```
    #[expect(clippy::new_without_default, reason = "only a static is of use")]
    pub const fn new() -> Self {
        Self {
            address: AtomicU8::new(0),
            value: PhantomData,
        }
    }

    /// Runs `future` with this value, which is dropped after it.
    ///
    /// Inside of a scope of the same `TaskLocal`, the inner value hides the outer one. The value is
    /// also there when the future is dropped, whether it is done or not.
    ///
    /// # Cancel safety
    ///
    /// As that of `future`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{TaskLocal, block_on};
    /// static NAME: TaskLocal<&str> = TaskLocal::new();
    /// assert_eq!(block_on(NAME.scope("baker", async { NAME.get() })), "baker");
    /// ```
    pub fn scope<F: Future>(&'static self, value: T, future: F) -> TaskLocalFuture<T, F> {
        TaskLocalFuture {
            local: self,
            value,
            future: Some(future),
        }
    }

    /// Calls `body` with this value.
    ///
    /// # Panics
    ///
    /// If `body` does.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::TaskLocal;
    /// static NAME: TaskLocal<&str> = TaskLocal::new();
    /// assert_eq!(NAME.sync_scope("baker", || NAME.get()), "baker");
    /// ```
    #[expect(
        clippy::needless_pass_by_value,
        reason = "it is the scope's, and ends with it"
    )]
    pub fn sync_scope<R>(&'static self, value: T, body: impl FnOnce() -> R) -> R {
        self.enter(&value, body)
    }

    /// Lends the value of the innermost scope.
    ///
    /// # Panics
    ///
    /// Outside of any scope; [`try_with`](Self::try_with) gives an error.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::TaskLocal;
    /// static NAME: TaskLocal<String> = TaskLocal::new();
    /// let length = NAME.sync_scope("baker".to_owned(), || NAME.with(String::len));
    /// assert_eq!(length, 5);
    /// ```
    #[track_caller]
    pub fn with<R>(&'static self, look: impl FnOnce(&T) -> R) -> R {
        match self.try_with(look) {
            Ok(result) => result,
            Err(error) => panic!("{error}"),
        }
    }

    /// Lends the value of the innermost scope.
    ///
    /// # Errors
    ///
    /// Outside of any scope.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::TaskLocal;
    /// static NAME: TaskLocal<String> = TaskLocal::new();
    /// assert!(NAME.try_with(String::len).is_err());
    /// ```
    pub fn try_with<R>(&'static self, look: impl FnOnce(&T) -> R) -> Result<R, TaskLocalError> {
        let mut frame = INNERMOST.get();
        // SAFETY: A frame that is in the list is on the stack of this thread: `enter` takes it out
        // before it returns.
        while let Some(found) = unsafe { frame.as_ref() } {
            if found.key == self.key() {
                // SAFETY: The key is the address of this, so the value is a `T`. It is borrowed by
                // the `enter` that runs this, and shared, also if it is lent more than once.
                return Ok(look(unsafe { &*found.value.cast::<T>() }));
            }
            frame = found.outer;
        }
        Err(TaskLocalError(()))
    }

    /// Returns a copy of the value of the innermost scope.
    ///
    /// # Panics
    ///
    /// Outside of any scope.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::TaskLocal;
    /// static NAME: TaskLocal<&str> = TaskLocal::new();
    /// assert_eq!(NAME.sync_scope("baker", || NAME.get()), "baker");
    /// ```
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Clone,
    {
        self.with(T::clone)
    }

    fn key(&'static self) -> *const () {
        ptr::from_ref(&self.address).cast()
    }

    /// Calls `body` while `value` is that of the innermost scope.
    fn enter<R>(&'static self, value: &T, body: impl FnOnce() -> R) -> R {
        let frame = Frame {
            key: self.key(),
            value: ptr::from_ref(value).cast(),
            outer: INNERMOST.get(),
        };
        INNERMOST.set(&raw const frame);
        let result = contain(body);
        INNERMOST.set(frame.outer);
        match result {
            Ok(result) => result,
            Err(payload) => resume_unwind(payload),
        }
    }
}

impl<T: 'static> fmt::Debug for TaskLocal<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TaskLocal").finish_non_exhaustive()
    }
}

pin_project! {
    /// The future of [`TaskLocal::scope`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct TaskLocalFuture<T: 'static, F> {
        local: &'static TaskLocal<T>,
        value: T,
        // There until it is done.
        #[pin]
        future: Option<F>,
    }

    impl<T, F> PinnedDrop for TaskLocalFuture<T, F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if this.future.is_some() {
                this.local.enter(this.value, || this.future.set(None));
            }
        }
    }
}

impl<T: 'static, F: Future> Future for TaskLocalFuture<T, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        this.local.enter(this.value, || {
            let future = this.future.as_mut().as_pin_mut();
            let future = future.expect("a future with a task-local was polled after it was done");
            let polled = future.poll(context);
            if polled.is_ready() {
                this.future.set(None);
            }
            polled
        })
    }
}

impl<T: 'static + fmt::Debug, F> fmt::Debug for TaskLocalFuture<T, F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TaskLocalFuture")
            .field("value", &self.value)
            .finish_non_exhaustive()
    }
}

/// There is no value: the code runs outside of any [`TaskLocal::scope`] of this one.
///
/// # Examples
///
/// ```
/// static NAME: windlass_executor::TaskLocal<u32> = windlass_executor::TaskLocal::new();
/// let error: windlass_executor::TaskLocalError = NAME.try_with(|_| ()).unwrap_err();
/// assert!(error.to_string().contains("scope"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskLocalError(());

impl fmt::Display for TaskLocalError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a task-local has a value only inside of its scope")
    }
}

impl std::error::Error for TaskLocalError {}
