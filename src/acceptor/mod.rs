//! A server's way with connections: accepts them, limits them, has them served, and ends them.
//!
//! `limit.rs` has their number, `serving.rs` the future of each, `counts.rs` what has become of them.
//! It stands above both crates that it joins: listeners are of net, tasks and drains of the
//! executor, and neither knows of the other.

mod counts;
mod handle;
mod limit;
mod serving;

pub use counts::AcceptorCounts;
pub use handle::AcceptorHandle;

use counts::{Counters, End};
use limit::Limit;
use serving::{Serving, Ticket, Times};
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use windlass_executor::{Drain, Handle, JoinSet};
use windlass_net::{Listener, descriptor_limit};

/// Descriptors that are left for other things than connections, and some for each worker.
const SPARE: u64 = 32;
const SPARE_OF_WORKER: u64 = 4;

/// Accepts connections and has a task serve each, within limits, until it is told to stop.
///
/// ```
/// # use windlass::net::TcpStream;
/// use std::time::Duration;
/// use windlass::io::copy;
/// use windlass::net::{Acceptor, TcpListener};
///
/// windlass::block_on(async {
///     let listener = TcpListener::bind("127.0.0.1:0").await?;
///     # let address = listener.local_addr()?;
///     let acceptor = Acceptor::new(listener)
///         .max_connections(10_000)
///         .idle_limit(Duration::from_secs(300));
///     let stop = async { /* waits for a signal */
///         # let client = TcpStream::connect(address).await.unwrap();
///         # client.write_all(b"hi").await.unwrap();
///         # client.read_exact(&mut [0; 2]).await.unwrap();
///     };
///     let counts = acceptor
///         .serve_until(stop, Duration::from_secs(5), |stream, _peer| async move {
///             copy(&stream, &stream).await.map(drop)
///         })
///         .await?;
///     println!("{counts}");
///     # assert_eq!(counts.finished, 1);
///     std::io::Result::Ok(())
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// - When as many connections are open as may be, it accepts no more until one ends: the others
///   wait in the queue of the listener. Or it [refuses](Acceptor::refuse_when_full) them.
/// - A handler that panics costs its connection only (see
///   [`TaskPanic`](crate::TaskPanic) for another choice).
/// - A lack of descriptors or memory is waited out.
#[must_use = "nothing is accepted until it serves"]
pub struct Acceptor<L> {
    listeners: Vec<L>,
    max_connections: Option<usize>,
    descriptors_each: u32,
    refuses: bool,
    times: Times,
    shared: Arc<Shared>,
}

/// What an acceptor, its handles and its connections share.
struct Shared {
    limit: Limit,
    counters: Counters,
    /// Whether it was told to stop, and who is waited for then.
    drain: Drain,
    /// The tasks of the connections.
    connections: Drain,
}

impl<L: Listener> Acceptor<L> {
    /// Takes a listener.
    pub fn new(listener: L) -> Self {
        Self::sharded(vec![listener])
    }

