//! Getting the content of a block into memory, verified, and what is done about records that no
//! longer verify: they leave the counts, and `lost` tells of them.

use crate::block::Loaded;
use crate::error::Result;
use crate::index::{NO_SUBJECT, Place};
use crate::note::Range;
use crate::record::{BlockKey, Record};
use crate::scan::{Scan, scan};
use crate::store::Store;

impl Store {
    /// The content of a block, if it is in memory.
    #[inline]
    pub(crate) fn loaded(&self, position: usize) -> Option<&Loaded> {
        if position + 1 == self.blocks.len() && self.tail.is_some() {
            return self.tail.as_ref();
        }
        let block = self.blocks.get(position)?;
        self.cache.get(block.number)
    }

    /// Sees to it that the index of a block is in memory.
    pub(crate) fn ensure(&mut self, position: usize) -> Result<()> {
        let is_tail = position + 1 == self.blocks.len() && self.tail.is_some();
        let Some(block) = self.blocks.get(position).filter(|_| !is_tail) else {
            return Ok(());
        };
        let number = block.number;
        if self.cache.contains(number) {
            self.cache.touch(number);
            return Ok(());
        }
        self.read_block(position)
    }

    /// Sees to it that the bytes of a block are in memory too.
    pub(crate) fn ensure_data(&mut self, position: usize) -> Result<()> {
        self.ensure(position)?;
        match self.loaded(position) {
            Some(loaded) if loaded.data.is_empty() => self.read_block(position),
            _ => Ok(()),
        }
    }

    fn read_block(&mut self, position: usize) -> Result<()> {
        if self.files.is_some() {
            let (data, found) = self.scan_block(position)?;
            self.adopt_scan(position, data, found)?;
        }
        Ok(())
    }

    /// The bytes of a block, from the disk, and everything that verifies in them.
    pub(crate) fn scan_block(&mut self, position: usize) -> Result<(Vec<u8>, Scan)> {
        let block = &self.blocks[position];
        let (number, length) = (block.number, block.length as usize);
        let Some(files) = self.files.as_mut() else {
            return Ok(Default::default());
        };
        let mut data = self.cache.take_spare();
        if length > 0 {
            files.read_into(number, &mut data)?;
        }
        data.truncate(length); // an empty block has nothing, whatever the buffer had
        let key = BlockKey::new(&self.name, number);
        let found = scan(&data, 0, 0, &key, Some(block.framing));
        Ok((data, found))
    }

    /// Takes over what was read. Answers with messages whose subject nobody knows: a length in
    /// their record is damaged.
    pub(crate) fn adopt_scan(
        &mut self,
        position: usize,
        data: Vec<u8>,
        mut found: Scan,
    ) -> Result<Vec<(u64, Place)>> {
        let block = &self.blocks[position];
        let (number, is_short) = (block.number, (data.len() as u64) < block.length);
        let damaged = self.damaged_ranges(position, &found, is_short);
        let unknown = self.resolve_subjects(position, &mut found, &data);
        let loaded = Loaded {
            index: found.index,
            written: data.len(),
            data,
            removals: found.removals,
            damaged: damaged
                .into_iter()
                .chain(unknown.iter().map(|(sequence, _)| (*sequence, *sequence)))
                .collect(),
            has_damage: !found.damage.is_empty(),
            used: 0,
            is_passed: false,
        };
        self.cache.insert_read(number, loaded);
        let bytes = found.damage.iter().map(|damage| damage.bytes).sum();
        self.count_again(position, bytes)?;
        Ok(unknown)
    }

    /// What a scan of a block misses of the sequences that should be alive in it.
    fn damaged_ranges(&self, position: usize, found: &Scan, is_short: bool) -> Vec<Range> {
        let block = &self.blocks[position];
        let outer = (block.first.max(1) - 1, block.last + 1);
        let mut ranges: Vec<Range> = Vec::new();
        for damage in &found.damage {
            let (after, before) = (
                damage.after.unwrap_or(outer.0),
                damage.before.unwrap_or(outer.1),
            );
            ranges.extend(damage.lost(after, before));
        }
        if is_short && found.highest < block.last {
            ranges.push((found.highest.max(outer.0) + 1, block.last));
        }
        ranges
            .iter()
            .flat_map(|range| self.alive_parts(position, *range))
            .collect()
    }

