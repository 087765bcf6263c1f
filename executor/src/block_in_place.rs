//! Blocks a worker without holding up what others could do.

use crate::block::step_aside;
use crate::context::{self, Context};

/// Runs `body`, which may block, on this thread, and leaves the work of the thread to others.
///
/// Tasks that are ready on this worker are handed over to the other ones, and what waits on the
/// reactor of this thread waits elsewhere meanwhile. What can't be handed over waits until `body`
/// returns: the calling task itself, with all that it has joined into one future; tasks that stay on
/// this thread or worker; the future of `block_on`, if this is its thread; and everything, in a
/// runtime of one worker. Unlike [`spawn_blocking`](crate::spawn_blocking), `body` may borrow, and
/// it starts at once.
///
/// Inside `body` the thread is no worker: [`spawn`](crate::spawn) and [`block_on`](crate::block_on)
/// work, but [`spawn_local`](crate::spawn_local) doesn't. Outside of a runtime this just runs `body`.
///
/// # Panics
///
/// If `body` does.
///
/// # Examples
///
/// ```
/// use windlass_executor::{Runtime, block_in_place, spawn};
///
/// let runtime = Runtime::builder().workers(2).build()?;
/// let answer = runtime.block_on(async {
///     let task = spawn(async { 5 });
///     // The other worker runs the task.
///     block_in_place(|| task.wait())
/// });
/// assert_eq!(answer?, 5);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn block_in_place<R>(body: impl FnOnce() -> R) -> R {
    let taken = context::with(|context| {
        let queues = context.queues.as_mut()?;
        let is_ready = !queues.ready.is_empty();
        if is_ready {
            context.shared.queue.push_all(queues.ready.take_all());
        }
        Some((context.shared.clone(), is_ready))
    });
    let Some((shared, is_ready)) = taken.flatten() else {
        return body();
    };
    if is_ready {
        shared.wake_one();
    }
    // As a guest, so that what is woken and spawned meanwhile is queued where others find it; that
    // is also done with what is woken because it has to wait elsewhere.
    let guest = Context {
        shared,
        queues: None,
    };
    context::enter(guest, || step_aside(body)).0
}
