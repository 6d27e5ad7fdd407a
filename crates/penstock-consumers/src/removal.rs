//! Messages that left the stream: removed one by one or by limits, or purged.

use crate::ledger::{AckPolicy, Ledger, Range};
use penstock_blocks::{Result, Store};

/// A pending message that is gone: sequence, consumer sequence, deliveries.
pub type Terminated = (u64, u64, u64);

impl Ledger {
    /// Settles what is pending of a range; answers with it.
    pub fn removed(&mut self, (first, last): Range) -> Vec<Terminated> {
        let pending = self.pending.from(first);
        let sequences: Vec<u64> = pending
            .map(|entry| entry.sequence)
            .take_while(|sequence| *sequence <= last)
            .collect();
        let terminated: Vec<Terminated> = sequences
            .into_iter()
            .filter_map(|sequence| self.terminate(sequence))
            .collect();
        let counted = self.forget((first, last));
        if counted || !terminated.is_empty() {
            self.note_settled((first, last));
        }
        terminated
    }

    /// The same for everything that a store no longer has.
    pub fn removed_missing(&mut self, store: &mut Store) -> Result<Vec<Terminated>> {
        let mut terminated = Vec::new();
        for sequence in self.missing(store)? {
            terminated.extend(self.terminate(sequence));
            self.forget((sequence, sequence));
            self.note_settled((sequence, sequence));
        }
        Ok(terminated)
    }

    /// As an acknowledgement of it, by the policy.
    fn terminate(&mut self, sequence: u64) -> Option<Terminated> {
        let entry = *self.pending.get(sequence)?;
        let deliveries = self.deliveries_of(sequence);
        if self.policy == AckPolicy::All {
            self.ack_all(sequence, entry.consumer, &mut Vec::new());
        }
        if self.pending.take(sequence).is_some() && self.policy == AckPolicy::Explicit {
            self.move_floor(&entry);
        }
        Some((sequence, entry.consumer, deliveries))
    }

    /// Takes a range out of counts and list; true if anything of it was there.
    pub(crate) fn forget(&mut self, (first, last): Range) -> bool {
        let before = (self.deliveries.len(), self.listed.len());
        if first == last {
            self.deliveries.remove(&first);
        } else {
            self.deliveries
                .retain(|sequence, _| !(first..=last).contains(sequence));
        }
        let start = self.listed.partition_point(|listed| *listed < first);
        let end = self.listed.partition_point(|listed| *listed <= last);
        self.listed.drain(start..end);
        (self.deliveries.len(), self.listed.len()) != before
    }

    /// What is pending, counted or listed without a message.
    fn missing(&self, store: &mut Store) -> Result<Vec<u64>> {
        let pending = self.pending.iter().map(|entry| entry.sequence);
        let counted = self.deliveries.keys().copied();
        let mut known: Vec<u64> = pending.chain(counted).chain(self.listed.clone()).collect();
        known.sort_unstable();
        known.dedup();
        let mut missing = Vec::new();
        for sequence in known {
            if !store.has(sequence)? {
                missing.push(sequence);
            }
        }
        Ok(missing)
    }

    /// Everything below a sequence was purged; how many of it were pending. Delivery goes on from
    /// there, and what is left waits for its time instead of being queued.
    pub fn purged(&mut self, below: u64) -> usize {
        let cursor = self.place.cursor.max(below);
        let mut dropped = 0;
        if self.place.floor.stream < below {
            self.place.floor.stream = below.saturating_sub(1);
            dropped = self.drop_where(|sequence| sequence < below);
        }
        self.forget((0, below.saturating_sub(1)));
        self.place.cursor = cursor;
        self.note_settled((0, below.saturating_sub(1)));
        self.end_purge();
        dropped
    }

    /// Some messages were purged, which leaves a first one in the stream: what is missing in the
    /// store leaves pending. The floor jumps only if it was below that first one.
    pub fn purged_missing(&mut self, store: &mut Store, first: u64) -> Result<usize> {
        let missing = self.missing(store)?;
        let is_missing = |sequence: u64| missing.binary_search(&sequence).is_ok();
        let is_below = self.place.floor.stream < first;
        let mut dropped = self.purged(first);
        if is_below {
            dropped += self.drop_where(is_missing);
        } else {
            dropped += missing.iter().filter(|gone| self.let_go(**gone)).count();
        }
        for sequence in missing {
            self.forget((sequence, sequence));
            self.note_settled((sequence, sequence));
        }
        self.end_purge();
        Ok(dropped)
    }

    /// Takes a message out of pending without settling any other; false if it was not there.
    fn let_go(&mut self, sequence: u64) -> bool {
        let Some(entry) = self.pending.take(sequence) else {
            return false;
        };
        if self.policy == AckPolicy::Explicit {
            self.move_floor(&entry);
        }
        true
    }

    /// Drops pending messages; the floor's consumer sequence becomes the highest of theirs.
    fn drop_where(&mut self, test: impl Fn(u64) -> bool) -> usize {
        let pending = self.pending.iter().map(|entry| entry.sequence);
        let dropped: Vec<u64> = pending.filter(|sequence| test(*sequence)).collect();
        for sequence in &dropped {
            if let Some(entry) = self.pending.take(*sequence) {
                let floor = &mut self.place.floor.consumer;
                *floor = (*floor).max(entry.consumer);
            }
        }
        dropped.len()
    }

    fn end_purge(&mut self) {
        let place = &mut self.place;
        if self.listed.is_empty() {
            place.delivered.stream = place.cursor.saturating_sub(1);
        }
        if self.pending.is_empty() {
            place.floor = place.delivered;
            for (sequence, _) in std::mem::take(&mut self.deliveries) {
                self.note_settled((sequence, sequence)); // they were given up
            }
        }
        self.place.shown = self.place.floor;
        self.pending.clear_queue();
        if let Some(changes) = &mut self.changes {
            changes.queue_cleared();
        }
    }
}
