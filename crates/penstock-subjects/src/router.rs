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

    /// Who listens to `prefix` and one more token, if it is the same for every such token.
    #[must_use]
    pub fn find_below(&self, prefix: &[u8]) -> Option<Matches> {
        let mut into = Matches::default();
        self.trie.find_below(prefix, &mut into).then_some(into)
    }

    pub fn find(&mut self, subject: &[u8]) -> Arc<Matches> {
        let trie = &self.trie;
        self.memo.get(subject, |into| trie.find(subject, into))
    }
}
