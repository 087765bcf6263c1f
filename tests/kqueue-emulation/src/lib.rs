//! A kqueue for Linux programs, preloaded, that checks its client.
//!
//! ```text
//! LD_PRELOAD=libwindlass_kqueue_emulation.so KQUEUE_EMULATION=netbsd,nouser program
//! ```
//!
//! gives `program` working `kqueue()` and `kevent()` with the 32-byte `struct kevent` of FreeBSD 11
//! and macOS and with FreeBSD's numbers. It follows FreeBSD's rules where systems differ, unless
//! told to play another, and it is written from those rules and not from any client.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `KQUEUE_EMULATION` | what is played: see [`variant`] |
//! | `KQUEUE_EMULATION_LOG` | the file that breaches of the rules are appended to: see [`violations`] |
//! | `KQUEUE_EMULATION_ALLOW` | names of breaches that are silenced, with commas |
//! | `KQUEUE_EMULATION_FATAL` | `1`: a breach is printed and aborts the process |
//! | `KQUEUE_EMULATION_STATS` | the file that the counters are appended to at exit |
//!
//! A program that looks it up can call `kqueue_emulation_counters` (see [`Counters`]) and
//! `kqueue_emulation_allow`.
//!
//! # In which order to read
//!
//! - `abi`: the structure and the numbers.
//! - `interpose`: the C functions; `call`: what `kevent()` does in order; `lists`: its two lists.
//! - `knote`, `queue`, `table`: one knote, one queue, every queue and the lock.
//! - `change`: what a change does to a knote; `pending`: what becomes pending and is handed out.
//! - `filter`: what each filter says; `numbers`: what close and dup do.
//! - `variant`, `environment`, `audit`, `violations`, `counters`: what is played, checked, counted.
//! - `stale`: the thread of one variant. `sys`: the system calls.
//!
//! # What it cannot do
//!
//! - A number closed by a direct system call, past the C library, keeps its knotes until the next
//!   change that names it; that is a breach of its own kind.
//! - An edge may come that a BSD would not give: Linux wakes both filters of a socket when either
//!   of its sides is shut. On TCP the wrong one is recognised; on a Unix socket it is passed on.
//!   Edges by data and space are each filter's own everywhere.
//! - A socket's error is worked out, not read, so as not to take it from the program.
//! - Regular files are looked at every 10 ms while somebody waits.
//! - A process made by a bare `clone` call gets `EBADF` but keeps the numbers.

#![cfg(target_os = "linux")]

pub mod abi;
mod audit;
mod call;
mod change;
pub mod counters;
mod environment;
mod filter;
pub mod interpose;
mod knote;
mod lists;
mod numbers;
mod pending;
mod queue;
mod stale;
mod sys;
mod table;
pub mod variant;
pub mod violations;

pub use abi::Kevent;
pub use counters::Counters;
pub use interpose::{kevent, kqueue, kqueue_emulation_allow, kqueue_emulation_counters, kqueue1};
