//! Notes: records of our own among the messages, under the erased sequence 0, which the reference
//! reads over. One kind says which sequences are removed, another which of them are to be overwritten
//! too, the others seal what stands before them. A single removal is written as the reference's
//! tombstone.

use crate::record::{BlockKey, Content, ERASED, TOMBSTONE, word};

const REMOVED: u8 = 1;
const SEAL: u8 = 2;
const FINAL_SEAL: u8 = 3;
const ERASURE: u8 = 4;
const RANGE_BYTES: usize = 16;
const RANGES_MAX: usize = 1 << 16; // in one note: 1 MiB

/// First and last of a run of sequences.
pub type Range = (u64, u64);

/// What a seal says of everything before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seal {
    /// Of the block up to here.
    pub framing: u64,
    /// The stream's last sequence.
    pub last: u64,
    /// Nothing comes after it in this block.
    pub is_final: bool,
}

pub(crate) enum Note {
    Removed(Vec<Range>),
    /// Removed, and nothing of them is to stay: an opening goes on with what is not overwritten.
    Erasure(Vec<Range>),
    Seal(Seal),
    Unknown,
}

pub(crate) fn read(body: &[u8]) -> Note {
    match body.split_first() {
        Some((&kind @ (REMOVED | ERASURE), ranges)) if ranges.len() % RANGE_BYTES == 0 => {
            let pairs = ranges.chunks_exact(RANGE_BYTES);
            let ranges = pairs.map(|pair| (word(pair, 0), word(pair, 8))).collect();
            match kind {
                REMOVED => Note::Removed(ranges),
                _ => Note::Erasure(ranges),
            }
        }
        Some((&kind, words)) if words.len() == 16 && (SEAL..=FINAL_SEAL).contains(&kind) => {
            Note::Seal(Seal {
                framing: word(words, 0),
                last: word(words, 8),
                is_final: kind == FINAL_SEAL,
            })
        }
        _ => Note::Unknown,
    }
}

/// Writes what was removed; `ranges` must be in order and apart.
pub(crate) fn write_removed(block: &mut Vec<u8>, key: &BlockKey, time_ns: i64, ranges: &[Range]) {
    if let [(first, last)] = ranges
        && first == last
    {
        return write(block, key, first | TOMBSTONE, time_ns, b"");
    }
    write_ranges(block, key, time_ns, REMOVED, ranges);
}

/// Writes what was removed and is to be overwritten; `ranges` as above.
pub(crate) fn write_erasures(block: &mut Vec<u8>, key: &BlockKey, time_ns: i64, ranges: &[Range]) {
    write_ranges(block, key, time_ns, ERASURE, ranges);
}

fn write_ranges(block: &mut Vec<u8>, key: &BlockKey, time_ns: i64, kind: u8, ranges: &[Range]) {
    for part in ranges.chunks(RANGES_MAX) {
        let mut body = Vec::with_capacity(1 + part.len() * RANGE_BYTES);
        body.push(kind);
        for (first, last) in part {
            body.extend_from_slice(&first.to_le_bytes());
            body.extend_from_slice(&last.to_le_bytes());
        }
        write(block, key, ERASED, time_ns, &body);
    }
}

pub(crate) fn write_seal(block: &mut Vec<u8>, key: &BlockKey, time_ns: i64, seal: Seal) {
    let mut body = [if seal.is_final { FINAL_SEAL } else { SEAL }; 17];
    body[1..9].copy_from_slice(&seal.framing.to_le_bytes());
    body[9..].copy_from_slice(&seal.last.to_le_bytes());
    write(block, key, ERASED, time_ns, &body);
}

fn write(block: &mut Vec<u8>, key: &BlockKey, sequence: u64, timestamp_ns: i64, message: &[u8]) {
    let content = Content {
        sequence,
        timestamp_ns,
        subject: b"",
        headers: b"",
        message,
    };
    content.encode(block, Some(key));
}

/// Sorts ranges and joins those that touch.
pub(crate) fn join(ranges: &mut Vec<Range>) {
    ranges.sort_unstable();
    ranges.dedup_by(|next, previous| {
        let joins = next.0 <= previous.1.saturating_add(1);
        if joins {
            previous.1 = previous.1.max(next.1);
        }
        joins
    });
}
