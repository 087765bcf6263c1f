//! Control messages (cmsg(3)), as the kernel has them.
//!
//! Each is a length (`size_t`) with that of the header, a level and a type (`int`), and the value;
//! the next begins at a multiple of the size of a `long`.

use libc::c_int;

const HEADER: usize = size_of::<usize>() + 2 * size_of::<c_int>();

const fn aligned(length: usize) -> usize {
    length.next_multiple_of(size_of::<usize>())
}

/// Space for the control messages of a datagram.
///
/// It holds all that this module asks for, and a few others that were asked for through the
/// descriptor. If there are more, the kernel leaves out those that don't fit.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(super) struct Control([u8; Control::SPACE]);

impl Control {
    pub(super) const SPACE: usize = 192;
    pub(super) const NONE: Self = Self([0; Self::SPACE]);

    pub(super) fn pointer(&mut self) -> *mut libc::c_void {
        self.0.as_mut_ptr().cast()
    }

    /// Adds a message behind the first `used` bytes; returns how many are used then.
    pub(super) fn push(&mut self, used: usize, level: c_int, kind: c_int, value: &[u8]) -> usize {
        let length = HEADER + value.len();
        let message = &mut self.0[used..used + aligned(length)];
        let (header, rest) = message.split_at_mut(HEADER);
        header[..size_of::<usize>()].copy_from_slice(&length.to_ne_bytes());
        header[HEADER - 8..HEADER - 4].copy_from_slice(&level.to_ne_bytes());
        header[HEADER - 4..].copy_from_slice(&kind.to_ne_bytes());
        rest[..value.len()].copy_from_slice(value);
        used + aligned(length)
    }

    /// Reads the messages in the first `used` bytes.
    pub(super) fn messages(&self, used: usize) -> Messages<'_> {
        Messages(&self.0[..used.min(Self::SPACE)])
    }
}

/// Goes through control messages.
pub(super) struct Messages<'a>(&'a [u8]);

impl<'a> Iterator for Messages<'a> {
    /// The level, the type and the value of a message.
    type Item = (c_int, c_int, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (header, _) = self.0.split_at_checked(HEADER)?;
        let length = usize::from_ne_bytes(*header.first_chunk()?);
        let level = c_int::from_ne_bytes(*header[..HEADER - 4].last_chunk()?);
        let kind = c_int::from_ne_bytes(*header.last_chunk()?);
        let value = self.0.get(HEADER..length)?;
        let next = aligned(length).min(self.0.len());
        self.0 = &self.0[next..];
        Some((level, kind, value))
    }
}

#[cfg(test)]
mod tests {
    use super::Control;

    #[test]
    fn what_is_written_is_read() {
        let mut control = Control::NONE;
        let mut used = control.push(0, 1, 2, &[3]);
        used = control.push(used, 4, 5, &[6; 20]);
        let all = control.messages(used).collect::<Vec<_>>();
        assert_eq!(all, [(1, 2, &[3][..]), (4, 5, &[6; 20][..])]);
    }

    #[test]
    fn what_is_cut_short_is_left_out() {
        let mut control = Control::NONE;
        let first = control.push(0, 1, 2, &[3]);
        let used = control.push(first, 4, 5, &[6; 20]);
        for cut in first..used - 4 {
            assert_eq!(control.messages(cut).count(), 1, "{cut}");
        }
        assert_eq!(Control::NONE.messages(Control::SPACE).count(), 0);
    }
}
