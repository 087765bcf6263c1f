//! The clients of a child, which nobody traces.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// What ends a server.
pub(crate) const END: &[u8] = b"end!";

/// Returns the addresses of two servers that echo, as a child is told them.
pub(crate) fn addresses() -> String {
    static SERVERS: OnceLock<String> = OnceLock::new();
    SERVERS
        .get_or_init(|| [(); 2].map(|()| serve().to_string()).join(","))
        .clone()
}

/// Echoes what comes, as long as this process lives.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there are ports");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || io::copy(&mut &stream, &mut &stream));
        }
    });
    address
}

/// Visits the server `subject` and returns how many clients it has served.
pub(crate) fn visit(subject: &str, address: &str) -> usize {
    match subject {
        "udp server" | "udp batches" => visit_datagrams(address),
        "unix server" | "unix descriptors" => visit_streams(|| unix(address)),
        "copy server" => visit_streams(|| tcp(address).map(Flood)),
        _ => visit_streams(|| tcp(address)),
    }
}

fn tcp(address: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// A connection that a lot is written to while as much is read, so that copying turns bulk.
struct Flood(TcpStream);

impl Echo for Flood {
    fn echoes(&mut self) -> bool {
        let bytes = |from: usize| (from..from + (1 << 16)).map(|index| index as u8).collect();
        let pieces: Vec<Vec<u8>> = (0..32).map(bytes).collect();
        let stream = &self.0;
        thread::scope(|scope| {
            let writes = scope.spawn(|| {
                pieces
                    .iter()
                    .all(|piece| (&*stream).write_all(piece).is_ok())
            });
            let reads = pieces.iter().all(|piece| {
                let mut answer = vec![0; piece.len()];
                (&*stream).read_exact(&mut answer).is_ok() && answer == *piece
            });
            if !reads {
                let _ = stream.shutdown(Shutdown::Both);
            }
            writes.join().is_ok_and(|wrote| wrote) && reads
        })
    }

    fn ends(&mut self) -> bool {
        self.0.ends()
    }
}

fn unix(path: &str) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// One client stays, three come and go; then one ends the server.
fn visit_streams<S: Echo>(connect: impl Fn() -> io::Result<S>) -> usize {
    let mut staying = connect().ok();
    let mut stays = echoes(&mut staying);
    let mut served = 0;
    for _ in 0..3 {
        served += usize::from(echoes(&mut connect().ok()));
        stays &= echoes(&mut staying);
    }
    drop(staying);
    // The first of these may be hit, too.
    for _ in 0..3 {
        if connect().is_ok_and(|mut last| last.ends()) {
            break;
        }
    }
    served + usize::from(stays)
}

fn echoes(stream: &mut Option<impl Echo>) -> bool {
    stream.as_mut().is_some_and(Echo::echoes)
}

/// A connection to a server that echoes.
trait Echo {
    /// Sends something and says whether it came back.
    fn echoes(&mut self) -> bool;

    /// Has the server end, and says whether it was told.
    fn ends(&mut self) -> bool;
}

impl<S: Read + Write> Echo for S {
    fn echoes(&mut self) -> bool {
        let mut answer = [0; 4];
        self.write_all(b"ping").is_ok()
            && self.read_exact(&mut answer).is_ok()
            && &answer == b"ping"
    }

    fn ends(&mut self) -> bool {
        let mut answer = [0; 4];
        self.write_all(END).is_ok() && self.read_exact(&mut answer).is_ok()
    }
}

/// Four datagrams, each sent again if nothing comes back; then one that ends the server.
fn visit_datagrams(address: &str) -> usize {
    let served = |number: u8| {
        let socket = UdpSocket::bind("127.0.0.1:0").ok()?;
        socket.set_read_timeout(Some(PATIENCE / 6)).ok()?;
        socket.connect(address).ok()?;
        let mut answer = [0; 8];
        (0..2).find_map(|_| {
            socket.send(&[number; 4]).ok()?;
            let count = socket.recv(&mut answer).ok()?;
            (answer[..count] == [number; 4]).then_some(())
        })
    };
    let count = (0..4).filter_map(served).count();
    let socket = UdpSocket::bind("127.0.0.1:0").expect("there are ports");
    let _ = socket.set_read_timeout(Some(PATIENCE / 6));
    for _ in 0..4 {
        let _ = socket.send_to(END, address);
        if socket.recv(&mut [0; 8]).is_ok() {
            break;
        }
    }
    count
}
