//! The state of a ledger from bytes: a snapshot, and the changes since.
//!
//! Snapshots and changes carry the number of the last change in them, so changes that are in a
//! snapshot already are passed over. Bytes are read to their end before anything is changed.

use crate::changes::{self, Change, read_place, write_place};
use crate::count::Tally;
use crate::ledger::Ledger;
use crate::pending::{Delivered, Pending};
use crate::varint::{Reader, Writer};
use ahash::AHashMap;
use std::collections::VecDeque;

const FORMAT: u64 = 1;
const RUN_MAX: u64 = 1 << 20; // messages in one run; longer ones are several

/// The bytes are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

impl Ledger {
    /// Makes changes that `take_changes` gave; false if they were made already.
    pub fn apply(&mut self, bytes: &[u8]) -> Result<bool, Damaged> {
        let (version, changes) = changes::read(bytes).ok_or(Damaged)?;
        if version <= self.version {
            return Ok(false);
        }
        for change in changes {
            self.make(change);
        }
        self.version = version;
        self.tally = Tally::default();
        if let Some(changes) = &mut self.changes {
            changes.tell(self.place);
        }
        Ok(true)
    }

    fn make(&mut self, change: Change) {
        match change {
            Change::Started(listed) => {
                self.pending.clear();
                self.deliveries.clear();
                self.listed = listed.into();
            }
            Change::Delivered(count, sequence, consumer, since_ns) => {
                for step in 0..count {
                    let (sequence, consumer) = (sequence + step, consumer + step);
                    self.pending
                        .insert(Delivered::new(sequence, consumer, since_ns));
                }
            }
            Change::DeliveredAgain(sequence, deliveries, since_ns) => {
                self.deliveries.insert(sequence, deliveries);
                self.pending.set_since(sequence, since_ns);
                self.pending.unqueue(sequence);
            }
            Change::Settled((first, last)) => {
                let settled: Vec<u64> = self
                    .pending
                    .from(first)
                    .map(|entry| entry.sequence)
                    .take_while(|sequence| *sequence <= last)
                    .collect();
                for sequence in settled {
                    self.pending.take(sequence);
                }
                self.forget((first, last));
            }
            Change::Queued(sequence) => {
                self.pending.enqueue(sequence);
            }
            Change::Waits(sequence, since_ns, unqueued) => {
                self.pending.set_since(sequence, since_ns);
                if unqueued {
                    self.pending.unqueue(sequence);
                }
            }
            Change::GivenUp(sequence) => {
                self.pending.take(sequence);
                self.deliveries.entry(sequence).or_insert(1);
            }
            Change::QueueCleared => self.pending.clear_queue(),
            Change::Listed(left) => {
                let left = usize::try_from(left).unwrap_or(usize::MAX);
                let taken = self.listed.len().saturating_sub(left);
                self.listed.drain(..taken);
            }
            Change::Placed(place) => self.place = place,
        }
    }

    /// The whole state as bytes.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.number(FORMAT);
        out.number(self.version);
        write_place(&mut out, &self.place);
        self.write_pending(&mut out);
        let mut deliveries: Vec<(u64, u64)> =
            self.deliveries.iter().map(|(s, n)| (*s, *n)).collect();
        deliveries.sort_unstable();
        out.number(deliveries.len() as u64);
        for (sequence, count) in deliveries {
            out.sequence(sequence);
            out.number(count);
        }
        let queue: Vec<u64> = self.pending.queue_order().collect();
        for list in [queue, self.listed.iter().copied().collect()] {
            out.number(list.len() as u64);
            list.iter().for_each(|sequence| out.sequence(*sequence));
        }
        out.bytes
    }

    /// Runs of messages without gaps that wait since the same time.
    fn write_pending(&self, out: &mut Writer) {
        let mut runs: Vec<(u64, Delivered)> = Vec::new();
        for entry in self.pending.iter() {
            if let Some((count, first)) = runs.last_mut()
                && *count < RUN_MAX
                && first.sequence + *count == entry.sequence
                && first.consumer + *count == entry.consumer
                && first.since_ns == entry.since_ns
            {
                *count += 1;
            } else {
                runs.push((1, *entry));
            }
        }
        out.number(runs.len() as u64);
        for (count, first) in runs {
            out.number(count);
            out.sequence(first.sequence);
            out.number(first.consumer);
            out.time(first.since_ns);
        }
    }

    /// The state of a snapshot instead of this one.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), Damaged> {
        let mut from = Reader::new(bytes);
        self.read_snapshot(&mut from).ok_or(Damaged)
    }

    fn read_snapshot(&mut self, from: &mut Reader<'_>) -> Option<()> {
        if from.number()? != FORMAT {
            return None;
        }
        let version = from.number()?;
        let place = read_place(from)?;
        let mut pending = Pending::default();
        for _ in 0..from.count(4)? {
            let count = from.number().filter(|count| *count <= RUN_MAX)?;
            let (sequence, consumer, since_ns) = (from.sequence()?, from.positive()?, from.time()?);
            for step in 0..count {
                let (sequence, consumer) = (sequence + step, consumer + step);
                pending.insert(Delivered::new(sequence, consumer, since_ns));
            }
        }
        let mut deliveries = AHashMap::default();
        for _ in 0..from.count(2)? {
            deliveries.insert(from.sequence()?, from.positive()?);
        }
        for _ in 0..from.count(1)? {
            pending.enqueue(from.sequence()?);
        }
        let count = from.count(1)?;
        let listed = (0..count).map(|_| from.sequence());
        let listed = listed.collect::<Option<VecDeque<u64>>>()?;
        if !from.is_at_end() {
            return None;
        }
        (self.version, self.place, self.listed) = (version, place, listed);
        (self.pending, self.deliveries) = (pending, deliveries);
        self.tally = Tally::default();
        if let Some(changes) = &mut self.changes {
            *changes = changes::Changes::default();
            changes.tell(self.place);
        }
        Some(())
    }
}
