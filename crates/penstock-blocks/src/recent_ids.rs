//! The ids of a while, and the sequences they stand for: what tells a duplicate.
//!
//! Strategy: ids come in the order of time and leave in it, so entries and the bytes of ids are two
//! queues, and a hash table has the numbers of entries: some forty bytes an id besides its own. How
//! long a while is, the caller says with every question; what is older does not count any more, and
//! every id asked for lets go of two such: nobody waits while millions leave at once.
//!
//! Invariant: entry `n` of all that ever came stands at `n - first` in `entries`, its id ends at
//! `end - start` in `bytes` and begins where the one before it ends. The table has of every id the
//! newest entry.

use ahash::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry::{Occupied, Vacant};
use std::collections::VecDeque;

const REGIONS: usize = 1 << 8; // of the table; with three million ids, one fits into a core's cache
const FORGOTTEN_EACH: usize = 2; // more leave than come, so the old ones run out
const SPARE_MIN: usize = 1 << 12; // smaller queues are not worth moving

struct Entry {
    time_ns: i64,
    sequence: u64,
    end: u64,
}

/// What the table has of an entry: its number, and enough of the hash to grow without the id.
#[derive(Clone, Copy)]
struct Slot {
    number: u32,
    hash: u32,
}

impl Slot {
    fn spread(&self) -> u64 {
        spread(self.hash)
    }
}

/// The table looks at the highest and the lowest bits.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Slots in the order of the regions of a table that they belong to; those of one region stay in
/// theirs.
fn by_region(slots: &[Slot], buckets: usize) -> Vec<Slot> {
    let mask = buckets.max(1) - 1;
    let shift = buckets
        .trailing_zeros()
        .saturating_sub(REGIONS.trailing_zeros());
    let region = |slot: &Slot| (slot.spread() as usize & mask) >> shift;
    let mut ends = [0; REGIONS + 1];
    for slot in slots {
        ends[region(slot) + 1] += 1;
    }
    for next in 1..=REGIONS {
        ends[next] += ends[next - 1];
    }
    let mut ordered = slots.to_vec();
    for slot in slots {
        let end = &mut ends[region(slot)];
        ordered[*end] = *slot;
        *end += 1;
    }
    ordered
}

#[derive(Default)]
pub struct RecentIds {
    entries: VecDeque<Entry>,
    bytes: VecDeque<u8>,
    /// The number of the first entry, and where the first id begins, both counted from ever.
    first: u64,
    start: u64,
    table: HashTable<Slot>,
    hashing: RandomState,
    /// For `are_new`, which must find an id that comes twice.
    seen: HashTable<Slot>,
}

impl RecentIds {
    /// How many different ids there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// The sequence of the newest message with this id, if it is not older than a time.
    pub fn find(&mut self, id: &[u8], since_ns: i64) -> Option<u64> {
        self.forget(FORGOTTEN_EACH, since_ns);
        let entry = &self.entries[self.find_position(id, self.hash(id))?];
        (entry.time_ns >= since_ns).then_some(entry.sequence)
    }

