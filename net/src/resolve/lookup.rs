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
    /// Whose threads look it up.
    process: u32,
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
            process: std::process::id(),
            _hold: time::hold(),
        }
    }

    /// In a child process there is no thread that looks up what its parent has asked: so it is asked
    /// anew.
    #[cold]
    fn ask_again(&mut self) -> io::Result<()> {
        let request = Request::new(self.request.host.clone(), self.request.port);
        std::mem::forget(std::mem::replace(&mut self.request, request));
        self.process = std::process::id();
        pool::submit(self.request.clone())
    }

    /// Says whether the request is a copy of the parent's, which is left alone: a thread that isn't here
    /// may have locked it, and it may hold a waker of the parent's.
    fn is_inherited(&self) -> bool {
        self.process != std::process::id()
    }
}

impl Future for Lookup {
    type Output = io::Result<Vec<SocketAddr>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if this.is_inherited() {
            this.ask_again()?;
        }
        let waker = context.waker().clone();
        let mut state = this.request.state.lock();
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
        if self.is_inherited() {
            return std::mem::forget(self.request.clone());
        }
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

#[cfg(test)]
mod tests {
    use super::{Lookup, Request};
    use futures::executor::block_on;
    use std::sync::Arc;

    /// What a parent has asked is asked anew by the child that waits for it; the parent's is left alone.
    #[test]
    fn a_child_asks_anew() {
        // Which no thread looks up, as in a child.
        let request = Request::new("localhost".into(), 80);
        let _locked_by_a_thread_of_the_parent = request.state.lock();
        let mut lookup = Lookup::of(request.clone());
        lookup.process = 0;
        let found = block_on(lookup).unwrap();
        assert!(!found.is_empty() && found.iter().all(|address| address.port() == 80));

        let mut dropped = Lookup::of(request.clone());
        dropped.process = 0;
        let references = Arc::strong_count(&request);
        drop(dropped);
        assert_eq!(Arc::strong_count(&request), references, "it is forgotten");
    }
}
