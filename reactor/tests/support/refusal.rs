//! Has the kernel refuse system calls, as sandboxes and old kernels do.

#![allow(unsafe_code, reason = "a filter for system calls is set by hand")]

use libc::{seccomp_data, sock_filter, sock_fprog};
use std::ffi::{c_int, c_long};
use std::io;
use std::mem::offset_of;

/// What our own `epoll_create1` asks for. The emulations make their sets without the flag, so that
/// they work where we are refused.
pub(crate) const EPOLL_CREATE: Call = Call {
    number: libc::SYS_epoll_create1,
    argument: Some((0, libc::EPOLL_CLOEXEC as u32)),
};

/// What our own `eventfd` asks for; the emulations leave out a flag of it as well.
pub(crate) const EVENTFD: Call = Call {
    number: libc::SYS_eventfd2,
    argument: Some((1, (libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) as u32)),
};

/// The wait with nanoseconds.
pub(crate) const EPOLL_PWAIT2: Call = Call {
    number: libc::SYS_epoll_pwait2,
    argument: None,
};

/// A system call, with whatever arguments or with one that is what it says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    number: c_long,
    argument: Option<(usize, u32)>,
}

impl Call {
    /// Has the call fail with `error` in this thread and in those that it starts from now on, for
    /// the rest of their lives.
    pub(crate) fn refuse(self, error: c_int) {
        let mut program = vec![load(offset_of!(seccomp_data, nr))];
        let argument = self.argument.map(|(index, value)| {
            // The half of the argument that counts.
            let low = if cfg!(target_endian = "big") { 4 } else { 0 };
            [
                load(offset_of!(seccomp_data, args) + 8 * index + low),
                skip_unless(value, 1),
            ]
        });
        let rest = argument.iter().flatten().count() as u8 + 1;
        program.push(skip_unless(self.number as u32, rest));
        program.extend(argument.into_iter().flatten());
        program.push(answer(libc::SECCOMP_RET_ERRNO | error as u32));
        program.push(answer(libc::SECCOMP_RET_ALLOW));
        install(&mut program).unwrap();
    }
}

/// Takes the word at `offset` of what the kernel tells about the call.
fn load(offset: usize) -> sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset as u32)
}

/// Passes over the next `count` statements unless the word that was taken is `value`.
fn skip_unless(value: u32, count: u8) -> sock_filter {
    sock_filter {
        jf: count,
        ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value)
    }
}

/// Ends the program: what the kernel is to do.
fn answer(action: u32) -> sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, action)
}

fn statement(code: u32, k: u32) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    }
}

/// Has the kernel ask `program` about each call. Without privileges it is allowed to those who
/// can't get any.
fn install(program: &mut [sock_filter]) -> io::Result<()> {
    let program = sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the call takes numbers only.
    let renounced = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    if renounced != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel reads the structure and the `len` statements that it points to, all of
    // which outlive the call.
    let installed = unsafe {
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const program,
        )
    };
    if installed == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
