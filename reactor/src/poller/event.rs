//! What a wait reports.

use super::Interest;
use std::fmt;
use std::io;

/// The name that a registration goes by in its events: any number but [`Token::RESERVED`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Token(pub u64);

impl Token {
    /// The number that the poller keeps for its notifier; registering it is an error.
    pub const RESERVED: Token = Token(u64::MAX);
}

/// One registration's readiness.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Event {
    token: Token,
    flags: Flags,
}

/// The packed facts of an [`Event`].
///
/// | bit | meaning |
/// | --- | --- |
/// | 0 to 2 | as in [`Interest`]: a read, a write would not block; urgent data are there |
/// | 3 | the peer will send no more |
/// | 4 | writing is over: nobody will take what is written |
/// | 5 | the descriptor has an error to report |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Flags(u8);

impl Flags {
    #[allow(dead_code, reason = "not every mechanism begins with nothing")]
    pub(crate) const NONE: Flags = Flags(0);
    pub(crate) const READABLE: Flags = Flags(1);
    pub(crate) const WRITABLE: Flags = Flags(2);
    pub(crate) const PRIORITY: Flags = Flags(4);
    /// A read-closed half is readable as well: the read gives 0.
    pub(crate) const READ_CLOSED: Flags = Flags(8 | 1);
    /// Only the write half is over; a write says at once how.
    #[allow(dead_code, reason = "not every mechanism can tell")]
    pub(crate) const WRITE_CLOSED: Flags = Flags(16 | 2);
    /// Both halves are over; a read and a write both say at once how.
    pub(crate) const HANG_UP: Flags = Flags(16 | 8 | 2 | 1);
    /// Whichever half is tried next returns the error.
    pub(crate) const ERROR: Flags = Flags(32 | 2 | 1);

    /// Returns `self` if the condition holds, and nothing otherwise; without a branch.
    pub(crate) fn when(self, condition: bool) -> Flags {
        Flags(self.0 * u8::from(condition))
    }

    /// Returns the facts of both.
    pub(crate) const fn and(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// Says whether there is an error or a hang-up, which is reported whatever was asked for.
    pub(crate) fn is_final(self) -> bool {
        self.0 & (16 | 32) != 0
    }

    /// Returns the part that somebody can have asked for. The end is for those who wait for urgent
    /// data as well: none will come after it.
    pub(crate) fn directions(self) -> Interest {
        [
            (Flags::READABLE, Interest::READABLE),
            (Flags::WRITABLE, Interest::WRITABLE),
            (Flags::PRIORITY.and(Flags(8)), Interest::PRIORITY),
        ]
        .into_iter()
        .filter(|(flag, _)| self.0 & flag.0 != 0)
        .fold(Interest::NONE, |set, (_, interest)| set | interest)
    }
}

impl Event {
    /// Returns the facts as they are packed: see [`Flags`].
    #[inline]
    pub(crate) fn bits(&self) -> u8 {
        self.flags.0
    }

    /// Returns the token that the descriptor was registered with.
    #[inline]
    pub fn token(&self) -> Token {
        self.token
    }

    /// Says whether a read would not block: there are data, the end, or an error.
    #[inline]
    pub fn is_readable(&self) -> bool {
        self.flags.0 & 1 != 0
    }

    /// Says whether a write would not block: there is room, or an error.
    #[inline]
    pub fn is_writable(&self) -> bool {
        self.flags.0 & 2 != 0
    }

    /// Says whether urgent (out-of-band) data are there.
    #[inline]
    pub fn is_priority(&self) -> bool {
        self.flags.0 & 4 != 0
    }

    /// Says whether the peer will send no more; data sent before may still be there.
    ///
    /// Not every back end can tell; see [`Features::read_closed`](crate::Features::read_closed).
    #[inline]
    pub fn is_read_closed(&self) -> bool {
        self.flags.0 & 8 != 0
    }

    /// Says whether writing is over.
    #[inline]
    pub fn is_write_closed(&self) -> bool {
        self.flags.0 & 16 != 0
    }

