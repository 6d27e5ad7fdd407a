//! The subject table: for every subject with messages its count and its first and last sequence.
//!
//! Strategy: forty bytes and the subject's own, in two plain vectors; a hash table of slot numbers
//! finds a subject, and `Orders` those that a wildcard means. First and last are exact until an end
//! is removed; then they are bounds, marked as such, and whoever needs the exact one searches from
//! the bound and puts it back.

use crate::pattern::Filter;
use crate::subject_order::{Names, Orders};
use ahash::RandomState;
use hashbrown::HashTable;

// Below that, subjects are not moved together.
const GARBAGE_BYTES_MIN: usize = if cfg!(test) { 64 } else { 1 << 16 };

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Subject {
    key_start: u64,
    key_length: u16,
    pub first_is_bound: bool,
    pub last_is_bound: bool,
    pub count: u64,
    pub first: u64,
    pub last: u64,
}

#[derive(Default)]
pub(crate) struct Subjects {
    slots: Vec<Subject>,
    free: Vec<u32>,
    keys: Vec<u8>,
    garbage_bytes: usize,
    table: HashTable<u32>,
    hashing: RandomState,
    orders: Orders,
}

pub(crate) fn key_of<'a>(keys: &'a [u8], subject: &Subject) -> &'a [u8] {
    let start = subject.key_start as usize;
    &keys[start..start + subject.key_length as usize]
}

impl Subjects {
    pub fn len(&self) -> usize {
        self.table.len()
    }

    pub fn key(&self, id: u32) -> &[u8] {
        key_of(&self.keys, &self.slots[id as usize])
    }

    #[inline]
    pub fn get(&self, id: u32) -> &Subject {
        &self.slots[id as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut Subject {
        &mut self.slots[id as usize]
    }

    /// True if `id` is this subject and has messages.
    #[inline]
    pub fn is(&self, id: u32, subject: &[u8]) -> bool {
        let slot = self.slots.get(id as usize);
        slot.is_some_and(|slot| slot.count > 0 && key_of(&self.keys, slot) == subject)
    }

    pub fn find(&self, subject: &[u8]) -> Option<u32> {
        let hash = self.hashing.hash_one(subject);
        let found = self.table.find(hash, |id| self.key(*id) == subject);
        found.copied()
    }

    /// The number of a subject; a new one has no messages yet and must get one at once.
    pub fn intern(&mut self, subject: &[u8]) -> u32 {
        if let Some(id) = self.find(subject) {
            return id;
        }
        let slot = Subject {
            key_start: self.keys.len() as u64,
            key_length: subject.len() as u16,
            ..Subject::default()
        };
        self.keys.extend_from_slice(subject);
        let id = match self.free.pop() {
            Some(id) => {
                self.slots[id as usize] = slot;
                id
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1) as u32
            }
        };
        let Subjects {
            slots,
            keys,
            table,
            hashing,
            ..
        } = self;
        let rehash = |id: &u32| hashing.hash_one(key_of(keys, &slots[*id as usize]));
        table.insert_unique(hashing.hash_one(subject), id, rehash);
        id
    }

    pub fn reserve(&mut self, count: usize) {
        self.slots.reserve_exact(count);
        let Subjects {
            slots,
            keys,
            table,
            hashing,
            ..
        } = self;
        table.reserve(count, |id| {
            hashing.hash_one(key_of(keys, &slots[*id as usize]))
        });
    }

    #[inline]
    pub fn appended(&mut self, id: u32, sequence: u64) {
        let subject = &mut self.slots[id as usize];
        if subject.count == 0 {
            subject.first = sequence;
        }
        subject.count += 1;
        subject.last = sequence;
        subject.last_is_bound = false;
    }

    /// A message found by a scan, in any order of sequences.
    pub fn found(&mut self, id: u32, sequence: u64) {
        let subject = &mut self.slots[id as usize];
        if subject.count == 0 || sequence < subject.first {
            subject.first = sequence;
            subject.first_is_bound = false;
        }
        if subject.count == 0 || sequence > subject.last {
            subject.last = sequence;
            subject.last_is_bound = false;
        }
        subject.count += 1;
    }

    /// One message less; forgets the subject with its last one.
    pub fn removed(&mut self, id: u32, sequence: u64) {
        let subject = &mut self.slots[id as usize];
        subject.count = subject.count.saturating_sub(1);
        if subject.count == 0 {
            return self.forget(id);
        }
        if sequence == subject.first {
            subject.first = sequence + 1;
            subject.first_is_bound = true;
        }
        if sequence == subject.last {
            subject.last = sequence - 1;
            subject.last_is_bound = true;
        }
        if subject.count == 1 && subject.first_is_bound != subject.last_is_bound {
            let only = if subject.first_is_bound {
                subject.last
            } else {
                subject.first
            };
            (subject.first, subject.last) = (only, only);
            (subject.first_is_bound, subject.last_is_bound) = (false, false);
        }
    }

    pub fn forget(&mut self, id: u32) {
        let slot = self.slots[id as usize];
        let hash = self.hashing.hash_one(key_of(&self.keys, &slot));
        if let Ok(entry) = self.table.find_entry(hash, |known| *known == id) {
            entry.remove();
        }
        if !self.orders.keeps(id as usize) {
            self.empty(id);
            self.free.push(id);
        } else if let Some(covered) = self.orders.give_up(id as usize) {
            for id in covered.start as u32..covered.end as u32 {
                if self.slots[id as usize].count == 0 {
                    self.empty(id);
                    self.free.push(id);
                }
            }
        }
        if self.garbage_bytes > GARBAGE_BYTES_MIN.max(self.keys.len() / 2) {
            self.move_together();
        }
    }

    /// The bytes of a subject without messages are needed no more.
    fn empty(&mut self, id: u32) {
        let slot = std::mem::take(&mut self.slots[id as usize]);
        self.garbage_bytes += slot.key_length as usize;
    }

    pub fn clear(&mut self) {
        *self = Subjects::default();
    }

    fn move_together(&mut self) {
        let mut keys = Vec::with_capacity(self.keys.len() - self.garbage_bytes);
        for slot in &mut self.slots {
            let start = keys.len() as u64;
            keys.extend_from_slice(key_of(&self.keys, slot));
            slot.key_start = start;
        }
        self.keys = keys;
        self.garbage_bytes = 0;
    }

    pub fn ids(&self) -> impl Iterator<Item = u32> {
        let used = self
            .slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| slot.count > 0);
        used.map(|(id, _)| id as u32)
    }

