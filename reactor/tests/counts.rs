//! What things cost, counted: allocations by an allocator of the test's own, system calls by
//! strace, where there is one.

#[path = "support/allocations.rs"]
mod allocations;
mod support;

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::process::Command;
use std::task::{Context, Waker};
use std::time::Duration;
use support::{CountingWaker, child, each_reactor, poll_once, read};
use windlass_reactor::{Async, Backend, Direction, NotifierKind, Poller, Reactor, time};

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

/// So many times each thing is done, so that tables that grow don't count.
const ROUNDS: usize = 1_000;

/// Tries to read, and waits if there is nothing.
fn begin_read(stream: &Async<UnixStream>, waker: &Waker) -> bool {
    let mut context = Context::from_waker(waker);
    let operation = |stream: &UnixStream| read(stream).map(windlass_reactor::Taken::Some);
    stream
        .poll_io_with(&mut context, Direction::Read, operation)
        .is_pending()
}

fn streams(count: usize) -> (Vec<Async<UnixStream>>, Vec<UnixStream>) {
    (0..count)
        .map(|_| UnixStream::pair().unwrap())
        .map(|(ours, theirs)| (Async::new(ours).unwrap(), theirs))
        .unzip()
}

/// All that can be done with a timer, but wait for it.
fn sleep_and_drop(waker: &Waker) {
    let hour = Duration::from_secs(3600);
    let mut sleep = time::sleep(hour);
    assert!(poll_once(&mut sleep, waker).is_pending());
    for duration in [2 * hour, hour / 2, hour] {
        sleep.reset_after(duration);
        assert!(poll_once(&mut sleep, waker).is_pending());
    }
    let mut limited = pin!(time::timeout(hour, std::future::pending::<()>()));
    assert!(poll_once(&mut limited, waker).is_pending());
}

#[test]
fn registering_is_one_allocation() {
    each_reactor(|reactor| {
        let (_, waker) = CountingWaker::new();
        let (streams, _theirs) = streams(ROUNDS / 5);
        let (warm_up, rest) = streams.split_at(10);
        reactor.handle().enter(|| {
            warm_up
                .iter()
                .for_each(|stream| assert!(begin_read(stream, &waker)));
            let count = allocations::of(|| {
                rest.iter()
                    .for_each(|stream| assert!(begin_read(stream, &waker)));
            });
            // The tables double now and then.
            let most = rest.len() + 16;
            assert!(
                (rest.len()..=most).contains(&count),
                "{count} for {}",
                rest.len()
            );
        });
    });
}

#[test]
fn a_sleep_is_no_allocation() {
    each_reactor(|reactor| {
        let (_, waker) = CountingWaker::new();
        reactor.handle().enter(|| {
            sleep_and_drop(&waker);
            let count = allocations::of(|| (0..ROUNDS).for_each(|_| sleep_and_drop(&waker)));
            assert_eq!(count, 0);
        });
    });
}

#[test]
fn a_turn_that_wakes_is_no_allocation() {
    each_reactor(|mut reactor| {
        let (counter, waker) = CountingWaker::new();
        let (streams, mut theirs) = streams(8);
        let handle = reactor.handle().clone();
        let mut round = || {
            handle.enter(|| {
                for stream in &streams {
                    while !begin_read(stream, &waker) {}
                }
            });
            let mut sleep = time::sleep(Duration::from_micros(1));
            let _ = handle.enter(|| poll_once(&mut sleep, &waker));
            for stream in &mut theirs {
                stream.write_all(b"x").unwrap();
            }
            handle.notify().unwrap();
            let before = counter.count();
            while counter.count() < before + streams.len() {
                reactor.turn(Some(Duration::from_millis(1))).unwrap();
            }
        };
        (0..10).for_each(|_| round());
        assert_eq!(allocations::of(|| (0..100).for_each(|_| round())), 0);
    });
}

