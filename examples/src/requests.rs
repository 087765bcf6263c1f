//! HTTP/1.0 and HTTP/1.1, from bytes to answers, without any I/O.
//!
//! 1. Bytes come in whatever pieces; what is no whole request yet is kept, and nothing else is.
//! 2. Requests are answered in their order, each when its body is over. All get the same answer.
//! 3. A request that can't be understood is answered, too, and is the last: where the next one
//!    begins is not known any more.

use std::mem::MaybeUninit;

/// The head of a request may be so long.
const LONGEST_HEAD: usize = 8 * 1024;
/// It may have so many fields.
const MOST_FIELDS: usize = 64;

/// The requests of one connection.
#[derive(Debug, Default)]
pub struct Requests {
    /// The beginning of a head.
    partial: Vec<u8>,
    /// How much of a body is still to come, and the request it belongs to.
    body: Option<(u64, Request)>,
}

/// What is to be done next on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Wait for more.
    Stay,
    /// Close it, as the client has asked for.
    Close,
    /// Close it, though the client may be sending on.
    Linger,
}

/// What has come of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// How many requests were answered.
    pub answered: u64,
    /// What is to be done once the answers are written.
    pub next: Next,
}

/// What of a request its answer depends on.
#[derive(Clone, Copy, Debug, Default)]
struct Request {
    is_old_version: bool,
    is_head: bool,
    wants_close: bool,
    wants_keep_alive: bool,
}

impl Requests {
    /// Says whether no request has begun.
    pub fn is_idle(&self) -> bool {
        self.partial.is_empty() && self.body.is_none()
    }

    /// Says whether the head of a request has begun and is not whole yet.
    pub fn is_in_head(&self) -> bool {
        !self.partial.is_empty()
    }

    /// Takes in what has come, and adds what is to be written to `answers`.
    ///
    /// With `is_last` the next answer is the last one, and says so.
    pub fn take(&mut self, bytes: &[u8], is_last: bool, answers: &mut Vec<u8>) -> Step {
        let mut step = Step {
            answered: 0,
            next: Next::Stay,
        };
        if self.partial.is_empty() {
            let rest = self.advance(bytes, is_last, &mut step, answers);
            self.partial.extend_from_slice(rest);
        } else {
            let mut all = std::mem::take(&mut self.partial);
            all.extend_from_slice(bytes);
            let rest = self.advance(&all, is_last, &mut step, answers).len();
            if rest > 0 {
                all.drain(..all.len() - rest);
                self.partial = all;
            }
        }
        step
    }

    /// Answers the requests that are whole, and returns what is left over.
    fn advance<'b>(
        &mut self,
        bytes: &'b [u8],
        is_last: bool,
        step: &mut Step,
        answers: &mut Vec<u8>,
    ) -> &'b [u8] {
        let mut rest = bytes;
        while step.next == Next::Stay {
            if let Some((left, request)) = self.body.take() {
                let here = left.min(rest.len() as u64);
                rest = &rest[here as usize..];
                if here < left {
                    self.body = Some((left - here, request));
                    return rest;
                }
                step.answered += 1;
                step.next = request.answer(is_last, answers);
                continue;
            }
            // RFC 9112, 2.2: some clients send an empty line after a body; it begins no head.
            while let Some(after) = rest.strip_prefix(b"\r\n") {
                rest = after;
            }
            if rest.is_empty() {
                return rest;
            }
            match Head::parse(rest) {
                Ok(Some(head)) => {
                    rest = &rest[head.length..];
                    if head.wants_continue && rest.is_empty() {
                        answers.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
                    }
                    self.body = Some((head.body, head.request));
                }
                Ok(None) => return rest,
                Err(refusal) => {
                    step.answered += 1;
                    step.next = Next::Linger;
                    refusal.answer(answers);
                }
            }
        }
        // Nothing is read after the last answer.
        &[]
    }
}

impl Request {
    /// Writes the answer, and says whether another request may follow.
    fn answer(self, is_last: bool, answers: &mut Vec<u8>) -> Next {
        let ends = self.wants_close || (self.is_old_version && !self.wants_keep_alive);
        answers.extend_from_slice(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n",
        );
        if ends || is_last {
            answers.extend_from_slice(b"Connection: close\r\n");
        } else if self.is_old_version {
            answers.extend_from_slice(b"Connection: keep-alive\r\n");
        }
        answers.extend_from_slice(b"\r\n");
        if !self.is_head {
            answers.extend_from_slice(b"Hello, world!");
        }
        match (ends, is_last) {
            (true, _) => Next::Close,
            (false, true) => Next::Linger,
            (false, false) => Next::Stay,
        }
    }
}

