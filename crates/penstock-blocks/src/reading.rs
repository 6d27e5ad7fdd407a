//! Reading one message: from the last block in memory, from a block that is loaded, or alone from
//! the file, if its block is not and reads are scattered.

use crate::error::{Error, Result};
use crate::framing;
use crate::record::{BlockKey, Record};
use crate::store::{Message, Store};

const IN_A_ROW_MAX: u32 = 16; // of reads in one block; then reading all of it is cheaper
const PART_BYTES_MAX: usize = 1 << 20; // a longer part is not read for one record

impl Store {
    /// The message of a sequence, verified since it left the disk.
    pub fn load(&mut self, sequence: u64) -> Result<Option<Message<'_>>> {
        if !self.is_alive(sequence) {
            return Ok(None);
        }
        let position = self.position_of(sequence);
        let in_tail = position + 1 == self.blocks.len() && self.tail.is_some();
        if !in_tail {
            let loaded = self.cache.get(self.blocks[position].number);
            if loaded.is_some_and(|loaded| loaded.index.find(sequence).is_none()) {
                return self.missing(position, sequence);
            }
            if self.is_scattered(self.blocks[position].number)
                && let Some(at) = self.read_alone(position, sequence)?
            {
                return Ok(Record::decode(&self.scratch[at..]).map(message));
            }
            self.ensure_data(position)?;
        }
        let Some(loaded) = self.loaded(position) else {
            return Ok(None);
        };
        let Some(place) = loaded.index.find(sequence) else {
            return self.missing(position, sequence);
        };
        Ok(Record::decode(&loaded.data[place.offset as usize..]).map(message))
    }

    /// True while the bytes of a block are not in memory and it is read here and there.
    fn is_scattered(&mut self, number: u32) -> bool {
        let loaded = self.cache.get(number);
        if loaded.is_some_and(|loaded| !loaded.data.is_empty()) {
            return false;
        }
        let (known, count) = self.single_reads;
        let count = if known == number { count + 1 } else { 1 };
        self.single_reads = (number, count);
        count <= IN_A_ROW_MAX
    }

    /// Reads the part of a block that has a record from the file. Answers with where it is in the
    /// scratch buffer; `None` if it takes the whole block to say what is the matter.
    fn read_alone(&mut self, position: usize, sequence: u64) -> Result<Option<usize>> {
        let block = &self.blocks[position];
        let (Some((part, end)), Some(files)) = (block.part_of(sequence), &mut self.files) else {
            return Ok(None);
        };
        let start = part.offset as usize;
        if end - start > PART_BYTES_MAX {
            return Ok(None);
        }
        self.scratch.resize(end - start, 0);
        let read = files.read_at(block.number, start as u64, &mut self.scratch)?;
        if framing::of_part(&self.scratch[..read], start) != Some(part.framing) {
            return Ok(None);
        }
        let mut at = 0;
        while let Some(record) = Record::decode(&self.scratch[at..]) {
            if record.sequence == sequence {
                let key = BlockKey::new(&self.name, block.number);
                let is_fine = Record::verified(&self.scratch[at..], &key).is_some();
                return Ok(is_fine.then_some(at));
            }
            at += record.total();
        }
        Ok(None)
    }

    /// A sequence without a record: never stored, or damaged.
    fn missing(&self, position: usize, sequence: u64) -> Result<Option<Message<'_>>> {
        let holds = |range: &(u64, u64)| (range.0..=range.1).contains(&sequence);
        match &self.files {
            Some(files) if self.lost.iter().any(holds) => {
                let path = files.block_path(self.blocks[position].number);
                Err(Error::Damaged { path, sequence })
            }
            _ => Ok(None),
        }
    }
}

fn message(record: Record<'_>) -> Message<'_> {
    Message {
        sequence: record.sequence,
        timestamp_ns: record.timestamp_ns,
        subject: record.subject,
        headers: record.headers,
        message: record.message,
    }
}
