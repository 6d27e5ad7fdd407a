//! The contents of blocks kept in memory, bounded in bytes, least recently used out first: the
//! bytes of a block go before its index, which is a tenth of them and saves a scan.

use crate::block::Loaded;
use std::collections::BTreeMap;

pub(crate) struct Cache {
    entries: BTreeMap<u32, Loaded>,
    bytes_max: usize,
    bytes: usize,
    tick: u64,
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
        self.tick += 1;
        if let Some(loaded) = self.entries.get_mut(&block) {
            loaded.used = self.tick;
        }
    }

    pub fn insert(&mut self, block: u32, mut loaded: Loaded) {
        self.take(block);
        self.tick += 1;
        loaded.used = self.tick;
        self.bytes += loaded.bytes();
        self.entries.insert(block, loaded);
        self.shrink(block);
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

    pub fn take_spare(&mut self) -> Vec<u8> {
        let mut spare = std::mem::take(&mut self.spare);
        spare.clear();
        spare
    }

    pub fn bytes(&self) -> usize {
        self.bytes
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
}
