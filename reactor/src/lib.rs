//! Waits for descriptors and deadlines on epoll, kqueue, /dev/poll or poll(2), chosen at run time,
//! and wakes the futures that wait for them.
//!
//! The life of one event, which is also the order to read this crate in:
//!
//! 1. A task tries an operation on a descriptor ([`Async`], `io/`), and it would block.
//! 2. So the descriptor becomes a *source* (`source/`): one word per direction says whether it is
//!    ready, and a list says who waits. It is registered with the reactor of this thread
//!    (`current.rs`), under a token (`registry.rs`).
//! 3. The thread that drives the reactor calls [`Reactor::turn`] (`reactor/`). It waits in a
//!    [`Poller`] (`poller/`) until something is ready, the earliest deadline is due (`deadlines.rs`, `timers.rs`),
//!    or another thread ends the wait (`notifier.rs`).
//! 4. Each event finds its source by the token, makes it ready, and hands over the wakers; when no
//!    lock is held any more, they are woken (`wakes.rs`).
//! 5. The task runs and tries again.
//!
//! A task that finds everything ready gives way to others after a while: [`budget`].
//!
//! Timers take the same way without a descriptor: [`time`]. Signals come through a pipe:
//! [`signal`]. All system calls are in `sys/`.
//!
//! Used by itself, this crate serves an executor of your own: turn a [`Reactor`] when there is
//! nothing to run, and end the turn by [`Handle::notify`] when there is. A thread without a reactor
//! is served by one that the crate starts for the process, so that sockets and timers work under
//! any executor.

pub mod budget;
mod claim;
mod clock;
#[doc(hidden)]
pub mod contain;
mod current;
mod deadlines;
mod io;
#[doc(hidden)]
pub mod late;
mod notifier;
mod paused;
mod poller;
mod process;
mod reactor;
mod registry;
pub mod signal;
mod source;
mod sync;
pub mod sys;
pub mod time;
mod timers;
mod view;
mod wakes;

pub use io::{Async, Operation, Taken};
pub use poller::{
    Backend, Event, Events, Features, Interest, Mode, NotifierKind, Poller, Refusal, RegisterError,
    Token, UnknownName,
};
pub use process::Process;
pub use reactor::{Handle, Reactor, Turn};
pub use source::Direction;
pub use view::{Counts, Wait, WaitsFor};
