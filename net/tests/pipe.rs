//! Pipes: pairs, named ones, and those of child processes.

mod common;

use common::{MOMENT, pair, pattern, read_to_end, run};
use futures::future::{join, join3};
use futures::io::{AsyncReadExt, AsyncWriteExt};
use rustix::fs::OFlags;
use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use windlass_net::io::copy;
use windlass_net::{PipeReader, PipeWriter, Shutdown, pipe};
use windlass_reactor::signal::{Signal, SignalKind};
use windlass_reactor::time::{sleep, timeout};

async fn read_all(reader: &PipeReader) -> Vec<u8> {
    let (mut all, mut space) = (Vec::new(), [0; 5000]);
    loop {
        match reader.read(&mut space).await.unwrap() {
            0 => return all,
            count => all.extend_from_slice(&space[..count]),
        }
    }
}

/// A named pipe that is removed when it is dropped.
struct Fifo(PathBuf);

impl Fifo {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("windlass-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        Self(path)
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn more_than_fits_arrives_in_order() {
    run(async {
        let (reader, mut writer) = pipe().unwrap();
        let bytes = pattern(3 << 20);
        let writing = async {
            let (start, rest) = bytes.split_at(1000);
            let halves = [IoSlice::new(&start[..400]), IoSlice::new(&start[400..])];
            assert_eq!(writer.write_vectored(&halves).await.unwrap(), 1000);
            writer.write_all(rest).await.unwrap();
            writer.close();
        };
        let reading = async {
            let (mut one, mut two) = ([0; 7], [0; 13]);
            let mut spaces = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
            assert_eq!(reader.read_vectored(&mut spaces).await.unwrap(), 20);
            let mut all = [&one[..], &two].concat();
            all.extend(read_all(&reader).await);
            all
        };
        let ((), all) = join(writing, reading).await;
        assert!(all == bytes);
    });
}

#[test]
fn trying_never_waits() {
    run(async {
        let (reader, writer) = pipe().unwrap();
        let mut space = [0; 8];
        let blocked = reader.try_read(&mut space).unwrap_err();
        assert_eq!(blocked.kind(), ErrorKind::WouldBlock);
        let mut total = 0;
        let full = loop {
            match writer.try_write(&[7; 4096]) {
                Ok(count) => total += count,
                Err(error) => break error,
            }
        };
        assert_eq!(full.kind(), ErrorKind::WouldBlock);
        let has_room = async {
            writer.writable().await.unwrap();
            while writer.try_write(&[8]).is_err() {
                writer.writable().await.unwrap();
            }
        };
        let mut taken = vec![0; total];
        let (read, ()) = join(reader.read_exact(&mut taken), has_room).await;
        read.unwrap();
        reader.readable().await.unwrap();
        assert_eq!(reader.read(&mut space).await.unwrap(), 1);
    });
}

/// A writer that waits hears that the reader is gone.
#[test]
fn a_writer_that_waits_is_told_that_nobody_reads() {
    run(async {
        let (reader, writer) = pipe().unwrap();
        while writer.try_write(&[7; 4096]).is_ok() {}
        let leaving = async {
            sleep(MOMENT).await;
            drop(reader);
        };
        let (written, ()) = join(writer.write(&[7; 4096]), leaving).await;
        assert_eq!(written.unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

/// There is no signal, also where the program has it do something.
#[test]
fn nobody_reading_is_an_error_and_no_signal() {
    run(async {
        let mut signal = Signal::new(SignalKind::PIPE).unwrap();
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let plain = writer.write(b"one").await.unwrap_err();
        let vectored = writer.write_vectored(&[IoSlice::new(b"two")]).await;
        let tried = writer.try_write(b"three").unwrap_err();
        for error in [plain, vectored.unwrap_err(), tried] {
            assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        }
        assert!(timeout(MOMENT, signal.recv()).await.is_err());
    });
}

#[test]
fn a_closed_writer_ends_the_reader_and_takes_no_more() {
    run(async {
        let (mut reader, mut writer) = pipe().unwrap();
        AsyncWriteExt::write_all(&mut writer, b"all of it")
            .await
            .unwrap();
        AsyncWriteExt::close(&mut writer).await.unwrap();
        let mut all = Vec::new();
        AsyncReadExt::read_to_end(&mut reader, &mut all)
            .await
            .unwrap();
        assert_eq!(all, b"all of it");
        let closed = writer.write(b"more").await.unwrap_err();
        assert_eq!(closed.kind(), ErrorKind::BrokenPipe);
        assert!(writer.fd().is_none());
        assert!(writer.into_fd().is_none());
    });
}

/// A read or write that is given up has done nothing, or says how far it came.
#[test]
fn what_is_given_up_loses_nothing() {
    run(async {
        let (reader, writer) = pipe().unwrap();
        let (mut space, mut filled) = ([0; 4], 0);
        writer.write_all(b"he").await.unwrap();
        let reading = reader.read_exact_from(&mut space, &mut filled);
        assert!(timeout(MOMENT, reading).await.is_err());
        writer.write_all(b"ad").await.unwrap();
        reader
            .read_exact_from(&mut space, &mut filled)
            .await
            .unwrap();
        assert_eq!(&space, b"head");

        let bytes = pattern(1 << 20);
        let mut written = 0;
        let writing = writer.write_all_from(&bytes, &mut written);
        assert!(timeout(MOMENT, writing).await.is_err());
        let mut received = vec![0; bytes.len()];
        let (wrote, read) = join(
            writer.write_all_from(&bytes, &mut written),
            reader.read_exact(&mut received),
        )
        .await;
        wrote.unwrap();
        read.unwrap();
        assert!(received == bytes);
    });
}

#[test]
fn the_pipes_of_a_child_are_taken() {
    run(async {
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = PipeWriter::try_from(child.stdin.take().unwrap()).unwrap();
        let output = PipeReader::try_from(child.stdout.take().unwrap()).unwrap();
        let bytes = pattern(1 << 20);
        let writing = async {
            input.write_all(&bytes).await.unwrap();
            drop(input);
        };
        let ((), back) = join(writing, read_all(&output)).await;
        assert!(back == bytes);
        assert!(child.wait().unwrap().success());
    });
}

#[test]
fn only_the_right_end_of_a_pipe_is_taken() {
    let (reader, writer) = pipe().unwrap();
    let read_end = reader.into_blocking_fd().unwrap();
    let write_end = writer.into_blocking_fd().unwrap();
    for end in [&read_end, &write_end] {
        let flags = rustix::fs::fcntl_getfl(end).unwrap();
        assert!(!flags.contains(OFlags::NONBLOCK));
    }
    let refused = PipeReader::try_from(write_end.try_clone().unwrap()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    assert!(refused.to_string().contains("write end"), "{refused}");
    let refused = PipeWriter::try_from(read_end.try_clone().unwrap()).unwrap_err();
    assert!(refused.to_string().contains("read end"), "{refused}");
    let file = OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
    let refused = PipeReader::try_from(file).unwrap_err();
    assert!(
        refused.to_string().contains("character device"),
        "{refused}"
    );

    // What may block is told not to.
    let reader = PipeReader::try_from(read_end).unwrap();
    let flags = rustix::fs::fcntl_getfl(reader.as_fd()).unwrap();
    assert!(flags.contains(OFlags::NONBLOCK));
    assert!(reader.try_read(&mut [0]).is_err());
}

#[test]
fn a_named_pipe_is_read_when_a_writer_comes() {
    run(async {
        let fifo = Fifo::new("first-writer");
        let reader = PipeReader::open(&fifo.0).unwrap();
        // Not even by mistake is this the end.
        let mut space = [0; 16];
        assert!(timeout(MOMENT, reader.read(&mut space)).await.is_err());
        let writing = async {
            sleep(MOMENT).await;
            let writer = PipeWriter::open(&fifo.0).unwrap();
            sleep(MOMENT).await;
            writer.write_all(b"here").await.unwrap();
        };
        let (count, ()) = join(reader.read(&mut space), writing).await;
        assert_eq!(count.unwrap(), 4);
        assert_eq!(reader.read(&mut space).await.unwrap(), 0);
        // The next writer goes on.
        let writer = PipeWriter::open(&fifo.0).unwrap();
        writer.write_all(b"again").await.unwrap();
        assert_eq!(reader.read(&mut space).await.unwrap(), 5);
    });
}

/// A writer that comes and goes without a word is an end, too, whether the reader waits by then.
#[test]
fn a_named_pipe_ends_when_its_writer_has_left() {
    run(async {
        let fifo = Fifo::new("silent-writer");
        for waits_before in [false, true] {
            let reader = PipeReader::open(&fifo.0).unwrap();
            let mut space = [0; 16];
            let writing = async {
                if waits_before {
                    sleep(MOMENT).await;
                }
                drop(PipeWriter::open(&fifo.0).unwrap());
            };
            if waits_before {
                let (count, ()) = join(reader.read(&mut space), writing).await;
                assert_eq!(count.unwrap(), 0);
            } else {
                writing.await;
                assert_eq!(reader.read(&mut space).await.unwrap(), 0);
            }
        }
    });
}

/// Opening a socket says the same as opening a pipe that nobody reads, and doesn't wait for a reader.
#[test]
fn a_path_that_is_no_pipe_is_told() {
    run(async {
        let folder = common::unix::Folder::new();
        let path = folder.path("socket");
        let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let refused = [
            PipeReader::open(&path).map(drop),
            PipeWriter::open(&path).map(drop),
            PipeWriter::open_when_read(&path).await.map(drop),
        ];
        for refused in refused {
            let error = refused.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
            assert!(error.to_string().contains("a socket"), "{error}");
        }
        let nothing = PipeReader::open(folder.path("nothing")).unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::NotFound);
    });
}

#[test]
fn a_named_pipe_is_written_to_when_a_reader_has_come() {
    run(async {
        let fifo = Fifo::new("first-reader");
        let nobody = PipeWriter::open(&fifo.0).unwrap_err();
        assert_eq!(nobody.kind(), ErrorKind::NotConnected);
        assert!(nobody.to_string().contains("open_when_read"), "{nobody}");
        let waiting = timeout(MOMENT, PipeWriter::open_when_read(&fifo.0)).await;
        assert!(waiting.is_err());
        let reading = async {
            sleep(MOMENT).await;
            PipeReader::open(&fifo.0).unwrap()
        };
        let (writer, reader) = join(PipeWriter::open_when_read(&fifo.0), reading).await;
        writer.unwrap().write_all(b"to you").await.unwrap();
        assert_eq!(read_all(&reader).await, b"to you");
    });
}

#[test]
fn what_is_no_pipe_is_not_opened() {
    let refused = PipeReader::open("/dev/null").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    let refused = PipeWriter::open("/dev/null").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    let missing = PipeReader::open("/nowhere/at/all").unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

#[test]
fn pipes_are_copied_from_and_to() {
    run(async {
        let ((from, to), (client, server)) = (pipe().unwrap(), pair().await);
        let (back, mut out) = pipe().unwrap();
        let bytes = pattern(2 << 20);
        let sending = async {
            to.write_all(&bytes).await.unwrap();
            drop(to);
        };
        let through = async {
            assert_eq!(copy(&from, &client).await.unwrap(), bytes.len() as u64);
            client.shutdown(Shutdown::Write).unwrap();
            read_to_end(&client).await.unwrap()
        };
        let into_pipe = async {
            let count = copy(&server, &mut out).await.unwrap();
            drop(out);
            drop(server);
            count
        };
        let receiving = read_all(&back);
        let (((), nothing), count, received) =
            join3(join(sending, through), into_pipe, receiving).await;
        assert!(nothing.is_empty());
        assert_eq!(count, bytes.len() as u64);
        assert!(received == bytes);
    });
}
