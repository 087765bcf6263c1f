//! The protocol of the servers that are compared: as little of HTTP as keeps a connection open.

/// The answer to each request.
pub const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\nConnection: keep-alive\r\n\r\nHello, world!";

/// What the bytes of one read ask for.
///
/// # Examples
///
/// ```
/// use windlass_benches::Asked;
/// let asked = Asked::by(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
/// assert_eq!((asked.requests, asked.close), (1, false));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// How many requests end here, each of which gets an [`ANSWER`].
    pub requests: usize,
    /// Whether the connection is to be closed after the answers.
    pub close: bool,
}

impl Asked {
    /// Looks at what was read.
    ///
    /// A request that comes in two pieces counts where its end comes, and one whose end itself is
    /// cut in two is lost: the clients this is for send each request whole.
    pub fn by(bytes: &[u8]) -> Self {
        let requests = bytes.windows(4).filter(|end| end == b"\r\n\r\n").count();
        let has = |wanted: &[u8]| bytes.windows(wanted.len()).any(|part| part == wanted);
        Asked {
            requests,
            close: has(b" HTTP/1.0\r\n") && !has(b"eep-Alive") && !has(b"eep-alive"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Asked;

    #[test]
    fn every_request_that_ends_is_counted() {
        let two = b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\nGET /";
        assert_eq!(Asked::by(two).requests, 2);
        assert!(!Asked::by(two).close);
    }

    #[test]
    fn an_old_client_is_kept_only_if_it_asks() {
        assert!(Asked::by(b"GET / HTTP/1.0\r\n\r\n").close);
        assert!(!Asked::by(b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").close);
    }
}
