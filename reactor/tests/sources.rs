//! Any descriptor made async: when it is registered, who is woken, and what is left behind.

mod support;

use futures::executor::block_on;
use futures::future::{FutureExt, join, join_all, select};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;
use support::{
    CountingWaker, LONG, TimeLimit, each_reactor, pair, poll_once, read, run_on, turn_until,
};
use windlass_reactor::{Async, Direction, Poller, Reactor, Refusal, RegisterError, Taken};

fn is_registered<T: std::fmt::Debug>(stream: &Async<T>) -> bool {
    format!("{stream:?}").contains("registered: true")
}

#[test]
fn nothing_is_registered_until_an_operation_has_to_wait() {
    each_reactor(|mut reactor| {
        let (ours, mut theirs) = pair();
        theirs.write_all(b"already there").unwrap();
        assert_eq!(run_on(&mut reactor, ours.read_with(read)).unwrap(), 13);
        assert!(!is_registered(&ours));
        let answer = async {
            theirs.write_all(b"later").unwrap();
        };
        let both = join(ours.read_with(read), answer);
        assert_eq!(run_on(&mut reactor, both).0.unwrap(), 5);
        assert!(is_registered(&ours));
    });
}

// Whatever operations have said WouldBlock, the next data wake.
#[test]
fn operations_outside_of_a_wait_do_not_lose_data() {
    each_reactor(|mut reactor| {
        let (ours, mut theirs) = pair();
        for _ in 0..50 {
            let (counter, waker) = CountingWaker::new();
            let mut wait = ours.read_with(read).boxed_local();
            let handle = reactor.handle().clone();
            assert!(handle.enter(|| poll_once(&mut wait, &waker)).is_pending());
            for _ in 0..2 {
                let tried = ours.try_io(Direction::Read, read);
                assert_eq!(tried.unwrap_err().kind(), ErrorKind::WouldBlock);
            }
            theirs.write_all(b"x").unwrap();
            turn_until(&mut reactor, || counter.count() > 0);
            assert!(matches!(poll_once(&mut wait, &waker), Poll::Ready(Ok(1))));
        }
    });
}

// What an operation left behind is not forgotten where edges are not the kernel's.
#[test]
fn a_short_read_that_says_it_took_all_is_followed_by_an_event() {
    each_reactor(|mut reactor| {
        let (ours, mut theirs) = pair();
        let take_all = |stream: &UnixStream| read(stream).map(Taken::All);
        for _ in 0..20 {
            let write = async {
                theirs.write_all(b"0123456789").unwrap();
            };
            let operation = ours.io_with(Direction::Read, take_all);
            let (taken, ()) = run_on(&mut reactor, join(operation, write));
            assert_eq!(taken.unwrap(), 10);
        }
    });
}

// Neither what is there when the pause ends, nor what comes later.
#[test]
fn what_comes_in_a_pause_wakes_nobody_and_is_not_lost() {
    each_reactor(|mut reactor| {
        let (ours, mut theirs) = pair();
        let handle = reactor.handle().clone();
        for _ in 0..20 {
            let (counter, waker) = CountingWaker::new();
            let mut wait = ours.read_with(read).boxed_local();
            assert!(handle.enter(|| poll_once(&mut wait, &waker)).is_pending());
            drop(wait);
            ours.pause(Direction::Read);
            // The wait that was given up may have asked for one event.
            let events = (0..10).map(|_| {
                theirs.write_all(b"x").unwrap();
                reactor.turn(Some(Duration::ZERO)).unwrap().events
            });
            assert!(events.sum::<usize>() <= 1);
            while ours.try_io(Direction::Read, read).is_ok() {}
            theirs.write_all(b"x").unwrap();
            let mut wait = ours.read_with(read).boxed_local();
            assert!(handle.enter(|| poll_once(&mut wait, &waker)).is_pending());
            // While somebody waits, there is no pause.
            ours.pause(Direction::Read);
            turn_until(&mut reactor, || counter.count() > 0);
            theirs.write_all(b"x").unwrap();
            assert!(matches!(poll_once(&mut wait, &waker), Poll::Ready(Ok(2))));
            assert!(ours.try_io(Direction::Read, read).is_err());
        }
    });
}

