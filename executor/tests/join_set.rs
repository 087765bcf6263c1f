//! Sets of tasks: the order of joining, its cost, and every way in which a task and a set can end.

mod support;

use futures::channel::oneshot;
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use support::{
    Dropped, PanicsWhenDropped, TellsDrop, each_runtime, limit, panic_quietly, runtime, tells_drop,
    wait_until,
};
use windlass_executor::{Handle, JoinError, JoinSet, Runtime, block_on, spawn, yield_now};

#[test]
fn tasks_are_joined_in_the_order_in_which_they_end() {
    let _limit = limit();
    block_on(async {
        let mut set = JoinSet::new();
        let (ends, waits): (Vec<_>, Vec<_>) = (0..8).map(|_| oneshot::channel::<usize>()).unzip();
        set.extend_with(
            waits
                .into_iter()
                .map(|wait| async move { wait.await.unwrap() }),
        );
        let order = [5, 2, 7, 0, 1, 6, 4, 3];
        let mut ends: Vec<_> = ends.into_iter().map(Some).collect();
        for index in order {
            ends[index].take().unwrap().send(index).unwrap();
            yield_now().await;
        }
        let mut joined = Vec::new();
        while let Some(result) = set.join_next().await {
            joined.push(result.unwrap());
        }
        assert_eq!(joined, order);
    });
}

/// Fills a set; with the handle of the caller.
trait ExtendWith<F> {
    fn extend_with(&mut self, futures: impl Iterator<Item = F>);
}

impl<T: Send + 'static, F: Future<Output = T> + Send + 'static> ExtendWith<F> for JoinSet<T> {
    fn extend_with(&mut self, futures: impl Iterator<Item = F>) {
        let handle = Handle::current();
        for future in futures {
            self.spawn_on(future, &handle);
        }
    }
}

#[test]
fn a_set_is_woken_once_for_many_that_end_and_polls_none_of_the_others() {
    struct Counts(AtomicUsize);
    impl Wake for Counts {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let _limit = limit();
    block_on(async {
        let counts = Arc::new(Counts(AtomicUsize::new(0)));
        let waker = Waker::from(counts.clone());
        let mut set = JoinSet::new();
        let (end, ended) = oneshot::channel::<()>();
        let ended = futures::FutureExt::shared(ended);
        for _ in 0..100 {
            let ended = ended.clone();
            set.spawn(async move { ended.await.unwrap() });
        }
        for _ in 0..1000 {
            set.spawn(pending());
        }
        assert!(
            set.poll_join_next(&mut Context::from_waker(&waker))
                .is_pending()
        );
        end.send(()).unwrap();
        for _ in 0..3 {
            yield_now().await;
        }
        assert_eq!(counts.0.load(Ordering::Relaxed), 1);
        for _ in 0..100 {
            assert!(set.try_join_next().is_some());
        }
        assert!(set.try_join_next().is_none());
    });
}

#[test]
fn a_wait_that_is_given_up_loses_nothing() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            let mut set = JoinSet::new();
            let (end, ended) = oneshot::channel();
            set.spawn(async move { ended.await.unwrap() });
            {
                let mut given_up = pin!(set.join_next());
                poll_fn(|context| {
                    assert!(given_up.as_mut().poll(context).is_pending());
                    Poll::Ready(())
                })
                .await;
            }
            end.send(5).unwrap();
            assert_eq!(set.join_next().await.unwrap().unwrap(), 5);
        });
    });
}

#[test]
fn a_set_takes_in_tasks_that_have_ended() {
    let _limit = limit();
    block_on(async {
        let task = spawn(async { 5 });
        while !task.is_finished() {
            yield_now().await;
        }
        let mut set = JoinSet::new();
        set.insert(task);
        assert_eq!(set.try_join_next().unwrap().unwrap(), 5);
    });
}

