//! One look-up: the future that waits for it, and what a thread does for it.

use super::pool;
use crate::address::Name;
use parking_lot::Mutex;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Waits for the addresses of a name.
#[derive(Debug)]
pub(super) struct Lookup(Arc<Request>);

/// What the one who waits and the thread have in common.
#[derive(Debug)]
pub(super) struct Request {
    name: Name,
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
    /// Has a thread look `name` up.
    pub(super) fn start(name: Name) -> io::Result<Self> {
        let state = Mutex::new(State::Asked(None));
        let request = Arc::new(Request { name, state });
        pool::submit(request.clone())?;
        Ok(Self(request))
    }
}

impl Future for Lookup {
    type Output = io::Result<Vec<SocketAddr>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let waker = context.waker().clone();
        let mut state = self.0.state.lock();
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
    fn drop(&mut self) {
        let last = std::mem::replace(&mut *self.0.state.lock(), State::Over);
        drop(last);
    }
}

impl Request {
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
        let Name { host, port } = &self.name;
        let found: Vec<_> = match (host.as_str(), *port).to_socket_addrs() {
            Ok(found) => found.collect(),
            Err(cause) => return Err(LookupError::wrap(host, cause)),
        };
        if found.is_empty() {
            let cause = io::Error::new(io::ErrorKind::NotFound, "it has no address");
            return Err(LookupError::wrap(host, cause));
        }
        Ok(found)
    }
}

/// Why the name of a host has no addresses; inside the [`io::Error`] that is returned.
///
/// ```
/// # futures::executor::block_on(async {
/// use windlass_net::{LookupError, TcpStream};
///
/// let error = TcpStream::connect("no..such.host:80").await.unwrap_err();
/// let error = error.get_ref().unwrap().downcast_ref::<LookupError>().unwrap();
/// assert_eq!(error.host(), "no..such.host");
/// # });
/// ```
#[derive(Debug)]
pub struct LookupError {
    host: String,
    cause: io::Error,
}

impl LookupError {
    fn wrap(host: &str, cause: io::Error) -> io::Error {
        let host = host.to_owned();
        io::Error::new(cause.kind(), Self { host, cause })
    }

    /// Returns the name that was looked up.
    pub fn host(&self) -> &str {
        &self.host
    }
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, cause } = self;
        write!(f, "cannot find the host `{host}`: {cause}")
    }
}

impl Error for LookupError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.cause)
    }
}
