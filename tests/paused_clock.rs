//! Limits go by the clock of the runtime, which may be far ahead of the real one.

use std::time::Duration;
use windlass::Runtime;
use windlass::net::{Connector, TcpListener};
use windlass::time::sleep;

#[test]
fn connecting_has_its_time_by_the_paused_clock() {
    let runtime = Runtime::builder().paused_clock().build().unwrap();
    runtime.block_on(async {
        sleep(Duration::from_secs(3600)).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connector = Connector::new().timeout(Duration::from_secs(5));
        let address = listener.local_addr().unwrap();
        let stream = connector.connect(address).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), address);
    });
}
