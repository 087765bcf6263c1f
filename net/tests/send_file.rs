//! Sending files: within the kernel and through a buffer, in parts, interrupted, and shortened.

mod common;

use common::strace::{assert_passes_despite, can_trace};
use common::{MOMENT, is_child, pair, pair_with_std, pattern, read_to_end, reset, run};
use futures::future::join;
use std::fs::File;
use std::future::Future;
use std::io::{self, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use windlass_net::io::{CopyTo, KernelEnd, NotRegularFile, send_file};
use windlass_net::{Shutdown, TcpStream};
use windlass_reactor::signal::{Signal, SignalKind};
use windlass_reactor::time::timeout;

/// A file without a name.
fn file_of(bytes: &[u8]) -> File {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("windlass-file-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let mut options = File::options();
    let opened = options.read(true).write(true).create_new(true).open(&path);
    std::fs::remove_file(&path).unwrap();
    let mut file = opened.unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// A stream, with or without its end in the kernel.
struct To<'a> {
    stream: &'a TcpStream,
    within_kernel: bool,
}

impl CopyTo for To<'_> {
    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.stream.poll_write(context, bytes)
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.shutdown(Shutdown::Write))
    }

    fn kernel_end(&self) -> Option<KernelEnd<'_>> {
        self.within_kernel.then(|| KernelEnd::from(self.stream))
    }
}

/// Runs `test` in both ways.
fn each_way(test: impl AsyncFn(bool)) {
    for within_kernel in [true, false] {
        run(test(within_kernel));
    }
}

fn to(stream: &TcpStream, within_kernel: bool) -> To<'_> {
    To {
        stream,
        within_kernel,
    }
}

#[test]
fn a_part_of_a_file_arrives() {
    each_way(async |way| {
        let bytes = pattern(4_500_000);
        let file = file_of(&bytes);
        for part in [0..bytes.len(), 1..4_000_001, 77..78, 500..500] {
            let (server, client) = pair().await;
            let mut range = part.start as u64..part.end as u64;
            let sending = async {
                let sent = send_file(&file, &mut range, to(&server, way))
                    .await
                    .unwrap();
                server.shutdown(Shutdown::Write).unwrap();
                sent
            };
            let (sent, got) = join(sending, read_to_end(&client)).await;
            assert_eq!(sent, part.len() as u64);
            assert!(range.is_empty() && range.start == part.end as u64);
            assert!(got.unwrap() == bytes[part]);
        }
    });
}

/// Places that 32 bits can't count.
#[test]
fn a_place_far_in_a_file_is_found() {
    each_way(async |way| {
        let file = file_of(b"");
        let far = 5 << 30;
        std::os::unix::fs::FileExt::write_all_at(&file, b"far away", far).unwrap();
        let (server, client) = pair().await;
        let mut range = far - 3..far + 8;
        let sent = send_file(&file, &mut range, to(&server, way)).await;
        assert_eq!(sent.unwrap(), 11);
        drop(server);
        assert_eq!(read_to_end(&client).await.unwrap(), b"\0\0\0far away");
    });
}

/// Given up whenever it waits, and taken up again where the range says.
#[test]
fn it_goes_on_where_it_was_interrupted() {
    each_way(async |way| {
        // More than the sockets hold.
        let bytes = pattern(1_000_003).repeat(24);
        let file = file_of(&bytes);
        let (server, client) = pair().await;
        let mut range = 0..bytes.len() as u64;
        let mut given_up = 0;
        let mut got = Vec::new();
        let mut space = vec![0; 3 << 20];
        while !range.is_empty() {
            let sending = send_file(&file, &mut range, to(&server, way));
            match timeout(MOMENT / 3, sending).await {
                Ok(sent) => drop(sent.unwrap()),
                Err(_) => given_up += 1,
            }
            let count = client.read(&mut space).await.unwrap();
            got.extend_from_slice(&space[..count]);
            assert!(got.len() as u64 <= range.start);
        }
        assert!(given_up > 0);
        drop(server);
        got.extend(read_to_end(&client).await.unwrap());
        assert!(got == bytes);
    });
}

/// A file that is shorter than was said is told, once, and does not spin.
#[test]
fn a_file_that_ends_early_is_told() {
    each_way(async |way| {
        let file = file_of(&pattern(1000));
        let (server, client) = pair().await;
        let mut range = 200..5000;
        let ended = send_file(&file, &mut range, to(&server, way)).await;
        let ended = ended.unwrap_err();
        assert_eq!(ended.kind(), ErrorKind::UnexpectedEof);
        assert!(ended.to_string().contains("1000"), "{ended}");
        assert_eq!(range, 1000..5000);
        drop(server);
        assert!(read_to_end(&client).await.unwrap() == pattern(1000)[200..]);
    });
}

