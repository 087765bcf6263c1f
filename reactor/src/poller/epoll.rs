//! epoll(7).
//!
//! What of the kernel shapes this file:
//!
//! - An entry belongs to the open file and the number together. It goes with the last close of the
//!   file, not of the number, and can't be taken out once the number is closed: remove first.
//! - `EPOLL_CTL_ADD` and `EPOLL_CTL_MOD` report what is ready already, also with `EPOLLET`.
//! - With `EPOLLET` each arrival is an edge, whether or not what came before was read.
//! - `EPOLLERR` and `EPOLLHUP` are always reported, `EPOLLRDHUP` and `EPOLLPRI` on request.
//! - Ready entries are kept in a list that rotates, so that a small batch starves nobody.

use super::departures::Departures;
use super::mechanism::{Contract, Effect, Features, Registration};
use super::{Backend, Events, Flags, Interest, Mode, Refusal, RegisterError, Token};
use crate::sys::epoll::{self as sys, Change};
use parking_lot::Mutex;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(crate) struct Epoll {
    set: OwnedFd,
    /// The token of each registered descriptor; [`Token::RESERVED`] for none.
    tokens: Mutex<Vec<Token>>,
    departures: Departures,
    interest_changes: AtomicU64,
}

impl Contract for Epoll {
    const FEATURES: Features = Features {
        native_edges: true,
        priority: true,
        read_closed: true,
        passing_errors: true,
    };

    const HAS_SLACK: bool = true;

    fn open() -> io::Result<Self> {
        let set = sys::create()?;
        sys::probe(set.as_fd())?;
        Ok(Self {
            set,
            tokens: Mutex::default(),
            departures: Departures::default(),
            interest_changes: AtomicU64::new(0),
        })
    }

    fn add(&self, fd: RawFd, wanted: Registration) -> io::Result<Effect> {
        self.control(Change::Add, fd, wanted)?;
        Ok(Effect::Immediate)
    }

    fn modify(&self, fd: RawFd, wanted: Registration) -> io::Result<Effect> {
        self.control(Change::Modify, fd, wanted)?;
        self.interest_changes.fetch_add(1, Ordering::Relaxed);
        Ok(Effect::Immediate)
    }

    fn rearm(&self, fd: RawFd, _: Interest) -> io::Result<Effect> {
        match registered(&mut self.tokens.lock(), fd) {
            Some(_) => Ok(Effect::Immediate),
            None => Err(not_registered(fd)),
        }
    }

    fn remove(&self, fd: RawFd, expected: Option<Token>) -> io::Result<Effect> {
        let mut tokens = self.tokens.lock();
        let token = registered(&mut tokens, fd)
            .filter(|token| expected.is_none_or(|wanted| wanted == **token))
            .ok_or_else(|| not_registered(fd))?;
        let departed = std::mem::replace(token, Token::RESERVED);
        // Whatever the kernel says: if the number was closed behind our back, its entry is gone, or
        // the number is another file's by now, which was never in the set.
        let _ = sys::delete(self.set.as_fd(), fd);
        self.departures.record(departed);
        Ok(Effect::Immediate)
    }

    #[inline(always)]
    fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        self.departures.open();
        let received = events.receive(
            |space| sys::wait(self.set.as_fd(), space, timeout),
            |event| (Token(event.u64), flags(event.events)),
        );
        self.drop_departed(events);
        received
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.set.as_fd())
    }

    fn interest_changes(&self) -> u64 {
        self.interest_changes.load(Ordering::Relaxed)
    }
}

impl Epoll {
    /// Drops the events of what was taken out while the kernel reported it.
    fn drop_departed(&self, events: &mut Events) {
        self.departures
            .close(events, |token| self.tokens.lock().contains(&token));
    }

    /// Changes the kernel's entry and ours.
    fn control(&self, change: Change, fd: RawFd, wanted: Registration) -> io::Result<()> {
        // The lock is held over the call, so that the table tells what the kernel was told last.
        let mut tokens = self.tokens.lock();
        sys::control(self.set.as_fd(), change, fd, events(wanted), wanted.token.0)
            .map_err(|error| RegisterError::from_system(Backend::Epoll, fd, &error))?;
        let index = fd as usize;
        if index >= tokens.len() {
            tokens.resize(index + 1, Token::RESERVED);
        }
        let previous = std::mem::replace(&mut tokens[index], wanted.token);
        if previous != wanted.token && previous != Token::RESERVED {
            self.departures.record(previous);
        }
        Ok(())
    }
}

