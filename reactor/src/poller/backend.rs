//! The names of the back ends and the rules by which one is chosen.

use std::fmt;
use std::io;
use std::str::FromStr;

/// A readiness mechanism of the system.
///
/// ```
/// use windlass_reactor::Backend;
///
/// let fastest = Backend::available()[0];
/// assert_eq!(fastest.name().parse::<Backend>().unwrap(), fastest);
/// assert!("select".parse::<Backend>().unwrap_err().to_string().contains("poll"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// epoll(7): Linux.
    Epoll,
    /// kqueue(2): FreeBSD, macOS and its kin, NetBSD, OpenBSD, DragonFly.
    Kqueue,
    /// /dev/poll: Solaris and illumos.
    DevPoll,
    /// poll(2): every Unix; the cost of a wait grows with the number of descriptors.
    Poll,
}

impl Backend {
    /// Every back end that this crate knows, on whatever system, fastest first.
    pub const ALL: &'static [Backend] = &[
        Backend::Epoll,
        Backend::Kqueue,
        Backend::DevPoll,
        Backend::Poll,
    ];

    /// Returns the name, as in `WINDLASS_BACKEND`.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Epoll => "epoll",
            Backend::Kqueue => "kqueue",
            Backend::DevPoll => "devpoll",
            Backend::Poll => "poll",
        }
    }

    /// Lists the back ends that work here, fastest first, found out by opening each.
    pub fn available() -> Vec<Backend> {
        Self::ALL
            .iter()
            .copied()
            .filter(|backend| super::Mechanism::open(*backend).is_ok())
            .collect()
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Backend {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        by_name("back end", Self::ALL, Self::name, name)
    }
}

/// What ends a wait from another thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NotifierKind {
    /// eventfd(2): Linux and illumos.
    Eventfd,
    /// An event of our own in the queue, `EVFILT_USER`: kqueue, except on old systems.
    User,
    /// A pipe: every Unix.
    Pipe,
}

impl NotifierKind {
    /// Every kind that this crate knows, on whatever system, cheapest first.
    pub const ALL: &'static [NotifierKind] = &[
        NotifierKind::Eventfd,
        NotifierKind::User,
        NotifierKind::Pipe,
    ];

    /// Returns the name, as in `WINDLASS_NOTIFIER`.
    pub fn name(self) -> &'static str {
        match self {
            NotifierKind::Eventfd => "eventfd",
            NotifierKind::User => "user",
            NotifierKind::Pipe => "pipe",
        }
    }
}

impl fmt::Display for NotifierKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for NotifierKind {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        by_name("notifier", Self::ALL, Self::name, name)
    }
}

/// A name that is none of the known ones, which its text lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    what: &'static str,
    name: String,
    known: Vec<&'static str>,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown {} \"{}\"; known are: {}",
            self.what,
            self.name,
            self.known.join(", ")
        )
    }
}

impl std::error::Error for UnknownName {}

fn by_name<T: Copy>(
    what: &'static str,
    all: &[T],
    name_of: fn(T) -> &'static str,
    name: &str,
) -> Result<T, UnknownName> {
    all.iter()
        .copied()
        .find(|one| name_of(*one) == name)
        .ok_or_else(|| UnknownName {
            what,
            name: name.to_owned(),
            known: all.iter().map(|one| name_of(*one)).collect(),
        })
}

/// Reads a choice from the environment; unset or empty is none.
pub(super) fn from_environment<T>(variable: &str) -> io::Result<Option<T>>
where
    T: FromStr<Err = UnknownName>,
{
    let Some(value) = std::env::var_os(variable).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    value
        .to_string_lossy()
        .parse()
        .map(Some)
        .map_err(|unknown| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{variable}: {unknown}"),
            )
        })
}

/// The error for a back end that was asked for by name and does not work here.
pub(super) fn unavailable(backend: Backend, error: &io::Error) -> io::Error {
    let works: Vec<_> = Backend::available()
        .into_iter()
        .map(Backend::name)
        .collect();
    io::Error::new(
        error.kind(),
        format!(
            "the back end {backend} does not work here: {error}; available are: {}",
            works.join(", ")
        ),
    )
}

/// The error for a back end that won't watch the descriptor of its own notifier.
pub(super) fn notifier_refused(
    backend: Backend,
    kind: NotifierKind,
    error: &io::Error,
) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("the back end {backend} does not take the notifier {kind}: {error}"),
    )
}

/// The error for a notifier that was asked for by name and does not work with `backend` here.
pub(crate) fn notifier_unavailable(
    kind: NotifierKind,
    backend: Backend,
    works: &[NotifierKind],
    error: &io::Error,
) -> io::Error {
    let works: Vec<_> = works.iter().map(|kind| kind.name()).collect();
    io::Error::new(
        error.kind(),
        format!(
            "the notifier {kind} does not work with the back end {backend} here: {error}; available are: {}",
            works.join(", ")
        ),
    )
}
