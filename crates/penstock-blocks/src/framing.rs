//! The framing of a block: one number over the lengths of all its message records.
//!
//! Why: the record's hash runs over subject, headers and message without their lengths, so a bit
//! flipped in a length moves the border between subject and message and still verifies. The
//! numbers of the records are combined by exclusive or: the difference between what a block
//! should have and has is then the difference of the one damaged record, which finds it.

use crate::record::{Record, SEQUENCE_MAX, TOMBSTONE};

/// The lengths the hash does not see, in one word.
#[inline]
pub(crate) fn lengths(subject: usize, headers: usize) -> u64 {
    subject as u64 | (headers as u64) << 16
}

#[inline]
pub(crate) fn of_record(offset: usize, total: usize, lengths: u64) -> u64 {
    let mut mixed = (offset as u64) << 32 ^ total as u64 ^ lengths.rotate_left(25);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// True if one flipped bit in a length of this record explains the difference.
pub(crate) fn explains(record: &Record<'_>, offset: usize, difference: u64) -> bool {
    let lengths = lengths(record.subject.len(), record.headers.len());
    let bits = if record.headers.is_empty() { 16 } else { 48 };
    let sought = of_record(offset, record.total(), lengths) ^ difference;
    (0..bits).any(|bit| of_record(offset, record.total(), lengths ^ 1 << bit) == sought)
}

/// The framing of the message records in a part of a block that begins at `offset`; nothing if it
/// is not made of whole records.
pub(crate) fn of_part(bytes: &[u8], offset: usize) -> Option<u64> {
    let (mut framing, mut at) = (0, 0);
    while at < bytes.len() {
        let record = Record::decode(&bytes[at..])?;
        if record.sequence & TOMBSTONE == 0 && record.sequence & SEQUENCE_MAX != 0 {
            framing ^= record.framing(offset + at);
        }
        at += record.total();
    }
    Some(framing)
}
