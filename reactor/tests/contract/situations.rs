//! What happens to a descriptor while it is waited for.

use crate::kinds::{Kind, Subject, drain};
use socket2::{Domain, Socket, Type};
use std::io::Write;
use std::net::Shutdown;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Situation {
    /// The peer sends a little, or connects.
    DataArrives,
    /// The way to the peer, which was full, is emptied.
    RoomComesAbout,
    /// The peer sends no more, but would still receive.
    PeerShutsDown,
    /// The same while the way to the peer is full.
    PeerShutsDownWhileFull,
    /// We send no more, which is no end of receiving.
    OwnShutdown,
    /// The peer closes.
    PeerCloses,
    /// The same while the way to it is full.
    PeerClosesWhileFull,
    /// The peer breaks the connection off.
    PeerResets,
    /// What was sent before turns out to have been refused.
    ErrorComesBack,
    /// The peer sends one urgent byte.
    UrgentDataArrive,
    /// Nothing happens at all.
    Nothing,
}

impl Situation {
    /// Brings `subject` into the state before it happens.
    pub(crate) fn prepare(self, subject: &mut Subject) {
        match self {
            Situation::RoomComesAbout
            | Situation::PeerShutsDownWhileFull
            | Situation::PeerClosesWhileFull => subject.fill(),
            Situation::ErrorComesBack => {
                // To be refused there must be nobody at the other end any more.
                subject.peer = None;
            }
            _ => {}
        }
    }

    /// Has it happen.
    pub(crate) fn happen(self, subject: &mut Subject) {
        match self {
            Situation::DataArrives if subject.kind == Kind::Listener => {
                let client = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
                client.connect(subject.address.as_ref().unwrap()).unwrap();
                subject.clients.push(client);
            }
            Situation::DataArrives => {
                let mut peer = subject.peer.as_ref().unwrap();
                peer.write_all(&1_u64.to_ne_bytes()).unwrap();
            }
            Situation::RoomComesAbout => make_room(subject),
            Situation::PeerShutsDown | Situation::PeerShutsDownWhileFull => {
                subject.peer_socket().shutdown(Shutdown::Write).unwrap();
            }
            Situation::OwnShutdown => subject.socket().shutdown(Shutdown::Write).unwrap(),
            Situation::PeerCloses | Situation::PeerClosesWhileFull => subject.peer = None,
            Situation::PeerResets => {
                let at_once = Some(Duration::ZERO);
                #[allow(deprecated, reason = "it is renamed in some versions of the crate")]
                subject.peer_socket().set_linger(at_once).unwrap();
                subject.peer = None;
            }
            Situation::ErrorComesBack => {
                subject.socket().send(b"is anybody there?").unwrap();
            }
            Situation::UrgentDataArrive => {
                subject.peer_socket().send_out_of_band(b"!").unwrap();
            }
            Situation::Nothing => {}
        }
    }

    /// Says whether the kernel lets a wait see it half done: Linux sets the error of a connection
    /// that was reset first, and ends its directions after that.
    pub(crate) fn comes_in_parts(self) -> bool {
        self == Situation::PeerResets
    }

    /// Undoes it by the operations that would be waited for, until they would block; says whether
    /// it can happen again.
    pub(crate) fn settle(self, subject: &mut Subject) -> bool {
        match self {
            Situation::DataArrives => subject.drain(),
            Situation::RoomComesAbout => subject.fill(),
            _ => return false,
        }
        true
    }
}

/// Empties the way to the peer, however long that takes.
fn make_room(subject: &Subject) {
    for _ in 0..3 {
        drain(subject.peer.as_ref().unwrap());
        std::thread::sleep(Duration::from_micros(300));
    }
}
