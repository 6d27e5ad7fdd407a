//! One block: what is known of it at all times (`Block`, a few hundred bytes), and its content
//! while it is needed (`Loaded`: where the messages are and, mostly, their bytes).

use crate::bloom::Bloom;
use crate::framing;
use crate::index::{Index, NO_SUBJECT};
use crate::note::Range;
use crate::sequences::Bits;
use crate::subjects::Subjects;

const PART_RECORDS: usize = 64; // less than half a byte for each message

/// Some records in a row: the first one's sequence and offset, and the framing of all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub first: u64,
    pub offset: u32,
    pub framing: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    /// The number in the file's name; part of the key of its hashes.
    pub number: u32,
    /// Sequences of its first and last message record, dead ones included; `first` is one above
    /// `last` while it has none. Blocks are in the order of these, without overlap.
    pub first: u64,
    pub last: u64,
    pub first_timestamp_ns: i64,
    pub last_timestamp_ns: i64,
    /// Message records, dead ones included.
    pub records: u64,
    /// Messages alive, and what they count.
    pub messages: u64,
    pub bytes: u64,
    /// Length of the file once everything is written.
    pub length: u64,
    /// See `framing`; of all message records up to `length`.
    pub framing: u64,
    /// Removed messages whose records are still here, above the stream's first.
    pub deleted: Bits,
    pub bloom: Bloom,
    /// Parts of so many records, to read one without reading the block.
    pub parts: Vec<Part>,
    /// Bytes of notes and tombstones, which must be carried on before it goes.
    pub note_bytes: u64,
    /// The stream's first sequence when too much would have had to be carried on.
    pub held_at: u64,
    /// Nothing more will be appended.
    pub sealed: bool,
    /// Some record has headers; also if it is not known.
    pub has_headers: bool,
    /// Some record may have a lifetime.
    pub has_lifetimes: bool,
}

impl Block {
    pub fn new(number: u32, last: u64) -> Block {
        Block {
            number,
            first: last + 1,
            last,
            ..Block::default()
        }
    }

    #[inline]
    pub fn appended(&mut self, sequence: u64, timestamp_ns: i64, bytes: u64, framing: u64) {
        if self.records == 0 {
            self.first = sequence;
            self.first_timestamp_ns = timestamp_ns;
        }
        self.last = sequence;
        self.last_timestamp_ns = timestamp_ns;
        self.records += 1;
        self.messages += 1;
        self.bytes += bytes;
        self.framing ^= framing;
    }

    /// Counts the record that was just `appended` into its part.
    #[inline]
    pub fn divided(&mut self, offset: usize, framing: u64) {
        if (self.records - 1).is_multiple_of(PART_RECORDS as u64) {
            self.parts.push(Part {
                first: self.last,
                offset: offset as u32,
                framing: 0,
            });
        }
        if let Some(part) = self.parts.last_mut() {
            part.framing ^= framing;
        }
    }

    /// False if some records were counted and not divided.
    fn is_divided(&self) -> bool {
        let framing = self.parts.iter().fold(0, |all, part| all ^ part.framing);
        framing == self.framing
            && self.parts.len() == (self.records as usize).div_ceil(PART_RECORDS)
    }

    /// Every sequence between first and last has a record.
    #[inline]
    pub fn is_dense(&self) -> bool {
        self.records == self.last + 1 - self.first
    }

    /// Bytes of the file that nobody needs any more.
    pub fn dead_bytes(&self) -> u64 {
        self.length.saturating_sub(self.bytes)
    }

    /// Keeps of an index what stays in memory without it.
    pub fn summarize(&mut self, loaded: &Loaded, subjects: &Subjects, first_alive: u64) {
        let index = &loaded.index;
        let mut known: Vec<u32> = (index.at_or_after(first_alive)..index.len())
            .filter(|ordinal| !self.deleted.contains(index.sequence(*ordinal)))
            .map(|ordinal| index.place(ordinal).subject)
            .filter(|subject| *subject != NO_SUBJECT)
            .collect();
        known.sort_unstable();
        known.dedup();
        self.bloom = Bloom::for_subjects(known.len());
        for subject in known {
            self.bloom.insert(crate::bloom::hash(subjects.key(subject)));
        }
        if !self.is_divided() {
            self.parts = self.divide(loaded).unwrap_or_default();
        }
    }

    fn divide(&self, loaded: &Loaded) -> Option<Vec<Part>> {
        let mut parts: Vec<Part> = Vec::with_capacity(loaded.index.len() / PART_RECORDS + 1);
        let mut end = loaded.data.len();
        for ordinal in (0..loaded.index.len()).step_by(PART_RECORDS).rev() {
            let offset = loaded.index.place(ordinal).offset;
            let start = offset as usize;
            parts.push(Part {
                first: loaded.index.sequence(ordinal),
                offset,
                framing: framing::of_part(&loaded.data[start..end], start)?,
            });
            end = start;
        }
        parts.reverse();
        Some(parts)
    }

    /// The part that has a sequence, if any, and where it ends.
    pub fn part_of(&self, sequence: u64) -> Option<(Part, usize)> {
        let next = self.parts.partition_point(|part| part.first <= sequence);
        let part = *self.parts.get(next.checked_sub(1)?)?;
        let end = self
            .parts
            .get(next)
            .map_or(self.length, |part| u64::from(part.offset));
        Some((part, end as usize))
    }
}

#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub index: Index,
    /// The bytes of the file and of what is to be written to it, or nothing if they were given up.
    pub data: Vec<u8>,
    /// How much of `data` is in the file already.
    pub written: usize,
    /// What its notes and tombstones say.
    pub removals: Vec<Range>,
    /// Sequences whose records did not verify.
    pub damaged: Vec<Range>,
    /// Something in it did not verify, be it of dead messages.
    pub has_damage: bool,
    /// When it was last used, in ticks of the cache.
    pub used: u64,
    /// Nobody is expected to need it soon: see `cache`.
    pub is_passed: bool,
}

impl Loaded {
    pub fn bytes(&self) -> usize {
        let ranges = self.removals.capacity() + self.damaged.capacity();
        self.index.bytes() + self.data.capacity() + ranges * size_of::<Range>()
    }

    /// True while the file does not have all of it.
    pub fn is_pinned(&self) -> bool {
        self.written < self.data.len()
    }
}
