//! A look at every byte of a store's blocks, right after it was opened: what is damaged, where, and
//! what it costs.
//!
//! An opening trusts an index that fits, and reads blocks when they are needed. This reads them all.
//! What it finds lost leaves the counts and is noted as such, and notes with a flipped bit are
//! written anew: on an overlay that changes nothing, and on a disk a checkpoint makes it durable.

use crate::block::Block;
use crate::error::Result;
use crate::note::Range;
use crate::scan::Damage;
use crate::store::Store;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlawKind {
    /// Bytes that are no record.
    Record,
    /// A length in a record is not what it was.
    Length,
    /// A length somewhere in the block is not what it was, and nobody knows whose.
    Lengths,
    /// A note or an erased record is not what it was, and could be read all the same.
    Note,
    /// The index counts other messages in the block than it has.
    Count,
}

/// Something that is not what was written.
#[derive(Clone, Debug)]
pub struct Flaw {
    pub kind: FlawKind,
    /// The block, and the bytes in its file.
    pub number: u32,
    pub offset: u64,
    pub bytes: u64,
    /// Messages that cannot be had any more.
    pub lost: Vec<Range>,
}

/// A block as the store knows it.
#[derive(Clone, Copy, Debug)]
pub struct BlockSummary {
    pub number: u32,
    pub first: u64,
    pub last: u64,
    pub records: u64,
    pub bytes: u64,
}

impl Store {
    /// Reads the first block from a number on and verifies everything in it. Answers with its
    /// flaws, and with the number to go on from.
    pub fn examine(&mut self, number: u32) -> Result<(Vec<Flaw>, Option<u32>)> {
        let position = self.blocks.partition_point(|block| block.number < number);
        let Some(block) = self.blocks.get(position) else {
            return Ok((Vec::new(), None));
        };
        let next = block.number.checked_add(1);
        if self.files.is_none() || self.tail.is_some() && position + 1 == self.blocks.len() {
            return Ok((Vec::new(), next)); // what is in memory is not what was read
        }
        let (number, counted) = (block.number, (block.messages, block.bytes));
        let (data, mut found) = self.scan_block(position)?;
        let (damage, lengths) = (found.damage.clone(), found.framing_unexplained);
        let mended = std::mem::take(&mut found.mended);
        let mut flaws = Vec::new();
        for (offset, bytes) in &mended {
            let place = (*offset as u64, bytes.len() as u64);
            flaws.push(flaw(FlawKind::Note, number, place, vec![]));
            if let Some(files) = &mut self.files {
                files.write(number, *offset as u64, bytes)?;
            }
        }
        for (sequence, place) in self.adopt_scan(position, data, found)? {
            let lost = vec![(sequence, sequence)];
            let (offset, bytes) = (u64::from(place.offset), u64::from(place.bytes));
            flaws.push(flaw(FlawKind::Length, number, (offset, bytes), lost));
        }
        for damage in &damage {
            let lost = self.lost_to_damage(position, damage);
            let place = (damage.offset, damage.bytes);
            flaws.push(flaw(FlawKind::Record, number, place, lost));
        }
        if lengths {
            let place = (0, self.blocks[position].length);
            flaws.push(flaw(FlawKind::Lengths, number, place, vec![]));
        }
        self.cache.take(number); // what was looked at is not needed soon
        let block = &self.blocks[position];
        if flaws.is_empty() && (block.messages, block.bytes) != counted {
            flaws.push(flaw(FlawKind::Count, number, (0, block.length), vec![]));
        }
        Ok((flaws, next))
    }

    /// Of what is known to be lost, the messages that should be where the damage is.
    fn lost_to_damage(&self, position: usize, damage: &Damage) -> Vec<Range> {
        let has_records = |block: &&Block| block.records > 0;
        let earlier = self.blocks.range(..position).rev().find(has_records);
        let later = self.blocks.range(position + 1..).find(has_records);
        let after = damage.after.or(earlier.map(|block| block.last));
        let before = damage.before.or(later.map(|block| block.first));
        let candidates = damage.lost(after.unwrap_or(0), before.unwrap_or(self.last + 1));
        let Some((first, last)) = candidates else {
            return vec![];
        };
        let known = self
            .lost
            .iter()
            .filter(|range| range.0 <= last && range.1 >= first);
        known
            .map(|range| (range.0.max(first), range.1.min(last)))
            .collect()
    }

    /// The blocks there are, in their order.
    #[must_use]
    pub fn summaries(&self) -> Vec<BlockSummary> {
        let summary = |block: &Block| BlockSummary {
            number: block.number,
            first: block.first,
            last: block.last,
            records: block.records,
            bytes: block.length,
        };
        self.blocks.iter().map(summary).collect()
    }
}

fn flaw(kind: FlawKind, number: u32, place: (u64, u64), lost: Vec<Range>) -> Flaw {
    Flaw {
        kind,
        number,
        offset: place.0,
        bytes: place.1,
        lost,
    }
}
