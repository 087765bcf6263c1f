//! What a child does, while one of its calls fails.

use super::peer::END;
use std::cell::RefCell;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::thread;
use std::time::Duration;
use windlass::net::{
    Inbound, Outbound, TcpListener, TcpStream, UdpSocket, UnixListener, UnixStream, pipe,
};
use windlass::time::timeout;
use windlass::{CancellationToken, Runtime, io as wio, spawn_local};

/// How long anything may take here.
const LIMIT: Duration = Duration::from_secs(20);
/// How many errors a server may be told before it is thought to spin.
const MOST_TOLD: usize = 20;
/// How much processor time a subject may take, in hundredths of a second; a spin takes it all.
const MOST_TICKS: u64 = 150;

/// What was told, and by whom, each once.
#[derive(Clone, Default)]
struct Told(Rc<RefCell<(Vec<String>, usize)>>);

impl Told {
    fn add(&self, by: &str, error: &io::Error) {
        let mut told = self.0.borrow_mut();
        told.1 += 1;
        let line = format!("{by} told {error}");
        if !told.0.contains(&line) {
            told.0.push(line);
        }
    }

    fn is_too_much(&self) -> bool {
        self.0.borrow().1 > MOST_TOLD
    }

    fn text(&self) -> String {
        let told = self.0.borrow();
        told.0.iter().map(|line| format!(", {line}")).collect()
    }
}

/// Does what the subject is, and prints what came of it.
pub(crate) fn run(subject: &str) {
    let before = descriptors();
    // On a thread of its own: threads keep pipes for the next copy until they end.
    let mut outcome = thread::scope(|scope| {
        let runs = scope.spawn(|| outcome(subject));
        runs.join().unwrap_or_else(|_| ", WRONG: it panics".into())
    });
    let after = descriptors();
    if after != before {
        outcome += &format!(", WRONG: {after} descriptors are open, {before} were before");
    }
    let ticks = ticks();
    if ticks > MOST_TICKS {
        outcome += &format!(", WRONG: it took {ticks} ticks");
    }
    println!("outcome: {outcome}");
}

fn outcome(subject: &str) -> String {
    let runtime = match Runtime::builder().workers(1).build() {
        Ok(runtime) => runtime,
        Err(error) => return format!(", no runtime: {error}"),
    };
    let told = Told::default();
    let done = runtime.block_on(timeout(LIMIT, perform(subject, told.clone())));
    match done {
        Ok(Ok(text)) => text + &told.text(),
        Ok(Err(error)) => format!(", not begun: {error}").replace(&socket_path(), "PATH"),
        Err(_) => ", WRONG: it hangs".into(),
    }
}

async fn perform(subject: &str, told: Told) -> io::Result<String> {
    let peers: Vec<SocketAddr> = std::env::var("WINDLASS_FAULTS_PEERS")
        .unwrap_or_default()
        .split(',')
        .filter_map(|address| address.parse().ok())
        .collect();
    match subject {
        "tcp server" => serve_tcp(&told, false).await,
        "copy server" => serve_tcp(&told, true).await,
        "unix server" => serve_unix(&told).await,
        "udp server" => serve_datagrams(&told, false).await,
        "udp batches" => serve_datagrams(&told, true).await,
        "tcp client" => visit(&peers[..1], &told).await,
        "tcp client, two addresses" => visit(&peers, &told).await,
        "unix descriptors" => pass_descriptors(&told).await,
        "send file" => send_file(peers[0], &told).await,
        "pipe" => through_pipe(&told).await,
        other => panic!("there is no subject {other}"),
    }
}

/// Says where the peer finds this server.
fn announce(address: impl std::fmt::Display) {
    println!("address: {address}");
    let _ = io::stdout().flush();
}

async fn serve_tcp(told: &Told, copies: bool) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    announce(listener.local_addr()?);
    let end = CancellationToken::new();
    let mut number = 0;
    while let Some(accepted) = end.run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok((stream, _)) => {
                number += 1;
                let (told, end) = (told.clone(), end.clone());
                spawn_local(async move {
                    // The fifth is the one that ends the server.
                    let done = match copies && number < 5 {
                        true => wio::copy(&stream, &stream).await.map(drop),
                        false => echo(&stream, &end).await,
                    };
                    if let Err(error) = done {
                        told.add("a connection was", &error);
                    }
                });
            }
            Err(error) => told.add("accept", &error),
        }
        if told.is_too_much() {
            return Ok(", WRONG: it spins".into());
        }
    }
    Ok(String::new())
}

async fn echo(stream: &TcpStream, end: &CancellationToken) -> io::Result<()> {
    let mut space = [0; 1024];
    loop {
        let count = stream.read(&mut space).await?;
        if count == 0 {
            return Ok(());
        }
        stream.write_all(&space[..count]).await?;
        if &space[..count] == END {
            end.cancel();
        }
    }
}

async fn serve_unix(told: &Told) -> io::Result<String> {
    let path = socket_path();
    let _ = std::fs::remove_file(&path);
    let mut listener = UnixListener::bind(&path)?;
    listener.remove_file_on_drop()?;
    announce(&path);
    let end = CancellationToken::new();
    while let Some(accepted) = end.run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok((stream, _)) => {
                let (told, end) = (told.clone(), end.clone());
                spawn_local(async move {
                    if let Err(error) = echo_unix(&stream, &end).await {
                        told.add("a connection was", &error);
                    }
                });
            }
            Err(error) => told.add("accept", &error),
        }
        if told.is_too_much() {
            return Ok(", WRONG: it spins".into());
        }
    }
    Ok(String::new())
}

fn socket_path() -> String {
    let name = format!("windlass-faults-{}.socket", std::process::id());
    std::env::temp_dir().join(name).display().to_string()
}

