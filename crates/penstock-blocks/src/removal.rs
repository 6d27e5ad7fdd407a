//! Taking messages out: one, a list, everything below or above a sequence.
//!
//! Strategy: what goes from the front only moves `first`; what goes from the middle is marked in
//! its block. Both are noted in the last block by the next `write_out`. Space comes back later
//! (`compaction`).

use crate::block::{Block, Loaded};
use crate::bloom::Bloom;
use crate::error::Result;
use crate::record::{BlockKey, Record};
use crate::scan::{end_for, scan};
use crate::store::Store;

/// How many messages were removed, and what they counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gone {
    pub messages: u64,
    pub bytes: u64,
}

impl Store {
    /// Removes one message; answers with its bytes if it was there. With `erase`, the record is
    /// overwritten by the next checkpoint, also if that is one after the next opening.
    pub fn remove(&mut self, sequence: u64, erase: bool) -> Result<Option<u64>> {
        let position = self.position_of(sequence);
        let mut found = None;
        if self.is_alive(sequence) {
            self.ensure(position)?;
            let loaded = self.loaded(position);
            found = loaded.and_then(|loaded| loaded.index.find(sequence));
        }
        if let Some(lifetimes) = &mut self.lifetimes {
            lifetimes.remove(sequence); // also if it was lost to damage
        }
        let Some(place) = found else {
            return Ok(None);
        };
        let block = &mut self.blocks[position];
        block.messages -= 1;
        block.bytes -= u64::from(place.bytes);
        block.deleted.insert(sequence);
        self.messages -= 1;
        self.bytes -= u64::from(place.bytes);
        self.subjects.removed(place.subject, sequence);
        if self.files.is_some() {
            match self.removals.last_mut() {
                _ if erase => self.erasures.push(sequence), // whose note is of both
                Some((_, last)) if *last + 1 == sequence => *last = sequence,
                _ => self.removals.push((sequence, sequence)),
            }
        }
        if sequence == self.first {
            self.advance_first(sequence + 1)?;
        }
        self.reclaim_memory_at(position);
        Ok(Some(u64::from(place.bytes)))
    }

    /// Does an erasure again that a log tells of. The message may be removed already, and yet not
    /// be overwritten.
    pub fn replay_erasure(&mut self, sequence: u64) -> Result<()> {
        let is_there = |block: &Block| block.first <= sequence && sequence <= block.last;
        if self.remove(sequence, true)?.is_none()
            && self.files.is_some()
            && self.blocks.iter().any(is_there)
            && !self.erasures.contains(&sequence)
        {
            self.erasures.push(sequence);
        }
        Ok(())
    }

    /// Removes those of a list that are there.
    pub fn remove_all(&mut self, sequences: &[u64], erase: bool) -> Result<Gone> {
        let mut gone = Gone::default();
        for sequence in sequences {
            if let Some(bytes) = self.remove(*sequence, erase)? {
                gone.messages += 1;
                gone.bytes += bytes;
            }
        }
        Ok(gone)
    }

    /// Removes those between two sequences, both included.
    pub fn remove_range(&mut self, first: u64, last: u64) -> Result<()> {
        let mut from = first;
        while let Some(sequence) = self.first_at_or_after(from)?
            && sequence <= last
        {
            self.remove(sequence, false)?;
            from = sequence + 1;
        }
        Ok(())
    }

    /// Removes everything below a sequence. Beyond the last one, the stream goes on from there.
    pub fn remove_below(&mut self, sequence: u64) -> Result<Gone> {
        let before = (self.messages, self.bytes);
        if sequence > self.last {
            self.remove_everything();
            self.last = self.last.max(sequence - 1);
            self.first = self.last + 1;
            self.forget_lifetimes_below(self.first);
        } else if sequence > self.first {
            for position in self.position_of(self.first)..=self.position_of(sequence) {
                self.remove_front(position, sequence)?;
            }
            self.advance_first(sequence)?;
        }
        self.reclaim_memory();
        Ok(Gone {
            messages: before.0 - self.messages,
            bytes: before.1 - self.bytes,
        })
    }

