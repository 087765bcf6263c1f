//! The contract of the poller, the same on every back end and notifier that this machine has.
//!
//! `table.rs` is the one table of what each event reports; `kinds.rs` makes the descriptors,
//! `situations.rs` has things happen to them, and `matrix.rs` multiplies the table by the modes of
//! registration and by the threads and moments at which changes are made. The other files test one
//! promise each. A back end that appears in `Backend::available()` is tested by all of them.

#[path = "../support/mod.rs"]
mod support;

mod choice;
mod facts;
mod failures;
mod fairness;
mod kinds;
mod lifetime;
mod matrix;
mod notify;
mod outside;
mod rearm;
mod registration;
mod removal;
mod situations;
mod table;
mod waiting;
