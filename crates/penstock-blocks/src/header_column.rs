//! One header of many messages as columns: after a start, message ids are wanted and nothing else.
//!
//! Strategy: a block in which nothing has headers is passed over, its summary says so. Of the
//! others the bytes are walked once, those in memory as they are, those on disk through one buffer
//! and verified record by record. A block that is not in every respect what its summary says is
//! loaded instead, which finds out what is lost.

use crate::block::Block;
use crate::error::Result;
use crate::record::{BlockKey, ERASED, Record, SEQUENCE_MAX, TOMBSTONE};
use crate::store::Store;
use memchr::memmem::Finder;

const BYTES_MAX: usize = 1 << 30; // with one block more, positions still fit into 32 bits

/// The messages that have a header, in order, and its value in each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderColumn {
    pub sequences: Vec<u64>,
    pub timestamps_ns: Vec<i64>,
    /// Where each value ends in `values`; it begins where the one before it ends.
    pub ends: Vec<u32>,
    pub values: Vec<u8>,
}

impl HeaderColumn {
    fn push(&mut self, record: &Record<'_>, value: &[u8]) {
        self.sequences.push(record.sequence);
        self.timestamps_ns.push(record.timestamp_ns);
        self.values.extend_from_slice(value);
        self.ends.push(self.values.len() as u32);
    }

    /// Value, sequence and time of each message.
    pub fn rows(&self) -> impl Iterator<Item = (&[u8], u64, i64)> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let values = starts.zip(&self.ends);
        let values = values.map(|(start, end)| &self.values[start as usize..*end as usize]);
        let numbers = self.sequences.iter().zip(&self.timestamps_ns);
        values
            .zip(numbers)
            .map(|(value, (sequence, time_ns))| (value, *sequence, *time_ns))
    }

    fn truncate(&mut self, rows: usize) {
        self.sequences.truncate(rows);
        self.timestamps_ns.truncate(rows);
        self.ends.truncate(rows);
        let end = self.ends.last().map_or(0, |end| *end as usize);
        self.values.truncate(end);
    }

    fn bytes(&self) -> usize {
        let row = size_of::<u64>() + size_of::<i64>() + size_of::<u32>();
        self.sequences.len() * row + self.values.len()
    }
}

/// The same as bytes: numbers little endian, of 8, 8 and 4 bytes.
#[derive(Clone, Copy, Debug)]
pub struct PackedColumn<'a> {
    sequences: &'a [[u8; 8]],
    timestamps_ns: &'a [[u8; 8]],
    ends: &'a [[u8; 4]],
    values: &'a [u8],
}

impl<'a> PackedColumn<'a> {
    /// Nothing if the parts do not fit together.
    #[must_use]
    pub fn new(
        sequences: &'a [u8],
        timestamps_ns: &'a [u8],
        ends: &'a [u8],
        values: &'a [u8],
    ) -> Option<PackedColumn<'a>> {
        let column = PackedColumn {
            sequences: whole(sequences)?,
            timestamps_ns: whole(timestamps_ns)?,
            ends: whole(ends)?,
            values,
        };
        let rows = column.ends.len();
        let mut ends = column.ends.iter().map(|end| u32::from_le_bytes(*end));
        let fits = (column.sequences.len(), column.timestamps_ns.len()) == (rows, rows)
            && ends.clone().is_sorted()
            && ends.next_back().unwrap_or(0) as usize == values.len();
        fits.then_some(column)
    }

    /// Value, sequence and time of each message.
    pub fn rows(&self) -> impl Iterator<Item = (&'a [u8], u64, i64)> + use<'a> {
        let (mut start, values) = (0, self.values);
        let values = self.ends.iter().map(move |end| {
            let end = u32::from_le_bytes(*end) as usize;
            &values[std::mem::replace(&mut start, end)..end]
        });
        let numbers = self.sequences.iter().zip(self.timestamps_ns);
        values.zip(numbers).map(|(value, (sequence, time_ns))| {
            let sequence = u64::from_le_bytes(*sequence);
            (value, sequence, i64::from_le_bytes(*time_ns))
        })
    }
}

fn whole<const N: usize>(bytes: &[u8]) -> Option<&[[u8; N]]> {
    let (numbers, rest) = bytes.as_chunks();
    rest.is_empty().then_some(numbers)
}

/// Finds the value of one header: the first of its name counts, written exactly so, and blanks
/// before the value are no part of it.
struct Sought {
    line: Finder<'static>,
}

impl Sought {
    fn new(name: &[u8]) -> Sought {
        let line = [b"\r\n", name, b":"].concat();
        Sought {
            line: Finder::new(&line).into_owned(),
        }
    }