async fn echo_unix(stream: &UnixStream, end: &CancellationToken) -> io::Result<()> {
    let mut space = [0; 1024];
    loop {
        let count = stream.read(&mut space).await?;
        if count == 0 {
            return Ok(());
        }
        stream.write_all(&space[..count]).await?;
        if &space[..count] == END {
            end.cancel();
        }
    }
}

async fn serve_datagrams(told: &Told, in_batches: bool) -> io::Result<String> {
    let socket = UdpSocket::bind("127.0.0.1:0").await?;
    announce(socket.local_addr()?);
    let mut is_over = false;
    while !is_over {
        let done = match in_batches {
            true => answer_batch(&socket, told, &mut is_over).await,
            false => answer(&socket, told, &mut is_over).await,
        };
        if let Err(error) = done {
            told.add("receiving", &error);
        }
        if told.is_too_much() {
            return Ok(", WRONG: it spins".into());
        }
    }
    Ok(String::new())
}

async fn answer(socket: &UdpSocket, told: &Told, is_over: &mut bool) -> io::Result<()> {
    let mut space = [0; 64];
    let (received, from) = socket.recv_from(&mut space).await?;
    let bytes = &space[..received.length];
    *is_over = bytes == END;
    if let Err(error) = socket.send_to(bytes, from).await {
        told.add("sending", &error);
    }
    Ok(())
}

async fn answer_batch(socket: &UdpSocket, told: &Told, is_over: &mut bool) -> io::Result<()> {
    let mut spaces = [[0; 64]; 4];
    let mut places: Vec<_> = spaces.iter_mut().map(|space| Inbound::new(space)).collect();
    let count = socket.recv_many(&mut places).await?;
    let answers: Vec<_> = places[..count]
        .iter()
        .filter_map(|place| Some(Outbound::new(place.bytes()).to(place.from()?)))
        .collect();
    *is_over = places[..count].iter().any(|place| place.bytes() == END);
    let mut sent = 0;
    while sent < answers.len() {
        match socket.send_many(&answers[sent..]).await {
            Ok(count) => sent += count,
            Err(error) => {
                told.add("sending", &error);
                break;
            }
        }
    }
    Ok(())
}

async fn visit(addresses: &[SocketAddr], told: &Told) -> io::Result<String> {
    let stream = TcpStream::connect(addresses).await?;
    let which = match stream.peer_addr() {
        Ok(peer) => addresses
            .iter()
            .position(|address| *address == peer)
            .map_or(0, |index| index + 1),
        Err(error) => {
            told.add("peer_addr", &error);
            0
        }
    };
    let talk = async {
        stream.write_all(b"ping").await?;
        let mut answer = [0; 4];
        stream.read_exact(&mut answer).await?;
        assert_eq!(&answer, b"ping");
        stream.shutdown(windlass::net::Shutdown::Write)?;
        assert_eq!(stream.read(&mut answer).await?, 0);
        Ok(())
    };
    match talk.await {
        Ok(()) => {}
        Err(error) => told.add("the stream", &error),
    }
    Ok(format!(", connected to address {which}"))
}

async fn pass_descriptors(told: &Told) -> io::Result<String> {
    let (here, there) = UnixStream::pair()?;
    let input = io::stdin();
    let (mut sent, mut received) = (0, 0);
    for _ in 0..3 {
        if sent == 0 {
            match here.send_fds(b"x", &[input.as_fd(), input.as_fd()]).await {
                Ok(count) => sent = count,
                Err(error) => told.add("sending", &error),
            }
        }
        if sent > 0 && received == 0 {
            match there.recv_fds(&mut [0; 4], 4).await {
                Ok(message) => received = message.fds.len(),
                Err(error) => told.add("receiving", &error),
            }
        }
    }
    Ok(format!(", {received} arrived"))
}

async fn send_file(peer: SocketAddr, told: &Told) -> io::Result<String> {
    const LENGTH: usize = 1 << 20;
    let path = std::env::temp_dir().join(format!("windlass-faults-{}.file", std::process::id()));
    let bytes: Vec<_> = (0..LENGTH).map(|index| (index % 251) as u8).collect();
    std::fs::write(&path, &bytes)?;
    let file = std::fs::File::open(&path)?;
    std::fs::remove_file(&path)?;
    let stream = TcpStream::connect(peer).await?;
    let mut range = 0..LENGTH as u64;
    let mut answer = vec![0; LENGTH];
    let sending = async {
        for _ in 0..3 {
            match wio::send_file(&file, &mut range, &stream).await {
                Ok(_) => break,
                Err(error) => told.add("sending", &error),
            }
        }
        if range.start < LENGTH as u64 {
            let _ = stream.shutdown(windlass::net::Shutdown::Write);
        }
    };
    let ((), read) = futures_util::join!(sending, stream.read_exact(&mut answer));
    Ok(match read.is_ok() && answer == bytes {
        true => ", all arrived".into(),
        false => ", not all arrived".into(),
    })
}

async fn through_pipe(told: &Told) -> io::Result<String> {
    let (reader, writer) = pipe()?;
    let mut space = [0; 4];
    for _ in 0..3 {
        match writer.write_all(b"ping").await {
            Ok(()) => break,
            Err(error) => told.add("writing", &error),
        }
    }
    for _ in 0..3 {
        match reader.read_exact(&mut space).await {
            Ok(()) => break,
            Err(error) => told.add("reading", &error),
        }
    }
    Ok(format!(
        ", {} arrived",
        String::from_utf8_lossy(&space).trim_matches('\0')
    ))
}

/// Returns how many descriptors are open.
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Returns the processor time of this process.
fn ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let times = fields.split_whitespace().skip(11).take(2);
    times.filter_map(|time| time.parse::<u64>().ok()).sum()
}
