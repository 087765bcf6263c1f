//! Batches of datagrams, and what goes and comes beside their bytes: which system has them, in one
//! table.
//!
//! | | Linux, Android | elsewhere |
//! | --- | --- | --- |
//! | receiving a batch | one system call | one datagram a batch |
//! | sending a batch | one system call | one each |
//! | packet info, class, segments | told and said | `Unsupported` |
//! | datagrams that failed | kept | `Unsupported` |

#[cfg(any(target_os = "linux", target_os = "android"))]
mod messages;
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) use messages::*;

// On systems that have them it is there for its tests.
#[cfg(any(test, not(any(target_os = "linux", target_os = "android"))))]
mod plain;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) use plain::*;
