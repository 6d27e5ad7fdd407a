//! Finding messages by subject, wildcards included.
//!
//! Strategy: the subject table says where a subject begins and ends; between that, blocks are
//! searched, those passed over whose filter does not know the subject. For a wildcard the messages
//! at hand are tried first, since mostly one of them matches; then the table says which subjects
//! are meant and where the next of them can be.

use crate::bloom;
use crate::error::Result;
use crate::pattern::Filter;
use crate::store::Store;
use crate::subjects::Subjects;

const TRIED_MAX: usize = 4096; // messages looked at before the whole table is
const BLOOM_SUBJECTS_MAX: usize = 64; // more are in every block anyway

/// Count, first and last sequence of one subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubjectState {
    pub messages: u64,
    pub first: u64,
    pub last: u64,
}

/// A set of subjects, by number.
struct Chosen {
    bits: Vec<u64>,
    /// What filters are asked with; empty if there are too many subjects.
    hashes: Vec<u64>,
}

impl Chosen {
    fn new(subjects: &Subjects, ids: &[u32]) -> Chosen {
        let words = ids.iter().max().map_or(0, |id| *id as usize / 64 + 1);
        let mut bits = vec![0; words];
        for id in ids {
            bits[*id as usize / 64] |= 1 << (id % 64);
        }
        let few = ids.len() <= BLOOM_SUBJECTS_MAX;
        let hash = |id: &u32| bloom::hash(subjects.key(*id));
        let hashes = if few {
            ids.iter().map(hash).collect()
        } else {
            Vec::new()
        };
        Chosen { bits, hashes }
    }

    #[inline]
    fn has(&self, id: u32) -> bool {
        self.bits
            .get(id as usize / 64)
            .is_some_and(|word| word >> (id % 64) & 1 != 0)
    }

    fn may_be_in(&self, bloom: &bloom::Bloom) -> bool {
        self.hashes.is_empty() || self.hashes.iter().any(|hash| bloom.may_contain(*hash))
    }
}

impl Store {
    /// The first message from a sequence on that a filter means.
    pub fn next_matching(&mut self, filter: &Filter, from: u64) -> Result<Option<u64>> {
        if filter.is_everything() {
            return self.first_at_or_after(from);
        }
        let mut from = from.max(self.first);
        if filter.literals().is_none() {
            match self.try_forward(filter, from)? {
                Ok(found) => return Ok(found),
                Err(untried) => from = untried,
            }
        }
        let mut ids = self.subjects.matching(filter);
        ids.retain(|id| self.subjects.get(*id).last >= from);
        let bound = ids.iter().map(|id| self.subjects.get(*id).first).min();
        let Some(bound) = bound else {
            return Ok(None);
        };
        if let [id] = ids[..]
            && bound >= from
        {
            return self.first_of(id);
        }
        let chosen = Chosen::new(&self.subjects, &ids);
        let end = ids
            .iter()
            .map(|id| self.subjects.get(*id).last)
            .max()
            .unwrap_or(0);
        self.search_forward(&chosen, from.max(bound), end)
    }

