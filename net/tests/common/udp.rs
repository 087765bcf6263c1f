//! What the tests of UDP sockets have in common.

use std::net::SocketAddr;
use windlass_net::UdpSocket;

/// Two sockets that are connected to each other.
pub async fn connected(local: SocketAddr) -> (UdpSocket, UdpSocket) {
    let a = UdpSocket::bind(local).await.unwrap();
    let b = UdpSocket::bind(local).await.unwrap();
    a.connect(b.local_addr().unwrap()).await.unwrap();
    b.connect(a.local_addr().unwrap()).await.unwrap();
    (a, b)
}

/// A socket, and another that is connected to where nobody is any more.
pub async fn connected_to_nobody(local: SocketAddr) -> (UdpSocket, SocketAddr) {
    let gone = UdpSocket::bind(local).await.unwrap();
    let address = gone.local_addr().unwrap();
    let socket = UdpSocket::bind(local).await.unwrap();
    socket.connect(address).await.unwrap();
    (socket, address)
}