#[test]
fn a_set_that_let_its_tasks_go_does_not_mistake_new_ones_for_them() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            let mut set = JoinSet::new();
            for round in 0..100 {
                set.spawn(async move { round });
                set.detach_all();
                assert!(set.is_empty());
                set.spawn(async move { 1000 + round });
                let joined = set.join_next().await.unwrap().unwrap();
                assert_eq!(joined, 1000 + round);
                assert!(set.join_next().await.is_none());
            }
        });
    });
}

#[test]
fn an_error_says_which_task_failed() {
    let _limit = limit();
    block_on(async {
        let mut set = JoinSet::<()>::new();
        let fails = set.spawn(async { panic_quietly() });
        let cancelled = set.spawn(pending());
        let error = set.join_next_with_id().await.unwrap().unwrap_err();
        assert!(error.is_panic() && error.id() == fails.id());
        cancelled.abort();
        let error = set.join_next().await.unwrap().unwrap_err();
        assert!(error.is_cancelled() && error.id() == cancelled.id());
    });
}

#[test]
fn all_are_joined_or_the_panic_of_one_goes_on() {
    let _limit = limit();
    block_on(async {
        let mut set = JoinSet::new();
        let (tell, dropped) = tells_drop();
        set.spawn(async { panic_quietly() });
        set.spawn(async move {
            let _tell = tell;
            pending::<()>().await;
        });
        let payload = spawn(set.join_all()).await.unwrap_err().into_panic();
        assert_eq!(payload.downcast_ref(), Some(&"on purpose"));
        while !dropped.has_happened() {
            yield_now().await;
        }
    });
}

/// What a task does.
#[derive(Clone, Copy, Debug)]
enum Task {
    Ends,
    Panics,
    Waits,
    /// It ends with an output whose destructor panics.
    EndsBadly,
    /// It waits, and the destructor of its future panics.
    WaitsBadly,
}

/// Who runs it.
#[derive(Clone, Copy, Debug)]
enum By {
    Spawn,
    SpawnOn,
    SpawnLocal,
    SpawnBlocking,
}

/// What is done with the set.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Join,
    AbortAndJoin,
    Shutdown,
    Drop,
    Detach,
    DropRuntime,
}

/// On which thread, or in whose poll.
#[derive(Clone, Copy, Debug, PartialEq)]
enum On {
    Root,
    Task,
    OtherThread,
}

/// Tells that it is dropped, and may panic then.
struct Thing {
    _tell: TellsDrop,
    _panics: Option<PanicsWhenDropped>,
}

impl Task {
    fn thing(self) -> (Thing, Dropped) {
        let (tell, dropped) = tells_drop();
        let panics = matches!(self, Task::EndsBadly | Task::WaitsBadly);
        let thing = Thing {
            _tell: tell,
            _panics: panics.then(|| PanicsWhenDropped),
        };
        (thing, dropped)
    }

    fn body(self, thing: Thing) -> Thing {
        match self {
            Task::Panics => panic_quietly(),
            _ => thing,
        }
    }

    fn waits(self) -> bool {
        matches!(self, Task::Waits | Task::WaitsBadly)
    }

    async fn future(self, thing: Thing) -> Thing {
        if self.waits() {
            pending::<()>().await;
        }
        self.body(thing)
    }

    fn is_expected(self, deed: Deed, result: &Result<Thing, JoinError>) -> bool {
        let may_be_early = !matches!(deed, Deed::Join);
        match (self, result) {
            (Task::Ends | Task::EndsBadly, Ok(_)) => true,
            (Task::Panics, Err(error)) if error.is_panic() => true,
            // The destructor of an aborted future panicked.
            (Task::WaitsBadly | Task::EndsBadly, Err(error)) if error.is_panic() => true,
            (_, Err(error)) => may_be_early && error.is_cancelled(),
            (_, Ok(_)) => false,
        }
    }
}

