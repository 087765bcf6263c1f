//! The traits by which libraries spawn without knowing the executor.

mod support;

use futures::channel::mpsc;
use futures::stream::FuturesUnordered;
use futures::task::{LocalSpawn, LocalSpawnExt, Spawn, SpawnExt};
use futures::{StreamExt, future};
use std::rc::Rc;
use std::sync::Arc;
use support::{each_runtime, limit, runtime};
use windlass_executor::{Handle, LocalHandle, block_on, spawn, yield_now};

#[test]
fn a_library_spawns_through_the_trait() {
    async fn sum(spawner: &dyn Spawn) -> usize {
        let (sender, receiver) = mpsc::unbounded();
        for number in 0..100 {
            let sender = sender.clone();
            spawner
                .spawn(async move {
                    yield_now().await;
                    sender.unbounded_send(number).unwrap();
                })
                .unwrap();
        }
        drop(sender);
        receiver
            .fold(0, |sum, number| future::ready(sum + number))
            .await
    }
    each_runtime(|runtime| {
        assert_eq!(runtime.block_on(sum(runtime.handle())), 4_950);
        let spawner: Arc<dyn Spawn + Send + Sync> = Arc::new(runtime.handle().clone());
        assert_eq!(runtime.block_on(async { sum(&*spawner).await }), 4_950);
    });
}

#[test]
fn a_remote_handle_gives_the_output_and_cancels_when_it_is_dropped() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            let handle = Handle::current();
            let remote = handle.spawn_with_handle(async { 5 }).unwrap();
            assert_eq!(remote.await, 5);
            let (tell, dropped) = support::tells_drop();
            let remote = handle
                .spawn_with_handle(async move {
                    let _tell = tell;
                    future::pending::<()>().await;
                })
                .unwrap();
            yield_now().await;
            drop(remote);
            while !dropped.has_happened() {
                yield_now().await;
            }
        });
    });
}

#[test]
fn a_library_spawns_what_is_not_send() {
    let _limit = limit();
    let held = Rc::new(());
    block_on(async {
        let spawner = LocalHandle::try_current().unwrap();
        spawner.status_local().unwrap();
        let inside = held.clone();
        LocalSpawnExt::spawn_local(&spawner, async move { drop(inside) }).unwrap();
        let inside = held.clone();
        let remote = LocalSpawnExt::spawn_local_with_handle(&spawner, async move {
            yield_now().await;
            inside
        });
        drop(remote.unwrap().await);
    });
    assert_eq!(Rc::strong_count(&held), 1);
}

#[test]
fn a_runtime_that_is_gone_says_so() {
    let _limit = limit();
    let runtime = runtime(2);
    let handle = runtime.handle().clone();
    let mut local = None;
    runtime.block_on(async { local = LocalHandle::try_current() });
    handle.status().unwrap();
    drop(runtime);
    assert!(handle.status().unwrap_err().is_shutdown());
    let refused = SpawnExt::spawn(&handle, async {}).unwrap_err();
    assert!(refused.is_shutdown());
    let (tell, dropped) = support::tells_drop();
    let refused = LocalSpawnExt::spawn_local(&local.unwrap(), async move { drop(tell) });
    assert!(refused.unwrap_err().is_shutdown());
    assert!(dropped.has_happened());
}

#[test]
fn combinators_of_many_handles_end() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            let tasks: FuturesUnordered<_> = (0..1_000_u32)
                .map(|number| {
                    spawn(async move {
                        for _ in 0..number % 4 {
                            yield_now().await;
                        }
                        number
                    })
                })
                .collect();
            let sum = tasks
                .fold(0, |sum, output| future::ready(sum + output.unwrap()))
                .await;
            assert_eq!(sum, 499_500);
            let all = future::join_all((0..100).map(|number| spawn(future::ready(number))));
            assert_eq!(all.await.len(), 100);
            let (first, _) = future::select(spawn(future::pending::<()>()), spawn(async {}))
                .await
                .factor_first();
            first.unwrap();
        });
    });
}