    /// The subjects a filter means, in no order, each once.
    pub fn matching(&mut self, filter: &Filter) -> Vec<u32> {
        if let Some(literals) = filter.literals() {
            let mut ids: Vec<u32> = literals.iter().filter_map(|key| self.find(key)).collect();
            ids.sort_unstable();
            ids.dedup();
            return ids;
        }
        if filter.is_everything() {
            return self.ids().collect();
        }
        self.sort_piece();
        let Subjects { slots, keys, .. } = self;
        self.orders.matching(Names { slots, keys }, filter)
    }

    fn sort_piece(&mut self) {
        let Some(range) = self.orders.unsorted(self.slots.len()) else {
            return;
        };
        let Subjects { slots, keys, .. } = self;
        if !self.orders.sort(Names { slots, keys }, range.clone()) {
            return;
        }
        // From now on none of them is given to another subject.
        self.free.retain(|id| !range.contains(&(*id as usize)));
        for id in range {
            if self.slots[id].count == 0 {
                self.empty(id as u32);
            }
        }
    }

    pub fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Subject>()
            + self.keys.capacity()
            + self.table.allocation_size()
            + self.free.capacity() * 4
            + self.orders.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::Subjects;
    use crate::pattern::{Filter, matches};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Clone, Debug)]
    enum Step {
        Publish(String),
        /// The oldest message of one of the subjects there are.
        Remove(prop::sample::Index),
        Ask(Vec<String>),
    }

    fn tokens(token: &'static str, last: &'static str) -> impl Strategy<Value = String> {
        (prop::collection::vec(token, 0..4), last).prop_map(|(mut tokens, last)| {
            tokens.push(last);
            tokens.join(".")
        })
    }

    /// Bytes around the dot, and subjects that begin like others.
    fn subject() -> impl Strategy<Value = String> {
        tokens("[ab/-]|[ab]{2}", "[abc/-]|[ab]{2}")
    }

    fn pattern() -> impl Strategy<Value = String> {
        tokens("[ab-]|[ab]{2}|[*]", "[abc/-]|[*]|>")
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => subject().prop_map(Step::Publish),
            3 => any::<prop::sample::Index>().prop_map(Step::Remove),
            2 => prop::collection::vec(pattern(), 1..4).prop_map(Step::Ask),
        ]
    }

    fn matching(subjects: &mut Subjects, patterns: &[String]) -> Vec<String> {
        let ids = subjects.matching(&Filter::new(patterns));
        let key = |id: &u32| String::from_utf8_lossy(subjects.key(*id)).into_owned();
        let mut found: Vec<String> = ids.iter().map(key).collect();
        found.sort();
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn wildcards_mean_what_they_say(
            begin in prop::collection::vec(subject(), 0..120),
            steps in prop::collection::vec(step(), 1..300),
        ) {
            let mut subjects = Subjects::default();
            let mut model: BTreeMap<String, u64> = BTreeMap::new();
            let steps = begin.into_iter().map(Step::Publish).chain(steps);
            for (step, sequence) in steps.zip(1..) {
                match step {
                    Step::Publish(subject) => {
                        let id = subjects.intern(subject.as_bytes());
                        subjects.appended(id, sequence);
                        *model.entry(subject).or_default() += 1;
                    }
                    Step::Remove(index) if !model.is_empty() => {
                        let subject = model.keys().nth(index.index(model.len())).cloned();
                        let subject = subject.unwrap_or_default();
                        let Some(id) = subjects.find(subject.as_bytes()) else {
                            return Err(TestCaseError::fail(format!("{subject} is missing")));
                        };
                        subjects.removed(id, subjects.get(id).first);
                        match model.get_mut(&subject) {
                            Some(count) if *count > 1 => *count -= 1,
                            _ => drop(model.remove(&subject)),
                        }
                    }
                    Step::Remove(_) => {}
                    Step::Ask(patterns) => {
                        let is_meant = |subject: &&String| {
                            let meant = |pattern: &String| {
                                matches(pattern.as_bytes(), subject.as_bytes())
                            };
                            patterns.iter().any(meant)
                        };
                        let expected: Vec<String> =
                            model.keys().filter(is_meant).cloned().collect();
                        // Again and again, so that it becomes worth an order.
                        for _ in 0..3 {
                            prop_assert_eq!(&matching(&mut subjects, &patterns), &expected);
                        }
                    }
                }
                prop_assert_eq!(subjects.len(), model.len());
            }
        }
    }
}
