//! windlass beside other runtimes.
//!
//! A *situation* is what is measured, such as spawning and joining; [`runtimes`] says what each
//! runtime brings to one. The source of the situations is written once and compiled for every
//! runtime, so that all of them run the same code. A *case* is a situation on one runtime with one
//! number of workers; each is measured in a process of its own.

#[doc(hidden)]
pub mod case;
#[doc(hidden)]
pub mod clock;
#[doc(hidden)]
pub mod control;
#[doc(hidden)]
pub mod gate;
pub mod heap;
pub mod machine;
pub mod median;
pub mod process;
pub mod runtimes;
pub mod usage;