/// The token that `fd` goes by, if it is in the set.
fn registered(tokens: &mut [Token], fd: RawFd) -> Option<&mut Token> {
    tokens
        .get_mut(fd as usize)
        .filter(|token| **token != Token::RESERVED)
}

fn not_registered(fd: RawFd) -> io::Error {
    RegisterError::refuse(Backend::Epoll, fd, Refusal::NotRegistered)
}

impl fmt::Debug for Epoll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Epoll")
            .field("set", &self.set)
            .finish_non_exhaustive()
    }
}

/// The bits that ask the kernel for a registration.
fn events(wanted: Registration) -> i32 {
    let asked = [
        (Interest::READABLE, sys::EPOLLIN | sys::EPOLLRDHUP),
        (Interest::WRITABLE, sys::EPOLLOUT),
        (Interest::PRIORITY, sys::EPOLLPRI | sys::EPOLLRDHUP),
    ];
    let directions = asked
        .iter()
        .filter(|(interest, _)| wanted.interest.contains(*interest))
        .fold(0, |bits, (_, bit)| bits | bit);
    directions
        | match wanted.mode {
            Mode::Level => 0,
            Mode::Oneshot => sys::EPOLLONESHOT,
            Mode::Edge => sys::EPOLLET,
        }
}

/// What the kernel's bits say.
#[inline]
fn flags(bits: u32) -> Flags {
    FLAGS[compact(bits)]
}

/// The bits that matter, side by side: five at the low end, and the one for a closed read half.
const fn compact(bits: u32) -> usize {
    ((bits & 0x1f) | (bits & sys::EPOLLRDHUP as u32) >> 8) as usize
}

/// The meaning of all combinations of bits.
const FLAGS: [Flags; 64] = {
    let meanings = [
        (sys::EPOLLIN, Flags::READABLE),
        (sys::EPOLLOUT, Flags::WRITABLE),
        (sys::EPOLLPRI, Flags::PRIORITY),
        (sys::EPOLLRDHUP, Flags::READ_CLOSED),
        (sys::EPOLLHUP, Flags::HANG_UP),
        (sys::EPOLLERR, Flags::ERROR),
    ];
    let mut table = [Flags::NONE; 64];
    let mut index = 0;
    while index < table.len() {
        let mut meaning = 0;
        while meaning < meanings.len() {
            let (bit, flags) = meanings[meaning];
            if index & compact(bit as u32) != 0 {
                table[index] = table[index].and(flags);
            }
            meaning += 1;
        }
        index += 1;
    }
    table
};

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    fn registration(token: u64) -> Registration {
        Registration {
            token: Token(token),
            interest: Interest::READABLE,
            mode: Mode::Oneshot,
        }
    }

    /// Makes a change between the moment when the kernel reported `token` and the moment when the
    /// batch is handed out, and returns the tokens of that batch.
    fn batch_after(epoll: &Epoll, token: u64, change: impl FnOnce()) -> Vec<u64> {
        let mut batch = Events::new();
        epoll.departures.open();
        batch.push(Token(token), Flags::READABLE);
        change();
        epoll.drop_departed(&mut batch);
        batch.iter().map(|event| event.token().0).collect()
    }

    #[test]
    fn a_batch_lacks_what_was_taken_out_before_it_is_handed_out() {
        let epoll = Epoll::open().unwrap();
        let (stream, other) = UnixStream::pair().unwrap();
        let (fd, other) = (stream.as_raw_fd(), other.as_raw_fd());
        let _ = epoll.add(fd, registration(1)).unwrap();
        let _ = epoll.add(other, registration(9)).unwrap();
        let removed = batch_after(&epoll, 1, || {
            let _ = epoll.remove(fd, None).unwrap();
        });
        assert_eq!(removed, []);
        let _ = epoll.add(fd, registration(2)).unwrap();
        let replaced = batch_after(&epoll, 2, || {
            let _ = epoll.modify(fd, registration(3)).unwrap();
        });
        assert_eq!(replaced, []);
        let kept = batch_after(&epoll, 3, || {
            let _ = epoll.modify(fd, registration(3)).unwrap();
        });
        assert_eq!(kept, [3]);
        let _ = epoll.modify(fd, registration(9)).unwrap();
        let shared = batch_after(&epoll, 9, || {
            let _ = epoll.remove(fd, None).unwrap();
        });
        assert_eq!(shared, [9], "the other one's shot was lost");
    }
}
