//! The filters: each looks at the present state and says whether, and what, a knote would report.

pub(crate) mod kind;
pub(crate) mod read;
pub(crate) mod socket;
pub(crate) mod timer;
pub(crate) mod user;
pub(crate) mod write;
