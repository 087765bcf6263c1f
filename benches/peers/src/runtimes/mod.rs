//! What each runtime brings to a situation.
//!
//! Every module here has the same items, so that the situations can be compiled in it:
//!
//! | item | what it does |
//! | --- | --- |
//! | `run(workers, future)` | runs a future as a task of a fresh runtime and returns its output |
//! | `spawn(future)` | spawns a task; what it returns is awaited for its end |
//! | `detach(future)` | spawns a task that nobody joins |
//! | `yield_now()` | lets the others have their turn; the runtime's own way where it has one |
//! | `sleep(duration)` | waits |
//! | `expire_after(duration)` | a timeout over a future that never ends |
//! | `block_on_ready(count)` | the runtime's `block_on` of a ready future, on a warm thread |
//! | `Socket` | a TCP connection: `connect`, `read`, `write_all`, with buffers that are passed in and back |

pub mod compio;
pub mod glommio;
pub mod monoio;
pub mod smol;
pub mod tokio;
pub mod windlass;

use crate::case::{Case, Report};

/// A runtime that is measured.
#[derive(Debug)]
pub struct Runtime {
    /// Its name, as it is asked for and printed.
    pub name: &'static str,
    /// Whether its tasks can run on several threads.
    pub is_threaded: bool,
    /// Measures a situation; none if there is no situation of that name.
    pub measure: fn(situation: &str, case: Case) -> Option<Report>,
}

/// All that are measured, windlass first.
pub const ALL: [Runtime; 6] = [
    Runtime {
        name: "windlass",
        is_threaded: true,
        measure: windlass::situations::measure,
    },
    Runtime {
        name: "tokio",
        is_threaded: true,
        measure: tokio::situations::measure,
    },
    Runtime {
        name: "smol",
        is_threaded: true,
        measure: smol::situations::measure,
    },
    Runtime {
        name: "monoio",
        is_threaded: false,
        measure: monoio::situations::measure,
    },
    Runtime {
        name: "glommio",
        is_threaded: false,
        measure: glommio::situations::measure,
    },
    Runtime {
        name: "compio",
        is_threaded: false,
        measure: compio::situations::measure,
    },
];