    fn value<'a>(&self, headers: &'a [u8]) -> Option<&'a [u8]> {
        let start = self.line.find(headers)? + self.line.needle().len();
        let rest = &headers[start..];
        let end = rest.windows(2).position(|pair| pair == b"\r\n");
        let end = end.unwrap_or(rest.len());
        let blanks = rest[..end].iter().take_while(|byte| **byte == b' ');
        Some(&rest[blanks.count()..end])
    }
}

impl Store {
    /// The value of a header in every living message from a sequence on that has it. Stops after
    /// the block with which there are this many bytes, and says from where to go on.
    pub fn header_values(
        &mut self,
        name: &[u8],
        from: u64,
        bytes_max: usize,
    ) -> Result<(HeaderColumn, Option<u64>)> {
        self.header_values_in(name, from, bytes_max, |block| block.has_headers)
    }

    /// The same, of some blocks only.
    pub(crate) fn header_values_in(
        &mut self,
        name: &[u8],
        from: u64,
        bytes_max: usize,
        is_sought: impl Fn(&Block) -> bool,
    ) -> Result<(HeaderColumn, Option<u64>)> {
        let sought = Sought::new(name);
        let mut column = HeaderColumn::default();
        let mut from = from.max(self.first);
        let mut rest = None;
        for position in self.position_of(from)..self.blocks.len() {
            let block = &self.blocks[position];
            let last = block.last;
            if is_sought(block) && block.messages > 0 && from <= last {
                self.collect(position, from, &sought, &mut column)?;
            }
            from = from.max(last + 1);
            let is_tail = position + 1 == self.blocks.len();
            if column.bytes() >= bytes_max.min(BYTES_MAX) && !is_tail {
                rest = Some(from);
                break;
            }
        }
        self.scratch = Vec::new();
        Ok((column, rest))
    }

    fn collect(
        &mut self,
        position: usize,
        from: u64,
        sought: &Sought,
        column: &mut HeaderColumn,
    ) -> Result<()> {
        let in_memory = self.loaded(position).map(|loaded| loaded.data.is_empty());
        if in_memory != Some(false) {
            let rows = column.sequences.len();
            if self.collect_from_file(position, from, sought, column)? {
                return Ok(());
            }
            column.truncate(rows);
            self.ensure_data(position)?;
        }
        let Some(loaded) = self.loaded(position) else {
            return Ok(());
        };
        let deleted = &self.blocks[position].deleted;
        for ordinal in loaded.index.at_or_after(from)..loaded.index.len() {
            let offset = loaded.index.place(ordinal).offset as usize;
            if !deleted.contains(loaded.index.sequence(ordinal))
                && let Some(record) = Record::decode(&loaded.data[offset..])
                && let Some(value) = sought.value(record.headers)
            {
                column.push(&record, value);
            }
        }
        Ok(())
    }

    /// False if the file is not whole; what was collected from it is worth nothing then.
    fn collect_from_file(
        &mut self,
        position: usize,
        from: u64,
        sought: &Sought,
        column: &mut HeaderColumn,
    ) -> Result<bool> {
        let block = &self.blocks[position];
        let Some(files) = &mut self.files else {
            return Ok(false);
        };
        self.scratch.resize(block.length as usize, 0);
        let read = files.read_at(block.number, 0, &mut self.scratch)?;
        let key = BlockKey::new(&self.name, block.number);
        let bytes = &self.scratch[..read];
        let is_whole = read as u64 == block.length;
        Ok(is_whole && walk(bytes, block, &key, from, sought, column))
    }
}

/// True if every record verifies and together they have the block's framing: then none is missing,
/// and no length of them is wrong.
fn walk(
    bytes: &[u8],
    block: &Block,
    key: &BlockKey,
    from: u64,
    sought: &Sought,
    column: &mut HeaderColumn,
) -> bool {
    let (mut at, mut framing, mut highest) = (0, 0, 0);
    while at < bytes.len() {
        let Some(record) = Record::verified(&bytes[at..], key) else {
            return false;
        };
        let sequence = record.sequence & SEQUENCE_MAX;
        if record.sequence & TOMBSTONE == 0 && sequence > 0 {
            framing ^= record.framing(at);
            let is_message = record.sequence & ERASED == 0 && sequence > highest;
            highest = highest.max(sequence);
            if is_message
                && (from..=block.last).contains(&sequence)
                && !block.deleted.contains(sequence)
                && let Some(value) = sought.value(record.headers)
            {
                column.push(&record, value);
            }
        }
        at += record.total();
    }
    framing == block.framing
}
