//! Acknowledgements one by one: what they settle, and how far the floor moves.
//!
//! The floor moves over a settled message if that was the next one above it, by the consumer
//! sequence of its first delivery, and then on to just below the next pending one. With nothing
//! pending it is where delivery is.

use crate::ledger::{AckPolicy, Ledger, Position, Range};
use crate::pending::Delivered;

/// What an acknowledgement did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The sequence was not delivered yet.
    NotReached,
    Nothing,
    Something,
}

/// Adds a sequence to ranges, to the last one if it follows it.
pub(crate) fn join(ranges: &mut Vec<Range>, sequence: u64) {
    match ranges.last_mut() {
        Some((_, last)) if *last + 1 == sequence => *last = sequence,
        _ => ranges.push((sequence, sequence)),
    }
}

impl Ledger {
    /// One acknowledgement; the sequences it settles are added to `ranges`.
    #[inline]
    pub fn ack(&mut self, sequence: u64, consumer: u64, ranges: &mut Vec<Range>) -> Settled {
        if sequence >= self.reached() {
            return Settled::NotReached;
        }
        let settled = match self.policy {
            AckPolicy::None => false,
            AckPolicy::Explicit => self.ack_one(sequence, ranges),
            AckPolicy::All => self.ack_all(sequence, consumer, ranges),
        };
        if settled {
            Settled::Something
        } else {
            Settled::Nothing
        }
    }

    #[inline]
    fn ack_one(&mut self, sequence: u64, ranges: &mut Vec<Range>) -> bool {
        let counted = !self.deliveries.is_empty() && self.deliveries.remove(&sequence).is_some();
        let pending = self.pending.take(sequence);
        if let Some(entry) = &pending {
            self.move_floor(entry);
        }
        let settled = counted || pending.is_some();
        if settled {
            join(ranges, sequence);
            self.note_settled((sequence, sequence));
        }
        settled
    }

    pub(crate) fn ack_all(
        &mut self,
        sequence: u64,
        consumer: u64,
        ranges: &mut Vec<Range>,
    ) -> bool {
        // A purge lifts the floor's consumer sequence over messages that are still pending, and so
        // does an acknowledgement of a redelivery: what is pending up to here is settled all the same.
        let floor = self.place.floor;
        let is_pending = || {
            self.pending
                .first()
                .is_some_and(|entry| entry.sequence <= sequence)
        };
        if sequence <= floor.stream || consumer <= floor.consumer && !is_pending() {
            return false;
        }
        self.place.floor = Position {
            consumer: consumer.max(floor.consumer),
            stream: sequence,
        };
        if self.pending.get(sequence).is_some() {
            self.place.shown = self.place.floor;
        }
        let given_up: Vec<u64> = self
            .deliveries
            .keys()
            .copied()
            .filter(|counted| *counted <= sequence && self.pending.get(*counted).is_none())
            .collect();
        let mut sequences = given_up;
        while let Some(first) = self.pending.first().map(|entry| entry.sequence)
            && first <= sequence
        {
            self.pending.take(first);
            sequences.push(first);
        }
        sequences.sort_unstable();
        for sequence in sequences {
            self.deliveries.remove(&sequence);
            join(ranges, sequence);
            self.note_settled((sequence, sequence));
        }
        true
    }

    /// After a message was taken out of pending.
    #[inline]
    pub(crate) fn move_floor(&mut self, taken: &Delivered) {
        let place = &mut self.place;
        if self.pending.is_empty() {
            place.floor = place.delivered;
        } else if taken.consumer == place.floor.consumer + 1 {
            let next = self.pending.first_above(taken.sequence);
            place.floor = next.map_or(
                Position {
                    consumer: taken.consumer,
                    stream: taken.sequence,
                },
                |next| Position {
                    consumer: next.consumer - 1,
                    stream: next.sequence - 1,
                },
            );
        }
        place.shown = place.floor;
    }

    pub(crate) fn note_settled(&mut self, range: Range) {
        if let Some(changes) = &mut self.changes {
            changes.settled(range);
        }
    }
}
