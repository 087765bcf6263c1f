//! The servers whose calls fail, and what happens to them.

/// What the server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    /// Echoes over TCP.
    Echo,
    /// Likewise, from and into several buffers.
    Vectored,
    /// Asks each connection for its addresses, sets an option, and echoes.
    Options,
    /// Echoes, with several listeners that share a port.
    Sharded,
    /// Takes a listener of the standard library, hands each connection to that and takes it back, and
    /// echoes.
    Adopting,
    /// Echoes what a thread of the blocking pool hands back.
    Offloading,
    /// Echoes after a moment.
    Delaying,
    /// Echoes what it has sent through a pipe.
    Piping,
    /// Echoes what it has sent, with descriptors, through a pair of Unix sockets.
    Passing,
    /// Echoes what it has written to a file, as that file.
    Filing,
    /// Echoes over Unix sockets.
    Unix,
    /// Passes connections on to an upstream server.
    Relay,
    /// Likewise, to the first of two addresses that answers.
    RelayToTwo,
    /// Echoes under another executor, one thread for each connection: so all wait on the reactor that
    /// serves threads without one.
    Foreign,
    /// Echoes datagrams, one at a time.
    Datagrams,
    /// Likewise, several at a time.
    Batches,
    /// Takes a UDP socket of the standard library, connects it, and echoes.
    ConnectedDatagrams,
}

impl Server {
    /// All there are.
    pub(crate) const ALL: &[(Server, &str)] = &[
        (Server::Echo, "echo"),
        (Server::Vectored, "echo, vectored"),
        (Server::Options, "echo with options"),
        (Server::Sharded, "echo, sharded"),
        (Server::Adopting, "echo, adopting"),
        (Server::Offloading, "echo by another thread"),
        (Server::Delaying, "echo with a delay"),
        (Server::Piping, "echo through a pipe"),
        (Server::Passing, "echo with descriptors passed"),
        (Server::Filing, "echo of a file"),
        (Server::Unix, "unix echo"),
        (Server::Relay, "relay"),
        (Server::RelayToTwo, "relay, two upstreams"),
        (Server::Foreign, "echo, other executor"),
        (Server::Datagrams, "udp echo"),
        (Server::Batches, "udp echo in batches"),
        (Server::ConnectedDatagrams, "udp echo, connected"),
    ];

    /// Returns the name by which it goes.
    pub(crate) fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(server, _)| *server == self);
        named.expect("all are in the list").1
    }

    /// Finds the one that goes by `name`.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let named = Self::ALL.iter().find(|(_, known)| *known == name);
        named.map(|(server, _)| *server)
    }

    /// Says whether it speaks UDP.
    pub(crate) fn is_udp(self) -> bool {
        matches!(
            self,
            Server::Datagrams | Server::Batches | Server::ConnectedDatagrams
        )
    }

    /// Says whether it needs somebody to pass connections on to.
    pub(crate) fn has_upstream(self) -> bool {
        matches!(self, Server::Relay | Server::RelayToTwo)
    }
}

/// When the call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// While the server starts.
    Start,
    /// The victim connects, and says something after a while.
    Comes,
    /// The victim, which has been served before, says something.
    Speaks,
    /// The victim, which has been served before, ends.
    Ends,
    /// The victim says more than it reads.
    Floods,
    /// The victim says much, and reads it.
    Bulk,
}

impl When {
    /// Says it in words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            When::Start => "at the start",
            When::Comes => "a connection comes",
            When::Speaks => "a request comes",
            When::Ends => "a connection ends",
            When::Floods => "a client does not read",
            When::Bulk => "bulk",
        }
    }
}
