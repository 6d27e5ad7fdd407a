//! The record: layout, hash and size of the reference, little endian:
//! `total u32 | sequence u64 | timestamp i64 | subject length u16 | subject | [header length u32 |
//! headers |] message | hash u64`. Bit 31 of the total: there are headers. Bit 63 of the sequence:
//! erased or a note of our own (`note`); bit 62: a tombstone.
//!
//! The hash is keyed by stream and block, so a record in the wrong place does not verify. It does
//! not cover the three lengths; `framing` makes up for that.

use crate::framing;
use highway::{HighwayHash, HighwayHasher, Key};
use sha2::{Digest, Sha256};

pub(crate) const HEAD_BYTES: usize = 22;
pub(crate) const HASH_BYTES: usize = 8;
pub(crate) const EMPTY_BYTES: usize = HEAD_BYTES + HASH_BYTES;
pub const RECORD_BYTES_MAX: usize = (64 << 20) + (256 << 10); // the largest payload, and the rest
pub const SEQUENCE_MAX: u64 = (1 << 62) - 1; // the two bits above are flags

const HEADERS_FLAG: u32 = 1 << 31;
pub(crate) const ERASED: u64 = 1 << 63;
pub(crate) const TOMBSTONE: u64 = 1 << 62;

/// What a message counts in the `bytes` of a file stream, which is also what it takes on disk.
#[must_use]
pub fn file_bytes(subject: usize, headers: usize, message: usize) -> usize {
    let header_part = if headers == 0 { 0 } else { 4 + headers };
    EMPTY_BYTES + subject + header_part + message
}

/// What a message counts in the `bytes` of a memory stream.
#[must_use]
pub fn memory_bytes(subject: usize, headers: usize, message: usize) -> usize {
    subject + headers + message + 16 // the reference counts sequence and time, nothing else
}

/// The hash of one block of one stream.
#[derive(Clone)]
pub struct BlockKey(HighwayHasher);

impl BlockKey {
    #[must_use]
    pub fn new(stream: &str, block: u32) -> BlockKey {
        BlockKey::of(format!("{stream}-{block}").as_bytes())
    }

    pub(crate) fn of(text: &[u8]) -> BlockKey {
        let digest = Sha256::digest(text);
        let mut words = [0u64; 4];
        for (word, bytes) in words.iter_mut().zip(digest.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        BlockKey(HighwayHasher::new(Key(words)))
    }

    pub(crate) fn hash(&self, parts: &[&[u8]]) -> u64 {
        let mut hasher = self.0.clone();
        for part in parts {
            hasher.append(part);
        }
        hasher.finalize64()
    }

    /// The hash of an encoded record.
    #[inline]
    fn hash_record(&self, bytes: &[u8], subject_length: usize, headers: bool) -> u64 {
        let end = bytes.len() - HASH_BYTES;
        let mut hasher = self.0.clone();
        hasher.append(&bytes[4..20]);
        if headers {
            hasher.append(&bytes[HEAD_BYTES..HEAD_BYTES + subject_length]);
            hasher.append(&bytes[HEAD_BYTES + subject_length + 4..end]);
        } else {
            hasher.append(&bytes[HEAD_BYTES..end]);
        }
        hasher.finalize64()
    }
}

/// A record as it lies in the bytes of a block; `sequence` still has its flags.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    pub sequence: u64,
    pub timestamp_ns: i64,
    pub subject: &'a [u8],
    pub headers: &'a [u8],
    pub message: &'a [u8],
    bytes: &'a [u8],
}

