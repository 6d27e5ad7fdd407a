//! Overwriting what was erased, once an index says that it is to be done: the record keeps its length
//! and its sequence, and nothing else (`record::erased`).
//!
//! A power cut may tear an overwriting. Such a record verifies neither as what it was nor as what it
//! should be, but both have the same length and sequence at the same place, so it is found again.

use crate::error::Result;
use crate::record::{self, BlockKey, Record};
use crate::scan::torn_records;
use crate::store::Store;
use std::collections::BTreeSet;

impl Store {
    /// Overwrites what the index of the checkpoint that has just been written says is erased.
    pub(crate) fn erase_underway(&mut self) -> Result<()> {
        let mut missing = BTreeSet::new();
        while let Some(sequence) = self.underway.erasures.last().copied() {
            if !self.erase_record(sequence)? {
                missing.insert(sequence);
            }
            self.underway.erasures.pop();
        }
        let done = self.erase_torn(&missing);
        if done.is_err() {
            self.underway.erasures.extend(missing);
        }
        done
    }

    /// False if there is no such record, which may be because it was overwritten before.
    fn erase_record(&mut self, sequence: u64) -> Result<bool> {
        let position = self.blocks.partition_point(|block| block.last < sequence);
        if position >= self.blocks.len() {
            return Ok(false);
        }
        self.ensure_data(position)?;
        let number = self.blocks[position].number;
        let is_tail = position + 1 == self.blocks.len() && self.tail.is_some();
        let loaded = match &mut self.tail {
            Some(tail) if is_tail => Some(tail),
            _ => self.cache.get_mut(number),
        };
        let (Some(loaded), Some(files)) = (loaded, &mut self.files) else {
            return Ok(false);
        };
        let Some(place) = loaded.index.find(sequence) else {
            files.was_overwritten(number)?; // by an earlier life, which may not have synced it
            return Ok(false);
        };
        let offset = place.offset as usize;
        let key = BlockKey::new(&self.name, number);
        let record = Record::decode(&loaded.data[offset..]);
        let Some(record) = record.filter(|record| record.sequence == sequence) else {
            return Ok(false);
        };
        let bytes = record::erased(&record, &key);
        files.overwrite(number, u64::from(place.offset), &bytes)?;
        loaded.data[offset..offset + bytes.len()].copy_from_slice(&bytes);
        loaded.index.take_out(loaded.index.at_or_after(sequence));
        Ok(true)
    }

    /// Overwrites what is left of records that were torn while they were overwritten.
    fn erase_torn(&mut self, sequences: &BTreeSet<u64>) -> Result<()> {
        let mut next = sequences.first().copied();
        while let Some(sequence) = next {
            let position = self.blocks.partition_point(|block| block.last < sequence);
            let Some(block) = self.blocks.get(position) else {
                return Ok(());
            };
            let last = block.last;
            self.erase_torn_in(position, sequences)?;
            next = sequences.range(last + 1..).next().copied();
        }
        Ok(())
    }

    fn erase_torn_in(&mut self, position: usize, sequences: &BTreeSet<u64>) -> Result<()> {
        self.ensure_data(position)?;
        let number = self.blocks[position].number;
        let is_tail = position + 1 == self.blocks.len() && self.tail.is_some();
        let loaded = match &mut self.tail {
            Some(tail) if is_tail => Some(tail),
            _ => self.cache.get_mut(number),
        };
        let (Some(loaded), Some(files)) = (loaded.filter(|l| l.has_damage), &mut self.files) else {
            return Ok(());
        };
        let key = BlockKey::new(&self.name, number);
        for torn in torn_records(&loaded.data, &key, sequences) {
            let remains = record::torn(&loaded.data[torn.clone()]);
            files.overwrite(number, torn.start as u64, &remains)?;
            loaded.data[torn].copy_from_slice(&remains);
        }
        Ok(())
    }
}
