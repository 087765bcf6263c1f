//! One connection: waits within its time limits, reads, and writes answers.

use crate::TOTALS;
use std::cell::RefCell;
use std::io;
use std::net::Shutdown;
use std::time::{Duration, Instant};
use windlass::net::TcpStream;
use windlass::time::{timeout, timeout_at};
use windlass::{DrainGuard, yield_now};
use windlass_examples::requests::{Next, Refusal, Requests};

/// How long clients are waited for in various situations.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// For the head of a request, from its first byte to its last.
    pub(crate) header: Duration,
    /// For a request, or the next byte of a body.
    pub(crate) idle: Duration,
}

/// How long a client that is sent away may go on sending, so that it comes to read why.
const LINGER: Duration = Duration::from_secs(2);

thread_local! {
    /// What all connections of a thread read into, and where their answers are put together.
    static BUFFERS: RefCell<(Vec<u8>, Vec<u8>)> = RefCell::new((vec![0; 16 * 1024], Vec::new()));
}

/// One client.
pub(crate) struct Connection {
    stream: TcpStream,
    requests: Requests,
    limits: Limits,
    /// When the head that has begun has to be whole.
    head_due: Option<Instant>,
    /// While a request has begun, a server that stops waits for it.
    owed: Option<DrainGuard>,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, limits: Limits) -> Self {
        Self {
            stream,
            requests: Requests::default(),
            limits,
            head_due: None,
            owed: None,
        }
    }

    /// Answers requests until the client or a time limit ends it.
    pub(crate) async fn serve(mut self) -> io::Result<()> {
        loop {
            let due = self.head_due;
            let due = due.unwrap_or_else(|| Instant::now() + self.limits.idle);
            match timeout_at(due, self.stream.readable()).await {
                Ok(ready) => ready?,
                Err(_) if self.head_due.is_some() => return Box::pin(self.refuse()).await,
                Err(_) => return Ok(()),
            }
            let read = read_and_answer(&self.stream, &mut self.requests)?;
            if !read.unwritten.is_empty() {
                Box::pin(self.write(read.unwritten)).await?;
            }
            match read.next {
                Next::Stay => self.note_state(read.answered > 0),
                Next::Close => return Ok(()),
                Next::Linger => return Box::pin(self.linger()).await,
            }
            if read.may_be_more {
                yield_now().await;
            }
        }
    }

    fn note_state(&mut self, has_answered: bool) {
        if has_answered || !self.requests.is_in_head() {
            self.head_due = None;
        }
        if self.requests.is_in_head() && self.head_due.is_none() {
            self.head_due = Some(Instant::now() + self.limits.header);
        }
        let owes = !self.requests.is_idle();
        self.owed = owes.then(|| self.owed.take().unwrap_or_else(|| TOTALS.owe()));
    }

    /// Writes what could not be written at once.
    async fn write(&self, rest: Vec<u8>) -> io::Result<()> {
        let _owed = TOTALS.owe();
        timeout(self.limits.idle, self.stream.write_all(&rest)).await?
    }

    /// Tells a client that it was too slow.
    async fn refuse(&self) -> io::Result<()> {
        let mut answer = Vec::new();
        Refusal::TimedOut.answer(&mut answer);
        TOTALS.served(1);
        self.write(answer).await?;
        self.linger().await
    }

    /// Ends this side, and passes over what the client still sends.
    ///
    /// Closing at once would reset the connection, and the client might lose the answer.
    async fn linger(&self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)?;
        let ending = async {
            loop {
                self.stream.readable().await?;
                match BUFFERS.with_borrow_mut(|(space, _)| self.stream.try_read(space)) {
                    Ok(0) => return Ok(()),
                    Ok(_) => yield_now().await,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                }
            }
        };
        // A client that goes on for longer has been told.
        timeout(LINGER, ending).await.unwrap_or(Ok(()))
    }
}

/// What has come of what was there to read.
struct Read {
    answered: u64,
    next: Next,
    /// Answers that the client does not take yet.
    unwritten: Vec<u8>,
    /// The buffer was full, but it is the turn of the other connections.
    may_be_more: bool,
}

/// Reads what is there, as much as the buffer takes, and answers.
fn read_and_answer(stream: &TcpStream, requests: &mut Requests) -> io::Result<Read> {
    BUFFERS.with_borrow_mut(|(space, answers)| {
        let mut read = Read {
            answered: 0,
            next: Next::Stay,
            unwritten: Vec::new(),
            may_be_more: false,
        };
        let count = match unless_blocked(stream.try_read(space))? {
            Some(0) => {
                read.next = Next::Close;
                return Ok(read);
            }
            Some(count) => count,
            None => return Ok(read),
        };
        answers.clear();
        let step = requests.take(&space[..count], TOTALS.is_stopping(), answers);
        TOTALS.served(step.answered);
        if !answers.is_empty() {
            let written = unless_blocked(stream.try_write(answers))?.unwrap_or(0);
            read.unwritten = answers[written..].to_vec();
        }
        read.answered = step.answered;
        read.next = step.next;
        read.may_be_more = count == space.len();
        Ok(read)
    })
}

/// Takes an operation that would block for one that has done nothing.
fn unless_blocked(tried: io::Result<usize>) -> io::Result<Option<usize>> {
    match tried {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}
