//! Standard input, in processes of their own: whatever it is, a read of it can be cancelled, loses
//! no byte, and keeps nothing from ending; and the descriptor is left as it is.

mod common;

use common::{LIMIT, MOMENT, is_child, pattern, wait_until};
use futures::executor::block_on;
use futures::{pending, poll};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::future::Future;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::task::Poll;
use std::time::Instant;
use windlass_net::io::{Stdin, copy, stdin, stdout};
use windlass_reactor::signal::{Signal, SignalKind};
use windlass_reactor::time::timeout;

/// The test `name` of this binary in a process of its own, which reads what a child's part of the
/// test does; see [`report`].
fn child(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env("WINDLASS_TEST_CHILD", "1")
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// A child that ends with its test.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }

    fn input(&mut self) -> std::process::ChildStdin {
        self.0.stdin.take().unwrap()
    }

    /// Waits until the child says `what`.
    #[track_caller]
    fn hear(&mut self, what: &str) {
        let told = self.0.stderr.as_mut().unwrap();
        let (mut line, mut byte) = (Vec::new(), [0]);
        let mut before = Vec::new();
        while told.read(&mut byte).unwrap() == 1 {
            if byte[0] != b'\n' {
                line.push(byte[0]);
                continue;
            }
            let text = String::from_utf8(std::mem::take(&mut line)).unwrap();
            if text == what {
                return;
            }
            before.push(text);
        }
        panic!("it ended before it said {what:?}: {before:?}");
    }

    /// Waits for its end, which is soon.
    #[track_caller]
    fn end(&mut self) -> ExitStatus {
        let mut ended = None;
        wait_until(|| {
            ended = self.0.try_wait().unwrap();
            ended.is_some()
        });
        ended.unwrap()
    }

    #[track_caller]
    fn succeeds(mut self) {
        let status = self.end();
        let mut told = String::new();
        self.0
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut told)
            .unwrap();
        assert!(status.success(), "{status}: {told}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// In the child: tells the test.
fn say(what: &str) {
    eprintln!("{what}");
}

/// In the child: runs its part, within the limit, and checks that the descriptor still blocks.
fn part<F: Future>(part: F) -> F::Output {
    let before = rustix::fs::fcntl_getfl(std::io::stdin()).unwrap();
    let done = block_on(timeout(LIMIT, part)).expect("it took too long");
    let after = rustix::fs::fcntl_getfl(std::io::stdin()).unwrap();
    assert_eq!(before, after);
    assert!(!after.contains(OFlags::NONBLOCK));
    done
}

async fn read_all(input: &mut Stdin) -> Vec<u8> {
    let (mut all, mut space) = (Vec::new(), vec![0; 100_000]);
    loop {
        match input.read(&mut space).await.unwrap() {
            0 => return all,
            count => all.extend_from_slice(&space[..count]),
        }
    }
}

async fn read_line(input: &mut Stdin) -> Vec<u8> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while input.read(&mut byte).await.unwrap() == 1 {
        line.push(byte[0]);
        if byte[0] == b'\n' {
            break;
        }
    }
    line
}

/// Neither a read that waits, nor one that was given up, keeps the process from ending.
#[test]
fn a_read_that_waits_keeps_nothing_from_ending() {
    if is_child() {
        part(async {
            let mut input = stdin().unwrap();
            assert!(timeout(MOMENT, input.read(&mut [0; 9])).await.is_err());
        });
        say("given up");
        return;
    }
    let name = "a_read_that_waits_keeps_nothing_from_ending";
    let mut running = Running::start(child(name).stdin(Stdio::piped()));
    let _input = running.input();
    let began = Instant::now();
    running.hear("given up");
    running.succeeds();
    assert!(began.elapsed() < LIMIT / 3);
}

/// Reads are given up all the time, and no byte is lost or doubled.
#[test]
fn reads_that_are_given_up_lose_nothing() {
    const LENGTH: usize = 200_000;
    if is_child() {
        let (all, given_up) = part(async {
            let (mut all, mut space, mut given_up) = (Vec::new(), [0; 700], 0);
            while all.len() < LENGTH {
                // A handle for each time: what was read belongs to none.
                let mut input = stdin().unwrap();
                let polled = {
                    let mut reading = pin!(input.read(&mut space));
                    let polled = poll!(reading.as_mut());
                    // It is dropped when it would go on, or at once, while the thread may read.
                    if polled.is_pending() && given_up % 3 > 0 {
                        pending!();
                    }
                    polled
                };
                match polled {
                    Poll::Ready(count) => {
                        let count = count.unwrap();
                        assert_ne!(count, 0);
                        all.extend_from_slice(&space[..count]);
                    }
                    Poll::Pending => given_up += 1,
                }
            }
            (all, given_up)
        });
        assert!(all == pattern(LENGTH));
        assert!(given_up > 10, "{given_up}");
        return;
    }
    let name = "reads_that_are_given_up_lose_nothing";
    let mut running = Running::start(child(name).stdin(Stdio::piped()));
    let mut input = running.input();
    for piece in pattern(LENGTH).chunks(1733) {
        input.write_all(piece).unwrap();
    }
    running.succeeds();
}

/// What can't be waited for is read as well.
#[test]
fn files_and_devices_are_read_to_their_end() {
    if is_child() {
        let all = part(async { read_all(&mut stdin().unwrap()).await });
        let wanted = std::env::var("WANTED").unwrap().parse::<usize>().unwrap();
        assert!(all == pattern(wanted));
        return;
    }
    let name = "files_and_devices_are_read_to_their_end";
    let path = std::env::temp_dir().join(format!("windlass-stdin-{}", std::process::id()));
    std::fs::write(&path, pattern(300_000)).unwrap();
    let file = File::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    Running::start(child(name).env("WANTED", "300000").stdin(file)).succeeds();
    let null = Stdio::null();
    Running::start(child(name).env("WANTED", "0").stdin(null)).succeeds();
}

/// What is read at the start leaves the rest of a file, or of a pipe, to a child.
#[test]
fn no_more_is_taken_than_was_asked_for() {
    if is_child() {
        part(async {
            assert_eq!(read_line(&mut stdin().unwrap()).await, b"first\n");
        });
        let rest = Command::new("cat")
            .stdin(Stdio::inherit())
            .output()
            .unwrap();
        assert_eq!(rest.stdout, b"second\nthird\n");
        return;
    }
    let name = "no_more_is_taken_than_was_asked_for";
    let mut running = Running::start(child(name).stdin(Stdio::piped()));
    running
        .input()
        .write_all(b"first\nsecond\nthird\n")
        .unwrap();
    running.succeeds();
}

/// A terminal: the end that is typed is for one read, and the next line is read after it.
#[test]
fn a_terminal_goes_on_after_an_end() {
    if is_child() {
        part(async {
            let mut input = stdin().unwrap();
            say("reading");
            let mut space = [0; 100];
            assert!(timeout(MOMENT, input.read(&mut space)).await.is_err());
            say("given up");
            assert_eq!(read_line(&mut input).await, b"one\n");
            say("a line");
            assert_eq!(input.read(&mut space).await.unwrap(), 0);
            say("an end");
            assert_eq!(read_line(&mut input).await, b"two\n");
        });
        return;
    }
    let name = "a_terminal_goes_on_after_an_end";
    let (mut keyboard, terminal) = terminal();
    let mut running = Running::start(child(name).stdin(terminal));
    running.hear("reading");
    keyboard.write_all(b"o").unwrap();
    running.hear("given up");
    keyboard.write_all(b"ne\n").unwrap();
    running.hear("a line");
    keyboard.write_all(b"\x04").unwrap();
    running.hear("an end");
    keyboard.write_all(b"two\n").unwrap();
    running.succeeds();
}

/// What is ready need not be there for the read, as when another process takes it: nothing
/// blocks but the thread, and the process can end. Here a terminal says that it is ready at the
/// first byte, and has a read wait for two.
#[test]
fn a_read_that_blocks_holds_nothing_up() {
    if is_child() {
        part(async {
            let mut input = stdin().unwrap();
            let mut space = [0; 16];
            say("reading");
            {
                // 10 times longer than until the byte is there.
                let reading = timeout(MOMENT * 10, input.read(&mut space));
                assert!(reading.await.is_err());
            }
            say("still running");
            if std::env::var_os("ENDS").is_none() {
                let count = input.read(&mut space).await.unwrap();
                assert_eq!(&space[..count], b"ab");
            }
        });
        return;
    }
    let name = "a_read_that_blocks_holds_nothing_up";
    for ends in [false, true] {
        let (mut keyboard, terminal) = terminal();
        wait_for_two_bytes(&terminal);
        let mut command = child(name);
        if ends {
            command.env("ENDS", "1");
        }
        let mut running = Running::start(command.stdin(terminal));
        running.hear("reading");
        keyboard.write_all(b"a").unwrap();
        running.hear("still running");
        if !ends {
            keyboard.write_all(b"b").unwrap();
        }
        running.succeeds();
    }
}

/// Makes a terminal: what stands for its keyboard and screen, and what programs use.
fn terminal() -> (File, OwnedFd) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
    let keyboard = openpt(flags).unwrap();
    grantpt(&keyboard).unwrap();
    unlockpt(&keyboard).unwrap();
    let name = ptsname(&keyboard, Vec::new()).unwrap();
    let terminal = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty());
    (keyboard.into(), terminal.unwrap())
}

