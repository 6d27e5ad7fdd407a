//! Getting space back: blocks without messages go, blocks of which less than half lives are
//! written anew. Never the last one, and in files never before the notes a block holds are carried
//! on and durable: `checkpoint` sees to that; nor before what is erased in it is overwritten.

use crate::block::{Block, Loaded};
use crate::error::Result;
use crate::index::Place;
use crate::note::{self, Range, Seal};
use crate::record::{BlockKey, Record};
use crate::store::Store;

const COMPACTED_BYTES_MIN: u64 = 4096; // a smaller file is not worth a new one
const RECLAIMED_MAX: usize = 4096; // blocks at a time: milliseconds
const NOTES_BYTES: usize = 256; // what notes take besides their ranges, with a seal, generously
const RANGE_LOOKED_INTO_MAX: u64 = 4096; // longer ranges are carried on without asking whose

impl Store {
    /// Bytes in files that nobody needs; what `reclaim` could work on.
    #[must_use]
    pub fn dead_bytes(&self) -> u64 {
        self.blocks.iter().map(Block::dead_bytes).sum()
    }

    /// Blocks whose space is worth having back, after noting again what they note: up to so many
    /// of a kind that must be read for it, and all that need not. So a block that is not written
    /// yet and has no messages any more never needs space.
    pub(crate) fn reclaimable(&mut self, read_max: usize) -> Result<Vec<u32>> {
        let (mut empty, mut sparse) = (0, 0);
        let fits = |block: &&Block| {
            if block.messages > 0 {
                sparse += 1;
                sparse <= read_max
            } else if block.note_bytes == 0 || self.unwritten.contains(&block.number) {
                true
            } else {
                empty += 1;
                empty <= read_max
            }
        };
        let pending = self.erasures_pending();
        let worth = self
            .worth_reclaiming()
            .filter(|block| block.messages > 0 || !holds_any(block, &pending))
            .filter(fits)
            .take(RECLAIMED_MAX);
        let numbers: Vec<u32> = worth.map(|block| block.number).collect();
        let mut carried = Vec::with_capacity(numbers.len());
        for number in numbers {
            if self.carry_removals(number)? {
                carried.push(number);
            }
        }
        if !carried.is_empty() && !self.is_alive(self.last) && self.last >= self.first {
            self.removals.push((self.last, self.last)); // so that the number is not given again
        }
        Ok(carried)
    }

    fn worth_reclaiming(&self) -> impl Iterator<Item = &Block> {
        let others = self.blocks.iter().take(self.blocks.len().saturating_sub(1));
        others.filter(|block| is_worth(block, self.first))
    }

    /// Whether there are blocks without messages that can go.
    pub(crate) fn has_empty_blocks(&self) -> bool {
        self.worth_reclaiming().any(|block| block.messages == 0)
    }

    pub(crate) fn is_empty_block(&self, number: u32) -> bool {
        let position = self.position_of_number(number);
        position.is_some_and(|position| self.blocks[position].messages == 0)
    }

    /// Forgets a block without messages; true if it was one.
    pub(crate) fn give_up_if_empty(&mut self, number: u32) -> bool {
        let position = self.position_of_number(number);
        let empty = position.filter(|position| self.blocks[*position].messages == 0);
        if let Some(position) = empty {
            self.blocks.remove(position);
            self.cache.take(number);
        }
        empty.is_some()
    }

    /// Writes a block anew, if it is still worth it.
    pub(crate) fn compact(&mut self, number: u32) -> Result<bool> {
        match self.position_of_number(number) {
            Some(position) if is_worth(&self.blocks[position], self.first) => {
                if holds_any(&self.blocks[position], &self.erasures_pending()) {
                    return Ok(false); // erased since; the next checkpoint overwrites it first
                }
                self.rewrite(position)
            }
            _ => Ok(false),
        }
    }

    fn position_of_number(&self, number: u32) -> Option<usize> {
        self.blocks
            .binary_search_by_key(&number, |block| block.number)
            .ok()
    }

    /// Notes again what the notes of a block say that still matters. False if that would be about
    /// as much as the block itself; then it is left until the stream has moved on. Otherwise notes
    /// could fill a block after the other, each for the sake of the one before.
    fn carry_removals(&mut self, number: u32) -> Result<bool> {
        let Some(position) = self.position_of_number(number) else {
            return Ok(false);
        };
        let mut carried = Vec::new();
        if self.blocks[position].note_bytes > 0 {
            self.ensure(position)?;
            let last_alive = self.scan_backward(position, u64::MAX - 1, |_| true)?;
            let ranges = self
                .loaded(position)
                .map_or(&[][..], |loaded| &loaded.removals);
            for range in ranges {
                self.carry(
                    *range,
                    position,
                    last_alive.unwrap_or(u64::MAX),
                    &mut carried,
                );
            }
            note::join(&mut carried);
        }
        let first = self.first;
        let before = position
            .checked_sub(1)
            .map_or(0, |before| self.blocks[before].last);
        let after = self.blocks.get(position + 1).map_or(0, |after| after.first);
        let block = &mut self.blocks[position];
        let noted = carried.len() * size_of::<Range>() * 2 + NOTES_BYTES;
        if block.messages == 0 && !carried.is_empty() && noted as u64 > block.length {
            block.held_at = first;
            return Ok(false);
        }
        if block.messages == 0 && before + 1 < after && after > first {
            carried.push((before + 1, after - 1)); // with the gaps on both sides
        }
        if block.note_bytes > 0 {
            self.first_noted = 0;
        }
        self.removals.extend(carried);
        Ok(true)
    }