// The other direction goes on, and so does the end of everything.
#[test]
fn a_pause_is_of_one_direction() {
    each_reactor(|mut reactor| {
        let (ours, mut theirs) = pair();
        ours.get_ref().set_nonblocking(true).unwrap();
        let handle = reactor.handle().clone();
        let (counter, waker) = CountingWaker::new();
        let mut wait = ours.read_with(read).boxed_local();
        assert!(handle.enter(|| poll_once(&mut wait, &waker)).is_pending());
        drop(wait);
        ours.pause(Direction::Read);
        let fill = |mut stream: &UnixStream| stream.write(&[0; 1 << 16]);
        while ours.try_io(Direction::Write, fill).is_ok() {}
        let mut wait = ours.write_with(fill).boxed_local();
        assert!(handle.enter(|| poll_once(&mut wait, &waker)).is_pending());
        theirs.set_nonblocking(true).unwrap();
        while theirs.read(&mut [0; 1 << 16]).is_ok() {}
        turn_until(&mut reactor, || counter.count() > 0);
        assert!(matches!(poll_once(&mut wait, &waker), Poll::Ready(Ok(_))));
    });
}

// A read ends at urgent data, and what is behind them is no new event.
#[test]
fn a_pause_of_urgent_data_leaves_reading_as_it_is() {
    each_reactor(|mut reactor| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let ours = Async::new(listener.accept().unwrap().0).unwrap();
        let take_all = |mut stream: &TcpStream| stream.read(&mut [0; 64]).map(Taken::All);
        let (_, waker) = CountingWaker::new();
        let handle = reactor.handle().clone();
        let mut wait = ours.io_with(Direction::Read, take_all).boxed_local();
        assert!(handle.enter(|| poll_once(&mut wait, &waker)).is_pending());
        drop(wait);
        ours.pause(Direction::Priority);
        theirs.write_all(b"before").unwrap();
        socket2::SockRef::from(&theirs)
            .send_out_of_band(b"!")
            .unwrap();
        theirs.write_all(b"after").unwrap();
        let mut read = 0;
        while read < "beforeafter".len() {
            let some = ours.io_with(Direction::Read, take_all);
            read += run_on(&mut reactor, some).unwrap();
        }
    });
}

// Far more waiters than any list has room for in place.
#[test]
fn any_number_of_tasks_may_wait_for_one_source() {
    each_reactor(|mut reactor| {
        let (ours, mut theirs) = pair();
        let readers = (0..2_000).map(|_| ours.read_with(|mut stream| stream.read(&mut [0; 1])));
        let all = join(join_all(readers), async {
            theirs.write_all(&[0; 2_000]).unwrap();
        });
        let (results, ()) = run_on(&mut reactor, all);
        assert!(results.into_iter().all(|result| result.unwrap() == 1));
    });
}

#[test]
fn the_latest_waker_of_a_wait_is_woken() {
    each_reactor(|mut reactor| {
        let (ours, mut theirs) = pair();
        let handle = reactor.handle().clone();
        let ((old, old_waker), (new, new_waker)) = (CountingWaker::new(), CountingWaker::new());
        let (one, other) = (CountingWaker::new(), CountingWaker::new());
        let mut moved = ours.read_with(read).boxed_local();
        let mut second = ours.read_with(read).boxed_local();
        handle.enter(|| {
            assert!(poll_once(&mut moved, &old_waker).is_pending());
            assert!(poll_once(&mut moved, &new_waker).is_pending());
            assert!(poll_once(&mut second, &one.1).is_pending());
            let mut context = Context::from_waker(&other.1);
            assert!(ours.poll_readable(&mut context).is_pending());
        });
        theirs.write_all(b"x").unwrap();
        turn_until(&mut reactor, || new.count() > 0);
        assert_eq!((old.count(), new.count()), (0, 1));
        assert_eq!((one.0.count(), other.0.count()), (1, 1));
    });
}

#[test]
fn a_wait_that_is_dropped_leaves_no_waker_behind() {
    each_reactor(|reactor| {
        let (ours, _theirs) = pair();
        let (counter, waker) = CountingWaker::new();
        reactor.handle().enter(|| {
            for _ in 0..10 {
                let mut waits: Vec<_> =
                    (0..3).map(|_| ours.read_with(read).boxed_local()).collect();
                waits.push(ours.io_with(Direction::Priority, no_data).boxed_local());
                for wait in &mut waits {
                    assert!(poll_once(wait, &waker).is_pending());
                }
            }
        });
        drop(waker);
        assert_eq!(Arc::strong_count(&counter), 1);
        assert!(is_registered(&ours));
    });
}