/// Has a terminal say that it is ready when one byte is there, and has its reads wait for another,
/// for 20 seconds at the most (termios(3)).
fn wait_for_two_bytes(terminal: &OwnedFd) {
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
    let mut mode = tcgetattr(terminal).unwrap();
    mode.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
    mode.special_codes[SpecialCodeIndex::VMIN] = 2;
    mode.special_codes[SpecialCodeIndex::VTIME] = 200;
    tcsetattr(terminal, OptionalActions::Now, &mode).unwrap();
}

/// A descriptor that is closed is /dev/null in a Rust program.
#[test]
fn nothing_at_all_is_an_end() {
    if is_child() {
        part(async { assert_eq!(read_all(&mut stdin().unwrap()).await, b"") });
        return;
    }
    let own = child("nothing_at_all_is_an_end");
    let mut closed = Command::new("sh");
    closed
        .args(["-c", "exec \"$0\" \"$@\" <&-"])
        .arg(own.get_program())
        .args(own.get_args())
        .env("WINDLASS_TEST_CHILD", "1")
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    Running::start(&mut closed).succeeds();
}

/// A reader that is gone is an error and no signal; one that doesn't read keeps nothing
/// from ending.
#[test]
fn output_that_nobody_reads_is_an_error_or_waits() {
    if is_child() {
        part(async {
            let mut signal = Signal::new(SignalKind::PIPE).unwrap();
            let mut output = stdout();
            let much = vec![7; 1 << 20];
            let full = timeout(MOMENT * 3, output.write_all(&much)).await;
            assert!(full.is_err());
            say("full");
            if std::env::var_os("ENDS").is_some() {
                // Without the test harness, which would say how it went.
                std::process::exit(0);
            }
            let error = loop {
                match output.write_all(b"more").await {
                    Ok(()) => {}
                    Err(error) => break error,
                }
            };
            assert_eq!(error.kind(), ErrorKind::BrokenPipe);
            assert!(timeout(MOMENT, signal.recv()).await.is_err());
            say("told");
            std::process::exit(0);
        });
        return;
    }
    let name = "output_that_nobody_reads_is_an_error_or_waits";
    for ends in [false, true] {
        let mut command = child(name);
        if ends {
            command.env("ENDS", "1");
        }
        let mut running = Running::start(command.stdin(Stdio::null()).stdout(Stdio::piped()));
        let mut output = running.0.stdout.take();
        running.hear("full");
        if !ends {
            drop(output.take());
            running.hear("told");
        }
        running.succeeds();
    }
}

#[test]
fn what_comes_is_copied_out() {
    if is_child() {
        let count = part(async { copy(stdin().unwrap(), stdout()).await.unwrap() });
        say(&format!("{count} bytes"));
        return;
    }
    let name = "what_comes_is_copied_out";
    let mut command = child(name);
    let mut running = Running::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
    let mut input = running.input();
    let mut output = running.0.stdout.take().unwrap();
    let sent = pattern(3 << 20);
    let writing = std::thread::spawn(move || {
        let sent = pattern(3 << 20);
        input.write_all(&sent).unwrap();
    });
    let mut got = Vec::new();
    output.read_to_end(&mut got).unwrap();
    writing.join().unwrap();
    running.hear(&format!("{} bytes", sent.len()));
    running.succeeds();
    // What the test harness prints stands around it.
    let start = got
        .windows(64)
        .position(|window| window == &sent[..64])
        .unwrap();
    assert!(got[start..].starts_with(&sent));
}
