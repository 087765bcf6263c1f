//! The servers, as programs of one thread that tell what happens to them, a line each.
//!
//! - `listening on ADDRESS` once, at the start;
//! - `ended ADDRESS` or `ended ADDRESS: ERROR` for each connection;
//! - `told: ERROR` for what concerns no connection.
//!
//! They end when standard input does. An error at the start is told as it is, without a word about
//! what it was for, since that is to be in it.

use crate::scene::Server;
use futures::executor::block_on;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;
use windlass::io::{copy_bidirectional, send_file};
use windlass::net::{
    Inbound, Outbound, Shutdown, TcpListener, TcpStream, ToAddresses, UdpSocket, UnixListener,
    UnixStream, pipe,
};
use windlass::time::sleep;
use windlass::{CancellationToken, Runtime, spawn, spawn_blocking};

/// Begins the names of files, before the number of the process.
pub(crate) const PATH: &str = "windlass-faults-of-";

/// Runs the server that the command line names.
pub(crate) fn run(words: &[String]) -> ExitCode {
    match serve(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(words: &[String]) -> io::Result<()> {
    let unknown = || io::Error::other(format!("subject NAME [UPSTREAM], not {words:?}"));
    let server = words.first().and_then(|name| Server::of_name(name));
    let server = server.ok_or_else(unknown)?;
    let upstream = words.get(1).map(|address| address.parse());
    let upstream = upstream.transpose().map_err(|_| unknown())?;
    // `io::stdin` would take an EBADF for the end.
    let input = File::open("/dev/stdin")?;
    let stop = CancellationToken::new();
    cancel_at_end(input, stop.clone());
    if server == Server::Foreign {
        return serve_by_threads(&stop);
    }
    Runtime::builder().workers(1).build()?.block_on(async {
        if server == Server::Unix {
            let path = std::env::temp_dir().join(format!("{PATH}{}", std::process::id()));
            let mut listener = UnixListener::bind(&path)?;
            listener.remove_file_on_drop()?;
            say(format_args!("listening on {}", path.display()));
            spawn(accept_unix(listener));
        } else if server.is_udp() {
            let socket = udp_socket(server).await?;
            say(format_args!("listening on {}", socket.local_addr()?));
            spawn(echo_datagrams(server, socket));
        } else {
            let listeners = listeners(server).await?;
            say(format_args!("listening on {}", listeners[0].local_addr()?));
            for listener in listeners {
                spawn(accept(server, listener, upstream));
            }
        }
        stop.cancelled().await;
        Ok(())
    })
}

/// Nobody wants the server any more when its input has ended.
fn cancel_at_end(mut input: File, stop: CancellationToken) {
    thread::spawn(move || {
        // The call may be one that is to fail, which is not about this one.
        while input.read(&mut [0; 8]).unwrap_or(1) > 0 {}
        stop.cancel();
    });
}

/// Writes a line. The call may be one that is to fail, which is not about this one.
fn say(line: impl Display) {
    let line = format!("{line}\n");
    let mut output = io::stdout().lock();
    let mut written = 0;
    for _ in 0..10 {
        written += output.write(&line.as_bytes()[written..]).unwrap_or(0);
        if written == line.len() && output.flush().is_ok() {
            return;
        }
    }
}

async fn listeners(server: Server) -> io::Result<Vec<TcpListener>> {
    let any = (Ipv4Addr::LOCALHOST, 0);
    let one = match server {
        Server::Sharded => return TcpListener::bind_sharded(any, 2).await,
        Server::Adopting => TcpListener::from_std(std::net::TcpListener::bind(any)?)?,
        _ => TcpListener::bind(any).await?,
    };
    Ok(vec![one])
}

async fn accept_unix(listener: UnixListener) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => drop(spawn(async move {
                say_ended(peer, echo_unix(stream).await);
            })),
            Err(error) => say(format_args!("told: {error}")),
        }
    }
}

async fn echo_unix(stream: UnixStream) -> io::Result<()> {
    let mut space = vec![0; 1 << 16];
    loop {
        match stream.read(&mut space).await? {
            0 => return stream.shutdown(Shutdown::Write),
            count => stream.write_all(&space[..count]).await?,
        }
    }
}

async fn accept(server: Server, listener: TcpListener, upstream: Option<SocketAddr>) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => drop(spawn(async move {
                say_ended(peer, talk(server, stream, upstream).await);
            })),
            Err(error) => say(format_args!("told: {error}")),
        }
    }
}

fn say_ended(peer: impl Display, ended: io::Result<()>) {
    match ended {
        Ok(()) => say(format_args!("ended {peer}")),
        Err(error) => say(format_args!("ended {peer}: {error}")),
    }
}

/// Echoes without a runtime, until `stop` says so; those who still talk are left alone then.
fn serve_by_threads(stop: &CancellationToken) -> io::Result<()> {
    let listener = block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
    say(format_args!("listening on {}", listener.local_addr()?));
    let accepting = async {
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    thread::spawn(move || {
                        say_ended(peer, block_on(echo(Server::Foreign, stream)));
                    });
                }
                Err(error) => say(format_args!("told: {error}")),
            }
        }
    };
    block_on(stop.run_until_cancelled(accepting));
    Ok(())
}

