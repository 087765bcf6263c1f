//! What can be chosen for the threads of a runtime.

use super::Builder;
use crate::runtime::affinity::Affinity;
use crate::runtime::hooks::Hook;
use crate::runtime::names::ThreadNames;
use std::sync::Arc;
use std::time::Duration;

impl Builder {
    /// Sets the name of the threads, which a number follows; "windlass" unless set.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::Runtime;
    ///
    /// let runtime = Runtime::builder().workers(1).thread_name("shop").build()?;
    /// let name = || std::thread::current().name().map(str::to_owned);
    /// let job = runtime.handle().spawn_blocking(name);
    /// assert_eq!(job.wait()?.as_deref(), Some("shop-blocking-0"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn thread_name(mut self, name: impl Into<String>) -> Self {
        self.thread_names = ThreadNames::Numbered(name.into());
        self
    }

    /// Sets how the worker threads are named: `name` gets the number of the worker, from 1 up.
    /// Threads of `spawn_blocking` are named "windlass-blocking-" and a number.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::thread;
    /// use windlass_executor::Runtime;
    ///
    /// let name = |worker| format!("{worker}nd worker");
    /// let runtime = Runtime::builder().workers(3).thread_name_fn(name).build()?;
    /// let task = runtime.handle().spawn_on(2, async { thread::current().name() == Some("2nd worker") });
    /// assert!(task.wait()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn thread_name_fn(
        mut self,
        name: impl Fn(usize) -> String + Send + Sync + 'static,
    ) -> Self {
        self.thread_names = ThreadNames::Function(Arc::new(name));
        self
    }

    /// Sets the stack size of the worker threads and of those of `spawn_blocking`, in bytes; that of
    /// the standard library unless set.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::Runtime;
    ///
    /// let runtime = Runtime::builder().workers(2).thread_stack_size(8 << 20).build()?;
    /// # drop(runtime);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn thread_stack_size(mut self, bytes: usize) -> Self {
        self.blocking.stack_size = Some(bytes);
        self
    }

    /// Sets how many threads `spawn_blocking` uses at the most, at least 1; 512 unless set. More
    /// jobs than that wait, and a job that waits for another one may wait for ever.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::Runtime;
    ///
    /// let runtime = Runtime::builder().blocking_threads(4).build()?;
    /// # drop(runtime);
    /// let error = Runtime::builder().blocking_threads(0).build().unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn blocking_threads(mut self, most: usize) -> Self {
        self.blocking.most_threads = most;
        self
    }

    /// Sets how long a thread of `spawn_blocking` stays without a job; 10 seconds unless set.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass_executor::Runtime;
    ///
    /// let runtime = Runtime::builder().blocking_keep_alive(Duration::from_secs(1)).build()?;
    /// # drop(runtime);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn blocking_keep_alive(mut self, keep_alive: Duration) -> Self {
        self.blocking.keep_alive = keep_alive;
        self
    }

    /// Sets what each thread of the runtime calls when it begins: workers and those of
    /// `spawn_blocking`, but not the thread that calls `block_on`.
    ///
    /// A panic of this or of another such function ends the call and has no other effect.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::Runtime;
    ///
    /// let runtime = Runtime::builder().on_thread_start(|| println!("one more")).build()?;
    /// # drop(runtime);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn on_thread_start(mut self, function: impl Fn() + Send + Sync + 'static) -> Self {
        self.hooks.start = Hook::new(function);
        self
    }

    /// Sets what each thread of the runtime calls before it ends, after its last task.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::Runtime;
    ///
    /// let runtime = Runtime::builder().on_thread_stop(|| println!("one less")).build()?;
    /// # drop(runtime);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn on_thread_stop(mut self, function: impl Fn() + Send + Sync + 'static) -> Self {
        self.hooks.stop = Hook::new(function);
        self
    }

    /// Sets what a worker calls before it sleeps, as it has nothing to do: also the one that is the
    /// thread in `block_on`. What the function spawns or wakes may be seen only after that sleep.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// use std::time::Duration;
    /// use windlass_executor::Runtime;
    /// use windlass_reactor::time::sleep;
    ///
    /// let sleeps = Arc::new(AtomicUsize::new(0));
    /// let count = sleeps.clone();
    /// let counts = move || {
    ///     count.fetch_add(1, Ordering::Relaxed);
    /// };
    /// let runtime = Runtime::builder().workers(1).on_thread_park(counts).build()?;
    /// runtime.block_on(sleep(Duration::from_millis(1)));
    /// assert!(sleeps.load(Ordering::Relaxed) >= 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn on_thread_park(mut self, function: impl Fn() + Send + Sync + 'static) -> Self {
        self.hooks.park = Hook::new(function);
        self
    }

    /// Sets what a worker calls after it has slept.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::Runtime;
    ///
    /// let runtime = Runtime::builder().on_thread_unpark(|| println!("awake")).build()?;
    /// # drop(runtime);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn on_thread_unpark(mut self, function: impl Fn() + Send + Sync + 'static) -> Self {
        self.hooks.unpark = Hook::new(function);
        self
    }

    /// Sets on which processors each worker thread may run: `processors` gets the number of the
    /// worker, from 1 up. Worker 0 is whoever calls `block_on`, and goes where it likes.
    ///
    /// Works on Linux and Android; elsewhere [`build`](Self::build) fails with `Unsupported`, if
    /// there is a worker thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::Runtime;
    ///
    /// let made = Runtime::builder().workers(2).cpu_affinity(|worker| vec![worker - 1]).build();
    /// if let Err(error) = made {
    ///     // Where the process may not use processor 0.
    ///     eprintln!("{error}");
    /// }
    /// ```
    #[must_use]
    pub fn cpu_affinity(
        mut self,
        processors: impl Fn(usize) -> Vec<usize> + Send + Sync + 'static,
    ) -> Self {
        self.affinity = Affinity(Some(Arc::new(processors)));
        self
    }
}