/// Why a request is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is no HTTP.
    BadRequest,
    /// It took too long to come.
    TimedOut,
    /// Its body has no `Content-Length`.
    LengthRequired,
    /// Its head is too long.
    TooLarge,
}

impl Refusal {
    /// Adds the answer, which is the last one on the connection, to `answers`.
    pub fn answer(self, answers: &mut Vec<u8>) {
        let status = match self {
            Refusal::BadRequest => "400 Bad Request",
            Refusal::TimedOut => "408 Request Timeout",
            Refusal::LengthRequired => "411 Length Required",
            Refusal::TooLarge => "431 Request Header Fields Too Large",
        };
        let length = status.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{status}"
        );
        answers.extend_from_slice(answer.as_bytes());
    }
}

/// The head of a request.
#[derive(Debug, Default)]
struct Head {
    length: usize,
    body: u64,
    request: Request,
    wants_continue: bool,
}

/// What the fields say of the body.
#[derive(Debug, Default)]
struct Framing {
    length: Option<u64>,
    is_chunked: bool,
    hosts: usize,
}

impl Head {
    /// Finds the head at the start of `bytes`; `None` if it isn't whole.
    fn parse(bytes: &[u8]) -> Result<Option<Self>, Refusal> {
        let mut fields = [const { MaybeUninit::uninit() }; MOST_FIELDS];
        let mut request = httparse::Request::new(&mut []);
        let seen = &bytes[..bytes.len().min(LONGEST_HEAD)];
        match request.parse_with_uninit_headers(seen, &mut fields) {
            Ok(httparse::Status::Complete(length)) => Self::judge(length, &request).map(Some),
            Ok(httparse::Status::Partial) if seen.len() < LONGEST_HEAD => Ok(None),
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                Err(Refusal::TooLarge)
            }
            Err(_) => Err(Refusal::BadRequest),
        }
    }

    fn judge(length: usize, parsed: &httparse::Request<'_, '_>) -> Result<Self, Refusal> {
        let mut head = Head {
            length,
            ..Head::default()
        };
        let mut framing = Framing::default();
        head.request.is_old_version = parsed.version == Some(0);
        head.request.is_head = parsed.method == Some("HEAD");
        for field in parsed.headers.iter() {
            head.note(field, &mut framing)?;
        }
        // RFC 9112, 3.2: there has to be one, and one only.
        if framing.hosts > 1 || (framing.hosts == 0 && !head.request.is_old_version) {
            return Err(Refusal::BadRequest);
        }
        match (framing.is_chunked, framing.length) {
            // RFC 9112, 6.1: those who disagree on which one counts can be tricked.
            (true, Some(_)) => Err(Refusal::BadRequest),
            (true, None) => Err(Refusal::LengthRequired),
            (false, length) => {
                head.body = length.unwrap_or(0);
                head.wants_continue &= head.body > 0 && !head.request.is_old_version;
                Ok(head)
            }
        }
    }

    fn note(&mut self, field: &httparse::Header<'_>, framing: &mut Framing) -> Result<(), Refusal> {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        if is("content-length") {
            let length = parse_length(field.value).ok_or(Refusal::BadRequest)?;
            if framing
                .length
                .replace(length)
                .is_some_and(|earlier| earlier != length)
            {
                return Err(Refusal::BadRequest);
            }
        } else if is("connection") {
            for option in field.value.split(|byte| *byte == b',') {
                let option = option.trim_ascii();
                self.request.wants_close |= option.eq_ignore_ascii_case(b"close");
                self.request.wants_keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
            }
        } else if is("host") {
            framing.hosts += 1;
        } else if is("transfer-encoding") {
            framing.is_chunked = true;
        } else if is("expect") {
            self.wants_continue |= field.value.eq_ignore_ascii_case(b"100-continue");
        }
        Ok(())
    }
}

