//! A worker thread, from beginning to end.

use super::Shared;
use super::affinity::Binding;
use super::lifecycle::{Lifecycle, belong_to};
use crate::context::{self, Context, Queues};
use crate::pinned::Pinned;
use crate::queue::Own;
use crate::task::Runnable;
use crate::watch::Tenant;
use crate::worker::{Goal, Worker};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use windlass_reactor::Reactor;

/// What a worker thread does, from beginning to end.
pub(super) fn run(
    shared: Arc<Shared>,
    index: usize,
    reactor: Reactor,
    ready: Own<Runnable>,
    binding: Option<Binding>,
) {
    // Whoever waits for the end finds nothing of this thread left: it is told last.
    let _ending = Ending(shared.lifecycle.clone());
    belong_to(Arc::as_ptr(&shared));
    if let Some(binding) = binding {
        binding.apply();
    }
    let pinned = Pinned::new();
    shared.add_pinned(&pinned);
    pinned.arrive(&shared, index);
    shared.posts[index].settle(Tenant {
        pinned: Arc::downgrade(&pinned),
        ..Tenant::default()
    });
    let handle = reactor.handle().clone();
    let mut worker = Worker::new(shared.clone(), index, pinned.clone(), reactor);
    let context = Context {
        shared: shared.clone(),
        queues: Some(Queues::new(ready, pinned.clone())),
    };
    let ((), context) = context::enter(context, || {
        handle.enter(|| {
            shared.hooks.start.call();
            if catch_unwind(AssertUnwindSafe(|| worker.run(&mut Stop(&shared)))).is_err() {
                // Its reactor has failed, as the panic hook has said: the runtime can't go on.
                shared.stop();
            }
            pinned.leave();
            if shared.lifecycle.stop_together() {
                shared.end_tasks();
            }
            pinned.close();
            shared.hooks.stop.call();
        });
    });
    drop((context, worker, handle, pinned, shared));
}

/// What the thread of the watch does, from beginning to end.
pub(super) fn run_watch(shared: Arc<Shared>) {
    let _ending = Ending(shared.lifecycle.clone());
    belong_to(Arc::as_ptr(&shared));
    if let Some(watch) = &shared.watch {
        watch.run(&shared);
    }
    drop(shared);
}

/// Ends the part of a thread in the life of the runtime, also if it panics.
struct Ending(Arc<Lifecycle>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// A worker thread runs until the runtime stops.
struct Stop<'a>(&'a Shared);

impl Goal for Stop<'_> {
    type Output = ();

    fn check(&mut self) -> Option<()> {
        self.is_due().then_some(())
    }

    fn is_due(&self) -> bool {
        self.0.is_stopping()
    }
}
