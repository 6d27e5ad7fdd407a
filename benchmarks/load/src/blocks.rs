//! Prebuilt blocks of frames: the bytes are laid out once, only the sequences change.
//!
//! A block is about as large as one good write. Before each write every payload gets its publisher
//! and sequence (8 bytes), which costs a store for each message and lets the other end check that
//! nothing was lost, doubled or reordered.

use crate::Outcome;

pub const STAMP_BYTES: usize = 8;
const PUBLISHER_SHIFT: u32 = 48; // the sequence has the low 48 bits
const BLOCK_BYTES: usize = 64 * 1024; // one write; more does not help, less costs calls

pub fn stamp(publisher: usize, sequence: u64) -> [u8; STAMP_BYTES] {
    ((publisher as u64) << PUBLISHER_SHIFT | sequence).to_le_bytes()
}

/// The publisher and sequence of a payload; none if it is too short to hold them.
#[inline]
pub fn stamp_of(payload: &[u8]) -> Option<(usize, u64)> {
    let bytes: [u8; STAMP_BYTES] = payload.get(..STAMP_BYTES)?.try_into().ok()?;
    let value = u64::from_le_bytes(bytes);
    Some((
        (value >> PUBLISHER_SHIFT) as usize,
        value & ((1 << PUBLISHER_SHIFT) - 1),
    ))
}

pub struct Block {
    bytes: Vec<u8>,
    payloads_at: Vec<usize>,
    ends_at: Vec<usize>,
}

impl Block {
    /// `heads` are the control lines to go round, one for each subject.
    pub fn new(heads: &[String], size: usize) -> Outcome<Self> {
        if size < STAMP_BYTES {
            return Err(format!("--size must be at least {STAMP_BYTES}").into());
        }
        let mut block = Self {
            bytes: Vec::new(),
            payloads_at: Vec::new(),
            ends_at: Vec::new(),
        };
        // Whole rounds only, or a block's first subjects would be published more often.
        let round_bytes: usize = heads.iter().map(|head| head.len() + size + 2).sum();
        for _ in 0..(BLOCK_BYTES / round_bytes).max(1) {
            for head in heads {
                block.bytes.extend_from_slice(head.as_bytes());
                block.payloads_at.push(block.bytes.len());
                block.bytes.resize(block.bytes.len() + size, b'x');
                block.bytes.extend_from_slice(b"\r\n");
                block.ends_at.push(block.bytes.len());
            }
        }
        Ok(block)
    }

    pub fn count(&self) -> usize {
        self.payloads_at.len()
    }

    /// Stamps the first `count` messages from `sequence` on; the end of the bytes to send.
    pub fn fill(&mut self, publisher: usize, sequence: u64, count: usize) -> usize {
        for (at, sequence) in self.payloads_at.iter().take(count).zip(sequence..) {
            self.bytes[*at..*at + STAMP_BYTES].copy_from_slice(&stamp(publisher, sequence));
        }
        count
            .checked_sub(1)
            .and_then(|last| self.ends_at.get(last))
            .copied()
            .unwrap_or(0)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, stamp, stamp_of};

    #[test]
    fn stamps_survive() {
        assert_eq!(stamp_of(&stamp(3, 1 << 40)), Some((3, 1 << 40)));
        assert_eq!(stamp_of(b"short"), None);
    }

    #[test]
    fn a_part_of_a_block_ends_at_a_frame() {
        let heads = ["PUB a.0 16\r\n".to_owned(), "PUB a.1 16\r\n".to_owned()];
        let mut block = Block::new(&heads, 16).expect("long enough");
        assert_eq!(block.count() % 2, 0);
        let frame = heads[0].len() + 16 + 2;
        assert_eq!(block.fill(1, 7, 3), 3 * frame);
        assert_eq!(block.fill(1, 7, block.count()), block.bytes().len());
        assert_eq!(stamp_of(&block.bytes()[2 * frame + 12..]), Some((1, 9)));
    }

    #[test]
    fn a_large_message_is_a_block_of_its_own() {
        let block = Block::new(&["PUB a 100000\r\n".to_owned()], 100_000).expect("long enough");
        assert_eq!(block.count(), 1);
        assert!(Block::new(&["PUB a 7\r\n".to_owned()], 7).is_err());
    }
}