impl<'a> Record<'a> {
    /// Reads the record at the start of `bytes`, if its lengths can be true. Says nothing about
    /// its hash.
    #[must_use]
    #[inline]
    pub fn decode(bytes: &'a [u8]) -> Option<Record<'a>> {
        let head = bytes.first_chunk::<HEAD_BYTES>()?;
        let total_field = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        let total = (total_field & !HEADERS_FLAG) as usize;
        if !(EMPTY_BYTES..=RECORD_BYTES_MAX).contains(&total) || total > bytes.len() {
            return None;
        }
        let body = &bytes[HEAD_BYTES..total - HASH_BYTES];
        let subject_length = u16::from_le_bytes([head[20], head[21]]) as usize;
        let (subject, rest) = body.split_at_checked(subject_length)?;
        let (headers, message) = if total_field & HEADERS_FLAG == 0 {
            (&rest[..0], rest)
        } else {
            let (length, rest) = rest.split_first_chunk::<4>()?;
            rest.split_at_checked(u32::from_le_bytes(*length) as usize)?
        };
        Some(Record {
            sequence: word(head, 4),
            timestamp_ns: word(head, 12).cast_signed(),
            subject,
            headers,
            message,
            bytes: &bytes[..total],
        })
    }

    /// The record at the start of `bytes`, if it is whole and unharmed.
    #[must_use]
    #[inline]
    pub fn verified(bytes: &'a [u8], key: &BlockKey) -> Option<Record<'a>> {
        Record::decode(bytes).filter(|record| record.is_intact(key))
    }

    #[inline]
    fn is_intact(&self, key: &BlockKey) -> bool {
        let end = self.bytes.len() - HASH_BYTES;
        let flag = self.bytes[3] & 0x80 != 0;
        key.hash_record(self.bytes, self.subject.len(), flag) == word(self.bytes, end)
    }

    #[must_use]
    pub fn total(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The same record with all of its body in the message. The hash is the same.
    pub(crate) fn without_subject(&self) -> Vec<u8> {
        let mut bytes = self.bytes.to_vec();
        bytes[20..HEAD_BYTES].fill(0);
        bytes
    }

    /// What the lengths of this record add to its block's framing. An erased record remembers
    /// what it was in the place of its time.
    #[inline]
    pub(crate) fn framing(&self, offset: usize) -> u64 {
        let lengths = match self.sequence & ERASED {
            0 => framing::lengths(self.subject.len(), self.headers.len()),
            _ => self.timestamp_ns.cast_unsigned(),
        };
        framing::of_record(offset, self.total(), lengths)
    }
}

/// What goes into a record.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    pub sequence: u64,
    pub timestamp_ns: i64,
    pub subject: &'a [u8],
    pub headers: &'a [u8],
    pub message: &'a [u8],
}

impl Content<'_> {
    #[must_use]
    pub fn total(&self) -> usize {
        file_bytes(self.subject.len(), self.headers.len(), self.message.len())
    }

    /// Adds the record to the end of a block. Without a key, in memory, there is no hash.
    #[inline]
    pub fn encode(&self, block: &mut Vec<u8>, key: Option<&BlockKey>) {
        let start = block.len();
        let total = self.total();
        block.reserve(total);
        let mut head = [0u8; HEAD_BYTES];
        let flag = if self.headers.is_empty() {
            0
        } else {
            HEADERS_FLAG
        };
        head[..4].copy_from_slice(&(total as u32 | flag).to_le_bytes());
        head[4..12].copy_from_slice(&self.sequence.to_le_bytes());
        head[12..20].copy_from_slice(&self.timestamp_ns.to_le_bytes());
        head[20..].copy_from_slice(&(self.subject.len() as u16).to_le_bytes());
        block.extend_from_slice(&head);
        block.extend_from_slice(self.subject);
        if !self.headers.is_empty() {
            block.extend_from_slice(&(self.headers.len() as u32).to_le_bytes());
            block.extend_from_slice(self.headers);
        }
        block.extend_from_slice(self.message);
        block.extend_from_slice(&[0; HASH_BYTES]);
        if let Some(key) = key {
            let bytes = &mut block[start..];
            let hash = key.hash_record(bytes, self.subject.len(), !self.headers.is_empty());
            bytes[total - HASH_BYTES..].copy_from_slice(&hash.to_le_bytes());
        }
    }
}

/// The same record with nothing left of its message, subject and time.
#[must_use]
pub(crate) fn erased(record: &Record<'_>, key: &BlockKey) -> Vec<u8> {
    let total = record.total();
    let lengths = framing::lengths(record.subject.len(), record.headers.len());
    let mut bytes = vec![0u8; total];
    bytes[..4].copy_from_slice(&(total as u32).to_le_bytes());
    bytes[4..12].copy_from_slice(&(record.sequence | ERASED).to_le_bytes());
    bytes[12..20].copy_from_slice(&lengths.to_le_bytes());
    let hash = key.hash_record(&bytes, 0, false);
    bytes[total - HASH_BYTES..].copy_from_slice(&hash.to_le_bytes());
    bytes
}

/// What stays of a record that was torn while it was being overwritten: length and sequence. The
/// lengths it had inside are not known any more, so it does not verify, and is damage of a message
/// that nobody misses.
#[must_use]
pub(crate) fn torn(bytes: &[u8]) -> Vec<u8> {
    let mut remains = vec![0u8; bytes.len()];
    remains[..4].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
    remains[4..12].copy_from_slice(&(word(bytes, 4) | ERASED).to_le_bytes());
    remains
}

#[inline]
pub(crate) fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0u8; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}
