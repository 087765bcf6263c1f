//! The means by name.

use crate::protocol::Protocol;
use crate::{plain, wakers};
use windlass_peers::case::Report;

/// All of them; what the others are compared with comes first.
pub(crate) const ALL: [&str; 9] = [
    "pthread",
    "std",
    "parking_lot",
    "eventfd",
    "pipe",
    "park",
    "windlass",
    "tokio",
    "smol",
];

/// Measures a case in which each producer notifies so often; none if there are no such means.
pub(crate) fn measure(means: &str, protocol: Protocol, each: u64) -> Option<Report> {
    let measure = match means {
        "pthread" => plain::contest::<plain::Pthread>,
        "std" => plain::contest::<plain::Std>,
        "parking_lot" => plain::contest::<plain::ParkingLot>,
        "eventfd" => plain::contest::<plain::EventFd>,
        "pipe" => plain::contest::<plain::Pipe>,
        "park" => plain::contest::<plain::Park>,
        "windlass" => wakers::windlass,
        "tokio" => wakers::tokio,
        "smol" => wakers::smol,
        _ => return None,
    };
    Some(measure(protocol, each))
}
