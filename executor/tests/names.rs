//! Names of tasks: seen by everybody who has a handle or an error, for as long as they have it.

mod support;

use std::future::pending;
use support::{each_runtime, limit, panic_quietly, runtime};
use windlass_executor::{AbortHandle, JoinHandle, JoinSet, TaskBuilder, block_on, spawn};

fn baker() -> TaskBuilder {
    TaskBuilder::new().name("baker")
}

#[test]
fn a_name_is_there_before_and_after_the_end() {
    each_runtime(|runtime| {
        let handle = runtime.handle().clone();
        runtime.block_on(async {
            let on = |builder: TaskBuilder| builder.handle(&handle);
            let tasks: [JoinHandle<u8>; 5] = [
                baker().spawn(async { 5 }),
                baker().spawn_local(async { 5 }),
                baker().spawn_on(0, async { 5 }),
                baker().spawn_blocking(|| 5),
                on(baker()).spawn(async { 5 }),
            ];
            for mut task in tasks {
                let abort: AbortHandle = task.abort_handle();
                assert_eq!((task.name(), abort.name()), (Some("baker"), Some("baker")));
                assert_eq!((&mut task).await.unwrap(), 5);
                assert_eq!((task.name(), abort.name()), (Some("baker"), Some("baker")));
                drop(task);
                assert_eq!(abort.name(), Some("baker"));
            }
            assert_eq!(spawn(async {}).name(), None);
            assert_eq!(TaskBuilder::new().spawn(async {}).name(), None);
        });
    });
}

#[test]
fn an_error_tells_the_name() {
    let _limit = limit();
    block_on(async {
        let result: Result<(), _> = baker().spawn(async { panic_quietly() }).await;
        let error = result.unwrap_err();
        assert_eq!(error.name(), Some("baker"));
        let start = format!("task {} \"baker\", spawned at ", error.id());
        assert!(error.to_string().starts_with(&start), "{error}");

        let mut set = JoinSet::<()>::new();
        set.insert(
            TaskBuilder::new()
                .name(format!("client {}", 7))
                .spawn(pending()),
        )
        .abort();
        let error = set.join_next().await.unwrap().unwrap_err();
        assert!(error.is_cancelled() && error.to_string().contains("\"client 7\""));
    });
}

#[test]
fn a_task_is_built_for_another_runtime() {
    let _limit = limit();
    let other = runtime(2);
    block_on(async {
        let task = baker().handle(other.handle()).spawn(async { 5 });
        assert_eq!(task.await.unwrap(), 5);
        let local = baker().handle(other.handle());
        let here = std::panic::AssertUnwindSafe(|| drop(local.spawn_local(async {})));
        assert!(std::panic::catch_unwind(here).is_err());
    });
    assert!(std::panic::catch_unwind(|| drop(baker().spawn(async {}))).is_err());
}
