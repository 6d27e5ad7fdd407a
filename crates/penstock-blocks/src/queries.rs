//! Finding messages by sequence and by time, skipping what was removed.

use crate::error::Result;
use crate::note::Range;
use crate::record::{HEAD_BYTES, word};
use crate::store::Store;

impl Store {
    /// The first message at or after a sequence.
    pub fn first_at_or_after(&mut self, sequence: u64) -> Result<Option<u64>> {
        let mut from = sequence.max(self.first);
        if from > self.last {
            return Ok(None);
        }
        for position in self.position_of(from)..self.blocks.len() {
            let block = &self.blocks[position];
            from = from.max(block.first);
            if block.messages == 0 || from > block.last {
                continue;
            }
            if block.is_dense() {
                let next = block.deleted.next_absent(from);
                if next <= block.last {
                    return Ok(Some(next));
                }
                continue;
            }
            if let Some(found) = self.scan_forward(position, from, |_| true)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The last message at or before a sequence.
    pub fn last_at_or_before(&mut self, sequence: u64) -> Result<Option<u64>> {
        let mut up_to = sequence.min(self.last);
        if up_to < self.first || self.blocks.is_empty() {
            return Ok(None);
        }
        let last = self.position_of(up_to).min(self.blocks.len() - 1);
        for position in (0..=last).rev() {
            let block = &self.blocks[position];
            up_to = up_to.min(block.last);
            if up_to < self.first && block.last < self.first {
                break;
            }
            if block.messages == 0 || up_to < block.first {
                continue;
            }
            if block.is_dense() {
                let previous = block.deleted.previous_absent(up_to);
                if previous >= block.first.max(self.first) {
                    return Ok(Some(previous));
                }
                continue;
            }
            if let Some(found) = self.scan_backward(position, up_to, |_| true)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The first living message of a block from a sequence on whose subject passes a test.
    pub(crate) fn scan_forward(
        &mut self,
        position: usize,
        from: u64,
        mut test: impl FnMut(u32) -> bool,
    ) -> Result<Option<u64>> {
        self.ensure(position)?;
        let from = from.max(self.first);
        let Some(loaded) = self.loaded(position) else {
            return Ok(None);
        };
        let deleted = &self.blocks[position].deleted;
        let ordinals = loaded.index.at_or_after(from)..loaded.index.len();
        let mut alive = ordinals.filter(|ordinal| {
            !deleted.contains(loaded.index.sequence(*ordinal))
                && test(loaded.index.place(*ordinal).subject)
        });
        Ok(alive.next().map(|ordinal| loaded.index.sequence(ordinal)))
    }

    /// The last one up to a sequence.
    pub(crate) fn scan_backward(
        &mut self,
        position: usize,
        up_to: u64,
        mut test: impl FnMut(u32) -> bool,
    ) -> Result<Option<u64>> {
        self.ensure(position)?;
        let Some(loaded) = self.loaded(position) else {
            return Ok(None);
        };
        let deleted = &self.blocks[position].deleted;
        let ordinals = loaded.index.at_or_after(self.first)..loaded.index.at_or_after(up_to + 1);
        let mut alive = ordinals.rev().filter(|ordinal| {
            !deleted.contains(loaded.index.sequence(*ordinal))
                && test(loaded.index.place(*ordinal).subject)
        });
        Ok(alive.next().map(|ordinal| loaded.index.sequence(ordinal)))
    }

    /// The first message that is not older than a time.
    pub fn sequence_at_time(&mut self, timestamp_ns: i64) -> Result<Option<u64>> {
        let late = |block: &crate::block::Block| {
            block.records > 0 && block.last_timestamp_ns >= timestamp_ns
        };
        let Some(position) = (0..self.blocks.len()).find(|p| late(&self.blocks[*p])) else {
            return Ok(None);
        };
        let from = self.sequence_in_block(position, timestamp_ns)?;
        self.first_at_or_after(from)
    }

    /// The first sequence of a block that is not older than a time; one above its last if all are.
    pub(crate) fn sequence_in_block(&mut self, position: usize, timestamp_ns: i64) -> Result<u64> {
        if self.blocks[position].first_timestamp_ns >= timestamp_ns {
            return Ok(self.blocks[position].first);
        }
        self.ensure_data(position)?;
        let end = self.blocks[position].last + 1;
        let Some(loaded) = self.loaded(position) else {
            return Ok(end);
        };
        let (mut low, mut high) = (0, loaded.index.len());
        while low < high {
            let middle = low.midpoint(high);
            let offset = loaded.index.place(middle).offset as usize;
            let head = &loaded.data[offset..offset + HEAD_BYTES];
            if word(head, 12).cast_signed() < timestamp_ns {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(if low < loaded.index.len() {
            loaded.index.sequence(low)
        } else {
            end
        })
    }

    /// The sequences between first and last that have no message, as ranges in order.
    pub fn deleted(&mut self) -> Result<Vec<Range>> {
        let mut ranges = Vec::new();
        if self.messages == 0 {
            return Ok(ranges);
        }
        let mut expected = self.first;
        for position in self.position_of(self.first)..self.blocks.len() {
            if self.blocks[position].messages == 0 {
                continue;
            }
            if self.blocks[position].is_dense() {
                let block = &self.blocks[position];
                ranges.push((expected, block.first.max(expected) - 1));
                ranges.extend(block.deleted.ranges());
                expected = block.last + 1;
            } else {
                expected = self.gaps_in_block(position, expected, &mut ranges)?;
            }
        }
        ranges.push((expected, self.last));
        ranges
            .iter_mut()
            .for_each(|range| range.0 = range.0.max(self.first));
        ranges.retain(|(first, last)| first <= last);
        crate::note::join(&mut ranges);
        Ok(ranges)
    }

    fn gaps_in_block(&mut self, position: usize, from: u64, gaps: &mut Vec<Range>) -> Result<u64> {
        self.ensure(position)?;
        let Some(loaded) = self.loaded(position) else {
            return Ok(from);
        };
        let deleted = &self.blocks[position].deleted;
        let mut expected = from;
        for ordinal in loaded.index.at_or_after(from)..loaded.index.len() {
            let sequence = loaded.index.sequence(ordinal);
            if !deleted.contains(sequence) {
                gaps.push((expected, sequence - 1));
                expected = sequence + 1;
            }
        }
        Ok(expected)
    }
}
