//! Descriptors that can't be had.

use crate::support::child;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::io;
use windlass_reactor::signal::{Signal, SignalKind};
use windlass_reactor::{Backend, NotifierKind, Poller, Reactor};

/// Sets how many descriptors the process may have, up to the limit that the system gave it.
fn limit_descriptors(count: u64) {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit {
        current: Some(count),
        maximum,
    };
    setrlimit(Resource::Nofile, limit).unwrap();
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count() - 1
}

/// Makes something with room for 0, 1, 2 ... descriptors until it works; each failure must leave
/// nothing open, and so must the success once it is dropped. Returns how many it took.
fn fail_at_each<T>(what: &str, make: impl Fn() -> io::Result<T>) -> usize {
    let before = open_descriptors();
    // Everything below is filled, so that the limit leaves exactly the room that it should.
    let fillers = fill_holes();
    let in_use = open_descriptors() as u64;
    for room in 0..10 {
        limit_descriptors(in_use + room);
        let made = make();
        limit_descriptors(1024);
        match made {
            Ok(made) => {
                drop(made);
                drop(fillers);
                assert_eq!(open_descriptors(), before, "{what} leaks when it works");
                return room as usize;
            }
            Err(error) => {
                let open = open_descriptors() as u64;
                assert_eq!(open, in_use, "{what} leaks with room for {room}: {error}");
                assert!(error.to_string().contains("open files"), "{what}: {error}");
            }
        }
    }
    panic!("{what} does not work with ten descriptors");
}

/// Opens files until the numbers in use are the lowest ones without a gap.
fn fill_holes() -> Vec<File> {
    let mut fillers = Vec::new();
    let highest = || {
        let names = std::fs::read_dir("/proc/self/fd").unwrap();
        let numbers = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        numbers
            .map(|number| number.parse::<usize>().unwrap())
            .max()
            .unwrap()
    };
    while open_descriptors() < highest() {
        fillers.push(File::open("/dev/null").unwrap());
    }
    fillers
}

#[test]
fn a_constructor_that_fails_leaves_no_descriptor_open() {
    if !child::is_child() {
        let name = "failures::a_constructor_that_fails_leaves_no_descriptor_open";
        child::expect_success(&mut child::command(name));
        return;
    }
    for backend in Backend::available() {
        for notifier in NotifierKind::ALL {
            if Poller::with_notifier(backend, *notifier).is_err() {
                continue;
            }
            let what = format!("{backend} with {notifier}");
            let count = fail_at_each(&what, || Poller::with_notifier(backend, *notifier));
            println!("{what} takes {count} descriptors");
        }
        fail_at_each(backend.name(), || Poller::with_backend(backend));
        fail_at_each(backend.name(), || Reactor::with_backend(backend));
    }
    fail_at_each("the first that works", Poller::new);
    fail_at_each("a reactor", Reactor::new);
    fail_at_each("a signal", || Signal::new(SignalKind::USER_DEFINED_1));
}
