//! Operations that are cancelled at every place where they can be: no byte, datagram or connection
//! is lost or comes twice. How that is done is in `common/cancelling.rs`.

mod common;

use common::cancelling::cancel_at_every_pending;
use common::sealed::{Sealed, opened, sealed};
use common::{LIMIT, listen, pair_with_std, pattern, run};
use futures::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, BufWriter};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use windlass_net::io::{Copy, Lines, ReadExact, ReadUntil, WriteAll, copy};
use windlass_net::{Inbound, TcpListener, TcpStream, UdpSocket};

/// A peer that sends bytes, a few at each step, and then the end.
struct Sender {
    stream: StdStream,
    bytes: Vec<u8>,
    sent: usize,
    at_a_time: usize,
}

impl Sender {
    fn new(stream: StdStream, bytes: &[u8], at_a_time: usize) -> Self {
        stream.set_nonblocking(true).unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            bytes: bytes.to_vec(),
            sent: 0,
            at_a_time,
        }
    }

    fn step(&mut self) {
        let rest = &self.bytes[self.sent..];
        let piece = &rest[..rest.len().min(self.at_a_time)];
        if piece.is_empty() {
            // It may have been done before.
            let _ = self.stream.shutdown(Shutdown::Write);
            return;
        }
        self.sent += unless_blocked(self.stream.write(piece));
    }
}

/// A peer that receives bytes, some at each step.
struct Receiver {
    stream: StdStream,
    received: Vec<u8>,
    at_a_time: usize,
}

impl Receiver {
    fn new(stream: StdStream, at_a_time: usize) -> Self {
        stream.set_nonblocking(true).unwrap();
        Self {
            stream,
            received: Vec::new(),
            at_a_time,
        }
    }

    fn step(&mut self) {
        let mut space = vec![0; self.at_a_time];
        let count = unless_blocked(self.stream.read(&mut space));
        self.received.extend_from_slice(&space[..count]);
    }

    /// Reads to the end, which is to come.
    fn finish(mut self) -> Vec<u8> {
        self.stream.set_nonblocking(false).unwrap();
        self.stream.set_read_timeout(Some(LIMIT)).unwrap();
        self.stream.read_to_end(&mut self.received).unwrap();
        self.received
    }
}

fn unless_blocked(done: io::Result<usize>) -> usize {
    match done {
        Ok(count) => count,
        Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
        Err(error) => panic!("{error}"),
    }
}

/// A connection with small buffers, so that a writer is held up soon; the other end is of std.
fn narrow() -> (TcpStream, StdStream) {
    let (ours, theirs) = run(pair_with_std());
    // Smaller ones would have the kernel wait for its timers.
    ours.set_send_buffer_size(1 << 16).unwrap();
    socket2::SockRef::from(&theirs)
        .set_recv_buffer_size(1 << 16)
        .unwrap();
    (ours, theirs)
}

/// Reads in two pieces, so that the first must not take from the second.
fn assert_reads_exactly<R>(wrap: impl Fn(TcpStream) -> R, sent: &[u8], bytes: &[u8])
where
    R: AsyncRead + Unpin,
{
    let half = bytes.len() / 2;
    let places = cancel_at_every_pending(
        || {
            let (ours, theirs) = run(pair_with_std());
            let pieces = [
                ReadExact::new(vec![0; half]),
                ReadExact::new(vec![0; bytes.len() - half]),
            ];
            ((wrap(ours), pieces), Sender::new(theirs, sent, 7))
        },
        async |(reader, [first, second])| {
            first.read_from(reader).await?;
            second.read_from(reader).await
        },
        Sender::step,
        |(_, [first, second]), _, done: io::Result<()>| {
            done.unwrap();
            assert_eq!([first.filled(), second.filled()].concat(), bytes);
        },
    );
    assert!(places > 1, "{places}");
}

