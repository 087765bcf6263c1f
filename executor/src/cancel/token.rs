//! The token that is handed to those who shall be asked to stop.

use super::tree::Tree;
use super::wait::{Cancelled, CancelledOwned, DropGuard};
use super::waiters::Waiters;
use crate::sync::atomic::{AtomicBool, Ordering};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::ptr;
use std::sync::Arc;
use std::task::Poll;

/// Asks whoever has a clone of it to stop, and whoever has one of its children.
///
/// It only tells; when and how to stop is up to those who look at it, unlike with
/// [`JoinHandle::abort`](crate::JoinHandle::abort). Tokens need no runtime, and work with any.
///
/// Cancelling a parent cancels its descendants, at whatever depth; cancelling a child leaves the
/// parent alone. A child of a cancelled parent is cancelled from the beginning. A token that is
/// dropped leaves nothing behind, and its children stay children of its parent.
///
/// # Examples
///
/// ```
/// use windlass_executor::{CancellationToken, block_on, spawn};
///
/// block_on(async {
///     let server = CancellationToken::new();
///     let connection = server.child_token();
///     let task = spawn(async move {
///         connection.cancelled().await;
///         "stopped"
///     });
///     server.cancel();
///     assert_eq!(task.await.unwrap(), "stopped");
/// });
/// ```
#[derive(Clone)]
#[must_use = "a token that nobody has a clone of cancels nothing"]
pub struct CancellationToken {
    node: Arc<Node>,
}

/// What the clones of one token share.
struct Node {
    /// Set once, with the lock of the family held. Whoever waits leaves its waker first and then
    /// looks at this; whoever cancels sets this first and then takes the wakers. Both take the lock
    /// of the wakers in between, so that one of them sees what the other did.
    is_cancelled: AtomicBool,
    waiters: Waiters,
    /// The family, of which it is one until it is cancelled, and the key in it.
    family: Arc<Tree<Node>>,
    key: usize,
}

impl CancellationToken {
    /// Makes a token that has no parent.
    ///
    /// # Examples
    ///
    /// ```
    /// let token = windlass_executor::CancellationToken::new();
    /// assert!(!token.is_cancelled());
    /// ```
    pub fn new() -> Self {
        let family = Arc::new(Tree::new());
        let node = family.root(|key| Node::new(&family, key));
        Self { node }
    }

    /// Makes a token that is cancelled with this one, and can be cancelled by itself.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::CancellationToken;
    /// let parent = CancellationToken::new();
    /// let (one, other) = (parent.child_token(), parent.child_token());
    /// one.cancel();
    /// assert!(one.is_cancelled() && !parent.is_cancelled() && !other.is_cancelled());
    /// parent.cancel();
    /// assert!(other.is_cancelled() && parent.child_token().is_cancelled());
    /// ```
    pub fn child_token(&self) -> Self {
        let Node { family, key, .. } = &*self.node;
        let is_this = |node| ptr::eq(node, Arc::as_ptr(&self.node));
        let child = family.child(*key, is_this, |key| Node::new(family, key));
        // Only a cancelled token is not in its family.
        child.map_or_else(
            |_| Self::cancelled_from_the_beginning(),
            |node| Self { node },
        )
    }

    fn cancelled_from_the_beginning() -> Self {
        let token = Self::new();
        token.cancel();
        token
    }

    /// Cancels this token and its descendants, for good, and wakes all that wait for that.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::CancellationToken;
    /// let token = CancellationToken::new();
    /// let clone = token.clone();
    /// clone.cancel();
    /// assert!(token.is_cancelled());
    /// ```
    pub fn cancel(&self) {
        let is_this = |node| ptr::eq(node, Arc::as_ptr(&self.node));
        // All of them are cancelled before anybody is woken, who may look at some other.
        let cancelled = self.node.family.take(self.node.key, is_this, |node| {
            node.is_cancelled.store(true, Ordering::Release);
        });
        for node in cancelled {
            node.waiters.wake_all();
        }
    }