async fn talk(server: Server, stream: TcpStream, upstream: Option<SocketAddr>) -> io::Result<()> {
    match (server, upstream) {
        (Server::Relay, Some(upstream)) => relay(stream, upstream).await,
        (Server::RelayToTwo, Some(upstream)) => relay(stream, [upstream, upstream]).await,
        (Server::Adopting, _) => echo(server, TcpStream::from_std(stream.into_std()?)?).await,
        (Server::Options, _) => {
            stream.local_addr()?;
            stream.peer_addr()?;
            stream.set_nodelay(true)?;
            stream.nodelay()?;
            echo(server, stream).await
        }
        _ => echo(server, stream).await,
    }
}

async fn relay(client: TcpStream, upstream: impl ToAddresses) -> io::Result<()> {
    let upstream = TcpStream::connect(upstream).await?;
    copy_bidirectional(&client, &upstream).await.map(drop)
}

async fn echo(server: Server, stream: TcpStream) -> io::Result<()> {
    let mut space = vec![0; 1 << 16];
    loop {
        let count = match server {
            Server::Vectored => {
                let (first, second) = space.split_at_mut(8);
                let spaces = &mut [IoSliceMut::new(first), IoSliceMut::new(second)];
                stream.read_vectored(spaces).await?
            }
            _ => stream.read(&mut space).await?,
        };
        if count == 0 {
            return stream.shutdown(Shutdown::Write);
        }
        answer(server, &stream, &space[..count]).await?;
    }
}

async fn answer(server: Server, stream: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    match server {
        Server::Vectored => {
            let mut rest = bytes;
            while !rest.is_empty() {
                let (first, second) = rest.split_at(rest.len().min(8));
                let buffers = [IoSlice::new(first), IoSlice::new(second)];
                rest = &rest[stream.write_vectored(&buffers).await?..];
            }
            Ok(())
        }
        Server::Offloading => {
            let bytes = bytes.to_vec();
            // The worker sleeps by the time that the thread is done.
            let work = move || {
                thread::sleep(Duration::from_millis(5));
                bytes
            };
            let bytes = spawn_blocking(work).await.map_err(io::Error::other)?;
            stream.write_all(&bytes).await
        }
        Server::Delaying => {
            sleep(Duration::from_millis(5)).await;
            stream.write_all(bytes).await
        }
        Server::Piping => {
            let (reader, writer) = pipe()?;
            writer.write_all(bytes).await?;
            let mut bytes = vec![0; bytes.len()];
            reader.read_exact(&mut bytes).await?;
            stream.write_all(&bytes).await
        }
        Server::Passing => {
            let (here, there) = UnixStream::pair()?;
            let count = here.send_fds(bytes, &[stream.as_fd(); 2]).await?;
            let mut space = vec![0; count];
            let received = there.recv_fds(&mut space, 2).await?;
            assert_eq!(received.fds.len(), 2);
            stream.write_all(&space[..received.length]).await
        }
        Server::Filing => {
            let path = std::env::temp_dir().join(format!("{PATH}{}.file", std::process::id()));
            std::fs::write(&path, bytes)?;
            let file = File::open(&path)?;
            std::fs::remove_file(&path)?;
            let mut range = 0..bytes.len() as u64;
            send_file(&file, &mut range, stream).await.map(drop)
        }
        _ => stream.write_all(bytes).await,
    }
}

async fn udp_socket(server: Server) -> io::Result<UdpSocket> {
    let any = (Ipv4Addr::LOCALHOST, 0);
    if server != Server::ConnectedDatagrams {
        return UdpSocket::bind(any).await;
    }
    let socket = UdpSocket::from_std(std::net::UdpSocket::bind(any)?)?;
    socket.connect((Ipv4Addr::LOCALHOST, 9)).await?;
    Ok(socket)
}

async fn echo_datagrams(server: Server, socket: UdpSocket) {
    loop {
        let done = match server {
            Server::Batches => echo_batch(&socket).await,
            _ => echo_datagram(&socket).await,
        };
        if let Err(error) = done {
            say(format_args!("told: {error}"));
        }
    }
}

async fn echo_datagram(socket: &UdpSocket) -> io::Result<()> {
    let mut space = [0; 1500];
    let (received, from) = socket.recv_from(&mut space).await?;
    socket.send_to(&space[..received.length], from).await?;
    Ok(())
}

async fn echo_batch(socket: &UdpSocket) -> io::Result<()> {
    let mut spaces = [[0; 1500]; 4];
    let mut places = spaces.each_mut().map(|space| Inbound::new(space));
    let count = socket.recv_many(&mut places).await?;
    let answers = places[..count].iter().filter_map(|place| {
        let from = place.from()?;
        Some(Outbound::new(place.bytes()).to(from))
    });
    let answers: Vec<_> = answers.collect();
    let mut sent = 0;
    while sent < answers.len() {
        sent += socket.send_many(&answers[sent..]).await?;
    }
    Ok(())
}
