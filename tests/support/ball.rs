//! Two tasks that wake each other in turn.

use futures_util::task::AtomicWaker;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use windlass::spawn;

/// Has two tasks throw a ball, `rounds` times: one has the even throws, one the odd ones.
pub(crate) async fn throw_a_ball(rounds: usize) {
    let ball = Arc::new((
        AtomicUsize::new(0),
        [AtomicWaker::new(), AtomicWaker::new()],
    ));
    let players = [0, 1].map(|player| {
        let ball = ball.clone();
        spawn(poll_fn(move |context| {
            let (throws, wakers) = &*ball;
            wakers[player].register(context.waker());
            if throws.load(Ordering::SeqCst) % 2 == player {
                throws.fetch_add(1, Ordering::SeqCst);
                wakers[1 - player].wake();
            }
            if throws.load(Ordering::SeqCst) > rounds {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        }))
    });
    for player in players {
        player.await.unwrap();
    }
}
