//! How much of a run fits where new messages do not push old ones out.
//!
//! Strategy: if there is room for the whole run, nothing is looked up. Otherwise the run is gone
//! through on paper: a subject that has as many messages as it may have gives up its oldest for
//! each new one, and its size is the room the new one has for sure.
//!
//! Invariant: the answer is a promise about what is counted, and may be too small: where a size is
//! not at hand, the rest is for a closer look.

use crate::limits::Limits;
use crate::store::Store;
use ahash::AHashMap;

/// Subject, headers and message.
pub type Item<'a> = (&'a [u8], &'a [u8], &'a [u8]);

/// A subject while a run is gone through.
struct OnPaper {
    /// How many there were before the run, and how many of all are gone.
    stored: u64,
    gone: u64,
    /// How many came, and their sizes if those matter.
    came: u64,
    sizes: Vec<u64>,
}

/// A store with a part of a run in it.
struct Paper {
    messages: u64,
    bytes: u64,
}

impl Paper {
    fn of(store: &Store) -> Paper {
        Paper {
            messages: store.messages,
            bytes: store.bytes,
        }
    }

    /// Whether one more fits; `replaced` is the size of what it takes the place of, or 0.
    fn takes(&self, limits: &Limits, size: u64, replaced: u64) -> bool {
        let is_full = limits.messages > 0 && self.messages >= limits.messages;
        let is_too_large = limits.bytes > 0 && self.bytes + size > limits.bytes;
        !(is_full && replaced == 0 || is_too_large && replaced < size)
    }

    fn add(&mut self, size: u64, replaced: u64) {
        self.messages += u64::from(replaced == 0);
        self.bytes = (self.bytes + size).saturating_sub(replaced);
    }
}

impl Store {
    /// How many messages of a run, from its beginning, fit if nothing gives way but the oldest of
    /// a message's own subject; with `keeps_subjects`, not even that.
    pub fn fitting<'a>(
        &mut self,
        items: impl Iterator<Item = Item<'a>> + Clone,
        limits: &Limits,
        keeps_subjects: bool,
    ) -> usize {
        let by_subject = limits.messages_per_subject > 0;
        if by_subject && keeps_subjects {
            return self.fitting_by_subject(items, limits, true);
        }
        let mut paper = Paper::of(self);
        let mut count = 0;
        for item in items.clone() {
            let size = self.size_of(item);
            if !paper.takes(limits, size, 0) {
                return if by_subject {
                    self.fitting_by_subject(items, limits, false)
                } else {
                    count
                };
            }
            paper.add(size, 0);
            count += 1;
        }
        count
    }

    fn size_of(&self, (subject, headers, message): Item<'_>) -> u64 {
        self.counted_bytes(subject.len(), headers.len(), message.len())
    }

    fn fitting_by_subject<'a>(
        &mut self,
        items: impl Iterator<Item = Item<'a>>,
        limits: &Limits,
        keeps_subjects: bool,
    ) -> usize {
        let mut paper = Paper::of(self);
        let mut subjects: AHashMap<&[u8], OnPaper> = AHashMap::default();
        let mut count = 0;
        for item in items {
            let (subject, size) = (item.0, self.size_of(item));
            let noted = subjects
                .entry(subject)
                .or_insert_with(|| OnPaper::new(self.stored(subject)));
            let mut replaced = 0;
            if noted.stored + noted.came - noted.gone >= limits.messages_per_subject {
                let oldest = match limits.bytes {
                    0 => Some(1), // any, for it does not matter
                    _ => self.oldest(subject, noted),
                };
                let (Some(oldest), false) = (oldest, keeps_subjects) else {
                    break;
                };
                replaced = oldest;
            }
            if !paper.takes(limits, size, replaced) {
                break;
            }
            paper.add(size, replaced);
            noted.came += 1;
            noted.gone += u64::from(replaced > 0);
            if limits.bytes > 0 {
                noted.sizes.push(size);
            }
            count += 1;
        }
        count
    }

    fn stored(&self, subject: &[u8]) -> u64 {
        let id = self.subjects.find(subject);
        id.map_or(0, |id| self.subjects.get(id).count)
    }

    /// The size of a subject's oldest message on paper, if it is at hand.
    fn oldest(&mut self, subject: &[u8], noted: &OnPaper) -> Option<u64> {
        if noted.gone >= noted.stored {
            let ordinal = usize::try_from(noted.gone - noted.stored).ok()?;
            return noted.sizes.get(ordinal).copied();
        }
        if noted.gone > 0 {
            return None; // the second oldest would have to be searched for
        }
        let id = self.subjects.find(subject)?;
        let first = self.first_of(id).ok()??;
        let position = self.position_of(first);
        self.ensure(position).ok()?;
        let place = self.loaded(position)?.index.find(first)?;
        Some(u64::from(place.bytes))
    }
}

impl OnPaper {
    fn new(stored: u64) -> OnPaper {
        OnPaper {
            stored,
            gone: 0,
            came: 0,
            sizes: Vec::new(),
        }
    }
}
