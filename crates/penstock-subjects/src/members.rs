//! A set of numbers that is walked often and changed at times: a list, and beside it, once it is
//! long, an index of places, so that a thousand departures do not cost a million comparisons.

use ahash::AHashMap;

const INDEXED_FROM: usize = 64; // shorter lists are searched

/// Numbers in no particular order, none twice.
#[derive(Default)]
pub(crate) struct Members {
    list: Vec<u32>,
    places: Option<Box<AHashMap<u32, usize>>>,
}

impl Members {
    pub fn as_slice(&self) -> &[u32] {
        &self.list
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn push(&mut self, number: u32) {
        if self.places.is_none() && self.list.len() >= INDEXED_FROM {
            self.places = Some(Box::new(self.list.iter().copied().zip(0..).collect()));
        }
        if let Some(places) = &mut self.places {
            places.insert(number, self.list.len());
        }
        self.list.push(number);
    }

    /// True if the number was there.
    pub fn take(&mut self, number: u32) -> bool {
        let place = match &mut self.places {
            Some(places) => places.remove(&number),
            None => self.list.iter().position(|other| *other == number),
        };
        let Some(place) = place else {
            return false;
        };
        self.list.swap_remove(place);
        if let (Some(places), Some(moved)) = (&mut self.places, self.list.get(place)) {
            places.insert(*moved, place);
        }
        if self.list.is_empty() {
            *self = Members::default();
        }
        true
    }
}