    fn remove_everything(&mut self) {
        self.subjects.clear();
        if let Some(touched) = &mut self.touched {
            touched.clear(); // the numbers mean nothing any more
        }
        for block in &mut self.blocks {
            (block.messages, block.bytes) = (0, 0);
            block.deleted.clear();
        }
        (self.messages, self.bytes) = (0, 0);
    }

    /// Removes the messages of one block that are below a sequence, from the counts only; the
    /// caller moves `first` when all blocks are done.
    pub(crate) fn remove_front(&mut self, position: usize, below: u64) -> Result<()> {
        if self.blocks[position].messages == 0 {
            return Ok(());
        }
        self.ensure(position)?;
        let from = self.first;
        let store = &mut *self;
        let is_tail = position + 1 == store.blocks.len() && store.tail.is_some();
        let block = &mut store.blocks[position];
        let loaded = match &store.tail {
            Some(tail) if is_tail => Some(tail),
            _ => store.cache.get(block.number),
        };
        let Some(loaded) = loaded else {
            return Ok(());
        };
        let index = &loaded.index;
        for ordinal in index.at_or_after(from)..index.at_or_after(below) {
            let sequence = index.sequence(ordinal);
            if block.deleted.contains(sequence) {
                continue;
            }
            let place = index.place(ordinal);
            block.messages -= 1;
            block.bytes -= u64::from(place.bytes);
            store.messages -= 1;
            store.bytes -= u64::from(place.bytes);
            store.subjects.removed(place.subject, sequence);
        }
        Ok(())
    }

    /// Moves `first` to the first message at or after a sequence.
    pub(crate) fn advance_first(&mut self, sequence: u64) -> Result<()> {
        let from = self.position_of(self.first);
        let next = self.first_at_or_after(sequence)?;
        self.first = next.unwrap_or(self.last + 1);
        let first = self.first;
        self.forget_lifetimes_below(first);
        for block in self
            .blocks
            .iter_mut()
            .skip(from)
            .take_while(|block| block.first < first)
        {
            if block.last < first {
                block.deleted.clear();
            } else {
                block.deleted.remove_below(first);
            }
        }
        Ok(())
    }

    fn forget_lifetimes_below(&mut self, sequence: u64) {
        if let Some(lifetimes) = &mut self.lifetimes {
            lifetimes.remove_below(sequence);
        }
    }

    /// Takes back everything above a sequence, as if it had never come. With a log this is a
    /// checkpoint at `mark`, and a crash leaves all or nothing of it; without one, a crash in the
    /// middle may bring removed messages back. Not while a checkpoint is under way.
    pub fn truncate_after(&mut self, sequence: u64, mark: u64) -> Result<()> {
        if sequence >= self.last {
            return Ok(());
        }
        self.sync()?;
        let mut dropped = Vec::new();
        while self
            .blocks
            .back()
            .is_some_and(|block| block.first > sequence)
        {
            dropped.push(self.drop_last_block()?);
        }
        let mut cut = None;
        if !self.blocks.is_empty() {
            cut = self.truncate_last_block(sequence)?;
        }
        self.last = sequence;
        self.last_timestamp_ns = self
            .blocks
            .back()
            .map_or(0, |block| block.last_timestamp_ns);
        self.first = self.first.min(self.last + 1);
        if let Some(lifetimes) = &mut self.lifetimes {
            lifetimes.remove_range(sequence + 1, u64::MAX);
        }
        self.aged = self.aged.min(sequence + 1);
        for block in &mut self.blocks {
            // An erased message at the end has no record, so the block may end before it.
            block.deleted.remove_above(block.last.min(sequence));
        }
        self.erasures.append(&mut self.underway.erasures);
        self.erasures.retain(|erased| *erased <= sequence);
        self.erasures_noted = 0; // the notes of some may be gone
        if self.options.replayable_from.is_some() {
            self.write_index(mark, false)?;
        }
        self.truncate_files(&dropped, cut)?;
        self.note_everything(sequence);
        Ok(())
    }