fn no_data<R>(_: &UnixStream) -> std::io::Result<Taken<R>> {
    Err(ErrorKind::WouldBlock.into())
}

#[test]
fn dropping_the_source_drops_the_wakers_of_poll_methods() {
    each_reactor(|mut reactor| {
        let (ours, mut theirs) = pair();
        let (counter, waker) = CountingWaker::new();
        reactor.handle().enter(|| {
            let mut context = Context::from_waker(&waker);
            let poll = ours.poll_io_with(&mut context, Direction::Read, no_data::<()>);
            assert!(poll.is_pending());
        });
        drop(waker);
        assert_eq!(Arc::strong_count(&counter), 2);
        theirs.write_all(b"x").unwrap();
        drop(ours);
        assert_eq!(Arc::strong_count(&counter), 1);
        reactor.turn(Some(Duration::ZERO)).unwrap();
        assert_eq!(counter.count(), 0);
    });
}

#[test]
fn a_source_may_be_dropped_by_another_thread_during_the_turn() {
    each_reactor(|mut reactor| {
        let handle = reactor.handle().clone();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..2_000 {
                    let (ours, mut theirs) = pair();
                    let (_, waker) = CountingWaker::new();
                    let mut wait = ours.read_with(read).boxed_local();
                    assert!(handle.enter(|| poll_once(&mut wait, &waker)).is_pending());
                    theirs.write_all(b"x").unwrap();
                    drop(wait);
                    drop(ours);
                }
                done.store(true, Ordering::SeqCst);
                handle.notify().unwrap();
            });
            while !done.load(Ordering::SeqCst) {
                reactor.turn(Some(LONG)).unwrap();
            }
        });
        let turn = reactor.turn(Some(Duration::ZERO)).unwrap();
        assert_eq!(turn.events, 0);
    });
}

// A writer that waits is not kept busy by a peer that has shut down.
#[test]
fn a_half_closed_peer_does_not_keep_the_reactor_busy() {
    each_reactor(|mut reactor| {
        let (ours, theirs) = pair();
        let handle = reactor.handle().clone();
        let (counter, waker) = CountingWaker::new();
        theirs.shutdown(std::net::Shutdown::Write).unwrap();
        let mut reading = ours.read_with(read).boxed_local();
        assert!(matches!(
            poll_once(&mut reading, &waker),
            Poll::Ready(Ok(0))
        ));
        let fill = |mut stream: &UnixStream| stream.write(&[0; 4096]).map(drop);
        while ours.try_io(Direction::Write, fill).is_ok() {}
        let mut watching = ours.io_with(Direction::Read, no_data::<()>).boxed_local();
        let mut writing = ours.write_with(fill).boxed_local();
        handle.enter(|| {
            assert!(poll_once(&mut watching, &waker).is_pending());
            assert!(poll_once(&mut writing, &waker).is_pending());
        });
        turn_until(&mut reactor, || counter.count() > 0);
        let turns = (0..30).map(|_| reactor.turn(Some(Duration::from_micros(100))).unwrap());
        let busy = turns.filter(|turn| turn.events > 0).count();
        assert!(busy <= 2, "{busy} of 30 turns had events");
    });
}