#[test]
fn a_file_that_is_truncated_meanwhile_is_told() {
    each_way(async |way| {
        let bytes = pattern(1_000_003).repeat(24);
        let file = file_of(&bytes);
        let (server, client) = pair().await;
        let mut range = 0..bytes.len() as u64;
        let sending = send_file(&file, &mut range, to(&server, way));
        assert!(
            timeout(MOMENT, sending).await.is_err(),
            "the socket is full"
        );
        let length = range.start + 10;
        file.set_len(length).unwrap();
        let sending = async {
            let ended = send_file(&file, &mut range, to(&server, way)).await;
            server.shutdown(Shutdown::Write).unwrap();
            ended.unwrap_err()
        };
        let (ended, got) = join(sending, read_to_end(&client)).await;
        assert_eq!(ended.kind(), ErrorKind::UnexpectedEof);
        assert_eq!(range.start, length);
        // sendfile(2) lends the pages of the file: what was cut off may be zeroes by now.
        let got = got.unwrap();
        assert_eq!(got.len() as u64, length);
        assert!(got[..1 << 16] == bytes[..1 << 16]);
    });
}

#[test]
fn what_is_no_regular_file_is_refused() {
    each_way(async |way| {
        let (server, _client) = pair().await;
        let (read_end, _write_end) = rustix::pipe::pipe().unwrap();
        let directory = OwnedFd::from(File::open("/").unwrap());
        let device = OwnedFd::from(File::open("/dev/zero").unwrap());
        for (source, name) in [
            (&read_end, "a pipe"),
            (&directory, "a directory"),
            (&device, "a character device"),
        ] {
            let mut range = 0..10;
            let refused = send_file(source, &mut range, to(&server, way)).await;
            let refused = refused.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidInput);
            assert!(refused.get_ref().unwrap().is::<NotRegularFile>());
            assert!(refused.to_string().contains(name), "{refused}");
            assert_eq!(range, 0..10);
        }
    });
}

#[test]
fn odd_ranges_harm_nobody() {
    each_way(async |way| {
        let file = file_of(b"some");
        let (server, _client) = pair().await;
        #[expect(clippy::reversed_empty_ranges, reason = "that is what it is about")]
        let mut backwards = 9..3;
        let sent = send_file(&file, &mut backwards, to(&server, way)).await;
        assert_eq!(sent.unwrap(), 0);
        let beyond = send_file(&file, &mut (1 << 40..1 << 41), to(&server, way)).await;
        assert_eq!(beyond.unwrap_err().kind(), ErrorKind::UnexpectedEof);
        let mut no_place = u64::MAX - 1..u64::MAX;
        assert!(
            send_file(&file, &mut no_place, to(&server, way))
                .await
                .is_err()
        );
    });
}

/// A peer that is gone is an error and no signal.
#[test]
fn a_peer_that_is_gone_is_an_error_and_no_signal() {
    each_way(async |way| {
        let mut signal = Signal::new(SignalKind::PIPE).unwrap();
        let file = file_of(&pattern(1 << 20));
        let (server, client) = pair().await;
        reset(client);
        let error = loop {
            let mut range = 0..1 << 20;
            match send_file(&file, &mut range, to(&server, way)).await {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        let kinds = [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset];
        assert!(kinds.contains(&error.kind()), "{error}");
        let again = send_file(&file, &mut (0..1 << 20), to(&server, way)).await;
        assert_eq!(again.unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert!(timeout(MOMENT, signal.recv()).await.is_err());
    });
}

/// One poll does no more than its share, however fast the reader is.
#[test]
fn a_poll_sends_a_part_and_comes_back() {
    each_way(async |way| {
        let length = 16 << 20;
        let file = file_of(&vec![7; length]);
        let (server, client) = pair_with_std().await;
        let reading = std::thread::spawn(move || common::std_read_to_end(&client).len());
        let mut range = 0..length as u64;
        let mut context = Context::from_waker(Waker::noop());
        while !range.is_empty() {
            let before = range.start;
            let sending = pin!(send_file(&file, &mut range, to(&server, way)));
            if let Poll::Ready(sent) = sending.poll(&mut context) {
                sent.unwrap();
            }
            assert!(range.start - before <= 1 << 20);
        }
        drop(server);
        assert_eq!(reading.join().unwrap(), length);
    });
}

/// Where the kernel refuses, it goes through a buffer, also in the middle.
#[test]
fn what_is_refused_is_sent_through_a_buffer() {
    let name = "what_is_refused_is_sent_through_a_buffer";
    if !is_child() {
        if can_trace() {
            for fault in [
                "sendfile:error=EINVAL:when=1+",
                "sendfile:error=ENOSYS:when=1+",
                "sendfile:error=EINVAL:when=3",
                "sendfile:error=EINTR:when=2",
                // The connection is being made still (TCP_FASTOPEN_CONNECT).
                "sendfile:error=EINPROGRESS:when=1",
            ] {
                assert_passes_despite(fault, name);
            }
        }
        return;
    }
    run(async {
        let bytes = pattern(4 << 20);
        let file = file_of(&bytes);
        // The accepted end has not waited to be writable, so that it is told when it is.
        let (client, server) = pair().await;
        let sending = async {
            let mut range = 0..bytes.len() as u64;
            send_file(&file, &mut range, &server).await.unwrap();
            server.shutdown(Shutdown::Write).unwrap();
        };
        let ((), got) = join(sending, read_to_end(&client)).await;
        assert!(got.unwrap() == bytes);
    });
}
