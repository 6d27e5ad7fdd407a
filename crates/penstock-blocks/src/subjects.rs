//! The subject table: for every subject with messages its count and its first and last sequence.
//!
//! Strategy: forty bytes and the subject's own, in two plain vectors; a hash table of slot numbers
//! finds a subject, and a walk over the slots answers wildcards (ten million a second; only what
//! matched is sorted). First and last are exact until an end is removed; then they are bounds,
//! marked as such, and whoever needs the exact one searches from the bound and puts it back.

use crate::pattern::Filter;
use ahash::RandomState;
use hashbrown::HashTable;

const GARBAGE_BYTES_MIN: usize = 1 << 16; // below that, subjects are not moved together

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
}

fn key_of<'a>(keys: &'a [u8], subject: &Subject) -> &'a [u8] {
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
        self.slots[id as usize] = Subject::default();
        self.free.push(id);
        self.garbage_bytes += slot.key_length as usize;
        if self.garbage_bytes > GARBAGE_BYTES_MIN.max(self.keys.len() / 2) {
            self.move_together();
        }
    }

    pub fn clear(&mut self) {
        *self = Subjects::default();
    }

    fn move_together(&mut self) {
        let mut keys = Vec::with_capacity(self.keys.len() - self.garbage_bytes);
        for slot in self.slots.iter_mut().filter(|slot| slot.count > 0) {
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

    /// The subjects a filter means, in no order.
    pub fn matching(&self, filter: &Filter) -> Vec<u32> {
        if let Some(literals) = filter.literals() {
            let mut ids: Vec<u32> = literals.iter().filter_map(|key| self.find(key)).collect();
            ids.sort_unstable();
            ids.dedup();
            return ids;
        }
        self.ids()
            .filter(|id| filter.matches(self.key(*id)))
            .collect()
    }

    pub fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Subject>()
            + self.keys.capacity()
            + self.table.allocation_size()
            + self.free.capacity() * 4
    }
}
