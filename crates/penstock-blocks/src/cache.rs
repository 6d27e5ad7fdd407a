//! The contents of blocks kept in memory, bounded in bytes, least recently used out first: the
//! bytes of a block go before its index, which is a tenth of them and saves a scan.
//!
//! Whoever goes through a stream from block to block seldom turns round, be it a reader or the
//! writer. A block is *passed* when it was written, and when somebody goes on from it to the next;
//! it is not any more once it is used. Passed blocks lose their bytes when another comes in, however
//! much room there is: a long walk costs two blocks, not the whole bound.

use crate::block::Loaded;
use std::collections::BTreeMap;

pub(crate) struct Cache {
    entries: BTreeMap<u32, Loaded>,
    bytes_max: usize,
    bytes: usize,
    tick: u64,
    /// The block that was used last.
    latest: u32,
    /// A buffer that was let go, for the next block: fresh memory costs more than a copy.
    spare: Vec<u8>,
}

impl Cache {
    pub fn new(bytes_max: usize) -> Cache {
        Cache {
            entries: BTreeMap::new(),
            bytes_max,
            bytes: 0,
            tick: 0,
            latest: 0,
            spare: Vec::new(),
        }
    }

    pub fn contains(&self, block: u32) -> bool {
        self.entries.contains_key(&block)
    }

    #[inline]
    pub fn get(&self, block: u32) -> Option<&Loaded> {
        self.entries.get(&block)
    }

    /// For changes that keep its size.
    pub fn get_mut(&mut self, block: u32) -> Option<&mut Loaded> {
        self.entries.get_mut(&block)
    }

    pub fn touch(&mut self, block: u32) {
        self.step(block);
        if let Some(loaded) = self.entries.get_mut(&block) {
            loaded.used = self.tick;
            loaded.is_passed = false;
        }
    }

    /// Takes in a block that was read, for somebody who needs it now.
    pub fn insert_read(&mut self, block: u32, loaded: Loaded) {
        self.step(block);
        self.put(block, loaded, false);
    }

    /// Takes in a block that was written.
    pub fn insert(&mut self, block: u32, loaded: Loaded) {
        self.tick += 1;
        self.put(block, loaded, true);
    }

    fn put(&mut self, block: u32, mut loaded: Loaded, is_passed: bool) {
        self.take(block);
        self.give_up_passed();
        loaded.used = self.tick;
        loaded.is_passed = is_passed;
        self.bytes += loaded.bytes();
        self.entries.insert(block, loaded);
        self.shrink(block);
    }

    /// Somebody uses a block now; if it is the next one, the one before is passed.
    fn step(&mut self, block: u32) {
        self.tick += 1;
        let before = std::mem::replace(&mut self.latest, block);
        if before.checked_add(1) == Some(block)
            && let Some(loaded) = self.entries.get_mut(&before)
        {
            loaded.is_passed = true;
        }
    }

    pub fn take(&mut self, block: u32) -> Option<Loaded> {
        let loaded = self.entries.remove(&block)?;
        self.bytes = self.bytes.saturating_sub(loaded.bytes());
        Some(loaded)
    }

    /// Lets go of everything that can be read again.
    pub fn clear(&mut self) {
        self.entries.retain(|_, loaded| loaded.is_pinned());
        self.bytes = self.entries.values().map(Loaded::bytes).sum();
    }

    /// A buffer with anything in it: to clear one that is read over would be in vain.
    pub fn take_spare(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.spare)
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn give_up_passed(&mut self) {
        if !self.is_bounded() {
            return;
        }
        let is_over =
            |loaded: &Loaded| loaded.is_passed && !loaded.is_pinned() && !loaded.data.is_empty();
        let passed: Vec<u32> = self
            .entries
            .iter()
            .filter(|(_, loaded)| is_over(loaded))
            .map(|(block, _)| *block)
            .collect();
        passed.into_iter().for_each(|block| self.give_up(block));
    }

    /// A store without files has its blocks nowhere else.
    fn is_bounded(&self) -> bool {
        self.bytes_max != usize::MAX
    }

    fn shrink(&mut self, keep: u32) {
        while self.bytes > self.bytes_max {
            let candidates = self
                .entries
                .iter()
                .filter(|(block, loaded)| **block != keep && !loaded.is_pinned());
            let oldest = candidates.min_by_key(|(_, loaded)| (loaded.data.is_empty(), loaded.used));
            let Some(block) = oldest.map(|(block, _)| *block) else {
                return;
            };
            self.give_up(block);
        }
    }

    /// Lets go of a block's bytes, and of its index where they are gone already.
    fn give_up(&mut self, block: u32) {
        let Some(mut loaded) = self.take(block) else {
            return;
        };
        if !loaded.data.is_empty() {
            self.spare = std::mem::take(&mut loaded.data);
            loaded.written = 0;
            self.bytes += loaded.bytes();
            self.entries.insert(block, loaded);
        }
    }
}
