//! One look-up: the future that waits for it, and what a thread does for it.

use super::pool;
use parking_lot::Mutex;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use windlass_reactor::time::{self, Hold};

/// Waits for the addresses of a name.
#[derive(Debug)]
pub(super) struct Lookup {
    request: Arc<Request>,
    /// A paused clock doesn't see the thread that looks the name up.
    _hold: Hold,
}

/// What the one who waits and the thread have in common.
#[derive(Debug)]
pub(super) struct Request {
    host: String,
    port: u16,
    /// No waker is cloned, dropped or woken while it is locked.
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    /// There is no answer yet; whoever waits has left a waker once polled.
    Asked(Option<Waker>),
    Answered(io::Result<Vec<SocketAddr>>),
    /// Nobody waits any more.
    Over,
}

impl Lookup {
    /// Has a thread look `host` up.
    pub(super) fn start(host: String, port: u16) -> io::Result<Self> {
        let request = Request::new(host, port);
        // Before the thread can answer, so that the time does not move between.
        let lookup = Self::of(request);
        pool::submit(lookup.request.clone())?;
        Ok(lookup)
    }

    pub(super) fn of(request: Arc<Request>) -> Self {
        Self {
            request,
            _hold: time::hold(),
        }
    }
}

impl Future for Lookup {
    type Output = io::Result<Vec<SocketAddr>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let waker = context.waker().clone();
        let mut state = self.request.state.lock();
        let next = match &*state {
            State::Asked(_) => State::Asked(Some(waker)),
            State::Answered(_) | State::Over => State::Over,
        };
        let last = std::mem::replace(&mut *state, next);
        drop(state);
        match last {
            State::Asked(_replaced) => Poll::Pending,
            State::Answered(answer) => Poll::Ready(answer),
            State::Over => panic!("a look-up was polled after it had answered"),
        }
    }
}

impl Drop for Lookup {
    /// Takes the question back, which a thread that has begun with it doesn't hear.
    fn drop(&mut self) {
        let last = std::mem::replace(&mut *self.request.state.lock(), State::Over);
        if let State::Asked(waker) = last {
            pool::withdraw(&self.request);
            drop(waker);
        }
    }
}

impl Request {
    pub(super) fn new(host: String, port: u16) -> Arc<Self> {
        let state = Mutex::new(State::Asked(None));
        Arc::new(Self { host, port, state })
    }

    /// Asks the system, unless nobody waits any more, and wakes who does.
    pub(super) fn answer(&self) {
        if matches!(*self.state.lock(), State::Over) {
            return;
        }
        let answer = self.ask();
        let mut state = self.state.lock();
        let last = match &*state {
            State::Asked(_) => std::mem::replace(&mut *state, State::Answered(answer)),
            State::Answered(_) | State::Over => return,
        };
        drop(state);
        if let State::Asked(Some(waker)) = last {
            waker.wake();
        }
    }

    fn ask(&self) -> io::Result<Vec<SocketAddr>> {
        let found = (self.host.as_str(), self.port).to_socket_addrs()?;
        Ok(found.collect())
    }
}
