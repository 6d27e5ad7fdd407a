//! Trie and memo together: the routes of one account.

use crate::matches::{Listener, Matches};
use crate::memo::Memo;
use crate::trie::Trie;
use std::sync::Arc;

/// The routes of one account.
#[derive(Default)]
pub struct Router {
    trie: Trie,
    memo: Memo,
}

impl Router {
    #[must_use]
    pub fn len(&self) -> usize {
        self.trie.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.trie.is_empty()
    }

    pub fn insert(&mut self, pattern: &[u8], queue: Option<&[u8]>, listener: Listener) {
        self.memo.forget(pattern);
        self.trie.insert(pattern, queue, listener);
    }

    pub fn remove(&mut self, pattern: &[u8], queue: Option<&[u8]>, listener: Listener) -> bool {
        self.memo.forget(pattern);
        self.trie.remove(pattern, queue, listener)
    }

    /// Who listens to `prefix` and so many tokens more, if it is the same whatever they are.
    #[must_use]
    pub fn find_below(&self, prefix: &[u8], tokens: usize) -> Option<Matches> {
        let mut into = Matches::default();
        let is_same = self.trie.find_below(prefix, tokens, &mut into);
        is_same.then_some(into)
    }

    /// The numbers under exactly this pattern: the plain ones, or those of a queue group.
    #[must_use]
    pub fn members(&self, pattern: &[u8], queue: Option<&[u8]>) -> &[u32] {
        self.trie.members(pattern, queue)
    }

    /// True if a target listens to exactly this pattern.
    #[must_use]
    pub fn has_target(&self, pattern: &[u8]) -> bool {
        self.trie.has_target(pattern)
    }

    pub fn find(&mut self, subject: &[u8]) -> Arc<Matches> {
        let trie = &self.trie;
        self.memo.get(subject, |into| trie.find(subject, into))
    }
}