    /// Says whether the token is cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::CancellationToken;
    /// # let token = CancellationToken::new();
    /// for piece in ["work", "in", "pieces"] {
    ///     if token.is_cancelled() {
    ///         break;
    ///     }
    ///     println!("{piece}");
    /// }
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.node.is_cancelled.load(Ordering::Acquire)
    }

    /// Waits until the token is cancelled.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost if the future is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{CancellationToken, block_on};
    /// let token = CancellationToken::new();
    /// let clone = token.clone();
    /// std::thread::spawn(move || clone.cancel());
    /// block_on(token.cancelled());
    /// ```
    pub fn cancelled(&self) -> Cancelled<'_> {
        Cancelled::new(self)
    }

    /// Waits until the token is cancelled, with a future that borrows nothing.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost if the future is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{CancellationToken, block_on, spawn};
    /// # block_on(async {
    /// let token = CancellationToken::new();
    /// let waits = spawn(token.clone().cancelled_owned());
    /// token.cancel();
    /// waits.await.unwrap();
    /// # });
    /// ```
    pub fn cancelled_owned(self) -> CancelledOwned {
        CancelledOwned::new(self)
    }

    /// Runs `future` until it is done or the token is cancelled: then it is dropped, and gives
    /// `None`. If both have come about at the same time, it is not polled any more.
    ///
    /// # Cancel safety
    ///
    /// As that of `future`, which is dropped with this.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{CancellationToken, block_on};
    /// # block_on(async {
    /// let token = CancellationToken::new();
    /// assert_eq!(token.run_until_cancelled(async { 5 }).await, Some(5));
    /// token.cancel();
    /// assert_eq!(token.run_until_cancelled(std::future::pending::<()>()).await, None);
    /// # });
    /// ```
    pub async fn run_until_cancelled<F: Future>(&self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        let mut cancelled = pin!(self.cancelled());
        poll_fn(|context| {
            if cancelled.as_mut().poll(context).is_ready() {
                return Poll::Ready(None);
            }
            if self.is_cancelled() {
                // It has no budget left to say so, and was woken to say it next time.
                return Poll::Pending;
            }
            future.as_mut().poll(context).map(Some)
        })
        .await
    }

    /// Runs `future` as [`run_until_cancelled`](Self::run_until_cancelled) does, in a future that
    /// borrows nothing.
    ///
    /// # Cancel safety
    ///
    /// As that of `future`, which is dropped with this.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{CancellationToken, block_on, spawn};
    /// # block_on(async {
    /// let token = CancellationToken::new();
    /// let task = spawn(token.clone().run_until_cancelled_owned(std::future::pending::<()>()));
    /// token.cancel();
    /// assert_eq!(task.await.unwrap(), None);
    /// # });
    /// ```
    pub async fn run_until_cancelled_owned<F: Future>(self, future: F) -> Option<F::Output> {
        self.run_until_cancelled(future).await
    }

    /// Makes a guard that cancels the token when it is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::CancellationToken;
    /// let token = CancellationToken::new();
    /// {
    ///     let _guard = token.clone().drop_guard();
    ///     // Whatever way this block is left, those who have the token are told to stop.
    /// }
    /// assert!(token.is_cancelled());
    /// ```
    pub fn drop_guard(self) -> DropGuard {
        DropGuard::new(self)
    }

    /// Returns who waits for this token.
    pub(super) fn waiters(&self) -> &Waiters {
        &self.node.waiters
    }
}

impl Default for CancellationToken {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CancellationToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CancellationToken")
            .field("is_cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}

impl Node {
    fn new(family: &Arc<Tree<Node>>, key: usize) -> Self {
        Self {
            is_cancelled: AtomicBool::new(false),
            waiters: Waiters::default(),
            family: family.clone(),
            key,
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let this = ptr::from_ref(self);
        self.family.leave(self.key, |node| ptr::eq(node, this));
    }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use std::task::{Context, Waker};

    #[test]
    fn whoever_leaves_the_family_leaves_nothing_behind() {
        let root = CancellationToken::new();
        let family = root.node.family.clone();
        for _ in 0..100 {
            drop(root.child_token().child_token());
        }
        assert_eq!(family.len(), 1);
        drop(root);
        assert_eq!(family.len(), 0);
    }

    #[test]
    fn a_line_whose_elders_go_does_not_grow() {
        let root = CancellationToken::new();
        let mut last = root.child_token();
        for _ in 0..1000 {
            last = last.child_token();
        }
        assert_eq!(root.node.family.len(), 2);
        root.cancel();
        assert!(last.is_cancelled());
        assert_eq!(root.node.family.len(), 0);
    }

    /// Families of every kind, from a fixed sequence, against a plain model.
    #[test]
    fn a_family_stays_small_and_whole_whatever_its_members_do() {
        /// A member, and the numbers of all its ancestors, itself included.
        struct Member(CancellationToken, Vec<usize>);

        let mut random = 1_u64;
        let mut next = move |below: usize| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) as usize % below
        };
        for _ in 0..200 {
            let root = CancellationToken::new();
            let family = root.node.family.clone();
            let mut members = vec![Member(root, vec![0])];
            for number in 1..200 {
                let chosen = next(members.len());
                match next(10) {
                    0..=5 => {
                        let mut line = members[chosen].1.clone();
                        line.push(number);
                        members.push(Member(members[chosen].0.child_token(), line));
                    }
                    6..=8 if members.len() > 1 => drop(members.swap_remove(chosen)),
                    9 if next(5) == 0 => {
                        let own = *members[chosen].1.last().unwrap();
                        members[chosen].0.cancel();
                        for Member(token, line) in &members {
                            assert_eq!(token.is_cancelled(), line.contains(&own));
                        }
                        members.retain(|Member(token, _)| !token.is_cancelled());
                        if members.is_empty() {
                            break;
                        }
                    }
                    _ => {}
                }
                assert!(family.len() <= 2 * members.len());
                assert!(members.iter().all(|Member(token, _)| !token.is_cancelled()));
            }
            drop(members);
            assert_eq!(family.len(), 0);
        }
    }

    #[test]
    fn waits_that_are_given_up_leave_no_waker_behind() {
        let token = CancellationToken::new();
        for _ in 0..10 {
            let mut waits = pin!(token.cancelled());
            let mut context = Context::from_waker(Waker::noop());
            assert!(waits.as_mut().poll(&mut context).is_pending());
            assert!(waits.as_mut().poll(&mut context).is_pending());
            assert_eq!(token.node.waiters.len(), 1);
        }
        assert_eq!(token.node.waiters.len(), 0);
    }
}