#[test]
fn reading_exactly() {
    let bytes = pattern(150);
    assert_reads_exactly(|stream| stream, &bytes, &bytes);
    assert_reads_exactly(|stream| stream.into_split().0, &bytes, &bytes);
    assert_reads_exactly(
        |stream| BufReader::with_capacity(10, stream),
        &bytes,
        &bytes,
    );
    assert_reads_exactly(Sealed::new, &sealed(&bytes), &bytes);
}

/// The end in the middle is told, and what came before is there.
#[test]
fn an_end_in_the_middle() {
    let bytes = pattern(60);
    cancel_at_every_pending(
        || {
            let (ours, theirs) = run(pair_with_std());
            let piece = ReadExact::new([0; 100]);
            ((ours, piece), Sender::new(theirs, &bytes, 7))
        },
        async |(reader, piece)| piece.read_from(reader).await,
        Sender::step,
        |(_, piece), _, done| {
            let error = done.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
            assert!(error.to_string().contains("60 of 100 bytes"), "{error}");
            assert_eq!(piece.filled(), bytes);
        },
    );
}

#[test]
fn reading_until_a_delimiter() {
    let text = b"one;;a piece that is longer than the buffer;four;rest";
    cancel_at_every_pending(
        || {
            let (ours, theirs) = run(pair_with_std());
            let reader = BufReader::with_capacity(8, ours);
            let pieces = (ReadUntil::new(b';', 50), Vec::new());
            ((reader, pieces), Sender::new(theirs, text, 3))
        },
        async |(reader, (until, pieces))| {
            while let Some(piece) = until.read_from(reader).await? {
                pieces.push(piece);
            }
            Ok(())
        },
        Sender::step,
        |(_, (until, mut pieces)), _, done: io::Result<()>| {
            assert_eq!(done.unwrap_err().kind(), ErrorKind::UnexpectedEof);
            pieces.push(until.held().to_vec());
            assert_eq!(pieces.join(&b';'), text);
            assert_eq!(pieces.len(), 5);
        },
    );
}

fn assert_reads_lines<R>(wrap: impl Fn(TcpStream) -> R, text: &[u8])
where
    R: AsyncRead + Unpin,
{
    let expected = ["first", "", "a line that is longer than the buffer", "last"];
    cancel_at_every_pending(
        || {
            let (ours, theirs) = run(pair_with_std());
            let reader = BufReader::with_capacity(8, wrap(ours));
            let lines = (Lines::new(reader, 50), Vec::new());
            (lines, Sender::new(theirs, text, 5))
        },
        async |(lines, all)| {
            while let Some(line) = lines.next().await? {
                all.push(String::from_utf8(line).unwrap());
            }
            Ok(())
        },
        Sender::step,
        |(_, all), _, done: io::Result<()>| {
            done.unwrap();
            assert_eq!(all, expected);
        },
    );
}

#[test]
fn reading_lines() {
    let text = b"first\n\r\na line that is longer than the buffer\r\nlast\n";
    assert_reads_lines(|stream| stream, text);
    assert_reads_lines(|stream| stream.into_split().0, text);
    assert_reads_lines(Sealed::new, &sealed(text));
}

fn assert_writes_all<S>(wrap: impl Fn(TcpStream) -> S, open: impl Fn(&[u8]) -> Vec<u8>)
where
    S: AsyncWrite + Unpin,
{
    let bytes = pattern(1_000_000);
    let places = cancel_at_every_pending(
        || {
            let (ours, theirs) = narrow();
            let progress = (wrap(ours), WriteAll::new(bytes.clone()));
            (progress, Receiver::new(theirs, 100_000))
        },
        async |(writer, answer)| {
            answer.write_to(writer).await?;
            writer.close().await
        },
        Receiver::step,
        |(_, answer), receiver, done: io::Result<()>| {
            done.unwrap();
            assert!(answer.rest().is_empty());
            assert!(open(&receiver.finish()) == bytes);
        },
    );
    assert!(places > 1, "{places}");
}

