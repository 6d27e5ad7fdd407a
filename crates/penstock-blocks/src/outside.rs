//! The messages of a block for somebody who is not its store: out of its bytes alone, every record
//! verified, and lengths too where the block's seal tells them.

use crate::record::{BlockKey, Record};
use crate::scan::scan;

/// Where the messages of a block are, in bytes that stay with whoever has read them.
pub struct Sighted {
    offsets: Vec<u32>,
    /// Sequences whose messages are gone: erased, or noted here as removed.
    pub removed: Vec<(u64, u64)>,
}

impl Sighted {
    /// Nothing of a block in which a length is damaged and nobody knows whose.
    #[must_use]
    pub fn new(bytes: &[u8], stream: &str, number: u32) -> Sighted {
        let key = BlockKey::new(stream, number);
        let found = scan(bytes, 0, 0, &key, None);
        let count = match found.framing_unexplained {
            true => 0,
            false => found.index.len(),
        };
        let offsets = (0..count).map(|n| found.index.place(n).offset).collect();
        Sighted {
            offsets,
            removed: found.removals,
        }
    }

    /// In the order of their sequences; the bytes must be the same.
    #[must_use]
    pub fn message<'a>(&self, bytes: &'a [u8], ordinal: usize) -> Option<Record<'a>> {
        let offset = *self.offsets.get(ordinal)?;
        Record::decode(bytes.get(offset as usize..)?)
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
