//! The live sources of one reactor, by token.

use crate::poller::Token;
use crate::source::Source;
use slab::Slab;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Maps the tokens in events to sources.
///
/// A token is the key of a place and a generation, which no other registration of the process
/// shares (but after four billion of them). Places are reused at once; an event for the one before
/// finds a source that goes by another token, and is dropped by it.
#[derive(Debug, Default)]
pub(crate) struct Registry(Slab<Arc<Source>>);

impl Registry {
    /// Gives `source` a place and a token.
    pub(crate) fn insert(&mut self, source: Arc<Source>) -> Token {
        static GENERATION: AtomicU32 = AtomicU32::new(0);
        let generation = GENERATION.fetch_add(1, Ordering::Relaxed);
        let key = self.0.insert(source);
        Token(u64::from(generation) << 32 | key as u64)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the source whose place `token` names; it may go by another token by now.
    pub(crate) fn find(&self, token: Token) -> Option<&Arc<Source>> {
        self.0.get(Self::place(token))
    }

    /// Takes the source out that was given `token`.
    pub(crate) fn remove(&mut self, token: Token) -> Option<Arc<Source>> {
        self.0.try_remove(Self::place(token))
    }

    /// Returns all sources.
    pub(crate) fn all(&self) -> Vec<Arc<Source>> {
        self.0.iter().map(|(_, source)| source.clone()).collect()
    }

    fn place(token: Token) -> usize {
        token.0 as u32 as usize
    }
}