/// Digits and nothing else: a sign, which `parse` allows, is none.
fn parse_length(text: &[u8]) -> Option<u64> {
    if !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_HEAD, Next, Requests};

    /// Feeds `pieces` one after the other; returns the statuses of the answers, how many requests
    /// were counted, and what is to be done.
    fn feed(pieces: &[&[u8]]) -> (Vec<String>, u64, Next) {
        let (mut requests, mut answers) = (Requests::default(), Vec::new());
        let (mut answered, mut next) = (0, Next::Stay);
        for piece in pieces {
            if next == Next::Stay {
                let step = requests.take(piece, false, &mut answers);
                answered += step.answered;
                next = step.next;
            }
        }
        (statuses(&answers), answered, next)
    }

    fn statuses(answers: &[u8]) -> Vec<String> {
        let text = String::from_utf8(answers.to_vec()).unwrap();
        let answers = text.split("HTTP/1.1 ").skip(1);
        answers.map(|answer| answer[..3].to_owned()).collect()
    }

    #[track_caller]
    fn assert_answer(request: &str, status: &str, next: Next) {
        let (statuses, answered, then) = feed(&[request.as_bytes()]);
        assert_eq!((statuses, answered, then), (vec![status.into()], 1, next));
    }

    const PIPELINE: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n\
         POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nGET / HTTP/\
         HEAD / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n\
         GET / HTTP/1.1\r\nHost: a\r\nConnection: foo, Close\r\n\r\n";

    #[test]
    fn a_pipeline_means_the_same_however_it_is_split() {
        let whole = feed(&[PIPELINE.as_bytes()]);
        assert_eq!(whole, (vec!["200".to_owned(); 4], 4, Next::Close));
        for first in 0..PIPELINE.len() {
            let (one, two) = PIPELINE.as_bytes().split_at(first);
            assert_eq!(feed(&[one, two]), whole, "split at {first}");
        }
        let bytes: Vec<_> = PIPELINE.as_bytes().chunks(1).collect();
        assert_eq!(feed(&bytes), whole);
    }

    #[test]
    fn idle_connections_keep_nothing() {
        let (mut requests, mut answers) = (Requests::default(), Vec::new());
        requests.take(b"GET / HTTP/1.1\r\nHo", false, &mut answers);
        assert!(requests.is_in_head() && !requests.is_idle());
        requests.take(b"st: a\r\n\r\n", false, &mut answers);
        assert!(requests.is_idle());
        assert_eq!(requests.partial.capacity(), 0);
    }

    #[test]
    fn an_empty_line_begins_no_request() {
        let (mut requests, mut answers) = (Requests::default(), Vec::new());
        for piece in [
            &b"\r\n"[..],
            b"\r",
            b"\n",
            b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n\r\n",
        ] {
            requests.take(piece, false, &mut answers);
            assert_eq!(requests.is_in_head(), piece == b"\r");
        }
        assert!(requests.is_idle());
        assert_eq!(statuses(&answers), ["200"]);
    }

    #[test]
    fn the_last_answer_says_so() {
        let (mut requests, mut answers) = (Requests::default(), Vec::new());
        let step = requests.take(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", true, &mut answers);
        assert_eq!(step.next, Next::Linger);
        let text = String::from_utf8(answers).unwrap();
        assert!(text.contains("\r\nConnection: close\r\n"), "{text}");
    }

    #[test]
    fn versions_differ_in_who_closes() {
        assert_answer("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "200", Next::Stay);
        assert_answer("GET / HTTP/1.0\r\n\r\n", "200", Next::Close);
        assert_answer(
            "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            "200",
            Next::Stay,
        );
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for wrong in [
            "NONSENSE\r\n\r\n",
            "GET / HTTP/1.1\r\nno colon here\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET / HTTP/1.0\r\nContent-Length: +1\r\n\r\nx",
            "GET / HTTP/1.0\r\nContent-Length: \r\n\r\n",
            "GET / HTTP/1.0\r\nContent-Length: 99999999999999999999\r\n\r\n",
            "GET / HTTP/1.0\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
            "GET / HTTP/1.0\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx",
        ] {
            assert_answer(wrong, "400", Next::Linger);
        }
        let chunked = "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
        assert_answer(chunked, "411", Next::Linger);
    }

    #[test]
    fn the_longest_head_is_served_and_a_longer_one_is_not() {
        let head = |length: usize| {
            let frame = "GET / HTTP/1.0\r\nX: \r\n\r\n".len();
            format!(
                "GET / HTTP/1.0\r\nX: {}\r\n\r\n",
                "x".repeat(length - frame)
            )
        };
        assert_answer(&head(LONGEST_HEAD), "200", Next::Close);
        assert_answer(&head(LONGEST_HEAD + 1), "431", Next::Linger);
        let many = format!("GET / HTTP/1.0\r\n{}\r\n", "X: y\r\n".repeat(65));
        assert_answer(&many, "431", Next::Linger);
    }

    #[test]
    fn a_body_is_asked_for_if_the_client_waits() {
        let head =
            "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
        let waiting = feed(&[head.as_bytes()]);
        assert_eq!(waiting, (vec!["100".to_owned()], 0, Next::Stay));
        let sent = feed(&[head.as_bytes(), b"abc"]);
        assert_eq!(sent.0, ["100", "200"]);
    }
}
