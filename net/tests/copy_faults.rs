//! Copying in bulk where the system won't have it: it goes on through a buffer, and nothing is lost.

mod common;

use common::strace::{assert_passes_despite, can_trace};
use common::{MOMENT, assert_copies, pair, reset, run};
use std::io::ErrorKind;
use windlass_net::io::copy;
use windlass_reactor::signal::{Signal, SignalKind};
use windlass_reactor::time::timeout;
use windlass_reactor::{Backend, Poller};

/// Says whether a call is made by the back end or the notifier here, or by what emulates them.
fn is_needed_elsewhere(fault: &str) -> bool {
    let is_default = Poller::new().unwrap().backend() == Backend::Epoll
        && std::env::var_os("WINDLASS_NOTIFIER").is_none();
    !is_default && (fault.starts_with("fcntl") || fault.starts_with("pipe2"))
}

/// Whichever call is refused, for good or once, with bytes in the pipe or without.
#[test]
fn what_is_refused_is_done_through_a_buffer() {
    if !common::is_child() {
        if can_trace() {
            let name = "what_is_refused_is_done_through_a_buffer";
            for fault in [
                "splice:error=EINVAL:when=1+",
                "splice:error=EINVAL:when=2",
                "splice:error=EINVAL:when=3",
                "splice:error=EINVAL:when=6",
                "splice:error=ENOSYS:when=1+",
                "splice:error=EINTR:when=2+2",
                // A shortage of descriptors; and a size that can't be told.
                "pipe2:error=EMFILE:when=1+",
                "fcntl:error=EPERM:when=1+",
            ] {
                if is_needed_elsewhere(fault) {
                    eprintln!("skipped, as the reactor here makes that call itself: {fault}");
                    continue;
                }
                assert_passes_despite(fault, name);
            }
        }
        return;
    }
    run(async {
        let ((from, a), (b, to)) = (pair().await, pair().await);
        assert_copies(&from, (&a, &b), &to, 8 << 20).await;
    });
}

/// `splice(2)` can't leave the signal out, so it isn't used where somebody would hear of it.
#[test]
fn no_signal_is_raised_where_one_would_be_heard() {
    if !common::is_child() {
        return common::assert_passes_in_child("no_signal_is_raised_where_one_would_be_heard");
    }
    const BROKEN_PIPE: SignalKind = SignalKind::from_raw(13);
    run(async {
        let mut signals = Signal::new(BROKEN_PIPE).unwrap();
        let ((from, a), (b, to)) = (pair().await, pair().await);
        let mut copying = copy(&a, &b);
        let bytes = vec![7; 1 << 20];
        let sending = async { while timeout(MOMENT * 4, from.write_all(&bytes)).await.is_ok() {} };
        futures::select_biased! {
            ended = futures::FutureExt::fuse(&mut copying) => panic!("{ended:?}"),
            () = futures::FutureExt::fuse(Box::pin(sending)) => {}
        }
        reset(to);
        let _reset = (&mut copying).await.unwrap_err();
        // What is left meets a connection that is over.
        let error = (&mut copying).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        assert!(
            timeout(MOMENT, signals.recv()).await.is_err(),
            "SIGPIPE was raised"
        );
    });
}
