//! Task-locals: seen inside of their scope and nowhere else, however that is left.

mod support;

use futures::channel::oneshot;
use std::cell::{Cell, RefCell};
use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Waker};
use support::{each_runtime, limit, panic_quietly};
use windlass_executor::{TaskLocal, block_on, spawn, spawn_local, yield_now};

static NUMBER: TaskLocal<usize> = TaskLocal::new();
static OTHER: TaskLocal<usize> = TaskLocal::new();
static TEXT: TaskLocal<String> = TaskLocal::new();
/// Something that is neither `Sync` nor `Clone`.
static CELL: TaskLocal<Cell<usize>> = TaskLocal::new();
static LOCAL: TaskLocal<Rc<RefCell<Vec<usize>>>> = TaskLocal::new();

#[test]
fn each_task_sees_its_own() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            let tasks: Vec<_> = (0..100)
                .map(|number| {
                    spawn(NUMBER.scope(number, async move {
                        for _ in 0..10 {
                            yield_now().await;
                            assert_eq!(NUMBER.get(), number);
                        }
                        assert!(
                            spawn(async { NUMBER.try_with(|_| ()).is_err() })
                                .await
                                .unwrap()
                        );
                    }))
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
            assert!(NUMBER.try_with(|_| ()).is_err());
        });
    });
}

#[test]
fn scopes_nest_and_hide_each_other() {
    let _limit = limit();
    block_on(NUMBER.scope(1, async {
        OTHER
            .scope(2, async {
                NUMBER
                    .scope(3, async {
                        yield_now().await;
                        assert_eq!((NUMBER.get(), OTHER.get()), (3, 2));
                    })
                    .await;
                assert_eq!((NUMBER.get(), OTHER.get()), (1, 2));
                TEXT.sync_scope("inner".to_owned(), || {
                    TEXT.with(|outer| {
                        let inner = TEXT.sync_scope("innermost".to_owned(), || TEXT.get());
                        assert_eq!((outer.as_str(), inner.as_str()), ("inner", "innermost"));
                        assert_eq!(TEXT.get(), "inner");
                    });
                });
                assert!(TEXT.try_with(|_| ()).is_err());
            })
            .await;
        assert_eq!(NUMBER.get(), 1);
        assert!(OTHER.try_with(|_| ()).is_err());
    }));
}

#[test]
fn a_value_may_be_changed_and_need_not_be_send() {
    let _limit = limit();
    block_on(async {
        let count = CELL.scope(Cell::new(0), async {
            for _ in 0..3 {
                CELL.with(|cell| cell.set(cell.get() + 1));
                yield_now().await;
            }
            CELL.with(Cell::get)
        });
        assert_eq!(spawn(count).await.unwrap(), 3);
        let shared = Rc::new(RefCell::new(Vec::new()));
        let fills = async { LOCAL.with(|list| list.borrow_mut().push(1)) };
        spawn_local(LOCAL.scope(shared.clone(), fills))
            .await
            .unwrap();
        assert_eq!(*shared.borrow(), [1]);
        assert_eq!(Rc::strong_count(&shared), 1);
    });
}

/// Says what value there is when it is dropped.
struct Looks(Option<oneshot::Sender<Option<usize>>>);

impl Drop for Looks {
    fn drop(&mut self) {
        let _ = self
            .0
            .take()
            .unwrap()
            .send(NUMBER.try_with(|number| *number).ok());
    }
}

#[test]
fn a_future_that_is_dropped_midway_sees_its_own() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            // By an abort.
            let (tell, told) = oneshot::channel();
            let task = spawn(NUMBER.scope(1, async {
                let _looks = Looks(Some(tell));
                pending::<()>().await;
            }));
            yield_now().await;
            task.abort();
            let seen = told.await;
            // Where it was not polled, it was dropped with the sender.
            assert_eq!(seen.unwrap_or(Some(1)), Some(1));

            // Inside of another scope, polled and not polled.
            for is_polled in [true, false] {
                let (tell, told) = oneshot::channel();
                let looks = Looks(Some(tell));
                let mut scoped = Box::pin(NUMBER.scope(2, async move {
                    let _looks = looks;
                    pending::<()>().await;
                }));
                if is_polled {
                    let mut context = Context::from_waker(Waker::noop());
                    assert!(scoped.as_mut().poll(&mut context).is_pending());
                }
                NUMBER.sync_scope(3, || {
                    drop(scoped);
                    assert_eq!(NUMBER.get(), 3);
                });
                assert_eq!(told.await.unwrap(), Some(2));
            }
        });
    });
}

#[test]
fn a_panic_leaves_the_scope() {
    let _limit = limit();
    block_on(NUMBER.scope(1, async {
        let mut panics = pin!(NUMBER.scope(2, async { panic_quietly() }));
        let mut context = Context::from_waker(Waker::noop());
        let poll = AssertUnwindSafe(|| panics.as_mut().poll(&mut context).map(|_: ()| ()));
        assert!(catch_unwind(poll).is_err());
        assert_eq!(NUMBER.get(), 1);
        assert!(catch_unwind(|| NUMBER.sync_scope(3, || panic_quietly())).is_err());
        assert!(catch_unwind(|| NUMBER.with(|_| panic_quietly())).is_err());
        assert_eq!(NUMBER.get(), 1);
        let task = spawn(NUMBER.scope(4, async { panic_quietly() }));
        let joined: Result<(), _> = task.await;
        assert!(joined.unwrap_err().is_panic());
    }));
    assert!(NUMBER.try_with(|_| ()).is_err());
}

#[test]
fn scopes_that_take_turns_do_not_mix() {
    let _limit = limit();
    block_on(async {
        let scoped = |number| {
            NUMBER.scope(number, async move {
                for _ in 0..5 {
                    assert_eq!(NUMBER.get(), number);
                    yield_now().await;
                }
            })
        };
        futures::future::join3(scoped(1), OTHER.scope(9, scoped(2)), scoped(3)).await;
    });
}