    /// Takes several listeners, such as those of
    /// [`bind_sharded`](crate::net::TcpListener::bind_sharded): one is served on each worker, in
    /// turn, and the limits are of all together.
    ///
    /// ```
    /// use windlass::net::{Acceptor, TcpListener};
    ///
    /// # windlass::block_on(async {
    /// let listeners = TcpListener::bind_sharded("127.0.0.1:0", 2).await?;
    /// let acceptor = Acceptor::sharded(listeners).max_connections(100);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub fn sharded(listeners: Vec<L>) -> Self {
        // They are the same unless somebody says whom to wait for.
        let connections = Drain::new();
        let shared = Shared {
            limit: Limit::new(),
            counters: Counters::default(),
            drain: connections.clone(),
            connections,
        };
        Self {
            listeners,
            max_connections: None,
            descriptors_each: 1,
            refuses: false,
            times: Times::default(),
            shared: Arc::new(shared),
        }
    }

    /// Sets how many connections are open at the most; at least one.
    ///
    /// There are never more than the descriptors of the process suffice for
    /// ([`descriptor_limit`](crate::net::descriptor_limit), when serving begins), less 32 and 4 for
    /// each worker; that alone is the limit unless this is called.
    pub fn max_connections(mut self, most: usize) -> Self {
        self.max_connections = Some(most);
        self
    }

    /// Sets how many descriptors a connection takes, 1 unless this is called: a proxy's takes 2.
    pub fn descriptors_each(mut self, descriptors: u32) -> Self {
        self.descriptors_each = descriptors;
        self
    }

    /// Has connections above the limit accepted and closed at once, instead of left to wait.
    pub fn refuse_when_full(mut self) -> Self {
        self.refuses = true;
        self
    }

    /// Sets how long a connection may take, from beginning to end.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.times.whole = Some(limit);
        self
    }

    /// Sets for how long nothing may happen on a connection: that is, nothing that its handler waits
    /// for. A handler that has timers of its own is not idle when they are due.
    pub fn idle_limit(mut self, limit: Duration) -> Self {
        self.times.idle = Some(limit);
        self
    }

    /// Has it stop when `drain` does, and wait only for the guards of that, instead of all
    /// connections: for protocols in which a connection may be idle, and cut off without harm.
    ///
    /// This is to be called before [`handle`](Acceptor::handle).
    ///
    /// ```
    /// use windlass::Drain;
    /// use windlass::net::{Acceptor, TcpListener};
    ///
    /// # windlass::block_on(async {
    /// let owed = Drain::new();
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let acceptor = Acceptor::new(listener).drain_by(owed.clone());
    /// // In a handler, while a client waits for an answer:
    /// let guard = owed.guard();
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub fn drain_by(mut self, drain: Drain) -> Self {
        self.shared = Arc::new(Shared {
            limit: Limit::new(),
            counters: Counters::default(),
            drain,
            connections: Drain::new(),
        });
        self
    }

    /// Returns what tells it to stop, and tells what it has done.
    pub fn handle(&self) -> AcceptorHandle {
        AcceptorHandle(self.shared.clone())
    }
}

impl<L> Acceptor<L>
where
    L: Listener + Send + 'static,
    L::Stream: Send + 'static,
    L::Address: Send + 'static,
{
    /// Accepts connections until a [handle](Acceptor::handle) says stop; `handler` makes the future
    /// that serves one. Then the listeners are closed, and this is done; it is up to
    /// [`AcceptorHandle::drain`] to end the connections that are open.
    ///
    /// # Errors
    ///
    /// If a listener can't be used any more; the others are closed, too.
    ///
    /// # Panics
    ///
    /// On a thread that runs no tasks of windlass.
    ///
    /// # Cancel safety
    ///
    /// When it is dropped, the listeners are closed, and open connections go on.
    #[track_caller]
    pub fn serve<H, F, E>(self, handler: H) -> impl Future<Output = io::Result<()>>
    where
        H: Fn(L::Stream, L::Address) -> F + Clone + Send + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Send + 'static,
    {
        self.serve_for(handler, Location::caller())
    }

    /// Serves; the tasks are shown as spawned at `spawned_at`.
    async fn serve_for<H, F, E>(
        self,
        handler: H,
        spawned_at: &'static Location<'static>,
    ) -> io::Result<()>
    where
        H: Fn(L::Stream, L::Address) -> F + Clone + Send + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Send + 'static,
    {
        let runtime = Handle::current();
        let most = self.most_connections(runtime.workers());
        let Self {
            mut listeners,
            refuses,
            times,
            shared,
            ..
        } = self;
        shared.limit.set(most, listeners.len());
        let accepting = |(number, listener), handler| Accepting {
            listener,
            number,
            refuses,
            times,
            handler,
            spawned_at,
            shared: shared.clone(),
        };
        if listeners.len() == 1 {
            let only = listeners.remove(0);
            return accepting((0, only), handler).until_stopped().await;
        }
        let mut tasks = JoinSet::new();
        for (number, listener) in listeners.into_iter().enumerate() {
            let task = accepting((number, listener), handler.clone()).until_stopped();
            tasks.insert(runtime.spawn_on(number % runtime.workers(), task));
        }
        let mut result = Ok(());
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended.map_err(io::Error::other).and_then(|ended| ended) {
                tasks.abort_all();
                result = result.and(Err(error));
            }
        }
        result
    }

    /// Serves as [`serve`](Acceptor::serve) does until `stop` is done; then open connections get
    /// `limit` to end, and are aborted if they don't. Returns what has become of all.
    ///
    /// # Errors
    ///
    /// If a listener can't be used any more, after open connections have had their time.
    ///
    /// # Panics
    ///
    /// As [`serve`](Acceptor::serve).
    ///
    /// # Cancel safety
    ///
    /// As for [`serve`](Acceptor::serve).
    #[track_caller]
    pub fn serve_until<S, H, F, E>(
        self,
        stop: S,
        limit: Duration,
        handler: H,
    ) -> impl Future<Output = io::Result<AcceptorCounts>>
    where
        S: Future,
        H: Fn(L::Stream, L::Address) -> F + Clone + Send + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Send + 'static,
    {
        let handle = self.handle();
        let serving = self.serve_for(handler, Location::caller());
        async move {
            let (mut stop, mut serving) = (pin!(stop), pin!(serving));
            let mut stopped = false;
            let served = poll_fn(|context| {
                if !stopped && stop.as_mut().poll(context).is_ready() {
                    stopped = true;
                    handle.stop();
                }
                serving.as_mut().poll(context)
            })
            .await;
            let counts = handle.drain(limit).await;
            served.map(|()| counts)
        }
    }

    fn most_connections(&self, workers: usize) -> usize {
        let asked = self.max_connections.unwrap_or(usize::MAX);
        let Some(descriptors) = descriptor_limit() else {
            return asked.max(1);
        };
        let spare = SPARE + SPARE_OF_WORKER * workers as u64 + self.listeners.len() as u64;
        let suffices = descriptors.saturating_sub(spare) / u64::from(self.descriptors_each.max(1));
        asked
            .min(usize::try_from(suffices).unwrap_or(usize::MAX))
            .max(1)
    }
}

