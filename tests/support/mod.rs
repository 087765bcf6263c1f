//! What the tests of the face share. Each of them uses a part of it.

#![allow(dead_code, reason = "each test uses a part of it")]

#[path = "../../reactor/tests/support/allocations.rs"]
pub(crate) mod allocations;
pub(crate) mod ball;
pub(crate) mod child;
pub(crate) mod trace;

use std::time::Duration;

/// Longer than anything here takes, on a machine that is busy with other things.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
