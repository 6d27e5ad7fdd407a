//! Sets of sequences: `Bits` for the scattered ones of a block, `Removed` for all a stream lost
//! by will, which besides has everything below a floor and a few very wide runs.

use crate::note::Range;
use std::collections::BTreeMap;

const CHUNK: u64 = 1024;
const WORDS: usize = (CHUNK / 64) as usize;
const WIDE_MIN: u64 = 1 << 20; // longer runs would be a waste of bits

/// A bitmap that has only the parts in which something is set.
#[derive(Clone, Debug, Default)]
pub struct Bits {
    chunks: BTreeMap<u64, Box<[u64; WORDS]>>,
}

fn place(sequence: u64) -> (u64, usize, u64) {
    let within = sequence % CHUNK;
    (sequence / CHUNK, (within / 64) as usize, 1 << (within % 64))
}

impl Bits {
    pub fn insert(&mut self, sequence: u64) {
        let (chunk, word, bit) = place(sequence);
        self.chunks.entry(chunk).or_default()[word] |= bit;
    }

    pub fn insert_range(&mut self, (first, last): Range) {
        let mut sequence = first;
        while sequence <= last {
            let (chunk, word, bit) = place(sequence);
            let words = self.chunks.entry(chunk).or_default();
            if bit == 1 && last - sequence >= 63 {
                words[word] = u64::MAX;
                sequence += 64;
            } else {
                words[word] |= bit;
                sequence += 1;
            }
        }
    }

    #[must_use]
    pub fn contains(&self, sequence: u64) -> bool {
        let (chunk, word, bit) = place(sequence);
        !self.chunks.is_empty() && self.chunks.get(&chunk).is_some_and(|c| c[word] & bit != 0)
    }

    /// How many are in the set from a sequence on.
    #[must_use]
    pub fn count_from(&self, from: u64) -> u64 {
        let (first, word, bit) = place(from);
        let ones = |words: &[u64]| -> u64 { words.iter().map(|w| u64::from(w.count_ones())).sum() };
        let chunks = self.chunks.range(first..);
        let count: u64 = chunks.map(|(_, words)| ones(words.as_slice())).sum();
        let below = self.chunks.get(&first).map_or(0, |words| {
            ones(&words[..word]) + ones(&[words[word] & (bit - 1)])
        });
        count - below
    }

    pub fn clear(&mut self) {
        self.chunks.clear();
    }

    pub fn remove_below(&mut self, sequence: u64) {
        let (chunk, word, bit) = place(sequence);
        self.chunks = self.chunks.split_off(&chunk);
        if let Some(words) = self.chunks.get_mut(&chunk) {
            words[..word].fill(0);
            words[word] &= !(bit - 1);
        }
    }

    pub fn remove_above(&mut self, sequence: u64) {
        let (chunk, word, bit) = place(sequence);
        self.chunks.split_off(&(chunk + 1));
        if let Some(words) = self.chunks.get_mut(&chunk) {
            words[word + 1..].fill(0);
            words[word] &= bit | (bit - 1);
        }
    }

    /// The first sequence from here on that is not in the set.
    #[must_use]
    pub fn next_absent(&self, from: u64) -> u64 {
        let mut sequence = from;
        loop {
            let (chunk, word, bit) = place(sequence);
            let Some(words) = self.chunks.get(&chunk) else {
                return sequence;
            };
            let free = !words[word] & !(bit - 1);
            let base = sequence - sequence % 64;
            if free != 0 {
                return base + u64::from(free.trailing_zeros());
            }
            sequence = base + 64;
        }
    }

    /// The last sequence up to here that is not in the set.
    #[must_use]
    pub fn previous_absent(&self, up_to: u64) -> u64 {
        let mut sequence = up_to;
        while sequence > 0 && self.contains(sequence) {
            sequence -= 1;
        }
        sequence
    }

    /// The first sequence from here on that is in the set.
    #[must_use]
    pub fn next_present(&self, from: u64) -> Option<u64> {
        let (first_chunk, first_word, bit) = place(from);
        for (chunk, words) in self.chunks.range(first_chunk..) {
            for (at, word) in words.iter().enumerate() {
                let word = match (*chunk == first_chunk, at.cmp(&first_word)) {
                    (true, std::cmp::Ordering::Less) => 0,
                    (true, std::cmp::Ordering::Equal) => word & !(bit - 1),
                    _ => *word,
                };
                if word != 0 {
                    let within = at as u64 * 64 + u64::from(word.trailing_zeros());
                    return Some(chunk * CHUNK + within);
                }
            }
        }
        None
    }

    #[must_use]
    pub fn ranges(&self) -> Vec<Range> {
        let mut ranges = Vec::new();
        let mut from = 0;
        while let Some(first) = self.next_present(from) {
            from = self.next_absent(first);
            ranges.push((first, from - 1));
        }
        ranges
    }
}

/// Everything removed from a stream, as its notes, tombstones and index say.
#[derive(Debug, Default)]
pub struct Removed {
    /// Everything below this is gone.
    pub below: u64,
    /// The highest sequence named: the stream had come at least this far.
    pub highest: u64,
    bits: Bits,
    wide: BTreeMap<u64, u64>,
}

impl Removed {
    pub fn insert(&mut self, (first, last): Range) {
        if first > last {
            return;
        }
        self.highest = self.highest.max(last);
        if first <= self.below.max(1) {
            self.below = self.below.max(last + 1);
        } else if last - first < WIDE_MIN {
            self.bits.insert_range((first, last));
        } else {
            let end = self.wide.entry(first).or_insert(last);
            *end = last.max(*end);
        }
    }

    #[must_use]
    pub fn contains(&self, sequence: u64) -> bool {
        sequence < self.below
            || self.bits.contains(sequence)
            || !self.wide.is_empty() && self.next_absent(sequence) != sequence
    }

    /// What is above the floor, in no order.
    #[must_use]
    pub fn ranges(&self) -> Vec<Range> {
        let wide = self.wide.iter().map(|(first, last)| (*first, *last));
        wide.chain(self.bits.ranges()).collect()
    }

    fn next_absent(&self, from: u64) -> u64 {
        let mut sequence = from.max(self.below);
        loop {
            let mut next = self.bits.next_absent(sequence);
            for (_, last) in self.wide.range(..=next) {
                next = next.max(if *last >= next { last + 1 } else { next });
            }
            if next == sequence {
                return sequence;
            }
            sequence = next;
        }
    }

    /// The parts of a range that are not in the set.
    #[must_use]
    pub fn uncovered(&self, (first, last): Range) -> Vec<Range> {
        let mut open = Vec::new();
        let mut from = self.next_absent(first);
        while from <= last {
            let wide = self.wide.range(from..).next().map(|(first, _)| *first);
            let bit = self.bits.next_present(from);
            let covered = wide.into_iter().chain(bit).min().unwrap_or(u64::MAX);
            open.push((from, last.min(covered - 1)));
            if covered > last {
                break;
            }
            from = self.next_absent(covered);
        }
        open
    }
}
