//! The ids of a while, kept in a file from a clean stop to the next start, which then need not get
//! them out of the blocks.
//!
//! It is a cache: believed only whole, and only if nothing was stored since; messages removed since
//! are left out when it is read. It is never synced, and gone once it was read.
//! `head | sequences | times | ends | ids | hash`, all numbers little endian.

use crate::block::Block;
use crate::bloom;
use crate::error::Result;
use crate::header_column::PackedColumn;
use crate::recent_ids::RecentIds;
use crate::record::{BlockKey, word};
use crate::store::Store;

const MAGIC: u64 = u64::from_le_bytes(*b"penstid1");
const HEAD_WORDS: usize = 5;
const HEAD_BYTES: usize = HEAD_WORDS * 8;
const ROW_BYTES: usize = 8 + 8 + 4;
const HASH_BYTES: usize = 8;
const IDS_BYTES_MAX: usize = 1 << 30; // a start should not need so much memory for a while

fn key() -> BlockKey {
    BlockKey::of(b"penstock ids")
}

impl Store {
    /// Keeps the ids since a time for the next opening, if there are any. Those of messages that
    /// are removed stay behind: nothing of an erased one may come back to the disk.
    pub fn save_ids(&mut self, ids: &RecentIds, since_ns: i64) -> Result<()> {
        let rows = ids.rows_since(since_ns);
        let rows = rows.filter(|(_, sequence, _)| self.is_alive(*sequence));
        let count = rows.clone().count();
        let ids_bytes: usize = rows.clone().map(|(id, ..)| id.0.len() + id.1.len()).sum();
        let Some(files) = self.files.as_ref().filter(|_| count > 0) else {
            return Ok(());
        };
        if ids_bytes > IDS_BYTES_MAX {
            return Ok(());
        }
        let size = HEAD_BYTES + count * ROW_BYTES + ids_bytes + HASH_BYTES;
        let mut out = Vec::with_capacity(size);
        for word in self.ids_head(count) {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for (_, sequence, _) in rows.clone() {
            out.extend_from_slice(&sequence.to_le_bytes());
        }
        for (_, _, time_ns) in rows.clone() {
            out.extend_from_slice(&time_ns.to_le_bytes());
        }
        let mut end = 0;
        for ((head, tail), ..) in rows.clone() {
            end += head.len() + tail.len();
            out.extend_from_slice(&(end as u32).to_le_bytes());
        }
        for ((head, tail), ..) in rows {
            out.extend_from_slice(head);
            out.extend_from_slice(tail);
        }
        let hash = key().hash(&[&out]);
        out.extend_from_slice(&hash.to_le_bytes());
        files.write_ids(&out)
    }

    /// Adds the ids kept by the last clean stop; false if there are none to go by.
    pub fn take_ids(&mut self, ids: &mut RecentIds) -> bool {
        let Some(content) = self.files.as_ref().and_then(|files| files.take_ids()) else {
            return false;
        };
        let Some(column) = self.verified_ids(&content) else {
            return false;
        };
        let first = column.rows().next().map_or(0, |(_, sequence, _)| sequence);
        let mut position = self.blocks.partition_point(|block| block.last < first);
        // Where records are gone from a block, it takes the block to know which.
        let has_all = |block: &Block| block.messages == 0 || block.is_dense();
        if !self.blocks.range(position..).all(has_all) {
            return false;
        }
        ids.remember_all(column.rows().filter(|(_, sequence, _)| {
            let is_before = |block: &Block| block.last < *sequence;
            while self.blocks.get(position).is_some_and(is_before) {
                position += 1;
            }
            let is_here = |block: &Block| {
                block.messages > 0 && block.first <= *sequence && !block.deleted.contains(*sequence)
            };
            *sequence >= self.first && self.blocks.get(position).is_some_and(is_here)
        }));
        true
    }

    fn verified_ids<'a>(&self, content: &'a [u8]) -> Option<PackedColumn<'a>> {
        let (bytes, hash) = content.split_at_checked(content.len().checked_sub(HASH_BYTES)?)?;
        let (head, body) = bytes.split_at_checked(HEAD_BYTES)?;
        let rows = usize::try_from(word(head, HEAD_BYTES - 8)).ok()?;
        let expected = self.ids_head(rows);
        let is_ours = (0..HEAD_WORDS).all(|at| word(head, at * 8) == expected[at]);
        if !is_ours || key().hash(&[bytes]) != word(hash, 0) {
            return None;
        }
        let (sequences, body) = body.split_at_checked(rows.checked_mul(8)?)?;
        let (times_ns, body) = body.split_at_checked(rows * 8)?;
        let (ends, values) = body.split_at_checked(rows * 4)?;
        PackedColumn::new(sequences, times_ns, ends, values)
    }

    /// What must be the same when they are read: of this stream, and nothing was stored since.
    fn ids_head(&self, rows: usize) -> [u64; HEAD_WORDS] {
        let name = bloom::hash(self.name.as_bytes());
        let last_ns = self.last_timestamp_ns.cast_unsigned();
        [MAGIC, name, self.last, last_ns, rows as u64]
    }
}