    /// Says whether the descriptor has an error to report.
    #[inline]
    pub fn is_error(&self) -> bool {
        self.flags.0 & 32 != 0
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("token", &self.token.0)
            .field("readable", &self.is_readable())
            .field("writable", &self.is_writable())
            .field("priority", &self.is_priority())
            .field("read_closed", &self.is_read_closed())
            .field("write_closed", &self.is_write_closed())
            .field("error", &self.is_error())
            .finish()
    }
}

/// The events of one wait; each wait replaces those of the one before.
pub struct Events {
    list: Vec<Event>,
    capacity: usize,
    /// The wait was ended by the notifier, which is no event.
    notified: bool,
    /// Where a kernel that reports events by itself writes them.
    #[cfg_attr(
        not(any(target_os = "linux", target_os = "android")),
        allow(dead_code, reason = "it is epoll that uses it")
    )]
    space: Space,
}

#[cfg(any(target_os = "linux", target_os = "android"))]
type KernelEvent = crate::sys::epoll::epoll_event;
#[cfg(any(target_os = "linux", target_os = "android"))]
type Space = Vec<std::mem::MaybeUninit<KernelEvent>>;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
type Space = ();

impl Events {
    /// The largest capacity: more events than descriptors that a process can have open.
    pub const MAX_CAPACITY: usize = 1 << 20;

    /// Makes room for 1,024 events.
    pub fn new() -> Self {
        Self {
            list: Vec::new(),
            capacity: 1024,
            notified: false,
            space: Space::default(),
        }
    }

    /// Makes room for `capacity` events; more that are ready at once are reported by later waits.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if `capacity` is 0 or above [`Events::MAX_CAPACITY`].
    pub fn with_capacity(capacity: usize) -> io::Result<Self> {
        if !(1..=Self::MAX_CAPACITY).contains(&capacity) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "an event capacity of {capacity} was asked for; it must be 1 to {}",
                    Self::MAX_CAPACITY
                ),
            ));
        }
        Ok(Self {
            list: Vec::new(),
            capacity,
            notified: false,
            space: Space::default(),
        })
    }

    /// Returns how many events one wait can report.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the number of events that the last wait reported.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Says whether the last wait reported nothing.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the events of the last wait.
    pub fn iter(&self) -> std::slice::Iter<'_, Event> {
        self.list.iter()
    }

    /// Forgets the events of the last wait.
    pub fn clear(&mut self) {
        self.list.clear();
        self.notified = false;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.room() == 0
    }

    /// How many more events there is room for.
    pub(crate) fn room(&self) -> usize {
        self.capacity.saturating_sub(self.list.len())
    }

    pub(crate) fn is_notified(&self) -> bool {
        self.notified
    }

    /// Has a kernel that reports events by itself write them, as many as there is room for, and
    /// takes in what `read` makes of each.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[inline(always)]
    pub(super) fn receive(
        &mut self,
        wait: impl FnOnce(&mut [std::mem::MaybeUninit<KernelEvent>]) -> io::Result<&[KernelEvent]>,
        read: impl Fn(&KernelEvent) -> (Token, Flags),
    ) -> io::Result<()> {
        if self.space.len() != self.capacity {
            self.make_space();
        }
        for event in wait(&mut self.space)? {
            let (token, flags) = read(event);
            if token == Token::RESERVED {
                self.notified = true;
            } else {
                self.list.push(Event { token, flags });
            }
        }
        Ok(())
    }

    /// Makes room for as many events as there is room for, once.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[cold]
    fn make_space(&mut self) {
        self.space
            .resize_with(self.capacity, std::mem::MaybeUninit::uninit);
        self.list.reserve(self.capacity);
    }

    /// Adds an event, or remembers that it was the notifier's.
    #[inline]
    pub(crate) fn push(&mut self, token: Token, flags: Flags) {
        if token == Token::RESERVED {
            self.notified = true;
        } else {
            self.list.push(Event { token, flags });
        }
    }

    /// Drops the events whose token `keep` refuses.
    #[cfg_attr(
        not(any(target_os = "linux", target_os = "android")),
        allow(dead_code, reason = "it is epoll that uses it")
    )]
    pub(crate) fn retain(&mut self, keep: impl Fn(Token) -> bool) {
        self.list.retain(|event| keep(event.token));
    }
}

impl Default for Events {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.list).finish()
    }
}

impl<'a> IntoIterator for &'a Events {
    type Item = &'a Event;
    type IntoIter = std::slice::Iter<'a, Event>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
