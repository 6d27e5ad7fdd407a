//! The messages that say how long they live: which of them is over next.
//!
//! Strategy: two ordered tables, by sequence and by end. Whatever leaves the store leaves both at
//! once, so there are exactly the living ones in them, and only messages with a lifetime cost
//! anything. Those without an end are only in the first: they are what age spares.
//!
//! Invariant: `by_end` has (end, sequence) of every row of `by_sequence` that has an end.

use std::collections::{BTreeMap, BTreeSet};

const ENDLESS: i64 = i64::MAX;

#[derive(Clone, Debug, Default)]
pub struct Lifetimes {
    by_sequence: BTreeMap<u64, i64>,
    by_end: BTreeSet<(i64, u64)>,
}

impl Lifetimes {
    /// How many messages have a lifetime, those without an end included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_sequence.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_sequence.is_empty()
    }

    /// How many of them have no end.
    #[must_use]
    pub fn endless(&self) -> usize {
        self.by_sequence.len() - self.by_end.len()
    }

    #[must_use]
    pub fn is_endless(&self, sequence: u64) -> bool {
        self.by_sequence.get(&sequence) == Some(&ENDLESS)
    }

    /// When the next one is over.
    #[must_use]
    pub fn next_end_ns(&self) -> Option<i64> {
        self.by_end.first().map(|(end_ns, _)| *end_ns)
    }

    /// Those that are over at a time, the ones that have been for longest first.
    pub fn over(&self, now_ns: i64) -> impl Iterator<Item = u64> {
        let over = self.by_end.range(..=(now_ns, u64::MAX));
        over.map(|(_, sequence)| *sequence)
    }

    /// Sequences and ends, in the order of sequences.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = (u64, i64)> {
        self.by_sequence
            .iter()
            .map(|(sequence, end_ns)| (*sequence, *end_ns))
    }

    pub fn insert(&mut self, sequence: u64, end_ns: i64) {
        if let Some(before_ns) = self.by_sequence.insert(sequence, end_ns) {
            self.by_end.remove(&(before_ns, sequence));
        }
        if end_ns != ENDLESS {
            self.by_end.insert((end_ns, sequence));
        }
    }

    #[inline]
    pub fn remove(&mut self, sequence: u64) {
        if let Some(end_ns) = self.by_sequence.remove(&sequence) {
            self.by_end.remove(&(end_ns, sequence));
        }
    }

    /// Everything below a sequence has left the store.
    #[inline]
    pub fn remove_below(&mut self, sequence: u64) {
        while let Some(row) = self.by_sequence.first_entry()
            && *row.key() < sequence
        {
            let (gone, end_ns) = row.remove_entry();
            self.by_end.remove(&(end_ns, gone));
        }
    }

    pub fn remove_range(&mut self, first: u64, last: u64) {
        let gone = self.by_sequence.range(first..=last);
        let gone: Vec<u64> = gone.map(|(sequence, _)| *sequence).collect();
        gone.into_iter().for_each(|sequence| self.remove(sequence));
    }

    /// Bytes held in memory, about: nodes of both tables are two thirds full.
    #[must_use]
    pub fn bytes(&self) -> usize {
        (self.by_sequence.len() + self.by_end.len()) * (size_of::<(u64, i64)>() * 3 / 2)
    }
}
