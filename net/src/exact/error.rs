//! Why a piece is not whole.

use std::error::Error;
use std::fmt;
use std::io;

/// Why [`ReadUntil`](super::ReadUntil) or [`Lines`](super::Lines) gives no piece. What was read of
/// it is still there.
///
/// It turns into an [`io::Error`] by `?`.
///
/// ```
/// # use windlass_net::io::ReadUntilError;
/// let error = std::io::Error::from(ReadUntilError::TooLong { limit: 80 });
/// assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
/// assert!(error.to_string().contains("more than 80 bytes"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadUntilError {
    /// More bytes came than a piece may have, and its end did not.
    TooLong {
        /// How many bytes it may have.
        limit: usize,
    },
    /// The reader ended in the middle of a piece.
    Unfinished {
        /// How many bytes of it came.
        length: usize,
    },
    /// The reader failed.
    Io(io::Error),
}

impl fmt::Display for ReadUntilError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { limit } => {
                write!(f, "more than {limit} bytes came before the delimiter did")
            }
            Self::Unfinished { length } => {
                write!(
                    f,
                    "the stream ended {length} bytes into what a delimiter should end"
                )
            }
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl Error for ReadUntilError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // It is shown as it is, so its own cause comes next.
            Self::Io(error) => error.source(),
            Self::TooLong { .. } | Self::Unfinished { .. } => None,
        }
    }
}

impl From<io::Error> for ReadUntilError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The kind is `InvalidData` for what is too long, `UnexpectedEof` for what is unfinished.
impl From<ReadUntilError> for io::Error {
    fn from(error: ReadUntilError) -> Self {
        match error {
            ReadUntilError::Io(error) => error,
            ReadUntilError::TooLong { .. } => Self::new(io::ErrorKind::InvalidData, error),
            ReadUntilError::Unfinished { .. } => Self::new(io::ErrorKind::UnexpectedEof, error),
        }
    }
}
