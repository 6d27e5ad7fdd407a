//! The ledger of one consumer: its state, and what is asked about it. What changes it is in
//! `deliver` (deliveries), `settling` and `ack_run` (acknowledgements), `waiting` (redelivery),
//! `removal` (messages that left the stream) and `replay`.

use crate::changes::Changes;
use crate::count::Tally;
use crate::pending::{Delivered, Pending};
use ahash::AHashMap;
use penstock_blocks::Filter;
use std::collections::VecDeque;

/// First and last sequence, both included.
pub type Range = (u64, u64);

/// How acknowledgements settle messages. The numbers are shared with Python
/// (`kernel/consumers.py`).
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// Delivered is settled.
    None = 0,
    /// Each on its own.
    Explicit = 1,
    /// One settles everything up to it.
    All = 2,
}

/// A delivery: its consumer sequence, and the stream sequence of its message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    pub consumer: u64,
    pub stream: u64,
}

/// Everything of a ledger that is neither pending nor counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub delivered: Position,
    /// Everything up to here is settled.
    pub floor: Position,
    /// The floor that is told: an ack for all that names no pending message moves only the other.
    pub shown: Position,
    /// The next sequence to look at.
    pub cursor: u64,
}

/// A pending message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub consumer: u64,
    pub since_ns: i64,
    pub deliveries: u64,
    pub queued: bool,
}

/// What a ledger tells about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    pub delivered: Position,
    pub floor: Position,
    /// The next sequence to look at; of a list, one above its last delivered.
    pub cursor: u64,
    pub pending: usize,
    /// Unsettled messages with more than one delivery, given up ones included.
    pub redelivered: usize,
    pub queued: usize,
}

pub struct Ledger {
    pub(crate) policy: AckPolicy,
    /// `$JS.ACK.<stream>.<consumer>.`
    pub(crate) ack_subject: Vec<u8>,
    pub(crate) filter: Filter,
    pub(crate) headers_only: bool,
    pub(crate) place: Place,
    pub(crate) pending: Pending,
    /// Deliveries of messages that had more than one.
    pub(crate) deliveries: AHashMap<u64, u64>,
    /// Sequences that come before the cursor goes on.
    pub(crate) listed: VecDeque<u64>,
    pub(crate) tally: Tally,
    /// What changed since it was last asked for, if anybody asks.
    pub(crate) changes: Option<Changes>,
    /// Numbers the changes, so that none is made twice.
    pub(crate) version: u64,
}

impl Ledger {
    #[must_use]
    pub fn new(policy: AckPolicy, ack_subject: &[u8], filter: Filter, recorded: bool) -> Ledger {
        Ledger {
            policy,
            ack_subject: ack_subject.to_vec(),
            filter,
            headers_only: false,
            place: Place::default(),
            pending: Pending::default(),
            deliveries: AHashMap::default(),
            listed: VecDeque::new(),
            tally: Tally::default(),
            changes: recorded.then(Changes::default),
            version: 0,
        }
    }

    /// Begins anew at a sequence, with a rising list of others before it.
    pub fn start(&mut self, cursor: u64, listed: &[u64]) {
        let first = listed.first().copied().unwrap_or(cursor);
        let before = Position {
            consumer: 0,
            stream: first.saturating_sub(1),
        };
        self.pending.clear();
        self.deliveries.clear();
        self.listed = listed.iter().copied().collect();
        self.tally = Tally::default();
        self.place = Place {
            delivered: before,
            floor: before,
            shown: before,
            cursor,
        };
        if let Some(changes) = &mut self.changes {
            changes.started(listed);
        }
    }

    /// Other filters from now on.
    pub fn configure(&mut self, filter: Filter, headers_only: bool) {
        self.filter = filter;
        self.headers_only = headers_only;
        self.tally = Tally::default();
    }

    #[must_use]
    pub fn figures(&self) -> Figures {
        Figures {
            delivered: self.place.delivered,
            floor: self.place.shown,
            cursor: self.reached(),
            pending: self.pending.len(),
            redelivered: self.deliveries.len(),
            queued: self.pending.queued(),
        }
    }

    #[must_use]
    pub fn entry(&self, sequence: u64) -> Option<Entry> {
        self.pending.get(sequence).map(|entry| Entry {
            consumer: entry.consumer,
            since_ns: entry.since_ns,
            deliveries: self.deliveries_of(sequence),
            queued: entry.is_queued(),
        })
    }

    /// Whether a message is not settled: not delivered yet, pending, or given up. The filters are
    /// not asked.
    #[must_use]
    pub fn needs(&self, sequence: u64) -> bool {
        let is_open = match self.policy {
            AckPolicy::Explicit => {
                sequence >= self.reached() || self.pending.get(sequence).is_some()
            }
            AckPolicy::None | AckPolicy::All => true,
        };
        sequence > self.place.floor.stream && is_open || self.deliveries.contains_key(&sequence)
    }

    /// What is pending, in order of sequences.
    pub fn pending(&self) -> impl Iterator<Item = (u64, Entry)> {
        let sequences = self.pending.iter().map(|entry| entry.sequence);
        sequences.filter_map(|sequence| Some((sequence, self.entry(sequence)?)))
    }

    /// What is to be delivered again, in order.
    pub fn queue(&self) -> impl Iterator<Item = u64> {
        self.pending.queue_order()
    }

    /// Everything from here on was not delivered yet.
    pub(crate) fn reached(&self) -> u64 {
        if self.listed.is_empty() {
            self.place.cursor
        } else {
            self.place.delivered.stream + 1
        }
    }

    pub(crate) fn deliveries_of(&self, sequence: u64) -> u64 {
        self.deliveries.get(&sequence).copied().unwrap_or(1)
    }

    /// A first delivery; the caller moves the cursor.
    #[inline]
    pub(crate) fn delivered(&mut self, sequence: u64, now_ns: i64) {
        let place = &mut self.place;
        place.delivered.consumer += 1;
        place.delivered.stream = sequence;
        let consumer = place.delivered.consumer;
        if self.policy == AckPolicy::None {
            (place.floor, place.shown) = (place.delivered, place.delivered);
            return;
        }
        let entry = Delivered::new(sequence, consumer, now_ns);
        self.pending.insert(entry);
        if let Some(changes) = &mut self.changes {
            changes.delivered(sequence, consumer, now_ns);
        }
    }

    /// Another delivery of a pending message.
    pub(crate) fn delivered_again(&mut self, sequence: u64, deliveries: u64, now_ns: i64) {
        self.place.delivered.consumer += 1;
        self.deliveries.insert(sequence, deliveries);
        self.pending.set_since(sequence, now_ns);
        self.pending.unqueue(sequence);
        if let Some(changes) = &mut self.changes {
            changes.delivered_again(sequence, deliveries, now_ns);
        }
    }
}