#[test]
fn every_way_to_end_a_task_and_its_set() {
    let tasks = [
        Task::Ends,
        Task::Panics,
        Task::Waits,
        Task::EndsBadly,
        Task::WaitsBadly,
    ];
    let bys = [By::Spawn, By::SpawnOn, By::SpawnLocal, By::SpawnBlocking];
    let deeds = [
        Deed::Join,
        Deed::AbortAndJoin,
        Deed::Shutdown,
        Deed::Drop,
        Deed::Detach,
        Deed::DropRuntime,
    ];
    let mut count = 0;
    for workers in [1, 3] {
        for task in tasks {
            for by in bys {
                for deed in deeds {
                    for on in [On::Root, On::Task, On::OtherThread] {
                        for let_it_run in [false, true] {
                            let case = (task, by, deed, on, let_it_run);
                            if is_possible(case) {
                                let _limit = limit();
                                println!("{workers} workers, {case:?}");
                                check(runtime(workers), case);
                                count += 1;
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(count > 500, "only {count} cases");
}

type Case = (Task, By, Deed, On, bool);

fn is_possible((task, by, deed, _, _): Case) -> bool {
    let blocks_for_ever = matches!(by, By::SpawnBlocking) && task.waits();
    let waits_for_ever = task.waits() && matches!(deed, Deed::Join);
    !blocks_for_ever && !waits_for_ever
}

fn check(runtime: Runtime, (task, by, deed, on, let_it_run): Case) {
    let (thing, dropped) = task.thing();
    let handle = runtime.handle().clone();
    let set = runtime.block_on(async move {
        let mut set = JoinSet::new();
        match by {
            By::Spawn => set.spawn(task.future(thing)),
            By::SpawnOn => set.spawn_on(task.future(thing), &handle),
            By::SpawnLocal => set.spawn_local(task.future(thing)),
            By::SpawnBlocking => set.spawn_blocking(move || task.body(thing)),
        };
        if let_it_run {
            yield_now().await;
        }
        match on {
            On::Root => {
                act(&mut set, task, deed).await;
                Some(set)
            }
            On::Task => {
                let acts = spawn(async move {
                    act(&mut set, task, deed).await;
                    set
                });
                Some(acts.await.unwrap())
            }
            On::OtherThread => {
                let (tell, told) = oneshot::channel();
                thread::spawn(move || {
                    let mut acts = act(&mut set, task, deed);
                    let mut context = Context::from_waker(Waker::noop());
                    wait_until(|| acts.as_mut().poll(&mut context).is_ready());
                    drop(acts);
                    let _ = tell.send(set);
                });
                Some(told.await.unwrap())
            }
        }
    });
    // What is left of the set is dropped after the runtime, or before.
    if matches!(deed, Deed::DropRuntime) {
        drop(runtime);
        // An output stays until it is taken; a future does not.
        let result = set.unwrap().try_join_next().expect("the task has ended");
        assert!(task.is_expected(deed, &result), "{:?}", result.err());
        forget_quietly(result);
        dropped.wait();
    } else {
        drop(set);
        if matches!(deed, Deed::Detach) && task.waits() {
            assert!(!dropped.has_happened(), "it runs on");
        } else {
            runtime.block_on(async {
                while !dropped.has_happened() {
                    yield_now().await;
                }
            });
        }
    }
}

/// The destructor of an output may panic here, which is nobody's fault.
fn forget_quietly(result: Result<Thing, JoinError>) {
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(result)));
}

fn act<'a>(
    set: &'a mut JoinSet<Thing>,
    task: Task,
    deed: Deed,
) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
    Box::pin(async move {
        match deed {
            Deed::Join | Deed::AbortAndJoin => {
                if matches!(deed, Deed::AbortAndJoin) {
                    set.abort_all();
                }
                let result = set.join_next().await.unwrap();
                assert!(task.is_expected(deed, &result), "{:?}", result.err());
                forget_quietly(result);
                assert!(set.join_next().await.is_none());
            }
            Deed::Shutdown => set.shutdown().await,
            Deed::Drop => drop(std::mem::take(set)),
            Deed::Detach => set.detach_all(),
            Deed::DropRuntime => {}
        }
    })
}
