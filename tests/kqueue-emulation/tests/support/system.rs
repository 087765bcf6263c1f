//! System calls that the standard library lacks, as safe functions.

use std::io::{Error, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// Closes a number, whoever owns it.
pub(crate) fn close(fd: RawFd) -> i32 {
    // SAFETY: the rules close only numbers that nothing else of the test uses any more.
    unsafe { libc::close(fd) }
}

/// Duplicates a descriptor.
pub(crate) fn dup(fd: RawFd) -> OwnedFd {
    // SAFETY: dup has no conditions.
    let copy = unsafe { libc::dup(fd) };
    assert!(copy >= 0, "dup: {}", Error::last_os_error());
    // SAFETY: the number is new and nobody else's.
    unsafe { OwnedFd::from_raw_fd(copy) }
}

/// Duplicates a descriptor onto a number.
pub(crate) fn dup2(old: RawFd, new: RawFd) -> i32 {
    // SAFETY: the rules replace only numbers that nothing else of the test uses.
    unsafe { libc::dup2(old, new) }
}

/// Closes a range of numbers.
pub(crate) fn close_range(first: u32, last: u32) -> i32 {
    // SAFETY: the rules close only ranges that nothing else of the test uses.
    unsafe { libc::close_range(first, last, 0) }
}

/// Marks a descriptor close-on-exec.
pub(crate) fn close_on_exec(fd: RawFd) {
    // SAFETY: F_SETFD takes an int and has no other conditions.
    unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
}

/// Tells whether a number is open.
pub(crate) fn is_open(fd: RawFd) -> bool {
    // SAFETY: F_GETFD has no conditions.
    unsafe { libc::fcntl(fd, libc::F_GETFD) >= 0 }
}

/// Makes a pipe: the reading end, the writing end.
pub(crate) fn pipe() -> (std::fs::File, std::fs::File) {
    let mut ends = [-1; 2];
    // SAFETY: the array has room for the two numbers.
    let result = unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) };
    assert_eq!(result, 0, "pipe2: {}", Error::last_os_error());
    // SAFETY: the number is new and nobody else's.
    let reader = unsafe { std::fs::File::from_raw_fd(ends[0]) };
    // SAFETY: the number is new and nobody else's.
    (reader, unsafe { std::fs::File::from_raw_fd(ends[1]) })
}

/// Makes a TCP connection over the loopback.
pub(crate) fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (other, _) = listener.accept().unwrap();
    (one, other)
}

/// Makes a TCP socket that is neither connected nor bound, and does not block.
pub(crate) fn tcp_socket() -> OwnedFd {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: socket has no conditions.
    let fd = unsafe { libc::socket(libc::AF_INET, kind, 0) };
    assert!(fd >= 0, "socket: {}", Error::last_os_error());
    // SAFETY: the number is new and nobody else's.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Begins to connect to a port of the loopback.
pub(crate) fn begin_connect(socket: &OwnedFd, address: SocketAddr) {
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from_ne_bytes([127, 0, 0, 1]),
        },
        sin_zero: [0; 8],
    };
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address is live and as long as said.
    unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length) };
}

/// Takes the pending error of a socket.
pub(crate) fn take_error(fd: RawFd) -> i32 {
    let mut error = 0;
    let mut length = size_of::<i32>() as libc::socklen_t;
    let place = (&raw mut error).cast();
    // SAFETY: the place is an int, as long as said.
    unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_ERROR, place, &raw mut length) };
    error
}

/// Lets closing a socket reset the connection.
pub(crate) fn reset_on_close(fd: RawFd) {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    let place = (&raw const linger).cast();
    let length = size_of_val(&linger) as libc::socklen_t;
    // SAFETY: the place is a linger, as long as said.
    unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_LINGER, place, length) };
}

/// Asks `poll()` about a descriptor without waiting.
pub(crate) fn polls_readable(fd: RawFd) -> bool {
    let mut entry = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one live entry.
    unsafe { libc::poll(&raw mut entry, 1, 0) };
    entry.revents & libc::POLLIN != 0
}

/// Waits until a descriptor is readable without a look at it by the emulation.
pub(crate) fn wait_readable(fd: RawFd) {
    let mut entry = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one live entry.
    let count = unsafe { libc::poll(&raw mut entry, 1, 10_000) };
    assert_eq!(count, 1, "nothing has come");
}

/// Reads everything that is there.
pub(crate) fn drain(source: &mut impl Read) -> usize {
    let mut buffer = [0; 4096];
    let mut total = 0;
    while let Ok(count @ 1..) = source.read(&mut buffer) {
        total += count;
    }
    total
}

/// Runs a closure while at most so many descriptors may be open.
pub(crate) fn with_descriptor_limit<T>(limit: u64, run: impl FnOnce() -> T) -> T {
    let mut old = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure is live, to be filled.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut old) };
    let low = libc::rlimit {
        rlim_cur: limit,
        ..old
    };
    // SAFETY: the structure is live.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const low) };
    let result = run();
    // SAFETY: the structure is live.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const old) };
    result
}

/// Runs a closure in a forked child and gives what it returns as the child's status.
pub(crate) fn in_child(run: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child calls only what the closure does, which the rules keep to system calls.
    let process = unsafe { libc::fork() };
    assert!(process >= 0, "fork: {}", Error::last_os_error());
    if process == 0 {
        let status = run();
        // SAFETY: _exit has no conditions.
        unsafe { libc::_exit(status) };
    }
    let mut status = 0;
    // SAFETY: the place is an int; the process is our child.
    unsafe { libc::waitpid(process, &raw mut status, 0) };
    assert!(libc::WIFEXITED(status), "the child was killed: {status}");
    libc::WEXITSTATUS(status)
}

/// Sends SIGUSR1 to this thread every millisecond while a closure runs.
pub(crate) fn while_signalled<T>(handler: extern "C" fn(i32), run: impl FnOnce() -> T) -> T {
    // SAFETY: the handlers of the rules are async-signal-safe.
    unsafe { libc::signal(libc::SIGUSR1, handler as *const () as libc::sighandler_t) };
    // SAFETY: pthread_self has no conditions.
    let target = unsafe { libc::pthread_self() };
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                // SAFETY: the target is alive, as it waits for this thread.
                unsafe { libc::pthread_kill(target, libc::SIGUSR1) };
                thread::sleep(Duration::from_millis(1));
            }
        });
        let result = run();
        done.store(true, Relaxed);
        result
    })
}