#[test]
fn a_reader_that_goes_away_wakes_the_writer() {
    each_reactor(|mut reactor| {
        let (read_end, write_end) = rustix::pipe::pipe().unwrap();
        let write_end = Async::new(write_end).unwrap();
        let write = |fd: &std::os::fd::OwnedFd| Ok(rustix::io::write(fd, &[0; 4096])?);
        while write_end.try_io(Direction::Write, write).is_ok() {}
        let closing = async {
            drop(read_end);
        };
        let (written, ()) = run_on(&mut reactor, join(write_end.write_with(write), closing));
        assert_eq!(written.unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn what_cannot_be_waited_for_is_a_typed_error() {
    each_reactor(|mut reactor| {
        let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
        let file = Async::new(file).unwrap();
        for _ in 0..3 {
            let operation = |_: &std::fs::File| Err::<(), _>(ErrorKind::WouldBlock.into());
            let error = run_on(&mut reactor, file.read_with(operation)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            let inner = error.get_ref().unwrap();
            let refusal = inner.downcast_ref::<RegisterError>().unwrap().refusal();
            assert_eq!(refusal, Refusal::RegularFile);
        }
    });
}

#[test]
fn an_error_is_returned_and_the_wait_goes_on_after_it() {
    each_reactor(|mut reactor| {
        let (ours, mut theirs) = pair();
        let mut fails = true;
        let operation = |stream: &UnixStream| match std::mem::take(&mut fails) {
            true => Err(ErrorKind::NetworkDown.into()),
            false => read(stream),
        };
        let mut operation = operation;
        let first = run_on(&mut reactor, ours.read_with(&mut operation));
        assert_eq!(first.unwrap_err().kind(), ErrorKind::NetworkDown);
        let write = async {
            theirs.write_all(b"x").unwrap();
        };
        let second = run_on(&mut reactor, join(ours.read_with(operation), write)).0;
        assert_eq!(second.unwrap(), 1);
    });
}

#[test]
fn what_is_taken_back_has_left_the_reactor() {
    each_reactor(|mut reactor| {
        let (ours, mut theirs) = pair();
        let (counter, waker) = CountingWaker::new();
        let handle = reactor.handle().clone();
        assert!(
            handle
                .enter(|| poll_once(&mut ours.read_with(read).boxed_local(), &waker))
                .is_pending()
        );
        let plain = ours.into_inner();
        theirs.write_all(b"x").unwrap();
        assert_eq!(
            reactor.turn(Some(Duration::from_millis(1))).unwrap().events,
            0
        );
        assert_eq!(counter.count(), 0);
        let again = Async::from_nonblocking(plain);
        assert_eq!(run_on(&mut reactor, again.read_with(read)).unwrap(), 1);
    });
}

#[test]
fn urgent_data_wake_who_waits_for_them() {
    each_reactor(|mut reactor| {
        let backend = reactor.handle().backend();
        if !Poller::with_backend(backend).unwrap().features().priority {
            println!("{backend} does not tell of them");
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let ours = Async::new(listener.accept().unwrap().0).unwrap();
        let blocked = |_: &TcpStream| Err::<(), _>(ErrorKind::WouldBlock.into());
        assert!(ours.try_io(Direction::Priority, blocked).is_err());
        let send = async {
            socket2::SockRef::from(&theirs)
                .send_out_of_band(b"!")
                .unwrap();
        };
        run_on(&mut reactor, join(ours.priority(), send)).0.unwrap();
    });
}

// Under any executor: this one has never heard of reactors.
#[test]
fn the_fallback_thread_serves_any_executor() {
    let _limit = TimeLimit::of(LONG);
    let (ours, mut theirs) = pair();
    let writer = thread::spawn(move || {
        for _ in 0..10 {
            thread::sleep(Duration::from_millis(1));
            theirs.write_all(b"x").unwrap();
        }
    });
    for _ in 0..10 {
        assert_eq!(
            block_on(ours.read_with(|mut stream| stream.read(&mut [0; 1]))).unwrap(),
            1
        );
    }
    writer.join().unwrap();
    let silent = block_on(async {
        let silence = pin!(windlass_reactor::time::sleep(Duration::from_millis(5)));
        let (_silent, _theirs) = pair();
        let reading = pin!(_silent.read_with(read));
        matches!(
            select(silence, reading).await,
            futures::future::Either::Left(_)
        )
    });
    assert!(silent);
}

// One descriptor number can only be one source.
#[test]
fn the_same_descriptor_twice_is_a_typed_error() {
    each_reactor(|reactor| {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let first = Async::new(ours.as_fd()).unwrap();
        let second = Async::new(ours.as_fd()).unwrap();
        let blocked = |_: &std::os::fd::BorrowedFd<'_>| Err::<(), _>(ErrorKind::WouldBlock.into());
        let (_, waker) = CountingWaker::new();
        reactor.handle().enter(|| {
            let mut one = first.read_with(blocked).boxed_local();
            assert!(poll_once(&mut one, &waker).is_pending());
            let mut other = second.read_with(blocked).boxed_local();
            let Poll::Ready(Err(error)) = poll_once(&mut other, &waker) else {
                panic!("registered twice");
            };
            assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        });
    });
}

#[test]
fn what_is_shared_between_threads_says_so() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Async<TcpStream>>();
    is_shared::<windlass_reactor::Handle>();
    is_shared::<Poller>();
    is_shared::<windlass_reactor::Events>();
    fn is_sent<T: Send>() {}
    is_sent::<Reactor>();
    is_sent::<windlass_reactor::time::Sleep>();
}