    /// Of a range noted in a block that goes, what is about records still there, or about numbers
    /// behind the last message, which nothing else would tell.
    fn carry(&self, (first, last): Range, from: usize, end: u64, carried: &mut Vec<Range>) {
        let first = first.max(self.first);
        if first > last {
            return;
        }
        if last - first > RANGE_LOOKED_INTO_MAX {
            carried.push((first, last));
            return;
        }
        for sequence in first..=last {
            let position = self.position_of(sequence);
            let matters = match self.blocks.get(position) {
                Some(block) if block.first <= sequence && sequence <= block.last => {
                    block.deleted.contains(sequence) && (position != from || sequence > end)
                }
                _ => true, // of a block that is gone; the note says that it went by will
            };
            if matters {
                carried.push((sequence, sequence));
            }
        }
    }

    /// Writes a block anew with its living messages only. One with damage stays as it is.
    fn rewrite(&mut self, position: usize) -> Result<bool> {
        self.ensure_data(position)?;
        let number = self.blocks[position].number;
        let Some(loaded) = self
            .loaded(position)
            .filter(|loaded| loaded.damaged.is_empty())
        else {
            return Ok(false);
        };
        let key = self
            .files
            .as_ref()
            .map(|_| BlockKey::new(&self.name, number));
        let (mut block, fresh) = self.living(&self.blocks[position], loaded, key.as_ref());
        if let Some(files) = &mut self.files {
            files.replace_block(number, &fresh.data)?;
        }
        block.summarize(&fresh, &self.subjects, self.first);
        self.cache.insert(number, fresh);
        self.blocks[position] = block;
        Ok(true)
    }

    fn living(&self, old: &Block, loaded: &Loaded, key: Option<&BlockKey>) -> (Block, Loaded) {
        let mut block = Block::new(old.number, 0);
        block.has_lifetimes = old.has_lifetimes;
        let mut fresh = Loaded::default();
        for ordinal in loaded.index.at_or_after(self.first)..loaded.index.len() {
            let (sequence, place) = (loaded.index.sequence(ordinal), loaded.index.place(ordinal));
            if old.deleted.contains(sequence) {
                continue;
            }
            let Some(record) = Record::decode(&loaded.data[place.offset as usize..]) else {
                continue;
            };
            let offset = fresh.data.len();
            fresh.data.extend_from_slice(record.bytes());
            fresh.index.push(
                sequence,
                Place {
                    offset: offset as u32,
                    ..place
                },
            );
            let framing = record.framing(offset);
            block.has_headers |= !record.headers.is_empty();
            block.appended(
                sequence,
                record.timestamp_ns,
                u64::from(place.bytes),
                framing,
            );
        }
        if let Some(key) = key {
            let time_ns = block.last_timestamp_ns;
            let seal = Seal {
                framing: block.framing,
                last: block.last,
                is_final: true,
            };
            note::write_seal(&mut fresh.data, key, time_ns, seal);
        }
        fresh.index.shrink();
        fresh.data.shrink_to_fit();
        fresh.written = fresh.data.len();
        block.length = fresh.data.len() as u64;
        block.sealed = true;
        (block, fresh)
    }

    /// The living records of the next block after a number, as a block of the reference, which
    /// has no notes; the last one says besides how far the stream has come. For snapshots.
    pub fn export(&mut self, after: u32) -> Result<Option<(u32, Vec<u8>)>> {
        let position = self.blocks.partition_point(|block| block.number <= after);
        if position >= self.blocks.len() {
            return Ok(None);
        }
        self.ensure_data(position)?;
        let block = &self.blocks[position];
        let Some(loaded) = self.loaded(position) else {
            return Ok(None);
        };
        let mut data = self.living(block, loaded, None).1.data;
        let ends_here = position + 1 == self.blocks.len() && self.last > 0;
        let is_told = loaded.index.find(self.last).is_some() && self.is_alive(self.last);
        if ends_here && !is_told {
            let key = BlockKey::new(&self.name, block.number);
            let last = (self.last, self.last);
            note::write_removed(&mut data, &key, self.last_timestamp_ns, &[last]);
        }
        Ok(Some((block.number, data)))
    }

    /// In memory, space comes back at once: at the front,
    pub(crate) fn reclaim_memory(&mut self) {
        if self.files.is_some() {
            return;
        }
        while self.blocks.len() > 1 && self.blocks[0].messages == 0 {
            self.cache.take(self.blocks[0].number);
            self.blocks.pop_front();
        }
        self.reclaim_memory_at(0);
    }

    /// and wherever something was removed.
    pub(crate) fn reclaim_memory_at(&mut self, position: usize) {
        if self.files.is_some() || position + 1 >= self.blocks.len() {
            return;
        }
        let block = &self.blocks[position];
        if block.messages == 0 {
            self.cache.take(block.number);
            self.blocks.remove(position);
            return;
        }
        let alive = (block.records - block.messages) * 2 <= block.records;
        let loaded = self.cache.get(block.number).filter(|_| !alive);
        if let Some(loaded) = loaded {
            let (block, fresh) = self.living(block, loaded, None);
            self.cache.insert(block.number, fresh);
            self.blocks[position] = block;
        }
    }
}

/// Whether some of these sequences, which are in order, are in a block.
fn holds_any(block: &Block, sequences: &[u64]) -> bool {
    let next = sequences.partition_point(|sequence| *sequence < block.first);
    sequences.get(next).is_some_and(|next| *next <= block.last)
}

fn is_worth(block: &Block, first: u64) -> bool {
    let needed = block.bytes + block.note_bytes;
    let half_dead = needed * 2 < block.length && block.length >= COMPACTED_BYTES_MIN;
    block.sealed
        && if block.messages == 0 {
            block.held_at != first
        } else {
            half_dead
        }
}
