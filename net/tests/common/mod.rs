//! What the tests have in common. They run on an executor that knows nothing of the reactor, so
//! that the one of the process serves them.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

pub mod cancelling;
pub mod sealed;
pub mod strace;
pub mod udp;
pub mod unix;

use futures::future::join3;
use std::future::Future;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};
use windlass_net::io::copy;
use windlass_net::{Shutdown, TcpListener, TcpStream};
use windlass_reactor::time::timeout;

/// How long a test may take at the most.
pub const LIMIT: Duration = Duration::from_secs(30);

/// Long enough for the kernel to have done what it was asked, where nothing tells that it has.
pub const MOMENT: Duration = Duration::from_millis(30);

/// Runs a future to its end, within the limit.
#[track_caller]
pub fn run<F: Future>(future: F) -> F::Output {
    futures::executor::block_on(timeout(LIMIT, future)).expect("the test took too long")
}

/// Makes a listener on the loopback.
pub async fn listen() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

/// Makes a listener on `address` that answers nobody any more, as its queue is full; what fills it
/// has to be kept. The system has those who connect wait in silence.
pub fn silent(address: &str) -> (socket2::Socket, Vec<std::net::TcpStream>, SocketAddr) {
    let address = address.parse::<SocketAddr>().unwrap();
    let domain = socket2::Domain::for_address(address);
    let listener = socket2::Socket::new(domain, socket2::Type::STREAM, None).unwrap();
    listener.bind(&address.into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) = std::net::TcpStream::connect_timeout(&address, MOMENT * 3) {
        waiting.push(stream);
    }
    (listener, waiting, address)
}

/// Says whether this machine has IPv6.
pub fn has_v6() -> bool {
    let has = std::net::TcpListener::bind("[::1]:0").is_ok();
    if !has {
        eprintln!("skipped in part: there is no IPv6 here");
    }
    has
}

/// Addresses of this machine, of each family that it has.
pub fn locals() -> impl Iterator<Item = SocketAddr> {
    let v6 = has_v6().then(|| "[::1]:0".parse().unwrap());
    std::iter::once("127.0.0.1:0".parse().unwrap()).chain(v6)
}

/// Passes over an option that this system lacks, if the error names it, and says so.
#[track_caller]
pub fn unless_lacking(option: &str, done: io::Result<()>) -> bool {
    match done {
        Ok(()) => true,
        Err(error) => {
            assert_eq!(
                error.kind(),
                io::ErrorKind::Unsupported,
                "{option}: {error}"
            );
            assert!(error.to_string().contains(option), "{error}");
            eprintln!("skipped in part: {error}");
            false
        }
    }
}

/// Makes a connection: the end that connected, and the end that accepted.
pub async fn pair() -> (TcpStream, TcpStream) {
    let listener = listen().await;
    let client = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let (server, _) = listener.accept().await.unwrap();
    (client, server)
}

/// Makes a connection of which one end blocks, for a thread.
pub async fn pair_with_std() -> (TcpStream, std::net::TcpStream) {
    let listener = listen().await;
    let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    client.set_read_timeout(Some(LIMIT)).unwrap();
    client.set_write_timeout(Some(LIMIT)).unwrap();
    let (server, _) = listener.accept().await.unwrap();
    (server, client)
}

/// Closes a connection by a reset.
pub fn reset(stream: TcpStream) {
    stream.reset().unwrap();
}

/// Copies `length` bytes that are sent from `from`, and then its end, between two streams, and checks
/// that they come out at `to`.
pub async fn assert_copies(
    from: &TcpStream,
    (a, b): (&TcpStream, &TcpStream),
    to: &TcpStream,
    length: usize,
) {
    let bytes = pattern(length);
    let sending = async {
        from.write_all(&bytes).await.unwrap();
        from.shutdown(Shutdown::Write).unwrap();
    };
    let mut received = vec![0; bytes.len()];
    let reading = to.read_exact(&mut received);
    let ((), copied, read) = join3(sending, copy(a, b), reading).await;
    assert_eq!(copied.unwrap(), bytes.len() as u64);
    read.unwrap();
    assert!(received == bytes);
}

/// Reads to the end.
pub async fn read_to_end(stream: &TcpStream) -> io::Result<Vec<u8>> {
    let (mut all, mut space) = (Vec::new(), [0; 1000]);
    loop {
        match stream.read(&mut space).await? {
            0 => return Ok(all),
            count => all.extend_from_slice(&space[..count]),
        }
    }
}

/// Makes bytes that repeat late, so that any that are lost or moved show.
pub fn pattern(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// Writes until there is no more room; returns how many bytes went.
pub async fn fill(stream: &TcpStream) -> usize {
    let bytes = vec![7; 1 << 16];
    let mut total = 0;
    while let Ok(written) = timeout(MOMENT, stream.write(&bytes)).await {
        total += written.unwrap();
    }
    total
}

/// Waits until `done` says so.
#[track_caller]
pub fn wait_until(mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < LIMIT, "it did not come to pass");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Counts how often it was woken.
#[derive(Default)]
pub struct Count(pub AtomicUsize);

impl Count {
    pub fn waker() -> (Arc<Count>, Waker) {
        let count = Arc::new(Count::default());
        (count.clone(), count.into())
    }

    pub fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Returns how many descriptors the process has open.
pub fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Does something many times, and checks that this leaves no descriptor open: those that are opened
/// for good come with the first time.
pub async fn assert_leaves_no_descriptor(times: usize, act: impl AsyncFn()) {
    act().await;
    let before = open_descriptors();
    for _ in 0..times {
        act().await;
    }
    assert_eq!(open_descriptors(), before);
}

/// Runs the test `name` of this binary in a process of its own, and checks that it passes.
#[track_caller]
pub fn assert_passes_in_child(name: &str) {
    let output = in_child(&[], name);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{name} failed in its process:\n{told}"
    );
}

/// Runs the test `name` of this binary in a process of its own, started by `program`.
pub fn in_child(program: &[&str], name: &str) -> std::process::Output {
    let binary = std::env::current_exe().unwrap();
    let mut words = program
        .iter()
        .map(std::ffi::OsString::from)
        .collect::<Vec<_>>();
    words.push(binary.into());
    words.extend(["--exact", name, "--nocapture"].map(Into::into));
    std::process::Command::new(&words[0])
        .args(&words[1..])
        .env("WINDLASS_TEST_CHILD", "1")
        .output()
        .unwrap()
}

/// Says whether this is the process that [`in_child`] has started.
pub fn is_child() -> bool {
    std::env::var_os("WINDLASS_TEST_CHILD").is_some()
}

/// Reads to the end, blocking.
pub fn std_read_to_end(mut stream: &std::net::TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    all
}

/// Writes all, blocking.
pub fn std_write_all(mut stream: &std::net::TcpStream, bytes: &[u8]) {
    stream.write_all(bytes).unwrap();
}