#[test]
fn a_second_waiter_is_no_allocation_once_there_was_one() {
    each_reactor(|reactor| {
        let (streams, _theirs) = streams(1);
        let (_, waker) = CountingWaker::new();
        let blocked = |_: &UnixStream| Err::<(), _>(std::io::ErrorKind::WouldBlock.into());
        let wait_twice = || {
            let mut one = streams[0].io_with(Direction::Read, |stream| {
                blocked(stream).map(windlass_reactor::Taken::Some)
            });
            let mut other = streams[0].io_with(Direction::Read, |stream| {
                blocked(stream).map(windlass_reactor::Taken::Some)
            });
            assert!(poll_once(&mut one, &waker).is_pending());
            assert!(poll_once(&mut other, &waker).is_pending());
        };
        reactor.handle().enter(|| {
            wait_twice();
            let count = allocations::of(|| (0..ROUNDS).for_each(|_| wait_twice()));
            assert_eq!(count, 0);
        });
    });
}

/// The system calls of one child under strace, by name.
struct Trace(Vec<String>);

impl Trace {
    /// Runs the test `name` in a child under strace; `None`, with a message, where there is none.
    fn of(name: &str, backend: Backend, notifier: NotifierKind) -> Option<Self> {
        let probe = Command::new("strace")
            .args(["-qq", "-o", "/dev/null", "true"])
            .output();
        if !probe.is_ok_and(|output| output.status.success()) {
            println!("skipped: no strace that may trace is here to count system calls with");
            return None;
        }
        let file = std::env::temp_dir().join(format!("windlass-{}-{name}", std::process::id()));
        let path = file.to_str().unwrap();
        let mut command = child::command_under("strace", &["-f", "-qq", "-o", path], name);
        command.env("WINDLASS_BACKEND", backend.name());
        command.env("WINDLASS_NOTIFIER", notifier.name());
        child::expect_success(&mut command);
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        Some(Self(Self::between_marks(&text)))
    }

    /// What the marking thread did between its two marks.
    fn between_marks(text: &str) -> Vec<String> {
        let marks = text.lines().filter(|line| line.contains(MARK));
        let thread = marks.clone().next().unwrap().split(' ').next().unwrap();
        assert_eq!(marks.count(), 2, "{text}");
        text.lines()
            .filter(|line| line.split(' ').next() == Some(thread))
            .skip_while(|line| !line.contains(MARK))
            .skip(1)
            .take_while(|line| !line.contains(MARK))
            // The second half of a call that another thread's came into.
            .filter(|line| !line.contains(" resumed>"))
            .map(str::to_owned)
            .collect()
    }

    /// How many calls whose name begins with `name`.
    fn count(&self, name: &str) -> usize {
        let call = |line: &&String| {
            line.split_whitespace()
                .nth(1)
                .is_some_and(|call| call.starts_with(name))
        };
        self.0.iter().filter(call).count()
    }

    fn waits(&self) -> usize {
        self.count("epoll_") - self.count("epoll_ctl") + self.count("ppoll") + self.count("poll(")
    }

    fn changes(&self) -> usize {
        self.count("epoll_ctl")
    }
}

/// A file that is not there: asking for it marks a place in the trace.
const MARK: &str = "/windlass-mark";

/// Runs `body` between two marks.
fn marked(body: impl FnOnce()) {
    let mark = || assert!(std::fs::metadata(MARK).is_err());
    mark();
    body();
    mark();
}

/// Runs `child` in a child under strace, and `check` on the trace, for every back end and notifier.
fn traced(name: &str, child: impl FnOnce(), check: impl Fn(Backend, Trace)) {
    if child::is_child() {
        return child();
    }
    for backend in Backend::available() {
        // Where strace is, this is an emulation, whose own calls would be counted.
        if backend == Backend::DevPoll {
            continue;
        }
        for notifier in NotifierKind::ALL {
            if Poller::with_notifier(backend, *notifier).is_err() {
                continue;
            }
            if let Some(trace) = Trace::of(name, backend, *notifier) {
                println!("{backend} with {notifier}: {} calls", trace.0.len());
                check(backend, trace);
            }
        }
    }
}

#[test]
fn registering_and_leaving_are_one_call_each() {
    const COUNT: usize = 50;
    let child = || {
        let reactor = Reactor::new().unwrap();
        let (streams, _theirs) = streams(COUNT);
        let (_, waker) = CountingWaker::new();
        reactor.handle().enter(|| {
            // The first try is the read that says WouldBlock.
            let reads = |stream: &Async<UnixStream>| assert!(begin_read(stream, &waker));
            marked(|| streams.iter().for_each(reads));
        });
    };
    traced(
        "registering_and_leaving_are_one_call_each",
        child,
        |backend, trace| {
            assert_eq!(trace.count("recv"), COUNT, "{:?}", trace.0);
            let expected = match backend {
                Backend::Epoll => COUNT,
                // poll(2) looks at what kind of file it is.
                _ => trace.count("fstat") + trace.count("newfstatat"),
            };
            let others = trace.changes() + trace.count("fstat") + trace.count("newfstatat");
            assert_eq!(others, expected, "{:?}", trace.0);
            assert!(trace.0.len() <= 2 * COUNT + 20, "{:?}", trace.0);
        },
    );
}

