//! One block: what is known of it at all times (`Block`, a few hundred bytes), and its content
//! while it is needed (`Loaded`: where the messages are and, mostly, their bytes).

use crate::bloom::Bloom;
use crate::index::{Index, NO_SUBJECT};
use crate::note::Range;
use crate::sequences::Bits;
use crate::subjects::Subjects;

const SAMPLE_EVERY: usize = 64; // a quarter of a byte for each message
const AROUND_BYTES_MAX: usize = 1 << 20; // with longer records the whole block is read

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
    /// Sequence and offset of every so manyth record, to read one without reading the block.
    pub samples: Vec<(u64, u32)>,
    /// Bytes of notes and tombstones, which must be carried on before it goes.
    pub note_bytes: u64,
    /// The stream's first sequence when too much would have had to be carried on.
    pub held_at: u64,
    /// Nothing more will be appended.
    pub sealed: bool,
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
    pub fn summarize(&mut self, index: &Index, subjects: &Subjects, first_alive: u64) {
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
        let sampled = (0..index.len()).step_by(SAMPLE_EVERY);
        self.samples = sampled
            .map(|ordinal| (index.sequence(ordinal), index.place(ordinal).offset))
            .collect();
    }

    /// Where in the file the record of a sequence must be, if that is known well enough.
    pub fn around(&self, sequence: u64) -> Option<std::ops::Range<usize>> {
        let next = self
            .samples
            .partition_point(|(known, _)| *known <= sequence);
        let (_, start) = *self.samples.get(next.checked_sub(1)?)?;
        let end = self
            .samples
            .get(next)
            .map_or(self.length as usize, |(_, end)| *end as usize);
        let is_short = end.saturating_sub(start as usize) <= AROUND_BYTES_MAX;
        is_short.then_some(start as usize..end)
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
    /// When it was last used, in ticks of the cache.
    pub used: u64,
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
