//! Urgent (out-of-band) data: one byte that overtakes those before it, and the mark it leaves.

use super::stream::TcpStream;
use std::future::Future;
use std::io;
use windlass_reactor::sys::tcp::is_at_mark;
use windlass_reactor::{Direction, Taken};

/// Urgent data, which few protocols have (RFC 6093 advises against new ones): the last byte sent
/// urgently is kept beside the others, and the place where it was among them is the mark.
impl TcpStream {
    /// Sends a byte as urgent data, waiting until there is room for it. If the peer hasn't taken
    /// the one before, that becomes an ordinary byte, or is lost; systems differ.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// # use windlass_net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// # let client = TcpStream::connect(listener.local_addr()?).await?;
    /// # let (server, _) = listener.accept().await?;
    /// client.write_all(b"a long question").await?;
    /// client.send_oob(b'!').await?;
    /// assert_eq!(server.recv_oob().await?, Some(b'!'));
    /// let mut space = [0; 64];
    /// assert_eq!(server.read(&mut space).await?, 15);
    /// assert!(server.at_mark()?);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`write`](TcpStream::write).
    ///
    /// # Cancel safety
    ///
    /// Nothing is sent by a future that is dropped before it is done.
    pub fn send_oob(&self, byte: u8) -> impl Future<Output = io::Result<()>> {
        self.inner
            .io_with(Direction::Write, move |socket| socket.send_urgent(byte))
    }

    /// Reads the urgent byte, waiting until there is one; `None` if the peer has ended its
    /// direction without one, or the connection is over, of which a read says how.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if urgent data are [in line](TcpStream::set_oob_inline); else what the
    /// system says. Where the system doesn't say when urgent data come (the BSDs), it waits until
    /// the connection is over.
    ///
    /// # Cancel safety
    ///
    /// Nothing is read by a future that is dropped before it is done.
    pub fn recv_oob(&self) -> impl Future<Output = io::Result<Option<u8>>> {
        self.inner.io_with(Direction::Priority, |socket| {
            socket.receive_urgent().map(Taken::Some)
        })
    }

    /// Reads the urgent byte, without waiting; else as [`recv_oob`](TcpStream::recv_oob).
    ///
    /// # Errors
    ///
    /// `WouldBlock` if there is none; else as for [`recv_oob`](TcpStream::recv_oob).
    pub fn try_recv_oob(&self) -> io::Result<Option<u8>> {
        self.inner
            .try_io(Direction::Priority, super::socket::Socket::receive_urgent)
    }

    /// Waits until there may be urgent data, or there will be none, as the peer has ended its
    /// direction. It is followed by [`try_recv_oob`](TcpStream::try_recv_oob), in a loop, for the
    /// reason that [`readable`](TcpStream::readable) gives.
    ///
    /// # Errors
    ///
    /// As for [`readable`](TcpStream::readable).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when it is dropped.
    pub fn priority(&self) -> impl Future<Output = io::Result<()>> {
        self.inner.priority()
    }

    /// Says whether reading has come to the place at which the urgent byte was sent (sockatmark).
    /// A read stops there, so that bytes before and after it never come in one.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn at_mark(&self) -> io::Result<bool> {
        is_at_mark(self.inner.get_ref().stream_fd())
    }

    /// Says whether urgent data are read among the others (`SO_OOBINLINE`).
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn oob_inline(&self) -> io::Result<bool> {
        self.option_socket().out_of_band_inline()
    }

    /// Has urgent data read among the others, at the [mark](TcpStream::at_mark)
    /// (`SO_OOBINLINE`).
    ///
    /// From then on each read that comes before a wait costs one system call more, since one that
    /// ends at the mark may have left more.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_oob_inline(&self, inline: bool) -> io::Result<()> {
        self.inner.get_ref().hand_out();
        self.option_socket().set_out_of_band_inline(inline)
    }
}
