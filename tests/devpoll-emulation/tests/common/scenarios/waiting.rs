//! Timeouts, room and signals.

use crate::common::client::{
    Device, POLLIN, checked, close, dup, is_solaris, limit_descriptors, pipe, receive, send,
};
use crate::common::report::Report;
use libc::c_int;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// How often the handler has run.
static HANDLED: AtomicUsize = AtomicUsize::new(0);
/// Where the handler writes to, if anywhere.
static WAKER: AtomicI32 = AtomicI32::new(-1);
/// The device that the handler asks, if any.
static ASKED: AtomicI32 = AtomicI32::new(-1);

extern "C" fn handle(_: c_int) {
    HANDLED.fetch_add(1, SeqCst);
    let waker = WAKER.load(SeqCst);
    if waker >= 0 {
        send(waker);
        close(dup(waker));
    }
    let device = ASKED.load(SeqCst);
    if device >= 0 {
        assert!(Device(device).is_polled(0).is_ok());
    }
}

fn catch(flags: c_int) {
    // SAFETY: the structure is one of numbers and a null pointer.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handle as extern "C" fn(c_int) as usize;
    action.sa_flags = flags;
    // SAFETY: the handler does only what handlers may.
    let answer = unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()) };
    checked(answer).unwrap();
}

fn this_thread() -> libc::pthread_t {
    // SAFETY: takes no argument.
    unsafe { libc::pthread_self() }
}

fn signal(thread: libc::pthread_t) {
    // SAFETY: the thread is alive: it waits for what its scope does.
    assert_eq!(unsafe { libc::pthread_kill(thread, libc::SIGUSR1) }, 0);
}

fn time<T>(action: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = action();
    (result, start.elapsed())
}

pub(crate) fn timeouts_are_kept(_: &Report) {
    let device = Device::open();
    let (reader, writer) = pipe();
    device.put(&[(reader, POLLIN)]);
    assert_eq!(device.poll(8, 0), Ok(vec![]));
    for (timeout, at_least) in [(1, 10), (9, 10), (25, 25)] {
        let (answers, elapsed) = time(|| device.poll(8, timeout));
        assert_eq!(answers, Ok(vec![]));
        assert!(
            elapsed >= Duration::from_millis(at_least),
            "{timeout} ms took {elapsed:?}"
        );
    }
    send(writer);
    for timeout in [c_int::MAX, -1] {
        assert_eq!(device.poll(8, timeout).unwrap().len(), 1);
    }
}

pub(crate) fn other_negative_timeouts_differ(report: &Report) {
    let device = Device::open();
    let (reader, writer) = pipe();
    device.put(&[(reader, POLLIN)]);
    if is_solaris() {
        let answers = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| device.poll(8, -2));
            report.until_waits(1);
            send(writer);
            waiting.join().unwrap()
        });
        assert_eq!(answers.unwrap().len(), 1);
    } else {
        assert_eq!(device.poll(8, -2), Ok(vec![]));
    }
    assert_eq!(report.violations("bad-timeout"), 1);
}

pub(crate) fn no_room_sleeps(report: &Report) {
    let device = Device::open();
    let (reader, writer) = pipe();
    send(writer);
    device.put(&[(reader, POLLIN)]);
    let (answers, elapsed) = time(|| device.poll(0, 20));
    assert_eq!(answers, Ok(vec![]));
    assert!(elapsed >= Duration::from_millis(20));
    assert_eq!(report.violations("no-room"), 1);
}

pub(crate) fn room_follows_the_limit(report: &Report) {
    let device = Device::open();
    limit_descriptors(30);
    assert_eq!(device.poll(29, 0), Ok(vec![]));
    assert_eq!(report.violations("room-above-limit"), 0);
    assert_eq!(device.poll(30, 0), Ok(vec![]));
    for room in [31, 60, 61, 1000] {
        let expected = if is_solaris() {
            Err(libc::EINVAL)
        } else {
            Ok(vec![])
        };
        assert_eq!(device.poll(room, 0), expected);
    }
    assert_eq!(report.violations("room-above-limit"), 5);
}

pub(crate) fn ordered_interruptions_come(report: &Report) {
    let device = Device::open();
    let (reader, writer) = pipe();
    device.put(&[(reader, POLLIN)]);
    for _ in 0..2 {
        assert_eq!(device.poll(8, 1), Ok(vec![]));
        assert_eq!(device.poll(8, 1), Ok(vec![]));
        // What need not wait is not interrupted.
        assert_eq!(device.poll(8, 0), Ok(vec![]));
        assert_eq!(device.poll(8, -1), Err(libc::EINTR));
    }
    send(writer);
    for _ in 0..4 {
        assert_eq!(device.poll(8, -1).unwrap().len(), 1);
    }
    assert_eq!(report.counters().interruptions, 2);
}

pub(crate) fn signals_interrupt(report: &Report) {
    // Without SA_RESTART everywhere; with it where nothing starts again.
    let never = std::env::var("DEVPOLL_EMULATION").unwrap() == "restart=no";
    catch(if never { libc::SA_RESTART } else { 0 });
    let device = Device::open();
    let (reader, _) = pipe();
    device.put(&[(reader, POLLIN)]);
    let thread = this_thread();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(move || {
            report.until_waits(1);
            signal(thread);
        });
        device.poll(8, -1)
    });
    assert_eq!(outcome, Err(libc::EINTR));
    assert_eq!(HANDLED.load(SeqCst), 1);
}

pub(crate) fn restarting_signals_start_again(report: &Report) {
    catch(libc::SA_RESTART);
    let device = Device::open();
    let (reader, writer) = pipe();
    device.put(&[(reader, POLLIN)]);
    let thread = this_thread();
    let whole = Duration::from_millis(60);
    let mut waits = 0;
    let (outcome, since_signal) = loop {
        waits += 1;
        let begin = Instant::now();
        let (outcome, signalled) = std::thread::scope(|scope| {
            let signalled = scope.spawn(move || {
                report.until_waits(waits);
                while begin.elapsed() < whole / 2 {
                    std::thread::yield_now();
                }
                let now = Instant::now();
                signal(thread);
                now
            });
            let outcome = device.poll(8, 60);
            (outcome, signalled.join().unwrap())
        });
        // A thread that was held up for long may have come after the wait.
        if signalled.duration_since(begin) < whole {
            break (outcome, signalled.elapsed());
        }
    };
    assert_eq!(outcome, Ok(vec![]));
    assert!(
        since_signal >= whole,
        "the whole time again: {since_signal:?}"
    );
    // A handler wakes by writing.
    WAKER.store(writer, SeqCst);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(move || {
            report.until_waits(waits + 1);
            signal(thread);
        });
        device.poll(8, -1)
    });
    assert_eq!(outcome.unwrap()[0].fd, reader);
}

pub(crate) fn handlers_may_write_close_and_ask(_: &Report) {
    catch(libc::SA_RESTART);
    let device = Device::open();
    let (reader, writer) = pipe();
    WAKER.store(dup(writer), SeqCst);
    ASKED.store(device.0, SeqCst);
    let thread = this_thread();
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while done.load(SeqCst) == 0 {
                signal(thread);
                std::thread::yield_now();
            }
        });
        while HANDLED.load(SeqCst) < 2000 {
            device.put(&[(reader, POLLIN)]);
            assert_eq!(device.poll(8, -1).unwrap()[0].fd, reader);
            receive(reader);
            device.put(&[(reader, 0x0800)]);
            close(dup(reader));
        }
        done.store(1, SeqCst);
    });
}
