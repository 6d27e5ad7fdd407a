//! Redelivery: what waits for its acknowledgement, and the queue of what waited long enough.

use crate::ledger::Ledger;

/// What `expire` found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    pub queued: usize,
    /// Sequences that had all their deliveries.
    pub given_up: Vec<u64>,
    pub deadline_ns: Option<i64>,
}

impl Ledger {
    /// To the end of the queue, unless it is queued. False if it is not pending, or if no delivery
    /// above the floor has that consumer sequence.
    pub fn nak(&mut self, sequence: u64, consumer: u64) -> bool {
        let place = &self.place;
        if consumer <= place.floor.consumer || consumer > place.delivered.consumer + 1 {
            return false;
        }
        match self.pending.get(sequence) {
            Some(entry) => entry.is_queued() || self.requeue(sequence),
            None => false,
        }
    }

    /// To the end of the queue, even if it is in it. False if it is not pending.
    pub fn requeue(&mut self, sequence: u64) -> bool {
        let queued = self.pending.enqueue(sequence);
        if let Some(changes) = self.changes.as_mut().filter(|_| queued) {
            changes.queued(sequence);
        }
        queued
    }

    /// Out of the queue, and its wait begins at a time. False if it is not pending.
    pub fn delay(&mut self, sequence: u64, since_ns: i64) -> bool {
        self.pending.unqueue(sequence) && self.wait_since(sequence, since_ns, true)
    }

    /// Its wait begins at a time. False if it is not pending.
    pub fn progress(&mut self, sequence: u64, since_ns: i64) -> bool {
        self.wait_since(sequence, since_ns, false)
    }

    fn wait_since(&mut self, sequence: u64, since_ns: i64, unqueued: bool) -> bool {
        let known = self.pending.set_since(sequence, since_ns);
        if let Some(changes) = self.changes.as_mut().filter(|_| known) {
            changes.waits(sequence, since_ns, unqueued);
        }
        known
    }

    /// Out of pending and the queue, and counted among the redelivered, even after one delivery.
    /// The floor stays.
    pub fn give_up(&mut self, sequence: u64) -> bool {
        let known = self.pending.take(sequence).is_some();
        if known {
            self.deliveries.entry(sequence).or_insert(1);
        }
        if let Some(changes) = self.changes.as_mut().filter(|_| known) {
            changes.given_up(sequence);
        }
        known
    }

    /// Queues what has waited long enough, in order of sequences, and gives up what had all its
    /// deliveries (0: there is no limit).
    pub fn expire(&mut self, now_ns: i64, waits_ns: &[i64], deliveries_max: u64) -> Expired {
        let mut expired = Expired::default();
        let mut due = Vec::new();
        for (sequence, deadline_ns) in self.deadlines(waits_ns) {
            if deadline_ns <= now_ns {
                due.push(sequence);
            } else {
                let earliest = expired.deadline_ns.unwrap_or(i64::MAX);
                expired.deadline_ns = Some(deadline_ns.min(earliest));
            }
        }
        for sequence in due {
            if deliveries_max > 0 && self.deliveries_of(sequence) >= deliveries_max {
                self.give_up(sequence);
                expired.given_up.push(sequence);
            } else {
                self.requeue(sequence);
                expired.queued += 1;
            }
        }
        expired
    }

    /// When the first wait is over.
    #[must_use]
    pub fn next_deadline(&self, waits_ns: &[i64]) -> Option<i64> {
        self.deadlines(waits_ns).map(|(_, deadline)| deadline).min()
    }

    /// When each wait is over; what is queued does not wait.
    fn deadlines(&self, waits_ns: &[i64]) -> impl Iterator<Item = (u64, i64)> {
        let waiting = self.pending.iter().filter(|entry| !entry.is_queued());
        let first = waits_ns.first().copied();
        let by_count = waits_ns.len() > 1 && !self.deliveries.is_empty();
        waiting.filter_map(move |entry| {
            let wait_ns = if by_count {
                let deliveries = self.deliveries_of(entry.sequence);
                let at = usize::try_from(deliveries - 1).unwrap_or(usize::MAX);
                waits_ns.get(at).or(waits_ns.last()).copied()
            } else {
                first
            };
            Some((entry.sequence, entry.since_ns.saturating_add(wait_ns?)))
        })
    }
}
