//! Signals as futures.

mod support;

use futures::executor::block_on;
use futures::future::join;
use std::io::ErrorKind;
use std::sync::Mutex;
use std::task::Context;
use support::system::raise;
use support::{CountingWaker, LONG, TimeLimit, each_reactor, run_on};
use windlass_reactor::signal::{Signal, SignalKind, ctrl_c};

/// Signals are the process's: one test at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[test]
fn every_listener_hears_of_each_arrival() {
    let _alone = ONE_AT_A_TIME.lock();
    each_reactor(|mut reactor| {
        let mut first = Signal::new(SignalKind::USER_DEFINED_1).unwrap();
        let mut second = Signal::new(SignalKind::USER_DEFINED_1).unwrap();
        let mut other = Signal::new(SignalKind::USER_DEFINED_2).unwrap();
        for _ in 0..3 {
            let arrival = async { raise(libc::SIGUSR1) };
            let both = join(join(first.recv(), second.recv()), arrival);
            let ((one, two), ()) = run_on(&mut reactor, both);
            one.unwrap();
            two.unwrap();
        }
        assert!(is_pending(&mut other));
        assert!(is_pending(&mut first));
    });
}

fn is_pending(signal: &mut Signal) -> bool {
    let (_, waker) = CountingWaker::new();
    signal
        .poll_recv(&mut Context::from_waker(&waker))
        .is_pending()
}

#[test]
fn arrivals_before_the_wait_count_as_one() {
    let _alone = ONE_AT_A_TIME.lock();
    let _limit = TimeLimit::of(LONG);
    let mut signal = Signal::new(SignalKind::HANGUP).unwrap();
    // More than the pipe is read in one piece, and more than a pipe has room for.
    for count in [1, 2, 64, 65, 1_000, 70_000] {
        for _ in 0..count {
            raise(libc::SIGHUP);
        }
        block_on(signal.recv()).unwrap();
        assert!(is_pending(&mut signal), "after {count}");
    }
}

#[test]
fn ctrl_c_is_an_interrupt() {
    let _alone = ONE_AT_A_TIME.lock();
    let _limit = TimeLimit::of(LONG);
    let arrival = async { raise(libc::SIGINT) };
    let (caught, ()) = block_on(join(ctrl_c(), arrival));
    caught.unwrap();
}

#[test]
fn what_cannot_be_caught_is_refused() {
    for number in [libc::SIGKILL, libc::SIGSTOP, libc::SIGSEGV] {
        let error = Signal::new(SignalKind::from_raw(number)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(&number.to_string()));
    }
    for number in [0, -1, 1_000] {
        let error = Signal::new(SignalKind::from_raw(number)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{number}: {error}");
    }
}
