//! Answers remembered for subjects that come again. A table of fixed size, one place for each
//! hash: nothing is ever evicted by a scan, and hostile subjects cannot make it grow.
//!
//! Two rules keep it useful. A subject is remembered at its second sighting, so the reply
//! subjects of requests, which come once, displace nothing. And each entry carries the
//! generation of its first token and that of the wildcards: a SUB ages the entries it could
//! concern, not all of them, so a client that subscribes to an inbox for each request leaves
//! the hot subjects alone.

use crate::matches::Matches;
use ahash::RandomState;
use std::sync::Arc;

/// Power of two. With the two bounds below an account's memo stays under 16 MB, mostly under 2.
const PLACES: usize = 1 << 14;
const SUBJECT_BYTES_MAX: usize = 256; // longer subjects are looked up each time
const WEIGHT_MAX: usize = 128; // so are wide answers: delivering them costs far more than finding
const FAMILIES: usize = 256;

#[derive(Default)]
struct Place {
    /// The hash seen last at this place, remembered or not.
    candidate: u64,
    subject: Box<[u8]>,
    age: (u64, u64),
    matches: Option<Arc<Matches>>,
}

/// The table, and the generations that age its entries.
pub struct Memo {
    places: Vec<Place>,
    hasher: RandomState,
    families: Vec<u64>,
    wildcards: u64,
}

impl Default for Memo {
    fn default() -> Self {
        Memo {
            places: Vec::new(),
            hasher: RandomState::new(),
            families: vec![0; FAMILIES],
            wildcards: 0,
        }
    }
}

impl Memo {
    /// The answer for `subject`, remembered or found by `find`.
    pub fn get(&mut self, subject: &[u8], find: impl FnOnce(&mut Matches)) -> Arc<Matches> {
        if self.places.is_empty() {
            self.places.resize_with(PLACES, Place::default);
        }
        let hash = self.hasher.hash_one(subject);
        let age = (self.families[self.family(subject)], self.wildcards);
        #[allow(clippy::cast_possible_truncation)] // only the low bits choose the place
        let place = &mut self.places[hash as usize & (PLACES - 1)];
        if let Some(matches) = &place.matches
            && place.age == age
            && *place.subject == *subject
        {
            return Arc::clone(matches);
        }
        let mut matches = Matches::default();
        find(&mut matches);
        let matches = Arc::new(matches);
        let small = subject.len() <= SUBJECT_BYTES_MAX && matches.weight() <= WEIGHT_MAX;
        if place.candidate == hash && !small {
            place.matches = None;
        } else if place.candidate == hash {
            if *place.subject != *subject {
                place.subject = subject.into();
            }
            place.age = age;
            place.matches = Some(Arc::clone(&matches));
        }
        place.candidate = hash;
        matches
    }

    /// Call for every change of a pattern's listeners.
    pub fn forget(&mut self, pattern: &[u8]) {
        if pattern.starts_with(b"*") || pattern.starts_with(b">") {
            self.wildcards += 1;
        } else {
            let family = self.family(pattern);
            self.families[family] += 1;
        }
    }

    #[allow(clippy::cast_possible_truncation)] // only the low bits choose the family
    fn family(&self, subject: &[u8]) -> usize {
        let token_bytes = subject.iter().position(|byte| *byte == b'.');
        let token = &subject[..token_bytes.unwrap_or(subject.len())];
        self.hasher.hash_one(token) as usize & (FAMILIES - 1)
    }
}
