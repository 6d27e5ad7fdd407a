//! Subjects for Python: validity, and an index of patterns for code that is not a bulk path.

use crate::hub::Hub;
use penstock_subjects::{Listener, Matches, Trie};
use pyo3::prelude::*;

#[pyfunction]
pub fn is_valid_pattern(subject: &[u8]) -> bool {
    penstock_subjects::is_valid_pattern(subject)
}

#[pyfunction]
pub fn is_valid_literal(subject: &[u8]) -> bool {
    penstock_subjects::is_valid_literal(subject)
}

/// Patterns with a number each; finds the numbers whose pattern matches a subject.
#[pyclass]
#[derive(Default)]
pub struct SubjectIndex {
    trie: Trie,
}

#[pymethods]
impl SubjectIndex {
    #[new]
    fn new() -> SubjectIndex {
        SubjectIndex::default()
    }

    fn __len__(&self) -> usize {
        self.trie.len()
    }

    fn insert(&mut self, pattern: &[u8], number: u32) -> bool {
        let valid = penstock_subjects::is_valid_pattern(pattern);
        if valid {
            self.trie.insert(pattern, None, Listener::Plain(number));
        }
        valid
    }

    fn remove(&mut self, pattern: &[u8], number: u32) -> bool {
        self.trie.remove(pattern, None, Listener::Plain(number))
    }

    /// How many frames of a run, from the first on, have a subject that some pattern matches; one
    /// whose connection is gone goes along.
    fn matched(&self, hub: &Hub, start: usize, end: usize) -> usize {
        let mut matches = Matches::default();
        let mut is_matched = |position: &usize| {
            hub.hub.asked(*position).is_none_or(|asked| {
                matches.plain.clear();
                self.trie.find(asked.subject, &mut matches);
                !matches.plain.is_empty()
            })
        };
        (start..end).take_while(|at| is_matched(at)).count()
    }

    fn find(&self, subject: &[u8]) -> Vec<u32> {
        let mut matches = Matches::default();
        self.trie.find(subject, &mut matches);
        matches.plain
    }
}
