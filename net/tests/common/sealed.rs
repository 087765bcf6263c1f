//! A stream that knows the traits of futures-io only, and changes what passes, as TLS does: bytes go
//! in records, which are opened and closed as a whole.

use futures::io::{AsyncRead, AsyncWrite};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// So many bytes are in a record at the most; its length comes first, in one byte.
const LONGEST: usize = 100;
/// What a byte is changed by.
pub const KEY: u8 = 0x5a;

/// A stream around another one.
pub struct Sealed<S> {
    inner: S,
    /// The beginning of a record.
    arriving: Vec<u8>,
    /// Opened, and not read yet.
    opened: Vec<u8>,
    /// Closed, and not sent yet.
    leaving: Vec<u8>,
}

impl<S> Sealed<S> {
    pub fn new(inner: S) -> Self {
        Self {
            inner,
            arriving: Vec::new(),
            opened: Vec::new(),
            leaving: Vec::new(),
        }
    }
}

/// Makes records of `bytes`.
pub fn sealed(bytes: &[u8]) -> Vec<u8> {
    let record = |part: &[u8]| {
        let changed = part.iter().map(|byte| byte ^ KEY);
        std::iter::once(part.len() as u8)
            .chain(changed)
            .collect::<Vec<_>>()
    };
    bytes.chunks(LONGEST).flat_map(record).collect()
}

/// Takes the bytes out of records.
pub fn opened(mut records: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some((length, rest)) = records.split_first() {
        let (part, rest) = rest.split_at(*length as usize);
        bytes.extend(part.iter().map(|byte| byte ^ KEY));
        records = rest;
    }
    bytes
}

impl<S: AsyncRead + Unpin> AsyncRead for Sealed<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        space: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        while this.opened.is_empty() {
            let mut part = [0; 64];
            let count = ready!(Pin::new(&mut this.inner).poll_read(context, &mut part))?;
            if count == 0 {
                return Poll::Ready(Ok(0));
            }
            this.arriving.extend_from_slice(&part[..count]);
            while this.arriving.len() > this.arriving.first().map_or(0, |length| *length as usize) {
                let length = this.arriving[0] as usize;
                let record = this.arriving.drain(..=length);
                this.opened.extend(record.skip(1).map(|byte| byte ^ KEY));
            }
        }
        let count = space.len().min(this.opened.len());
        space[..count].copy_from_slice(&this.opened[..count]);
        this.opened.drain(..count);
        Poll::Ready(Ok(count))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Sealed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        // The record before goes first; the new one may stay until the next write, or a flush.
        ready!(self.as_mut().poll_flush(context))?;
        let count = bytes.len().min(LONGEST);
        self.leaving = sealed(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while !this.leaving.is_empty() {
            let count = ready!(Pin::new(&mut this.inner).poll_write(context, &this.leaving))?;
            this.leaving.drain(..count);
        }
        Pin::new(&mut this.inner).poll_flush(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(context))?;
        Pin::new(&mut self.inner).poll_close(context)
    }
}
