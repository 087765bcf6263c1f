//! The functions that write and read: a device takes entries, and cannot be read.

use super::answer;
use crate::complaint::complain;
use crate::device::Device;
use crate::sys::Errno;
use crate::violation::Violation;
use crate::{next, numbers};
use libc::{c_int, c_void, iovec, off_t, size_t, ssize_t};
use std::slice;

/// Writes one buffer to a device.
///
/// # Safety
///
/// - `data` must be null or valid for `size` bytes.
unsafe fn write_to(device: &Device, fd: c_int, data: *const c_void, size: size_t) -> ssize_t {
    // SAFETY: as the caller says.
    let written = unsafe { bytes(data, size) }.and_then(|data| device.write(fd, data));
    answer(written.map(|size| ssize_t::try_from(size).unwrap_or(ssize_t::MAX)))
}

/// Writes several buffers to a device, as one.
///
/// # Safety
///
/// - `parts` must be null or valid for `count` parts, and each of them as in [`write_to`].
unsafe fn write_parts_to(device: &Device, fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: as the caller says.
    let written = unsafe { gather(parts, count) }.and_then(|data| device.write(fd, &data));
    answer(written.map(|size| ssize_t::try_from(size).unwrap_or(ssize_t::MAX)))
}

/// # Safety
///
/// - As for [`write_parts_to`].
unsafe fn gather(parts: *const iovec, count: c_int) -> Result<Vec<u8>, Errno> {
    let count = usize::try_from(count).map_err(|_| Errno(libc::EINVAL))?;
    if parts.is_null() && count > 0 {
        return Err(bad_pointer());
    }
    let mut whole = Vec::new();
    for index in 0..count {
        // SAFETY: the index is below the number of parts that are valid.
        let part = unsafe { parts.add(index) };
        // SAFETY: likewise.
        let part = unsafe { part.read() };
        // SAFETY: the caller says so of each part.
        whole.extend_from_slice(unsafe { bytes(part.iov_base, part.iov_len) }?);
    }
    Ok(whole)
}

/// # Safety
///
/// - `data` must be null or valid for `size` bytes while the result is used.
unsafe fn bytes<'a>(data: *const c_void, size: size_t) -> Result<&'a [u8], Errno> {
    match (data.is_null(), size) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(bad_pointer()),
        // SAFETY: it is not null, and valid for its size as the caller says.
        (false, size) => Ok(unsafe { slice::from_raw_parts(data.cast(), size) }),
    }
}

fn bad_pointer() -> Errno {
    complain(
        Violation::BadPointer,
        format_args!("write of a null pointer"),
    );
    Errno(libc::EFAULT)
}

fn read_from(fd: c_int) -> ssize_t {
    complain(Violation::DeviceRead, format_args!("descriptor {fd}"));
    answer(Err(Errno(libc::ENXIO)))
}

/// Defines functions that write: the device's way of each, and its further arguments.
macro_rules! write_functions {
    ($($way:ident: $name:ident(
        $data:ident: $pointer:ty, $size:ident: $length:ty $(, $more:ident: $kind:ty)?
    );)*) => {
        $(
            /// Stands in front of the function of this name; a device knows no offset.
            ///
            /// # Safety
            ///
            /// - As for the C library's function.
            #[cfg_attr(not(test), unsafe(no_mangle))]
            unsafe extern "C" fn $name(
                fd: c_int, $data: $pointer, $size: $length $(, $more: $kind)?
            ) -> ssize_t {
                match numbers::device(fd) {
                    // SAFETY: the arguments are the caller's.
                    None => unsafe { next::$name(fd, $data, $size $(, $more)?) },
                    // SAFETY: likewise.
                    Some(device) => unsafe { $way(device, fd, $data, $size) },
                }
            }
        )*
    };
}

write_functions! {
    write_to: write(data: *const c_void, size: size_t);
    write_to: pwrite(data: *const c_void, size: size_t, offset: off_t);
    write_to: pwrite64(data: *const c_void, size: size_t, offset: i64);
    write_parts_to: writev(parts: *const iovec, count: c_int);
    write_parts_to: pwritev(parts: *const iovec, count: c_int, offset: off_t);
    write_parts_to: pwritev64(parts: *const iovec, count: c_int, offset: i64);
}

/// Defines functions that read.
macro_rules! read_functions {
    ($($name:ident(
        $data:ident: $pointer:ty, $size:ident: $length:ty $(, $more:ident: $kind:ty)?
    );)*) => {
        $(
            /// Stands in front of the function of this name.
            ///
            /// # Safety
            ///
            /// - As for the C library's function.
            #[cfg_attr(not(test), unsafe(no_mangle))]
            unsafe extern "C" fn $name(
                fd: c_int, $data: $pointer, $size: $length $(, $more: $kind)?
            ) -> ssize_t {
                match numbers::device(fd) {
                    // SAFETY: the arguments are the caller's.
                    None => unsafe { next::$name(fd, $data, $size $(, $more)?) },
                    Some(_) => read_from(fd),
                }
            }
        )*
    };
}

read_functions! {
    read(data: *mut c_void, size: size_t);
    readv(parts: *const iovec, count: c_int);
    pread(data: *mut c_void, size: size_t, offset: off_t);
    pread64(data: *mut c_void, size: size_t, offset: i64);
}
