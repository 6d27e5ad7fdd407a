//! Messages whose time is over, by age or by a lifetime of their own, and what their subjects have
//! besides. Which of them go, and what comes in their place, is decided by the caller.
//!
//! Strategy: age takes from the front, where only messages without an end stay; how far that is
//! done is remembered, so that those who stayed are not looked at again. Lifetimes are a table of
//! their own (`lifetimes`). One call names so many messages at the most, in so few blocks that are
//! not in memory, that nobody else waits for it.

use crate::block::Block;
use crate::error::Result;
use crate::lifetimes::Lifetimes;
use crate::store::Store;
use ahash::AHashMap;
use penstock_wire::lifetime;

const BLOCKS_READ_MAX: usize = 1; // in one call; a block takes some milliseconds

/// Messages whose time is over, in the order of their sequences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Over {
    pub sequences: Vec<u64>,
    /// There are more.
    pub is_cut: bool,
}

/// The last message of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastOf {
    pub sequence: u64,
    pub subject: Vec<u8>,
    pub headers: Vec<u8>,
}

impl Store {
    /// From now on the store knows which messages have a lifetime, or no longer does.
    pub fn watch_lifetimes(&mut self, watched: bool) -> Result<()> {
        let known = self.lifetimes_found.take();
        if !watched {
            self.lifetimes = None;
        } else if self.lifetimes.is_none() {
            let (rows, next) = known.unwrap_or_default();
            self.lifetimes = Some(self.lifetimes_from(&rows, next)?);
        }
        Ok(())
    }

    #[must_use]
    pub fn lifetimes(&self) -> Option<&Lifetimes> {
        self.lifetimes.as_ref()
    }

    /// Before this moment nothing is over, where messages may have this age.
    #[must_use]
    pub fn next_over_ns(&self, age_max_ns: Option<i64>) -> Option<i64> {
        let next = self.lifetimes.as_ref().and_then(Lifetimes::next_end_ns);
        let block = self.blocks.get(self.position_of(self.first));
        let oldest = block.filter(|_| self.messages > 0);
        let aged = oldest
            .zip(age_max_ns)
            .map(|(block, age_max_ns)| block.first_timestamp_ns.saturating_add(age_max_ns));
        next.into_iter().chain(aged).min()
    }

    /// Rows that are known, and those of the messages from a sequence on, out of the blocks.
    fn lifetimes_from(&mut self, rows: &[(u64, i64)], next: u64) -> Result<Lifetimes> {
        let mut found = Lifetimes::default();
        let is_here = |(sequence, _): &&(u64, i64)| *sequence < next && self.is_alive(*sequence);
        for (sequence, end_ns) in rows.iter().filter(is_here) {
            found.insert(*sequence, *end_ns);
        }
        let mut next = Some(next);
        while let Some(from) = next {
            let is_sought = |block: &Block| block.has_lifetimes;
            let (column, rest) =
                self.header_values_in(lifetime::HEADER, from, COLUMN_BYTES_MAX, is_sought)?;
            for (value, sequence, time_ns) in column.rows() {
                let end_ns = lifetime::parse(value).and_then(|found| found.end_ns(time_ns));
                match end_ns {
                    Some(end_ns) if end_ns > time_ns => found.insert(sequence, end_ns),
                    _ => {}
                }
            }
            next = rest;
        }
        Ok(found)
    }

    /// Notes what the headers of a new message say about its lifetime.
    #[inline]
    pub(crate) fn note_lifetime(&mut self, sequence: u64, time_ns: i64, headers: &[u8]) {
        let Some(end_ns) = lifetime::find(headers).and_then(|found| found.end_ns(time_ns)) else {
            return;
        };
        if end_ns <= time_ns {
            return; // zero seconds say nothing
        }
        if let Some(block) = self.blocks.back_mut() {
            block.has_lifetimes = true;
        }
        if let Some(lifetimes) = &mut self.lifetimes {
            lifetimes.insert(sequence, end_ns);
        }
    }

    /// Messages older than a time, apart from those without an end, and messages whose lifetime is
    /// over: so many at the most, and nothing happens to them.
    pub fn over(&mut self, now_ns: i64, cut_ns: Option<i64>, count_max: usize) -> Result<Over> {
        let mut sequences = Vec::new();
        let mut aged_end = 0;
        if let Some(cut_ns) = cut_ns {
            aged_end = self.aged(cut_ns, count_max, &mut sequences)?;
        }
        let aged = sequences.len();
        if let Some(lifetimes) = &self.lifetimes
            && aged < count_max
        {
            let over = lifetimes.over(now_ns).filter(|over| *over >= aged_end);
            sequences.extend(over.take(count_max - aged));
            sequences[aged..].sort_unstable();
        }
        let is_cut = sequences.len() == count_max;
        let kept = self.readable(&sequences);
        let is_cut = is_cut || kept < sequences.len();
        sequences.truncate(kept);
        Ok(Over { sequences, is_cut })
    }

    /// Adds the messages older than a time; answers with where they end.
    fn aged(&mut self, cut_ns: i64, count_max: usize, found: &mut Vec<u64>) -> Result<u64> {
        let end = self.sequence_at_time(cut_ns)?.unwrap_or(self.last + 1);
        let mut from = self.aged.max(self.first);
        while found.len() < count_max
            && let Some(sequence) = self.first_at_or_after(from)?
            && sequence < end
        {
            from = sequence + 1;
            let stays = self
                .lifetimes
                .as_ref()
                .is_some_and(|lifetimes| lifetimes.is_endless(sequence));
            if !stays {
                found.push(sequence);
            } else if found.is_empty() {
                self.aged = from; // before it, only such as stay
            }
        }
        Ok(if found.len() < count_max { end } else { from })
    }

    /// How many of a sorted list can be got at without reading too many blocks.
    fn readable(&self, sequences: &[u64]) -> usize {
        let (mut position, mut reads) = (usize::MAX, 0);
        for (ordinal, sequence) in sequences.iter().enumerate() {
            let next = self.position_of(*sequence);
            if next != position {
                position = next;
                reads += usize::from(self.loaded(position).is_none());
            }
            if reads > BLOCKS_READ_MAX {
                return ordinal;
            }
        }
        sequences.len()
    }

    /// Of the messages of a list, those after whose removal their subjects have none: for each such
    /// subject the last one, in the order of sequences.
    pub fn lasts(&mut self, sequences: &[u64]) -> Result<Vec<LastOf>> {
        let mut subjects: AHashMap<u32, (u64, u64)> = AHashMap::new();
        for sequence in sequences {
            let position = self.position_of(*sequence);
            if !self.is_alive(*sequence) {
                continue;
            }
            self.ensure(position)?;
            let loaded = self.loaded(position);
            if let Some(place) = loaded.and_then(|loaded| loaded.index.find(*sequence)) {
                let (count, last) = subjects.entry(place.subject).or_default();
                (*count, *last) = (*count + 1, (*last).max(*sequence));
            }
        }
        let all = subjects.into_iter();
        let emptied = all.filter(|(id, (count, _))| self.subjects.get(*id).count == *count);
        let mut sequences: Vec<u64> = emptied.map(|(_, (_, last))| last).collect();
        sequences.sort_unstable();
        let mut found = Vec::with_capacity(sequences.len());
        for sequence in sequences {
            if let Some(message) = self.load(sequence)? {
                found.push(LastOf {
                    sequence,
                    subject: message.subject.to_vec(),
                    headers: message.headers.to_vec(),
                });
            }
        }
        Ok(found)
    }
}

const COLUMN_BYTES_MAX: usize = 16 << 20; // of header values at a time: memory that nobody misses
