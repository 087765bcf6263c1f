//! Options of UDP sockets, broadcast and groups.

mod common;

use common::{MOMENT, has_v6, locals, run, unless_lacking};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use windlass_net::UdpSocket;
use windlass_reactor::time::timeout;

#[test]
fn options_are_set_and_told() {
    run(async {
        for local in locals() {
            let socket = UdpSocket::for_address(local).unwrap();
            socket.set_reuse_address(true).unwrap();
            assert!(socket.reuse_address().unwrap());
            if unless_lacking("SO_REUSEPORT", socket.set_reuse_port(true)) {
                assert!(socket.reuse_port().unwrap());
            }
            socket.bind_to(local).unwrap();
            let again = socket.bind_to(local).unwrap_err();
            assert_eq!(again.kind(), ErrorKind::InvalidInput);
            socket.set_broadcast(true).unwrap();
            assert!(socket.broadcast().unwrap());
            socket.set_ttl(42).unwrap();
            assert_eq!(socket.ttl().unwrap(), 42);
            socket.set_receive_buffer_size(50_000).unwrap();
            let told = socket.receive_buffer_size().unwrap();
            assert!((50_000..=100_000).contains(&told));
            if unless_lacking("IP", socket.set_tos(0b1010_0010)) {
                assert_eq!(socket.tos().unwrap(), 0b1010_0010);
                assert_eq!(socket.dscp().unwrap(), 0b10_1000);
            }
            socket.set_multicast_loop(false).unwrap();
            assert!(!socket.multicast_loop().unwrap());
            socket.set_multicast_ttl(7).unwrap();
            assert_eq!(socket.multicast_ttl().unwrap(), 7);
            if unless_lacking("SO_BINDTODEVICE", socket.device().map(drop)) {
                let error = socket.bind_device(Some("no such device")).unwrap_err();
                assert_ne!(error.kind(), ErrorKind::Unsupported);
            }
        }
    });
}

/// With and without IPv4 on an IPv6 socket, as it was told.
#[test]
fn an_ipv6_socket_takes_ipv4_if_told_so() {
    if !has_v6() {
        return;
    }
    run(async {
        for only in [true, false] {
            let socket = UdpSocket::new_v6().unwrap();
            socket.set_only_v6(only).unwrap();
            assert_eq!(socket.only_v6().unwrap(), only);
            socket.bind_to("[::]:0".parse().unwrap()).unwrap();
            let port = socket.local_addr().unwrap().port();
            let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            client.connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
            client.send(b"hello").await.unwrap();
            let mut space = [0; 8];
            let got = timeout(MOMENT, socket.recv_from(&mut space)).await;
            assert_eq!(got.is_err(), only);
        }
    });
}

#[test]
fn broadcasts_need_leave() {
    run(async {
        let server = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        let port = server.local_addr().unwrap().port();
        let everybody = SocketAddr::from(([127, 255, 255, 255], port));
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let error = client.send_to(b"all", everybody).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        client.set_broadcast(true).unwrap();
        client.send_to(b"all", everybody).await.unwrap();
        assert_eq!(server.recv(&mut [0; 8]).await.unwrap().length, 3);
    });
}

#[test]
fn a_group_is_joined_and_left_over_ipv4() {
    run(async {
        let group = Ipv4Addr::new(239, 255, 77, 3);
        let member = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        let to = SocketAddr::from((group, member.local_addr().unwrap().port()));
        member
            .join_multicast_v4(group, Ipv4Addr::LOCALHOST)
            .unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        sender
            .set_multicast_interface_v4(Ipv4Addr::LOCALHOST)
            .unwrap();
        let told = sender.multicast_interface_v4().unwrap();
        assert_eq!(told, Ipv4Addr::LOCALHOST);
        sender.send_to(b"members", to).await.unwrap();
        assert_eq!(member.recv(&mut [0; 64]).await.unwrap().length, 7);
        member
            .leave_multicast_v4(group, Ipv4Addr::LOCALHOST)
            .unwrap();
        sender.send_to(b"nobody", to).await.unwrap();
        let mut space = [0; 64];
        assert!(timeout(MOMENT, member.recv(&mut space)).await.is_err());
        let error = member.leave_multicast_v4(group, Ipv4Addr::LOCALHOST);
        assert_eq!(error.unwrap_err().kind(), ErrorKind::AddrNotAvailable);
    });
}

#[test]
fn a_group_is_joined_and_left_over_ipv6() {
    if !has_v6() {
        return;
    }
    run(async {
        let loopback = 1;
        let group = "ff01::7703".parse().unwrap();
        let member = UdpSocket::bind("[::]:0").await.unwrap();
        let to = SocketAddr::from((group, member.local_addr().unwrap().port()));
        let sender = UdpSocket::bind("[::1]:0").await.unwrap();
        sender.set_multicast_interface_v6(loopback).unwrap();
        assert_eq!(sender.multicast_interface_v6().unwrap(), loopback);
        member.join_multicast_v6(group, loopback).unwrap();
        match sender.send_to(b"members", to).await {
            Err(error) if error.kind() == ErrorKind::NetworkUnreachable => {
                return eprintln!("skipped: no route to groups on the loopback");
            }
            sent => sent.unwrap(),
        };
        assert_eq!(member.recv(&mut [0; 64]).await.unwrap().length, 7);
        member.leave_multicast_v6(group, loopback).unwrap();
        sender.send_to(b"nobody", to).await.unwrap();
        let mut space = [0; 64];
        assert!(timeout(MOMENT, member.recv(&mut space)).await.is_err());
    });
}
