//! A ledger as simple as it can be: maps, lists and loops over all of them.

use penstock_blocks::matches;
use penstock_consumers::{AckPolicy, Figures, Position, Stop};
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub struct Stored {
    pub subject: String,
    pub headers: Vec<u8>,
    pub payload: Vec<u8>,
    pub time_ns: i64,
}

/// What the stream has.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    pub messages: BTreeMap<u64, Stored>,
    pub last: u64,
}

#[derive(Clone, Debug)]
pub struct Model {
    pub policy: AckPolicy,
    pub filters: Vec<String>,
    pub headers_only: bool,
    pub delivered: (u64, u64),
    pub floor: (u64, u64),
    pub shown: (u64, u64),
    pub cursor: u64,
    /// Consumer sequence of the first delivery, and since when it waits.
    pub pending: BTreeMap<u64, (u64, i64)>,
    pub deliveries: BTreeMap<u64, u64>,
    pub queue: Vec<u64>,
    pub listed: Vec<u64>,
}

/// A request: inbox, messages, bytes. Whether somebody listens to an inbox is asked of the caller.
pub type Wanted = (usize, u64, u64);

/// What a request's inbox was sent: subject, reply, headers, payload.
#[derive(Clone, Debug)]
pub struct Sent {
    pub inbox: usize,
    pub subject: String,
    pub reply: String,
    pub headers: Vec<u8>,
    pub payload: Vec<u8>,
}

pub struct Terms<'a> {
    pub ack_pending_max: usize,
    pub deliveries_max: u64,
    pub bytes_soft: u64,
    pub header: &'a str,
    pub now_ns: i64,
}

pub struct Told {
    pub stop: Stop,
    pub index: usize,
    pub sequence: u64,
    pub served: Vec<(u64, u64)>,
    pub sent: Vec<Sent>,
}

impl Model {
    pub fn new(policy: AckPolicy, filters: &[String], headers_only: bool) -> Model {
        Model {
            policy,
            filters: filters.to_vec(),
            headers_only,
            delivered: (0, 0),
            floor: (0, 0),
            shown: (0, 0),
            cursor: 0,
            pending: BTreeMap::new(),
            deliveries: BTreeMap::new(),
            queue: Vec::new(),
            listed: Vec::new(),
        }
    }

    pub fn start(&mut self, cursor: u64, listed: &[u64]) {
        let first = listed.first().copied().unwrap_or(cursor);
        let before = (0, first.saturating_sub(1));
        *self = Model::new(self.policy, &self.filters.clone(), self.headers_only);
        (self.delivered, self.floor, self.shown) = (before, before, before);
        (self.cursor, self.listed) = (cursor, listed.to_vec());
    }

    pub fn is_meant(&self, message: &Stored) -> bool {
        let mut filters = self.filters.iter();
        self.filters.is_empty()
            || filters.any(|f| matches(f.as_bytes(), message.subject.as_bytes()))
    }

    pub fn behind_cursor(&self, stream: &Stream) -> u64 {
        let ahead = stream.messages.range(self.cursor..);
        ahead.filter(|(_, message)| self.is_meant(message)).count() as u64
    }

    fn reached(&self) -> u64 {
        match self.listed.is_empty() {
            true => self.cursor,
            false => self.delivered.1 + 1,
        }
    }

    pub fn figures(&self) -> Figures {
        let position = |(consumer, stream)| Position { consumer, stream };
        Figures {
            delivered: position(self.delivered),
            floor: position(self.shown),
            cursor: self.reached(),
            pending: self.pending.len(),
            redelivered: self.deliveries.len(),
            queued: self.queue.len(),
        }
    }

    pub fn deliveries_of(&self, sequence: u64) -> u64 {
        self.deliveries.get(&sequence).copied().unwrap_or(1)
    }

    fn settle(&mut self, sequence: u64) {
        let Some((consumer, _)) = self.pending.remove(&sequence) else {
            return;
        };
        self.queue.retain(|queued| *queued != sequence);
        if self.pending.is_empty() {
            self.floor = self.delivered;
        } else if consumer == self.floor.0 + 1 {
            self.floor = (consumer, sequence);
            if let Some((next, (first, _))) = self.pending.range(sequence + 1..).next() {
                self.floor = (first - 1, next - 1);
            }
        }
        self.shown = self.floor;
    }

    /// The sequences settled; none if it was not reached.
    pub fn ack(&mut self, sequence: u64, consumer: u64) -> Option<Vec<u64>> {
        if sequence >= self.reached() {
            return None;
        }
        let mut settled = Vec::new();
        match self.policy {
            AckPolicy::None => {}
            AckPolicy::Explicit => {
                let counted = self.deliveries.remove(&sequence).is_some();
                if counted || self.pending.contains_key(&sequence) {
                    settled.push(sequence);
                }
                self.settle(sequence);
            }
            AckPolicy::All => {
                let is_pending = self.pending.keys().any(|s| *s <= sequence);
                if sequence <= self.floor.1 || consumer <= self.floor.0 && !is_pending {
                    return Some(settled);
                }
                self.floor = (consumer.max(self.floor.0), sequence);
                if self.pending.contains_key(&sequence) {
                    self.shown = self.floor;
                }
                let known =
                    |s: &u64| self.pending.contains_key(s) || self.deliveries.contains_key(s);
                settled = (0..=sequence).filter(known).collect();
                self.pending.retain(|s, _| *s > sequence);
                self.deliveries.retain(|s, _| *s > sequence);
                self.queue.retain(|s| *s > sequence);
            }
        }
        Some(settled)
    }

