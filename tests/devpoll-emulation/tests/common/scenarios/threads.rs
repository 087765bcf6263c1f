//! Several threads on one set.

use crate::common::client::{Device, POLLIN, POLLREMOVE, close, pipe, receive, send};
use crate::common::report::Report;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) fn write_wakes_sleepers(report: &Report) {
    let device = Device::open();
    let (reader, writer) = pipe();
    send(writer);
    let answers = thread::scope(|scope| {
        let waiting = scope.spawn(|| device.poll(8, -1));
        report.until_waits(1);
        device.put(&[(reader, POLLIN)]);
        waiting.join().unwrap()
    });
    assert_eq!(answers.unwrap()[0].fd, reader);
    assert_eq!(report.violations("write-while-polled"), 1);
}

pub(crate) fn write_waits_for_sleepers(report: &Report) {
    let device = Device::open();
    let (first, first_writer) = pipe();
    let (second, second_writer) = pipe();
    send(second_writer);
    device.put(&[(first, POLLIN)]);
    let written = AtomicBool::new(false);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| device.poll(8, -1));
        report.until_waits(1);
        scope.spawn(|| {
            device.put(&[(second, POLLIN)]);
            written.store(true, SeqCst);
        });
        while report.violations("write-while-polled") == 0 {
            thread::yield_now();
        }
        // The writer has seen the sleeper; give it the time to do wrong.
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(30) {
            assert!(!written.load(SeqCst), "the write did not wait");
            thread::yield_now();
        }
        send(first_writer);
        let told: Vec<_> = waiting.join().unwrap().unwrap();
        assert_eq!(
            told.iter().map(|answer| answer.fd).collect::<Vec<_>>(),
            [first]
        );
    });
    assert_eq!(device.now().len(), 2);
}

pub(crate) fn each_waiter_is_told(report: &Report) {
    let device = Device::open();
    let (reader, writer) = pipe();
    device.put(&[(reader, POLLIN)]);
    thread::scope(|scope| {
        let waiting = [(); 3].map(|()| scope.spawn(|| device.poll(8, -1)));
        report.until_waits(3);
        send(writer);
        for waiting in waiting {
            assert_eq!(waiting.join().unwrap().unwrap()[0].fd, reader);
        }
    });
}

pub(crate) fn closing_ends_waits(report: &Report) {
    let device = Device::open();
    let (reader, _) = pipe();
    device.put(&[(reader, POLLIN)]);
    thread::scope(|scope| {
        let waiting = [(); 2].map(|()| scope.spawn(|| device.poll(8, -1)));
        report.until_waits(2);
        close(device.0);
        for waiting in waiting {
            assert_eq!(waiting.join().unwrap(), Err(libc::EBADF));
        }
    });
    assert_eq!(report.violations("closed-while-polled"), 1);
}

/// Two threads wait, one adds and removes pipes that are ready: everybody gets on.
pub(crate) fn pollers_and_writers_get_along(_: &Report) {
    let device = Device::open();
    let (always, always_writer) = pipe();
    device.put(&[(always, POLLIN)]);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let waiting = [(); 2].map(|()| {
            scope.spawn(|| {
                let mut told = 0;
                while !done.load(SeqCst) {
                    told += device.poll(2, 10).unwrap().len();
                }
                told
            })
        });
        for _ in 0..300 {
            let (reader, writer) = pipe();
            send(writer);
            device.put(&[(reader, POLLIN)]);
            thread::yield_now();
            device.put(&[(reader, POLLREMOVE)]);
            close(reader);
            close(writer);
        }
        done.store(true, SeqCst);
        let told = waiting.map(|waiting| waiting.join().unwrap());
        assert!(
            told.iter().sum::<usize>() > 0,
            "nobody was told of anything"
        );
    });
    assert_eq!(device.now(), []);
    send(always_writer);
    assert_eq!(device.now(), [(always, POLLIN)]);
    receive(always);
}
