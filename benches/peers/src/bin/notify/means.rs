//! The means by name.

use crate::protocol::Protocol;
use crate::{plain, wakers};
use windlass_peers::case::Report;

/// All of them; what the others are compared with comes first.
pub(crate) const ALL: [&str; 8] = [
    "pthread",
    "std",
    "parking_lot",
    "eventfd",
    "pipe",
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
        "windlass" => wakers::windlass,
        "tokio" => wakers::tokio,
        "smol" => wakers::smol,
        _ => return None,
    };
    Some(measure(protocol, each))
}