#[test]
fn a_sleep_is_no_call() {
    let child = || {
        let reactor = Reactor::new().unwrap();
        let (_, waker) = CountingWaker::new();
        reactor.handle().enter(|| {
            sleep_and_drop(&waker);
            marked(|| (0..ROUNDS).for_each(|_| sleep_and_drop(&waker)));
        });
    };
    traced("a_sleep_is_no_call", child, |_, trace| {
        assert_eq!(trace.0.len(), 0, "{:?}", trace.0);
    });
}

#[test]
fn a_turn_with_nothing_to_do_is_one_call() {
    const COUNT: usize = 50;
    let child = || {
        let mut reactor = Reactor::new().unwrap();
        marked(|| {
            for _ in 0..COUNT {
                reactor.turn(Some(Duration::ZERO)).unwrap();
                reactor.turn(Some(Duration::from_micros(50))).unwrap();
            }
        });
    };
    traced(
        "a_turn_with_nothing_to_do_is_one_call",
        child,
        |_, trace| {
            assert_eq!(trace.0.len(), 2 * COUNT, "{:?}", trace.0);
            assert_eq!(trace.waits(), 2 * COUNT, "{:?}", trace.0);
        },
    );
}

#[test]
fn a_notification_of_a_reactor_that_is_awake_is_no_call() {
    let child = || {
        let mut reactor = Reactor::new().unwrap();
        marked(|| {
            for _ in 0..10 {
                (0..ROUNDS).for_each(|_| reactor.handle().notify().unwrap());
                assert!(reactor.turn(None).unwrap().notified);
            }
        });
    };
    traced(
        "a_notification_of_a_reactor_that_is_awake_is_no_call",
        child,
        |_, trace| {
            assert_eq!(trace.0.len(), 10, "{:?}", trace.0);
        },
    );
}

#[test]
fn any_number_of_notifications_are_one_write_a_wait() {
    const TURNS: usize = 20;
    let child = || {
        let mut reactor = Reactor::new().unwrap();
        let handle = reactor.handle().clone();
        let turns = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..TURNS {
                    reactor.turn(None).unwrap();
                    turns.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                }
            });
            marked(|| {
                while turns.load(std::sync::atomic::Ordering::SeqCst) < TURNS {
                    handle.notify().unwrap();
                    std::hint::spin_loop();
                }
            });
        });
    };
    traced(
        "any_number_of_notifications_are_one_write_a_wait",
        child,
        |_, trace| {
            assert!(trace.count("write") <= TURNS + 1, "{:?}", trace.0);
            assert_eq!(trace.0.len(), trace.count("write"), "{:?}", trace.0);
        },
    );
}

// The steady loop: wait, read, and nothing else once reads say that they took all.
#[test]
fn a_steady_read_loop_changes_no_interest_in_the_kernel() {
    const COUNT: usize = 30;
    let child = || {
        let mut reactor = Reactor::new().unwrap();
        let handle = reactor.handle().clone();
        let (streams, mut theirs) = streams(1);
        let (_, waker) = CountingWaker::new();
        assert!(handle.enter(|| begin_read(&streams[0], &waker)));
        marked(|| {
            for _ in 0..COUNT {
                theirs[0].write_all(b"x").unwrap();
                reactor.turn(None).unwrap();
                // One read takes the byte, the next says WouldBlock.
                while !handle.enter(|| begin_read(&streams[0], &waker)) {}
            }
        });
        assert_eq!(handle.interest_changes(), 0);
    };
    traced(
        "a_steady_read_loop_changes_no_interest_in_the_kernel",
        child,
        |_, trace| {
            assert_eq!(trace.changes(), 0, "{:?}", trace.0);
            assert_eq!(trace.waits(), COUNT, "{:?}", trace.0);
            assert_eq!(trace.count("recv"), 2 * COUNT, "{:?}", trace.0);
        },
    );
}