    fn truncate_files(&mut self, dropped: &[u32], cut: Option<(u32, u64)>) -> Result<()> {
        let is_logged = self.options.replayable_from.is_some();
        let Some(files) = &mut self.files else {
            return Ok(());
        };
        if !is_logged {
            files.remove_index()?; // it describes what is about to go
        }
        for number in dropped {
            files.remove(*number)?;
        }
        if let Some((number, length)) = cut {
            files.truncate(number, length)?;
        }
        files.sync()
    }

    /// Notes all removals again, since the notes of some are gone.
    fn note_everything(&mut self, sequence: u64) {
        if self.files.is_none() {
            return;
        }
        self.first_noted = 0;
        let mut last = self.first - 1;
        for block in &self.blocks {
            self.removals.push((last + 1, block.first - 1));
            self.removals.extend(block.deleted.ranges());
            last = last.max(block.last);
        }
        self.removals.push((last + 1, sequence)); // so that the numbers are not given again
        self.removals.retain(|(first, last)| first <= last);
    }

    /// Forgets the last block; answers with its number, for its file is still there.
    fn drop_last_block(&mut self) -> Result<u32> {
        let position = self.blocks.len() - 1;
        let number = self.blocks[position].number;
        self.forget_from(position, self.blocks[position].first)?;
        self.tail = None;
        self.tail_key = None;
        self.blocks.pop_back();
        self.cache.take(number);
        Ok(number)
    }

    /// Cuts the last block in memory before the first record above a sequence and makes it grow
    /// again; answers with where to cut its file.
    fn truncate_last_block(&mut self, sequence: u64) -> Result<Option<(u32, u64)>> {
        let position = self.blocks.len() - 1;
        let number = self.blocks[position].number;
        self.ensure_data(position)?;
        self.forget_from(position, sequence + 1)?;
        let Some(mut loaded) = self.tail.take().or_else(|| self.cache.take(number)) else {
            return Ok(None);
        };
        let keep = loaded.index.at_or_after(sequence + 1);
        let block = &mut self.blocks[position];
        if self.files.is_some() {
            let key = BlockKey::new(&self.name, number);
            let length = end_for(&loaded.data, &key, sequence);
            loaded.data.truncate(length);
            let found = scan(&loaded.data, 0, 0, &key, None);
            block.note_bytes = found.note_bytes;
            (block.framing, loaded.removals) = (found.framing, found.removals);
            loaded.written = length;
            self.tail_key = Some(key);
        } else if keep < loaded.index.len() {
            loaded
                .data
                .truncate(loaded.index.place(keep).offset as usize);
        }
        loaded.index.truncate(keep);
        block.records = keep as u64;
        block.last = keep
            .checked_sub(1)
            .map_or(block.first - 1, |last| loaded.index.sequence(last));
        block.length = loaded.data.len() as u64;
        block.sealed = false;
        block.bloom = Bloom::default();
        block.parts.clear();
        block.last_timestamp_ns = last_timestamp(&loaded);
        let length = block.length;
        self.tail = Some(loaded);
        Ok(Some((number, length)))
    }

    /// Takes the living messages from a sequence on out of the counts.
    fn forget_from(&mut self, position: usize, from: u64) -> Result<()> {
        self.ensure(position)?;
        let Some(loaded) = self.loaded(position) else {
            return Ok(());
        };
        let block = &self.blocks[position];
        let gone: Vec<_> = (loaded.index.at_or_after(from.max(self.first))..loaded.index.len())
            .map(|ordinal| (loaded.index.sequence(ordinal), loaded.index.place(ordinal)))
            .filter(|(sequence, _)| !block.deleted.contains(*sequence))
            .collect();
        let block = &mut self.blocks[position];
        for (sequence, place) in gone.into_iter().rev() {
            block.messages -= 1;
            block.bytes -= u64::from(place.bytes);
            self.messages -= 1;
            self.bytes -= u64::from(place.bytes);
            self.subjects.removed(place.subject, sequence);
        }
        Ok(())
    }
}

fn last_timestamp(loaded: &Loaded) -> i64 {
    let last = loaded.index.len().checked_sub(1);
    let offset = last.map(|ordinal| loaded.index.place(ordinal).offset as usize);
    let record = offset.and_then(|offset| Record::decode(&loaded.data[offset..]));
    record.map_or(0, |record| record.timestamp_ns)
}
