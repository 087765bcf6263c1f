//! The one table of what an event reports, on every back end.

use crate::facts::{ERROR, Facts, NONE, PRIORITY, READ_CLOSED, READABLE, WRITABLE, WRITE_CLOSED};
use crate::kinds::Kind::{self, *};
use crate::situations::Situation::{self, *};
use windlass_reactor::Interest;

/// One line: what a registration of `interest` reports when `situation` happens to `kind`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) kind: Kind,
    pub(crate) situation: Situation,
    pub(crate) interest: Interest,
    /// What has to come. Nothing at all may come where this is empty, and `may` as well.
    pub(crate) must: Facts,
    /// What may come besides; everything else must not.
    pub(crate) may: Facts,
}

const NO: Interest = Interest::NONE;
const R: Interest = Interest::READABLE;
const W: Interest = Interest::WRITABLE;
const RW: Interest = R.union(W);
const P: Interest = Interest::PRIORITY;
const RP: Interest = R.union(P);

const fn both(a: Facts, b: Facts) -> Facts {
    a.union(b)
}

/// The peer sends no more: the read half is closed, the write half is not.
const READ_OVER: Facts = both(READABLE, READ_CLOSED);
/// Both halves are over.
const OVER: Facts = both(READ_OVER, both(WRITABLE, WRITE_CLOSED));
/// Whichever half is tried next returns the error.
const FAILED: Facts = both(ERROR, both(READABLE, WRITABLE));

/// Nobody reads from the pipe any more; a write says so.
const UNWANTED: Facts = both(READABLE, WRITABLE);
/// How that is told: as an error, or where pipes are streams as a hang-up.
const GONE: Facts = both(ERROR, OVER);

const fn row(kind: Kind, situation: Situation, interest: Interest, must: Facts, may: Facts) -> Row {
    Row {
        kind,
        situation,
        interest,
        must,
        may,
    }
}

#[rustfmt::skip]
pub(crate) const TABLE: &[Row] = &[
    //  kind          what happens            interest  must come     may come
    row(Tcp,          DataArrives,            R,        READABLE,     NONE),
    row(Tcp,          DataArrives,            RP,       READABLE,     NONE),
    row(Tcp,          DataArrives,            P,        NONE,         NONE),
    row(Tcp,          DataArrives,            NO,       NONE,         NONE),
    row(Tcp,          RoomComesAbout,         W,        WRITABLE,     NONE),
    row(Tcp,          RoomComesAbout,         RW,       WRITABLE,     NONE),
    row(Tcp,          RoomComesAbout,         R,        NONE,         NONE),
    row(Tcp,          PeerShutsDown,          R,        READ_OVER,    NONE),
    row(Tcp,          PeerShutsDown,          P,        NONE,         READ_OVER), // Nothing urgent follows.
    row(Tcp,          PeerShutsDown,          NO,       NONE,         NONE),
    // The end of a TCP stream carries an acknowledgement, which may make room.
    row(Tcp,          PeerShutsDownWhileFull, W,        NONE,         WRITABLE),
    row(Tcp,          OwnShutdown,            R,        NONE,         NONE),
    row(Tcp,          PeerCloses,             R,        READ_OVER,    NONE),
    row(Tcp,          PeerResets,             R,        both(FAILED, OVER), NONE),
    row(Tcp,          PeerResets,             NO,       both(FAILED, OVER), NONE),
    row(Tcp,          UrgentDataArrive,       P,        PRIORITY,     NONE),
    row(Tcp,          UrgentDataArrive,       RP,       PRIORITY,     READABLE),
    row(Tcp,          UrgentDataArrive,       NO,       NONE,         NONE),
    row(Tcp,          Nothing,                RP,       NONE,         NONE),
    row(Tcp,          Nothing,                W,        WRITABLE,     NONE),
    row(Tcp,          Nothing,                RW,       WRITABLE,     NONE),

    row(Udp,          DataArrives,            R,        READABLE,     NONE),
    row(Udp,          DataArrives,            NO,       NONE,         NONE),
    row(Udp,          PeerCloses,             R,        NONE,         NONE),
    row(Udp,          ErrorComesBack,         R,        FAILED,       NONE),
    row(Udp,          ErrorComesBack,         NO,       FAILED,       NONE),
    row(Udp,          Nothing,                W,        WRITABLE,     NONE),
    row(Udp,          Nothing,                RP,       NONE,         NONE),

    row(UnixStream,   DataArrives,            R,        READABLE,     NONE),
    row(UnixStream,   DataArrives,            P,        NONE,         NONE),
    row(UnixStream,   RoomComesAbout,         W,        WRITABLE,     NONE),
    row(UnixStream,   PeerShutsDown,          R,        READ_OVER,    NONE),
    row(UnixStream,   PeerShutsDown,          NO,       NONE,         NONE),
    row(UnixStream,   PeerShutsDownWhileFull, W,        NONE,         NONE),
    row(UnixStream,   PeerShutsDownWhileFull, RW,       READ_OVER,    NONE),
    row(UnixStream,   OwnShutdown,            R,        NONE,         NONE),
    row(UnixStream,   PeerCloses,             R,        OVER,         NONE),
    row(UnixStream,   PeerCloses,             NO,       OVER,         NONE),
    row(UnixStream,   PeerClosesWhileFull,    W,        OVER,         FAILED),
    row(UnixStream,   Nothing,                W,        WRITABLE,     NONE),

    row(PipeReadEnd,  DataArrives,            R,        READABLE,     NONE),
    row(PipeReadEnd,  DataArrives,            NO,       NONE,         NONE),
    row(PipeReadEnd,  PeerCloses,             R,        OVER,         NONE),
    row(PipeReadEnd,  PeerCloses,             NO,       OVER,         NONE),

    row(PipeWriteEnd, RoomComesAbout,         W,        WRITABLE,     NONE),
    row(PipeWriteEnd, RoomComesAbout,         R,        NONE,         NONE),
    row(PipeWriteEnd, PeerCloses,             NO,       UNWANTED,     GONE),
    row(PipeWriteEnd, PeerClosesWhileFull,    W,        UNWANTED,     GONE),
    row(PipeWriteEnd, PeerClosesWhileFull,    NO,       UNWANTED,     GONE),
    row(PipeWriteEnd, Nothing,                W,        WRITABLE,     NONE),

    row(Eventfd,      DataArrives,            R,        READABLE,     NONE),
    row(Eventfd,      DataArrives,            NO,       NONE,         NONE),
    row(Eventfd,      RoomComesAbout,         W,        WRITABLE,     NONE),
    row(Eventfd,      Nothing,                RW,       WRITABLE,     NONE),

    row(Listener,     DataArrives,            R,        READABLE,     NONE),
    row(Listener,     DataArrives,            W,        NONE,         NONE),
    row(Listener,     Nothing,                RW,       NONE,         NONE),
];
