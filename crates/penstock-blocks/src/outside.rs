//! The messages of a block for somebody who is not its store: out of its bytes alone, every record
//! verified, and lengths too where the block's seal tells them.
//!
//! Strategy: a first look follows the lengths from record to record, which touches little of the
//! block, and verifies nothing but notes and erased records; a message is verified when it is
//! asked for, while its bytes are about to be used anyway. Where anything is not as it was written,
//! the block is scanned again, record by record, as its store does it.

use crate::note::{self, Note, Range};
use crate::record::{
    BlockKey, ERASED, HASH_BYTES, HEAD_BYTES, Record, SEQUENCE_MAX, TOMBSTONE, word,
};
use crate::scan::scan;

/// What stands at a place.
pub enum Sight<'a> {
    Message(Record<'a>),
    /// Not what was written: the block must be scanned.
    Damaged,
    /// There are no more.
    End,
}

/// Where the messages of a block are, in bytes that stay with whoever has read them.
pub struct Sighted {
    key: BlockKey,
    offsets: Vec<u32>,
    /// Sequences whose messages are gone: erased, or noted here as removed.
    pub removed: Vec<Range>,
    /// Every message was verified.
    scanned: bool,
}

impl Sighted {
    #[must_use]
    pub fn new(bytes: &[u8], stream: &str, number: u32) -> Sighted {
        let mut sighted = Sighted {
            key: BlockKey::new(stream, number),
            offsets: Vec::new(),
            removed: Vec::new(),
            scanned: false,
        };
        if sighted.follow(bytes).is_none() {
            sighted.scan(bytes);
        }
        sighted
    }

    /// Finds every message that verifies. Nothing of a block in which a length is damaged and
    /// nobody knows whose.
    pub fn scan(&mut self, bytes: &[u8]) {
        let found = scan(bytes, 0, 0, &self.key, None);
        let count = match found.framing_unexplained {
            true => 0,
            false => found.index.len(),
        };
        self.offsets = (0..count).map(|n| found.index.place(n).offset).collect();
        self.removed = found.removals;
        self.scanned = true;
    }

    /// Follows the lengths; nothing if anything is not as it was written.
    fn follow(&mut self, bytes: &[u8]) -> Option<()> {
        let (mut at, mut framing, mut highest) = (0, 0, 0);
        while at < bytes.len() {
            let mut record = Record::decode(&bytes[at..])?;
            if record.sequence == 0 || record.sequence > SEQUENCE_MAX {
                record = Record::verified(&bytes[at..], &self.key)?;
                framing ^= self.take_other(at, framing, &record)?;
                if record.sequence & TOMBSTONE == 0 {
                    highest = highest.max(record.sequence & SEQUENCE_MAX);
                }
            } else {
                framing ^= record.framing(at);
                if record.sequence <= highest {
                    return None;
                }
                highest = record.sequence;
                self.offsets.push(at as u32);
            }
            at += record.total();
        }
        Some(())
    }

    /// What is no message, and what it adds to the framing.
    fn take_other(&mut self, offset: usize, framing: u64, record: &Record<'_>) -> Option<u64> {
        let sequence = record.sequence & SEQUENCE_MAX;
        if !record.subject.is_empty() {
            return None;
        }
        if record.sequence & TOMBSTONE != 0 {
            self.removed.push((sequence, sequence));
            return Some(0);
        }
        if sequence > 0 {
            self.removed.push((sequence, sequence));
            return Some(record.framing(offset));
        }
        if record.sequence & ERASED == 0 {
            return Some(0);
        }
        let body = &record.bytes()[HEAD_BYTES..record.total() - HASH_BYTES];
        match note::read(body) {
            Note::Removed(ranges) | Note::Erasure(ranges) => self.removed.extend(ranges),
            Note::Seal(seal) if seal.framing != framing => return None,
            Note::Seal(_) | Note::Unknown => {}
        }
        Some(0)
    }

    /// In the order of their sequences; the bytes must be the same.
    #[must_use]
    #[inline]
    pub fn message<'a>(&self, bytes: &'a [u8], ordinal: usize) -> Sight<'a> {
        let Some(offset) = self.offsets.get(ordinal) else {
            return Sight::End;
        };
        let bytes = bytes.get(*offset as usize..).unwrap_or_default();
        let record = match self.scanned {
            true => Record::decode(bytes),
            false => Record::verified(bytes, &self.key),
        };
        record.map_or(Sight::Damaged, Sight::Message)
    }

    /// The first message at or behind a place that may have this sequence or a later one.
    #[must_use]
    pub fn seek(&self, bytes: &[u8], from: usize, sequence: u64) -> usize {
        let offsets = self.offsets.iter().enumerate().skip(from);
        let mut later =
            offsets.filter(|(_, offset)| word(bytes, **offset as usize + 4) >= sequence);
        later.next().map_or(self.offsets.len(), |(place, _)| place)
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }
}