    fn search_forward(&mut self, chosen: &Chosen, from: u64, end: u64) -> Result<Option<u64>> {
        for position in self.position_of(from)..self.blocks.len() {
            let block = &self.blocks[position];
            if block.first > end {
                break;
            }
            if block.messages == 0 || !chosen.may_be_in(&block.bloom) {
                continue;
            }
            if let Some(found) = self.scan_forward(position, from, |id| chosen.has(id))? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Looks at the next few messages themselves. `Err` says where the untried ones begin.
    fn try_forward(&mut self, filter: &Filter, from: u64) -> Result<Outcome> {
        let position = self.position_of(from);
        if from > self.last || position >= self.blocks.len() {
            return Ok(Ok(None));
        }
        self.ensure(position)?;
        let (Some(loaded), block) = (self.loaded(position), &self.blocks[position]) else {
            return Ok(Err(from));
        };
        let start = loaded.index.at_or_after(from);
        let end = loaded.index.len().min(start + TRIED_MAX);
        let (mut previous, mut verdict) = (u32::MAX, false);
        for ordinal in start..end {
            let sequence = loaded.index.sequence(ordinal);
            if block.deleted.contains(sequence) {
                continue;
            }
            let id = loaded.index.place(ordinal).subject;
            if id != previous {
                (previous, verdict) = (id, filter.matches(self.subjects.key(id)));
            }
            if verdict {
                return Ok(Ok(Some(sequence)));
            }
        }
        if end < loaded.index.len() {
            return Ok(Err(loaded.index.sequence(end)));
        }
        let is_last = position + 1 == self.blocks.len();
        Ok(if is_last {
            Ok(None)
        } else {
            Err(block.last.max(from) + 1)
        })
    }

    /// The last message up to a sequence that a filter means.
    pub fn last_matching(&mut self, filter: &Filter, up_to: u64) -> Result<Option<u64>> {
        if filter.is_everything() {
            return self.last_at_or_before(up_to);
        }
        let up_to = up_to.min(self.last);
        let mut ids = self.subjects.matching(filter);
        ids.retain(|id| self.subjects.get(*id).first <= up_to);
        let bound = ids.iter().map(|id| self.subjects.get(*id).last).max();
        let Some(bound) = bound else {
            return Ok(None);
        };
        if let [id] = ids[..]
            && bound <= up_to
        {
            return self.last_of(id);
        }
        let chosen = Chosen::new(&self.subjects, &ids);
        let end = ids
            .iter()
            .map(|id| self.subjects.get(*id).first)
            .min()
            .unwrap_or(0);
        self.search_backward(&chosen, up_to.min(bound), end)
    }

    fn search_backward(&mut self, chosen: &Chosen, up_to: u64, end: u64) -> Result<Option<u64>> {
        let last = (self.position_of(up_to) + 1).min(self.blocks.len());
        for position in (0..last).rev() {
            let block = &self.blocks[position];
            if block.last < end.max(self.first) {
                break;
            }
            if block.messages == 0 || !chosen.may_be_in(&block.bloom) {
                continue;
            }
            if let Some(found) = self.scan_backward(position, up_to, |id| chosen.has(id))? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The exact first sequence of a subject.
    pub(crate) fn first_of(&mut self, id: u32) -> Result<Option<u64>> {
        let subject = *self.subjects.get(id);
        if !subject.first_is_bound {
            return Ok(Some(subject.first));
        }
        let chosen = Chosen::new(&self.subjects, &[id]);
        let found = self.search_forward(&chosen, subject.first.max(self.first), subject.last)?;
        if let Some(first) = found {
            let subject = self.subjects.get_mut(id);
            (subject.first, subject.first_is_bound) = (first, false);
        }
        Ok(found)
    }

    /// The exact last sequence of a subject.
    pub(crate) fn last_of(&mut self, id: u32) -> Result<Option<u64>> {
        let subject = *self.subjects.get(id);
        if !subject.last_is_bound {
            return Ok(Some(subject.last));
        }
        let chosen = Chosen::new(&self.subjects, &[id]);
        let found = self.search_backward(&chosen, subject.last.min(self.last), subject.first)?;
        if let Some(last) = found {
            let subject = self.subjects.get_mut(id);
            (subject.last, subject.last_is_bound) = (last, false);
        }
        Ok(found)
    }

    pub fn last_of_subject(&mut self, subject: &[u8]) -> Result<Option<u64>> {
        match self.subjects.find(subject) {
            Some(id) => self.last_of(id),
            None => Ok(None),
        }
    }

    pub fn subject_state(&mut self, subject: &[u8]) -> Result<Option<SubjectState>> {
        let Some(id) = self.subjects.find(subject) else {
            return Ok(None);
        };
        let (Some(first), Some(last)) = (self.first_of(id)?, self.last_of(id)?) else {
            return Ok(None);
        };
        let messages = self.subjects.get(id).count;
        Ok(Some(SubjectState {
            messages,
            first,
            last,
        }))
    }

    /// Visits the subjects a filter means and their counts, in the order of their bytes.
    pub fn subjects(&mut self, filter: &Filter, mut visit: impl FnMut(&[u8], u64)) {
        let mut ids = self.subjects.matching(filter);
        ids.sort_unstable_by(|a, b| self.subjects.key(*a).cmp(self.subjects.key(*b)));
        for id in ids {
            visit(self.subjects.key(id), self.subjects.get(id).count);
        }
    }

    /// For each subject a filter means its last message up to a sequence, in order of sequences.
    pub fn last_by_subjects(&mut self, filter: &Filter, up_to: u64) -> Result<Vec<u64>> {
        let (mut found, mut sought) = (Vec::new(), Vec::new());
        for id in self.subjects.matching(filter) {
            match self.last_of(id)? {
                Some(last) if last <= up_to => found.push(last),
                Some(_) if self.subjects.get(id).first <= up_to => sought.push(id),
                _ => {}
            }
        }
        self.last_of_many(sought, up_to, &mut found)?;
        found.sort_unstable();
        Ok(found)
    }

    /// Searches backward once for the last messages of many subjects.
    fn last_of_many(&mut self, ids: Vec<u32>, up_to: u64, found: &mut Vec<u64>) -> Result<()> {
        let mut chosen = Chosen::new(&self.subjects, &ids);
        let mut left = ids.len();
        let last = (self.position_of(up_to) + 1).min(self.blocks.len());
        let end = ids
            .iter()
            .map(|id| self.subjects.get(*id).first)
            .min()
            .unwrap_or(0);
        for position in (0..last).rev() {
            let block = &self.blocks[position];
            if left == 0 || block.last < end.max(self.first) {
                break;
            }
            if block.messages == 0 || !chosen.may_be_in(&block.bloom) {
                continue;
            }
            self.ensure(position)?;
            let Some(loaded) = self.loaded(position) else {
                continue;
            };
            let (index, deleted) = (&loaded.index, &self.blocks[position].deleted);
            let ordinals = index.at_or_after(self.first)..index.at_or_after(up_to + 1);
            for ordinal in ordinals.rev() {
                let (sequence, id) = (index.sequence(ordinal), index.place(ordinal).subject);
                if chosen.has(id) && !deleted.contains(sequence) {
                    chosen.bits[id as usize / 64] &= !(1 << (id % 64));
                    found.push(sequence);
                    left -= 1;
                }
            }
        }
        Ok(())
    }

    /// How many messages from a sequence on a filter means; with `last_per_subject`, only the last
    /// of each subject counts.
    pub fn pending(&mut self, filter: &Filter, from: u64, last_per_subject: bool) -> Result<u64> {
        if from > self.last {
            return Ok(0);
        }
        if filter.is_everything() && !last_per_subject {
            return self.count_from(from, None);
        }
        let (mut count, mut partly) = (0, Vec::new());
        for id in self.subjects.matching(filter) {
            let subject = *self.subjects.get(id);
            if last_per_subject {
                count += u64::from(self.last_of(id)?.is_some_and(|last| last >= from));
            } else if subject.first >= from {
                count += subject.count;
            } else if subject.last >= from {
                partly.push(id);
            }
        }
        if !partly.is_empty() {
            let chosen = Chosen::new(&self.subjects, &partly);
            count += self.count_from(from, Some((&chosen, &partly)))?;
        }
        Ok(count)
    }

    /// Counts living messages from a sequence on, of all or of some subjects; from the front
    /// instead, and the rest of the total, where there is less to look at.
    fn count_from(&mut self, from: u64, chosen: Option<(&Chosen, &[u32])>) -> Result<u64> {
        let from = from.max(self.first);
        let start = self.position_of(from);
        let after: u64 = self
            .blocks
            .iter()
            .skip(start + 1)
            .map(|block| block.messages)
            .sum();
        let Some((chosen, ids)) = chosen else {
            return Ok(after + self.count_in_block(start, from, u64::MAX, None)?);
        };
        let mut count = 0;
        if after <= self.messages / 2 {
            for position in start..self.blocks.len() {
                count += self.count_in_block(position, from, u64::MAX, Some(chosen))?;
            }
            return Ok(count);
        }
        for position in self.position_of(self.first)..=start {
            count += self.count_in_block(position, self.first, from, Some(chosen))?;
        }
        let total: u64 = ids.iter().map(|id| self.subjects.get(*id).count).sum();
        Ok(total.saturating_sub(count))
    }

    fn count_in_block(
        &mut self,
        position: usize,
        from: u64,
        below: u64,
        chosen: Option<&Chosen>,
    ) -> Result<u64> {
        let Some(block) = self.blocks.get(position) else {
            return Ok(0);
        };
        if block.messages == 0 || chosen.is_some_and(|chosen| !chosen.may_be_in(&block.bloom)) {
            return Ok(0);
        }
        if chosen.is_none() && from <= block.first.max(self.first) && below > block.last {
            return Ok(block.messages);
        }
        self.ensure(position)?;
        let Some(loaded) = self.loaded(position) else {
            return Ok(0);
        };
        let (index, deleted) = (&loaded.index, &self.blocks[position].deleted);
        let alive = (index.at_or_after(from)..index.at_or_after(below)).filter(|ordinal| {
            chosen.is_none_or(|chosen| chosen.has(index.place(*ordinal).subject))
                && !deleted.contains(index.sequence(*ordinal))
        });
        Ok(alive.count() as u64)
    }
}

/// What was found among the messages tried, or where the untried ones begin.
type Outcome = std::result::Result<Option<u64>, u64>;