    fn alive_parts(&self, position: usize, (first, last): Range) -> Vec<Range> {
        let deleted = &self.blocks[position].deleted;
        let mut parts = Vec::new();
        let mut from = deleted.next_absent(first.max(self.first));
        while from <= last {
            let next = deleted.next_present(from).unwrap_or(u64::MAX);
            parts.push((from, last.min(next - 1)));
            from = deleted.next_absent(next);
        }
        parts
    }

    /// Gives every living message the number of its subject. One whose subject is not in the table
    /// has a damaged length; it is taken out and returned.
    fn resolve_subjects(
        &mut self,
        position: usize,
        found: &mut Scan,
        data: &[u8],
    ) -> Vec<(u64, Place)> {
        let (block, first) = (&self.blocks[position], self.first);
        let mut unknown = Vec::new();
        let (mut previous, mut previous_id) = (&[][..], NO_SUBJECT);
        for ordinal in found.index.at_or_after(first)..found.index.len() {
            let sequence = found.index.sequence(ordinal);
            if block.deleted.contains(sequence) {
                continue;
            }
            let offset = found.index.place(ordinal).offset as usize;
            let subject = Record::decode(&data[offset..]).map_or(&[][..], |record| record.subject);
            if previous_id == NO_SUBJECT || subject != previous {
                previous = subject;
                previous_id = self.subjects.find(subject).unwrap_or(NO_SUBJECT);
            }
            found.index.set_subject(ordinal, previous_id);
            if previous_id == NO_SUBJECT {
                unknown.push((sequence, found.index.place(ordinal)));
            }
        }
        for (sequence, _) in &unknown {
            found.index.take_out(found.index.at_or_after(*sequence));
        }
        unknown
    }

    /// Brings the counts in line with what is really there.
    fn count_again(&mut self, position: usize, damaged_bytes: u64) -> Result<()> {
        let Some(loaded) = self.loaded(position) else {
            return Ok(());
        };
        let block = &self.blocks[position];
        let (mut messages, mut bytes) = (0, 0);
        for ordinal in loaded.index.at_or_after(self.first)..loaded.index.len() {
            if !block.deleted.contains(loaded.index.sequence(ordinal)) {
                messages += 1;
                bytes += u64::from(loaded.index.place(ordinal).bytes);
            }
        }
        let records = loaded.index.len() as u64;
        let damaged = loaded.damaged.clone();
        let block = &mut self.blocks[position];
        if (block.messages, block.bytes) == (messages, bytes) {
            return Ok(());
        }
        self.messages = (self.messages + messages).saturating_sub(block.messages);
        self.bytes = (self.bytes + bytes).saturating_sub(block.bytes);
        (block.messages, block.bytes, block.records) = (messages, bytes, records);
        self.lost_bytes += damaged_bytes;
        if let Some(lifetimes) = &mut self.lifetimes {
            let lost = damaged.iter();
            lost.for_each(|(first, last)| lifetimes.remove_range(*first, *last));
        }
        self.lost.extend(damaged);
        crate::note::join(&mut self.lost);
        if self.position_of(self.first) == position {
            let next = self.first_at_or_after(self.first)?;
            self.first = next.unwrap_or(self.last + 1);
        }
        Ok(())
    }

    /// Reads a block from the disk again and verifies it; damage is added to `lost`. Takes the
    /// number of a block and answers with the next one, so that it can be done in between.
    pub fn verify_block(&mut self, number: u32) -> Result<Option<u32>> {
        let position = self.blocks.partition_point(|block| block.number < number);
        let is_tail = position + 1 >= self.blocks.len();
        if !is_tail && self.blocks[position].sealed {
            let number = self.blocks[position].number;
            if self
                .cache
                .get(number)
                .is_none_or(|loaded| !loaded.is_pinned())
            {
                self.read_block(position)?;
            }
        }
        Ok(self.blocks.get(position + 1).map(|block| block.number))
    }

    /// Lets go of the memory of blocks that are written, the last one too. For idle streams.
    pub fn cool(&mut self) {
        let Some(files) = self.files.as_mut() else {
            return;
        };
        files.close();
        if self.tail.as_ref().is_some_and(|tail| !tail.is_pinned()) {
            self.tail = None;
        }
        self.cache.clear();
        self.scratch = Vec::new();
    }
}
