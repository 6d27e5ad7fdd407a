//! From memory to the files: `write_out` hands buffers to the operating system, `sync` makes them
//! durable.

use crate::error::Result;
use crate::note;
use crate::record::{self, BlockKey, Record};
use crate::store::Store;

const NOTE_BYTES: usize = 64; // a note without its ranges, generously

impl Store {
    /// Writes everything to the files, without waiting for the disk. After an error it can be
    /// called again and goes on where it was.
    pub fn write_out(&mut self) -> Result<()> {
        let Some(files) = &self.files else {
            return Ok(());
        };
        files.check()?;
        self.note_removals()?;
        while let Some(number) = self.unwritten.first().copied() {
            if let (Some(loaded), Some(files)) = (self.cache.get_mut(number), &mut self.files) {
                files.write(
                    number,
                    loaded.written as u64,
                    &loaded.data[loaded.written..],
                )?;
                loaded.written = loaded.data.len();
            }
            self.unwritten.remove(0);
        }
        if let (Some(tail), Some(block), Some(files)) =
            (&mut self.tail, self.blocks.back(), &mut self.files)
            && tail.is_pinned()
        {
            files.write(
                block.number,
                tail.written as u64,
                &tail.data[tail.written..],
            )?;
            tail.written = tail.data.len();
        }
        Ok(())
    }

    /// Puts what was removed since the last time into the last block.
    pub(crate) fn note_removals(&mut self) -> Result<()> {
        if self.removals.is_empty() && self.first == self.first_noted {
            return Ok(());
        }
        self.make_room(NOTE_BYTES)?;
        let mut ranges = std::mem::take(&mut self.removals);
        if self.first > 1 {
            ranges.retain(|(_, last)| *last >= self.first);
            if self.first != self.first_noted {
                ranges.push((1, self.first - 1));
            }
        }
        note::join(&mut ranges);
        self.first_noted = self.first;
        let (Some(tail), Some(block)) = (&mut self.tail, self.blocks.back_mut()) else {
            return Ok(());
        };
        if let Some(key) = &self.tail_key
            && !ranges.is_empty()
        {
            note::write_removed(&mut tail.data, key, self.last_timestamp_ns, &ranges);
            block.note_bytes += tail.data.len() as u64 - block.length;
            block.length = tail.data.len() as u64;
            tail.removals.extend(ranges);
        }
        Ok(())
    }

    /// Bytes that `write_out` would write.
    #[must_use]
    pub fn unwritten_bytes(&self) -> u64 {
        let tail = self.tail.iter();
        let sealed = self
            .unwritten
            .iter()
            .filter_map(|number| self.cache.get(*number));
        tail.chain(sealed)
            .map(|loaded| (loaded.data.len() - loaded.written) as u64)
            .sum()
    }

    /// Makes everything durable, with a seal behind it.
    pub fn sync(&mut self) -> Result<()> {
        if self.files.is_some() {
            self.note_removals()?;
            self.write_seal(false);
        }
        self.write_out()?;
        match &mut self.files {
            Some(files) => files.sync(),
            None => Ok(()),
        }
    }

    pub(crate) fn erase_record(&mut self, sequence: u64) -> Result<bool> {
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
            return Ok(false);
        };
        let offset = place.offset as usize;
        let key = BlockKey::new(&self.name, number);
        let record = Record::decode(&loaded.data[offset..]);
        let Some(record) = record.filter(|record| record.sequence == sequence) else {
            return Ok(false);
        };
        let bytes = record::erased(&record, &key);
        files.write(number, u64::from(place.offset), &bytes)?;
        loaded.data[offset..offset + bytes.len()].copy_from_slice(&bytes);
        loaded.index.take_out(loaded.index.at_or_after(sequence));
        Ok(true)
    }
}