    pub fn nak(&mut self, sequence: u64, consumer: u64) -> bool {
        if consumer <= self.floor.0 || consumer > self.delivered.0 + 1 {
            return false;
        }
        let known = self.pending.contains_key(&sequence);
        if known && !self.queue.contains(&sequence) {
            self.queue.push(sequence);
        }
        known
    }

    pub fn requeue(&mut self, sequence: u64) -> bool {
        let known = self.pending.contains_key(&sequence);
        if known {
            self.queue.retain(|queued| *queued != sequence);
            self.queue.push(sequence);
        }
        known
    }

    pub fn wait_since(&mut self, sequence: u64, since_ns: i64, unqueue: bool) -> bool {
        let Some(entry) = self.pending.get_mut(&sequence) else {
            return false;
        };
        entry.1 = since_ns;
        self.queue.retain(|queued| *queued != sequence || !unqueue);
        true
    }

    pub fn give_up(&mut self, sequence: u64) -> bool {
        self.queue.retain(|queued| *queued != sequence);
        let known = self.pending.remove(&sequence).is_some();
        if known {
            self.deliveries.entry(sequence).or_insert(1);
        }
        known
    }

    pub fn needs(&self, sequence: u64) -> bool {
        let is_above = sequence > self.floor.1;
        let is_open = self.policy != AckPolicy::Explicit
            || sequence >= self.reached()
            || self.pending.contains_key(&sequence);
        (is_above && is_open) || self.deliveries.contains_key(&sequence)
    }

    pub fn deadlines(&self, waits: &[i64]) -> Vec<(u64, i64)> {
        let waiting = self.pending.iter();
        let waiting = waiting.filter(|(sequence, _)| !self.queue.contains(sequence));
        waiting
            .map(|(sequence, (_, since_ns))| {
                let delivery = self.deliveries_of(*sequence) as usize;
                (*sequence, since_ns + waits[delivery.min(waits.len()) - 1])
            })
            .collect()
    }

    pub fn expire(&mut self, now_ns: i64, waits: &[i64], max: u64) -> (usize, Vec<u64>) {
        let (mut queued, mut given_up) = (0, Vec::new());
        for (sequence, deadline_ns) in self.deadlines(waits) {
            if deadline_ns > now_ns {
                continue;
            }
            if max > 0 && self.deliveries_of(sequence) >= max {
                self.give_up(sequence);
                given_up.push(sequence);
            } else {
                self.requeue(sequence);
                queued += 1;
            }
        }
        (queued, given_up)
    }

    pub fn removed(&mut self, gone: impl Fn(u64) -> bool) -> Vec<(u64, u64, u64)> {
        let sequences: Vec<u64> = self.pending.keys().copied().filter(|s| gone(*s)).collect();
        let mut terminated = Vec::new();
        for sequence in sequences {
            let (consumer, _) = self.pending[&sequence];
            terminated.push((sequence, consumer, self.deliveries_of(sequence)));
            if self.policy == AckPolicy::Explicit {
                self.settle(sequence);
                continue;
            }
            self.ack(sequence, consumer);
            self.give_up(sequence);
        }
        self.deliveries.retain(|sequence, _| !gone(*sequence));
        self.listed.retain(|sequence| !gone(*sequence));
        terminated
    }

    /// Cursor and floor move; what is below leaves.
    pub fn purged(&mut self, below: u64) -> usize {
        let mut dropped = 0;
        self.cursor = self.cursor.max(below);
        if self.floor.1 < below {
            self.floor.1 = below.saturating_sub(1);
            dropped = self.drop_lifting(|sequence| sequence < below);
        }
        self.end_purge(|sequence| sequence < below);
        dropped
    }

    /// The same for the first message that is left, and what is gone leaves.
    pub fn purged_missing(&mut self, first: u64, gone: impl Fn(u64) -> bool) -> usize {
        let is_below = self.floor.1 < first;
        let mut dropped = self.purged(first);
        if is_below {
            dropped += self.drop_lifting(&gone);
        } else {
            let known = self.pending.keys().copied();
            let sequences: Vec<u64> = known.filter(|sequence| gone(*sequence)).collect();
            dropped += sequences.len();
            for sequence in sequences {
                if self.policy == AckPolicy::Explicit {
                    self.settle(sequence);
                } else {
                    self.pending.remove(&sequence);
                }
            }
        }
        self.end_purge(gone);
        dropped
    }

    fn drop_lifting(&mut self, gone: impl Fn(u64) -> bool) -> usize {
        let before = self.pending.clone();
        self.pending.retain(|sequence, _| !gone(*sequence));
        for (sequence, (consumer, _)) in &before {
            if gone(*sequence) {
                self.floor.0 = self.floor.0.max(*consumer);
            }
        }
        before.len() - self.pending.len()
    }

    fn end_purge(&mut self, gone: impl Fn(u64) -> bool) {
        self.deliveries.retain(|sequence, _| !gone(*sequence));
        self.listed.retain(|sequence| !gone(*sequence));
        if self.listed.is_empty() {
            self.delivered.1 = self.cursor.saturating_sub(1);
        }
        if self.pending.is_empty() {
            self.floor = self.delivered;
            self.deliveries.clear();
        }
        self.shown = self.floor;
        self.queue.clear();
    }
}
