//! Descriptors that are no sockets, through `Async`: terminals and timers.

#![cfg(target_os = "linux")]

mod support;

use futures::future::join;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::fs::File;
use std::io::{self, Read, Write};
use std::thread;
use std::time::{Duration, Instant};
use support::{each_reactor, run_on};
use windlass_reactor::Async;

/// Makes a terminal that changes no byte: what stands for keyboard and screen, and what programs
/// use.
fn terminal() -> (File, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let path = std::path::PathBuf::from(name.into_string().unwrap());
    let slave = File::options().read(true).write(true).open(path).unwrap();
    let mut mode = tcgetattr(&slave).unwrap();
    mode.make_raw();
    tcsetattr(&slave, OptionalActions::Now, &mode).unwrap();
    (master.into(), slave)
}

/// Reads what programs print until all of them have closed the terminal, which Linux tells by EIO.
async fn read_to_hang_up(master: &Async<File>) -> io::Result<Vec<u8>> {
    let (mut all, mut space) = (Vec::new(), [0; 1000]);
    loop {
        match master.read_with(|mut file| file.read(&mut space)).await {
            Ok(count) => all.extend_from_slice(&space[..count]),
            Err(error) if error.raw_os_error() == Some(libc::EIO) => return Ok(all),
            Err(error) => return Err(error),
        }
    }
}

/// A hang-up is not the end while there is more to read.
#[test]
fn all_that_was_printed_is_read_before_the_hang_up() {
    each_reactor(|mut reactor| {
        let (master, mut slave) = terminal();
        let master = Async::new(master).unwrap();
        let printed = (0..100_000).map(|at| (at % 251) as u8).collect::<Vec<_>>();
        let expected = printed.clone();
        let printing = thread::spawn(move || slave.write_all(&printed).unwrap());
        let all = run_on(&mut reactor, read_to_hang_up(&master)).unwrap();
        printing.join().unwrap();
        assert!(all == expected);
        // And it stays: neither a hang nor an end that is none.
        let again = run_on(&mut reactor, read_to_hang_up(&master)).unwrap();
        assert!(again.is_empty());
    });
}

#[test]
fn a_terminal_is_typed_at_and_read() {
    each_reactor(|mut reactor| {
        let (master, slave) = terminal();
        let (master, slave) = (Async::new(master).unwrap(), Async::new(slave).unwrap());
        let reading = async {
            let mut space = [0; 16];
            let count = slave.read_with(|mut file| file.read(&mut space)).await;
            space[..count.unwrap()].to_vec()
        };
        let typing = async {
            master.writable().await.unwrap();
            master.write_with(|mut file| file.write(b"typed")).await
        };
        let (read, typed) = run_on(&mut reactor, join(reading, typing));
        assert_eq!((&read[..], typed.unwrap()), (&b"typed"[..], 5));
    });
}

/// Whoever waits at a terminal hears that the other side is gone: the end, as the signal that goes
/// with it is for the foreground processes of a session only.
#[test]
fn a_program_that_waits_hears_that_the_terminal_is_gone() {
    each_reactor(|mut reactor| {
        let (master, slave) = terminal();
        let slave = Async::new(slave).unwrap();
        let reading = slave.read_with(|mut file| file.read(&mut [0; 16]));
        let leaving = async { drop(master) };
        let (read, ()) = run_on(&mut reactor, join(reading, leaving));
        assert!(read.is_ok_and(|count| count == 0));
    });
}

#[test]
fn a_timer_descriptor_tells_how_often_it_has_expired() {
    each_reactor(|mut reactor| {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags).unwrap();
        let pause = Timespec {
            tv_sec: 0,
            tv_nsec: 5_000_000,
        };
        let times = Itimerspec {
            it_interval: pause,
            it_value: pause,
        };
        let began = Instant::now();
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &times).unwrap();
        let timer = Async::from_nonblocking(timer);
        let mut expired = 0;
        while expired < 4 {
            let mut count = [0; 8];
            let read = timer.read_with(|timer| Ok(rustix::io::read(timer, &mut count)?));
            assert_eq!(run_on(&mut reactor, read).unwrap(), 8);
            let more = u64::from_ne_bytes(count);
            assert!(more > 0);
            expired += more;
        }
        assert!(began.elapsed() >= Duration::from_millis(20));
    });
}
