//! What an opening has to report: which sequences are gone against anybody's will. Damage is seen;
//! what is missing shows in gaps that no removal explains.

use crate::note::Range;
use crate::recovery::Opening;
use crate::scan::Damage;

impl Opening {
    /// Tells which sequences are gone against anybody's will, in blocks from a position on.
    pub fn report_lost(&mut self, from: usize) {
        let mut lost: Vec<Range> = Vec::new();
        for (number, damage) in std::mem::take(&mut self.damage) {
            self.store.lost_bytes += damage.bytes;
            lost.extend(self.lost_to(number, &damage));
        }
        lost.extend(self.missing_between(from));
        if from == 0 && !self.store.options.foreign {
            let known = self
                .store
                .blocks
                .iter()
                .rev()
                .find(|block| block.records > 0);
            let reached = known.map_or(0, |block| block.last);
            lost.push((reached + 1, self.store.last));
        }
        lost.retain(|(first, last)| first <= last);
        for range in lost {
            self.store.last = self.store.last.max(range.1);
            self.store.lost.extend(self.removed.uncovered(range));
        }
        crate::note::join(&mut self.store.lost);
    }

    /// A block that was written anew after the index lacks what was removed between the two, which
    /// only the log may tell, later. It ends with its seal and all of it verifies: nothing of it
    /// is lost. `indexed` has number, length, first and last of the blocks as the index knew them.
    pub fn excuse_rewritten(&mut self, indexed: &[(u32, u64, u64, u64)]) {
        for (number, length, first, last) in indexed {
            let is_damaged = self.damage.iter().any(|(damaged, _)| damaged == number);
            let blocks = &self.store.blocks;
            let Ok(position) = blocks.binary_search_by_key(number, |block| block.number) else {
                continue;
            };
            let block = &blocks[position];
            if block.sealed && block.records > 0 && block.length < *length && !is_damaged {
                self.removed.insert((*first, block.first - 1));
                self.removed.insert((block.last + 1, *last));
            }
        }
    }

    fn lost_to(&self, number: u32, damage: &Damage) -> Option<Range> {
        let blocks = &self.store.blocks;
        let position = blocks.partition_point(|block| block.number < number);
        let earlier = blocks
            .iter()
            .take(position)
            .rev()
            .find(|block| block.records > 0);
        let after = damage.after.or(earlier.map(|block| block.last));
        let after = after.unwrap_or(self.removed.below.max(1) - 1);
        let later = blocks
            .iter()
            .skip(position + 1)
            .find(|block| block.records > 0);
        match damage.before.or(later.map(|block| block.first)) {
            Some(before) => damage.lost(after, before),
            None => Some((after + 1, after + 1)), // the last message of all; its number stays taken
        }
    }

    /// Sequences between blocks where a block is missing or ends before its end. The reference
    /// leaves no sign of either.
    fn missing_between(&self, from: usize) -> Vec<Range> {
        let mut missing = Vec::new();
        if self.store.options.foreign {
            return missing;
        }
        let blocks = &self.store.blocks;
        if let Some(first) = blocks.front().filter(|first| from == 0 && first.number > 1) {
            missing.push((self.removed.below.max(1), first.first - 1));
        }
        for position in from.max(1)..blocks.len() {
            let (before, block) = (&blocks[position - 1], &blocks[position]);
            if !before.sealed || before.number + 1 != block.number {
                missing.push((before.last + 1, block.first - 1));
            }
        }
        missing
    }
}