impl<L> fmt::Debug for Acceptor<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acceptor")
            .field("listeners", &self.listeners.len())
            .field("max_connections", &self.max_connections)
            .field("times", &self.times)
            .finish_non_exhaustive()
    }
}

/// Accepts from one listener.
struct Accepting<L, H> {
    listener: L,
    number: usize,
    refuses: bool,
    times: Times,
    handler: H,
    spawned_at: &'static Location<'static>,
    shared: Arc<Shared>,
}

impl<L, H, F, E> Accepting<L, H>
where
    L: Listener,
    H: Fn(L::Stream, L::Address) -> F,
    F: Future<Output = Result<(), E>> + Send + 'static,
{
    async fn until_stopped(self) -> io::Result<()> {
        let stop = self.shared.drain.token().clone();
        let accepting = poll_fn(move |context| self.poll(context));
        stop.run_until_cancelled(accepting).await.unwrap_or(Ok(()))
    }

    /// Accepts for ever.
    fn poll(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let limit = &self.shared.limit;
        loop {
            // The place comes first: a connection that is accepted has been promised service.
            if self.refuses && !limit.try_take() {
                let accepted = ready!(self.listener.poll_accept(context))?;
                // A place may have become free meanwhile.
                if limit.try_take() {
                    self.serve(accepted);
                } else {
                    self.shared.counters.refused();
                }
                continue;
            }
            if !self.refuses {
                ready!(limit.poll_take(context, self.number));
            }
            match self.listener.poll_accept(context) {
                Poll::Ready(Ok(accepted)) => self.serve(accepted),
                not_accepted => {
                    limit.give_back();
                    return not_accepted.map_ok(drop);
                }
            }
        }
    }

    /// Starts the task of a connection, for which a place was taken.
    fn serve(&self, (stream, address): (L::Stream, L::Address)) {
        let mut ticket = Ticket::new(self.shared.clone());
        let connections = &self.shared.connections;
        match catch_unwind(AssertUnwindSafe(|| (self.handler)(stream, address))) {
            Ok(handler) => {
                let serving = Serving::new(handler, self.times.start(), ticket);
                connections.spawn_at(serving, self.spawned_at);
            }
            Err(panic) => {
                ticket.end = End::Panicked;
                // In a task, it is up to the runtime as if the future had panicked.
                let panicking = async move {
                    let _ticket = ticket;
                    resume_unwind(panic);
                };
                connections.spawn_at(panicking, self.spawned_at);
            }
        }
    }
}