#[test]
fn writing_all() {
    assert_writes_all(|stream| stream, <[u8]>::to_vec);
    assert_writes_all(|stream| stream.into_split().1, <[u8]>::to_vec);
    assert_writes_all(
        |stream| BufWriter::with_capacity(10_000, stream),
        <[u8]>::to_vec,
    );
    assert_writes_all(Sealed::new, opened);
}

/// A proxy's two peers.
struct Ends {
    from: Sender,
    to: Receiver,
}

impl Ends {
    fn new(bytes: &[u8]) -> ((TcpStream, TcpStream), Self) {
        let (reader, from) = run(pair_with_std());
        let (writer, to) = narrow();
        let ends = Self {
            from: Sender::new(from, bytes, 150_000),
            to: Receiver::new(to, 100_000),
        };
        ((reader, writer), ends)
    }

    fn step(&mut self) {
        self.from.step();
        self.to.step();
    }
}

/// Hands back what a copy has read and not written when it is dropped.
struct HandingBack<'a> {
    copying: Copy<&'a TcpStream, &'a TcpStream>,
    left: &'a mut WriteAll<Vec<u8>>,
}

impl Drop for HandingBack<'_> {
    fn drop(&mut self) {
        *self.left = WriteAll::new(self.copying.take_unwritten().unwrap());
    }
}

/// Long enough for the kernel to copy where it can.
#[test]
fn copying_hands_back_what_is_not_written() {
    let bytes = pattern(1_000_000);
    let places = cancel_at_every_pending(
        || {
            let (streams, ends) = Ends::new(&bytes);
            ((streams, WriteAll::new(Vec::new())), ends)
        },
        async |((reader, writer), left)| {
            left.write_to(&mut &*writer).await?;
            let mut handing_back = HandingBack {
                copying: copy(reader, writer),
                left,
            };
            (&mut handing_back.copying).await.map(drop)
        },
        Ends::step,
        |((_, writer), left), ends, done: io::Result<()>| {
            done.unwrap();
            assert!(left.rest().is_empty());
            drop(writer);
            assert!(ends.to.finish() == bytes);
        },
    );
    assert!(places > 1, "{places}");
}

/// The copy itself is kept, and only what awaits it is dropped.
#[test]
fn copying_goes_on() {
    let bytes = pattern(1_000_000);
    cancel_at_every_pending(
        || {
            let ((reader, writer), ends) = Ends::new(&bytes);
            (copy(reader, writer), ends)
        },
        async |copying| (&mut *copying).await,
        Ends::step,
        |copying, ends, done| {
            assert_eq!(done.unwrap(), bytes.len() as u64);
            drop(copying);
            assert!(ends.to.finish() == bytes);
        },
    );
}

/// Clients that connect one by one, each with a number.
struct Clients {
    address: SocketAddr,
    streams: Vec<StdStream>,
}

impl Clients {
    fn step(&mut self) {
        let mut stream = StdStream::connect(self.address).unwrap();
        stream.write_all(&[self.streams.len() as u8]).unwrap();
        self.streams.push(stream);
    }
}

#[test]
fn accepting() {
    const COUNT: u8 = 6;
    let places = cancel_at_every_pending(
        || {
            let listener = run(listen());
            let address = listener.local_addr().unwrap();
            let streams = Vec::new();
            ((listener, Vec::new()), Clients { address, streams })
        },
        async |(listener, accepted): &mut (TcpListener, Vec<TcpStream>)| {
            while accepted.len() < COUNT.into() {
                accepted.push(listener.accept().await?.0);
            }
            Ok(())
        },
        Clients::step,
        |(_, accepted), _, done: io::Result<()>| {
            done.unwrap();
            let number = |stream| {
                let mut number = ReadExact::new([0]);
                run(number.read_from(&mut &stream)).unwrap();
                number.into_parts().0[0]
            };
            let numbers: Vec<_> = accepted.into_iter().map(number).collect();
            assert_eq!(numbers, (0..COUNT).collect::<Vec<_>>());
        },
    );
    // Fewer than clients, where several have come before it was woken.
    assert!(places > 1, "{places}");
}

