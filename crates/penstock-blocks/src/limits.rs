//! Limits are loops here and meaning in Python: which of the oldest go.

use crate::error::Result;
use crate::removal::Gone;
use crate::store::Store;

/// What a stream may hold; zero is no limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    pub messages: u64,
    pub bytes: u64,
    pub messages_per_subject: u64,
}

impl Limits {
    pub(crate) fn holds(&self, messages: u64, bytes: u64) -> bool {
        (self.messages == 0 || messages <= self.messages)
            && (self.bytes == 0 || bytes <= self.bytes)
    }
}

impl Store {
    /// Removes the oldest of each subject that has too many, then the oldest of all, until the
    /// limits hold. Subjects are looked at if something came for them since the last time; all of
    /// them when the limit is new or another one.
    pub fn enforce(&mut self, limits: &Limits) -> Result<Gone> {
        let before = (self.messages, self.bytes);
        if limits.messages_per_subject != self.subject_messages_max {
            self.subject_messages_max = limits.messages_per_subject;
            self.touched = None;
        }
        if limits.messages_per_subject == 0 {
            self.touched = None;
        } else {
            let touched = self.touched.take();
            let touched = touched.unwrap_or_else(|| self.subjects.ids().collect());
            self.touched = Some(Vec::new());
            for id in touched {
                self.enforce_subject(id, limits.messages_per_subject)?;
            }
        }
        self.evict(limits)?;
        Ok(Gone {
            messages: before.0 - self.messages,
            bytes: before.1 - self.bytes,
        })
    }

    fn enforce_subject(&mut self, id: u32, max: u64) -> Result<()> {
        while self.subjects.get(id).count > max {
            let Some(first) = self.first_of(id)? else {
                return Ok(());
            };
            if self.remove(first, false)?.is_none() {
                return Ok(());
            }
        }
        Ok(())
    }

    pub(crate) fn evict(&mut self, limits: &Limits) -> Result<()> {
        while !limits.holds(self.messages, self.bytes) && self.first <= self.last {
            let position = self.position_of(self.first);
            let block = &self.blocks[position];
            let (messages, bytes) = (self.messages - block.messages, self.bytes - block.bytes);
            let below = if limits.holds(messages, bytes) {
                self.ensure(position)?;
                self.eviction_end(position, limits)
            } else {
                block.last + 1
            };
            self.remove_front(position, below)?;
            self.advance_first(below)?;
        }
        self.reclaim_memory();
        Ok(())
    }

    /// The sequence below which messages of a block must go for the limits to hold.
    fn eviction_end(&self, position: usize, limits: &Limits) -> u64 {
        let block = &self.blocks[position];
        let (mut messages, mut bytes) = (self.messages, self.bytes);
        let mut end = self.first;
        if let Some(loaded) = self.loaded(position) {
            for ordinal in loaded.index.at_or_after(self.first)..loaded.index.len() {
                if limits.holds(messages, bytes) {
                    return end;
                }
                end = loaded.index.sequence(ordinal) + 1;
                if !block.deleted.contains(end - 1) {
                    messages -= 1;
                    bytes -= u64::from(loaded.index.place(ordinal).bytes);
                }
            }
        }
        block.last + 1
    }

    /// Removes what is older than a time, whatever its lifetime, up to about so many messages;
    /// answers with how many it were.
    pub fn expire(&mut self, cut_ns: i64, count_max: u64) -> Result<u64> {
        let before = self.messages;
        let end = self.first.saturating_add(count_max);
        while self.messages > 0 && self.first <= self.last {
            let position = self.position_of(self.first);
            let block = &self.blocks[position];
            let whole = block.last_timestamp_ns < cut_ns;
            let below = if whole {
                block.last + 1
            } else {
                self.sequence_in_block(position, cut_ns)?
            };
            let below = below.min(end);
            if below <= self.first {
                break;
            }
            self.remove_front(position, below)?;
            self.advance_first(below)?;
        }
        self.reclaim_memory();
        Ok(before - self.messages)
    }
}
