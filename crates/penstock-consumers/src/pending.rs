//! What was delivered and is not settled, by stream sequence, and the queue of what is to be
//! delivered again.
//!
//! Strategy: sequences come in rising order and mostly leave in the same, so this is a queue with
//! holes: a settled message is marked and goes when it is in front, or when half are marked. The
//! queue for redelivery works alike: each place in it has a ticket, and a place counts only while
//! its message holds that ticket.
//!
//! Invariant: what is queued is pending.

use std::collections::VecDeque;

const SETTLED_MIN: usize = 1024; // fewer marked ones are not worth moving the others
const KEPT_MAX: usize = 4096; // places that an empty table keeps allocated
const STALE_MIN: usize = 64; // nor are fewer places in the queue that no longer count

/// One message; `consumer` is 0 once it is settled, `ticket` 0 while it is not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delivered {
    pub sequence: u64,
    /// The consumer sequence of its first delivery.
    pub consumer: u64,
    /// When its wait began: at its last delivery, or when the client said it is at it.
    pub since_ns: i64,
    ticket: u64,
}

impl Delivered {
    pub fn new(sequence: u64, consumer: u64, since_ns: i64) -> Delivered {
        Delivered {
            sequence,
            consumer,
            since_ns,
            ticket: 0,
        }
    }

    pub fn is_queued(&self) -> bool {
        self.ticket != 0
    }

    fn is_settled(&self) -> bool {
        self.consumer == 0
    }
}

#[derive(Debug, Default)]
pub(crate) struct Pending {
    entries: VecDeque<Delivered>,
    settled: usize,
    /// Where the next one to be settled probably is.
    hint: usize,
    queue: VecDeque<(u64, u64)>,
    queued: usize,
    last_ticket: u64,
}

impl Pending {
    pub fn len(&self) -> usize {
        self.entries.len() - self.settled
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = &Delivered> {
        self.entries.iter().filter(|entry| !entry.is_settled())
    }

    /// Those from a sequence on, in order.
    pub fn from(&self, sequence: u64) -> impl Iterator<Item = &Delivered> {
        let start = self.place(sequence);
        let entries = self.entries.range(start..);
        entries.filter(|entry| !entry.is_settled())
    }

    /// The first place at or after a sequence.
    #[inline]
    fn place(&self, sequence: u64) -> usize {
        let first = self.entries.front().map_or(0, |entry| entry.sequence);
        let highest = self.entries.len().saturating_sub(1) as u64;
        // Sequences rise by one at least, so it is not behind this place.
        #[allow(clippy::cast_possible_truncation)] // at most a length
        let guess = sequence.saturating_sub(first).min(highest) as usize;
        for place in [guess, self.hint] {
            if self.entries.get(place).map(|entry| entry.sequence) == Some(sequence) {
                return place;
            }
        }
        self.entries
            .partition_point(|entry| entry.sequence < sequence)
    }

    #[inline]
    fn find(&self, sequence: u64) -> Option<usize> {
        let place = self.place(sequence);
        let entry = self.entries.get(place)?;
        (entry.sequence == sequence && !entry.is_settled()).then_some(place)
    }

    pub fn get(&self, sequence: u64) -> Option<&Delivered> {
        self.find(sequence).map(|place| &self.entries[place])
    }

    pub fn set_since(&mut self, sequence: u64, since_ns: i64) -> bool {
        let found = self.find(sequence);
        if let Some(place) = found {
            self.entries[place].since_ns = since_ns;
        }
        found.is_some()
    }

    /// Adds a message, or replaces what is there of it.
    pub fn insert(&mut self, entry: Delivered) {
        let is_last = |last: &Delivered| last.sequence < entry.sequence;
        if self.entries.back().is_none_or(is_last) {
            self.entries.push_back(entry);
            return;
        }
        self.take(entry.sequence);
        let place = self.place(entry.sequence);
        match self.entries.get_mut(place) {
            Some(marked) if marked.sequence == entry.sequence => {
                self.settled -= 1;
                *marked = entry;
            }
            _ => self.entries.insert(place, entry),
        }
    }

    /// Takes a message out, of the queue too.
    #[inline]
    pub fn take(&mut self, sequence: u64) -> Option<Delivered> {
        let place = self.find(sequence)?;
        let entry = self.entries[place];
        if entry.is_queued() {
            self.queued -= 1;
        }
        (self.entries[place].consumer, self.entries[place].ticket) = (0, 0);
        self.settled += 1;
        self.hint = place + 1;
        self.sweep();
        Some(entry)
    }

    #[inline]
    fn sweep(&mut self) {
        while self.entries.front().is_some_and(Delivered::is_settled) {
            self.entries.pop_front();
            self.settled -= 1;
            self.hint = self.hint.saturating_sub(1);
        }
        if self.settled > SETTLED_MIN && self.settled > self.len() {
            self.entries.retain(|entry| !entry.is_settled());
            self.settled = 0;
        }
        if self.entries.is_empty() && self.entries.capacity() > KEPT_MAX {
            self.entries = VecDeque::new();
        }
    }

    /// The first one above a sequence.
    pub fn first_above(&self, sequence: u64) -> Option<&Delivered> {
        self.from(sequence + 1).next()
    }

    pub fn first(&self) -> Option<&Delivered> {
        self.entries.front()
    }

    pub fn clear(&mut self) {
        *self = Pending::default();
    }

    pub fn queued(&self) -> usize {
        self.queued
    }

    /// To the end of the queue, wherever in it it is. False if it is not pending.
    pub fn enqueue(&mut self, sequence: u64) -> bool {
        let Some(place) = self.find(sequence) else {
            return false;
        };
        if !self.entries[place].is_queued() {
            self.queued += 1;
        }
        self.last_ticket += 1;
        self.entries[place].ticket = self.last_ticket;
        self.queue.push_back((self.last_ticket, sequence));
        if self.queue.len() > STALE_MIN + 2 * self.queued {
            let queue: Vec<(u64, u64)> = self.places().collect();
            self.queue = queue.into();
        }
        true
    }

    /// Out of the queue. False if it is not pending.
    pub fn unqueue(&mut self, sequence: u64) -> bool {
        let Some(place) = self.find(sequence) else {
            return false;
        };
        if std::mem::take(&mut self.entries[place].ticket) != 0 {
            self.queued -= 1;
        }
        true
    }

    pub fn clear_queue(&mut self) {
        for sequence in self.queue_order().collect::<Vec<u64>>() {
            self.unqueue(sequence);
        }
        self.queue.clear();
    }

    /// The next one to be delivered again.
    pub fn next_queued(&mut self) -> Option<u64> {
        while let Some((ticket, sequence)) = self.queue.front().copied() {
            if self.holds(ticket, sequence) {
                return Some(sequence);
            }
            self.queue.pop_front();
        }
        None
    }

    /// What is queued, in order.
    pub fn queue_order(&self) -> impl Iterator<Item = u64> {
        self.places().map(|(_, sequence)| sequence)
    }

    fn places(&self) -> impl Iterator<Item = (u64, u64)> {
        let places = self.queue.iter().copied();
        places.filter(|(ticket, sequence)| self.holds(*ticket, *sequence))
    }

    fn holds(&self, ticket: u64, sequence: u64) -> bool {
        self.get(sequence)
            .is_some_and(|entry| entry.ticket == ticket)
    }
}