/// A server that keeps what it has accepted.
struct Server {
    listener: StdListener,
    accepted: Vec<StdStream>,
}

impl Server {
    fn step(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            stream.set_nonblocking(false).unwrap();
            stream.set_read_timeout(Some(LIMIT)).unwrap();
            self.accepted.push(stream);
        }
    }
}

/// The attempts that were given up are closed, and the one that was not works.
#[test]
fn connecting() {
    let places = cancel_at_every_pending(
        || {
            let listener = StdListener::bind("127.0.0.1:0").unwrap();
            listener.set_nonblocking(true).unwrap();
            let port = listener.local_addr().unwrap().port();
            let accepted = Vec::new();
            (port, Server { listener, accepted })
        },
        // The look-up is pending for sure, so there is a place.
        async |port| TcpStream::connect(("localhost", *port)).await,
        Server::step,
        |_, mut server, connected| {
            let stream = connected.unwrap();
            run(stream.write_all(b"x")).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let ours = stream.local_addr().unwrap();
            while !server
                .accepted
                .iter()
                .any(|accepted| accepted.peer_addr().is_ok_and(|peer| peer == ours))
            {
                server.step();
            }
            let mut received = Vec::new();
            for mut accepted in server.accepted {
                // One that was given up has ended, or was reset.
                let _ = accepted.read_to_end(&mut received);
            }
            assert_eq!(received, b"x");
        },
    );
    assert!(places >= 1);
}

/// A peer that sends numbered datagrams.
struct Numbers {
    socket: std::net::UdpSocket,
    next: u8,
    at_a_time: u8,
}

impl Numbers {
    fn new(at_a_time: u8) -> (UdpSocket, Self) {
        let receiver = run(UdpSocket::bind("127.0.0.1:0")).unwrap();
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(receiver.local_addr().unwrap()).unwrap();
        let numbers = Self {
            socket,
            next: 0,
            at_a_time,
        };
        (receiver, numbers)
    }

    fn step(&mut self) {
        // As many as are expected, whatever else happens.
        for _ in 0..self.at_a_time.min(DATAGRAMS - self.next) {
            self.socket.send(&[self.next]).unwrap();
            self.next += 1;
        }
    }
}

const DATAGRAMS: u8 = 12;

#[track_caller]
fn assert_all_in_order(numbers: &[u8]) {
    let expected: Vec<_> = (0..DATAGRAMS).collect();
    assert_eq!(numbers[..DATAGRAMS.into()], expected);
}

#[test]
fn receiving_datagrams() {
    let places = cancel_at_every_pending(
        || {
            let (receiver, numbers) = Numbers::new(1);
            ((receiver, Vec::new()), numbers)
        },
        async |(socket, numbers): &mut (UdpSocket, Vec<u8>)| {
            while numbers.len() < DATAGRAMS.into() {
                let mut space = [0; 8];
                let (received, _) = socket.recv_from(&mut space).await?;
                assert_eq!(received.length, 1);
                numbers.push(space[0]);
            }
            Ok(())
        },
        Numbers::step,
        |(_, numbers), _, done: io::Result<()>| {
            done.unwrap();
            assert_all_in_order(&numbers);
        },
    );
    assert!(places > 1, "{places}");
}

#[test]
fn receiving_datagrams_in_batches() {
    cancel_at_every_pending(
        || {
            let (receiver, numbers) = Numbers::new(3);
            ((receiver, Vec::new()), numbers)
        },
        async |(socket, numbers): &mut (UdpSocket, Vec<u8>)| {
            while numbers.len() < DATAGRAMS.into() {
                let mut spaces = [[0; 8]; 4];
                let mut places = spaces.each_mut().map(|space| Inbound::new(space));
                let count = socket.recv_many(&mut places).await?;
                numbers.extend(places[..count].iter().map(|place| place.bytes()[0]));
            }
            Ok(())
        },
        Numbers::step,
        |(_, numbers), _, done: io::Result<()>| {
            done.unwrap();
            assert_all_in_order(&numbers);
        },
    );
}