    /// True if none of these came since a time, and none is among them twice.
    pub fn are_new<'a>(&mut self, ids: &[&'a [u8]], since_ns: i64) -> bool {
        self.forget(ids.len() * FORGOTTEN_EACH, since_ns);
        let mut seen = std::mem::take(&mut self.seen);
        let is_new = |(number, id): (usize, &&'a [u8])| {
            let slot = Slot {
                number: number as u32,
                hash: self.hash(id),
            };
            let known = self.find_position(id, slot.hash);
            if known.is_some_and(|position| self.entries[position].time_ns >= since_ns) {
                return false;
            }
            let is_same = |other: &Slot| ids[other.number as usize] == *id;
            match seen.entry(slot.spread(), is_same, Slot::spread) {
                Occupied(_) => false,
                Vacant(place) => {
                    place.insert(slot);
                    true
                }
            }
        };
        let are_new = ids.iter().enumerate().all(is_new);
        seen.clear();
        self.seen = seen;
        are_new
    }

    /// Notes the id of a message that came after all those noted before.
    #[inline]
    pub fn remember(&mut self, id: &[u8], sequence: u64, time_ns: i64) {
        let slot = self.push(id, sequence, time_ns);
        self.enter(slot);
    }

    /// The same for many: they enter the table region by region, or each would be a cache miss.
    pub fn remember_all<'a>(&mut self, ids: impl Iterator<Item = (&'a [u8], u64, i64)>) {
        let push = |(id, sequence, time_ns)| self.push(id, sequence, time_ns);
        let slots: Vec<Slot> = ids.map(push).collect();
        self.table.reserve(slots.len(), Slot::spread);
        for slot in by_region(&slots, self.table.num_buckets()) {
            self.enter(slot);
        }
    }

    /// The id noted last and its sequence.
    #[must_use]
    pub fn newest(&self) -> Option<(Vec<u8>, u64)> {
        let entry = self.entries.back()?;
        let (head, tail) = self.id(self.entries.len() - 1);
        Some(([head, tail].concat(), entry.sequence))
    }

    /// Ids, in two parts, with sequences and times, of those not older than a time.
    pub(crate) fn rows_since(
        &self,
        since_ns: i64,
    ) -> impl ExactSizeIterator<Item = ((&[u8], &[u8]), u64, i64)> + Clone {
        let first = self
            .entries
            .partition_point(|entry| entry.time_ns < since_ns);
        (first..self.entries.len()).map(|position| {
            let entry = &self.entries[position];
            (self.id(position), entry.sequence, entry.time_ns)
        })
    }

    /// Bytes held in memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let entries = self.entries.capacity() * size_of::<Entry>();
        entries + self.bytes.capacity() + self.table.allocation_size()
    }

    fn push(&mut self, id: &[u8], sequence: u64, time_ns: i64) -> Slot {
        let number = self.number(self.entries.len());
        self.bytes.extend(id);
        self.entries.push_back(Entry {
            time_ns,
            sequence,
            end: self.start + self.bytes.len() as u64,
        });
        let hash = self.hash(id);
        Slot { number, hash }
    }

    /// Puts an entry into the table, in the place of an older one with the same id.
    fn enter(&mut self, slot: Slot) {
        let mut table = std::mem::take(&mut self.table);
        let is_same = |known: &Slot| known.hash == slot.hash && self.have_same_id(known, &slot);
        match table.entry(slot.spread(), is_same, Slot::spread) {
            Occupied(mut known) => *known.get_mut() = slot,
            Vacant(place) => drop(place.insert(slot)),
        }
        self.table = table;
    }

    #[inline]
    fn hash(&self, id: &[u8]) -> u32 {
        self.hashing.hash_one(id) as u32
    }

    /// What the table has for an entry; unique as long as there are no four billion of them.
    #[inline]
    fn number(&self, position: usize) -> u32 {
        (self.first + position as u64) as u32
    }

    #[inline]
    fn position(&self, slot: &Slot) -> usize {
        slot.number.wrapping_sub(self.first as u32) as usize
    }

    #[inline]
    fn find_position(&self, id: &[u8], hash: u32) -> Option<usize> {
        let is_same = |slot: &Slot| slot.hash == hash && self.is(self.position(slot), id);
        let found = self.table.find(spread(hash), is_same);
        found.map(|slot| self.position(slot))
    }

    /// The id of an entry, in two parts where the queue of bytes goes around.
    fn id(&self, position: usize) -> (&[u8], &[u8]) {
        let before = position
            .checked_sub(1)
            .map(|before| self.entries[before].end);
        let start = (before.unwrap_or(self.start) - self.start) as usize;
        let end = (self.entries[position].end - self.start) as usize;
        let (head, tail) = self.bytes.as_slices();
        let middle = head.len();
        (
            &head[start.min(middle)..end.min(middle)],
            &tail[start.max(middle) - middle..end.max(middle) - middle],
        )
    }

    fn have_same_id(&self, one: &Slot, other: &Slot) -> bool {
        let (head, tail) = self.id(self.position(one));
        let (other_head, other_tail) = self.id(self.position(other));
        let other = other_head.iter().chain(other_tail);
        head.iter().chain(tail).eq(other)
    }

    fn is(&self, position: usize, id: &[u8]) -> bool {
        let (head, tail) = self.id(position);
        id.strip_prefix(head) == Some(tail)
    }

    /// Lets go of entries before a time, so many at most; of all at once, if none is younger.
    fn forget(&mut self, count_max: usize, since_ns: i64) {
        let is_old = |entry: &Entry| entry.time_ns < since_ns;
        if self.entries.back().is_some_and(is_old) {
            *self = RecentIds::default();
        }
        let mut left = count_max;
        while left > 0 && self.entries.front().is_some_and(is_old) {
            self.forget_oldest();
            left -= 1;
        }
        if left < count_max {
            self.shrink();
        }
    }

    fn forget_oldest(&mut self) {
        let (head, tail) = self.id(0);
        let length = head.len() + tail.len();
        let hash = if tail.is_empty() {
            self.hash(head)
        } else {
            self.hash(&[head, tail].concat())
        };
        let number = self.number(0);
        let is_it = |slot: &Slot| slot.number == number;
        if let Ok(slot) = self.table.find_entry(spread(hash), is_it) {
            slot.remove();
        }
        self.entries.pop_front();
        self.bytes.drain(..length);
        self.first += 1;
        self.start += length as u64;
    }

    /// Gives memory back when most of it is no longer used.
    fn shrink(&mut self) {
        let is_spare = |len: usize, capacity: usize| capacity > SPARE_MIN && len < capacity / 4;
        if is_spare(self.entries.len(), self.entries.capacity()) {
            self.entries.shrink_to(self.entries.len() * 2);
            self.table.shrink_to(self.table.len() * 2, Slot::spread);
        }
        if is_spare(self.bytes.len(), self.bytes.capacity()) {
            self.bytes.shrink_to(self.bytes.len() * 2);
        }
    }
}
