//! The subjects of the table in the order of their bytes, so that a wildcard need not be held
//! against every one of them.
//!
//! Strategy: slots are taken in pieces of a bounded number, and each piece has an order of its own:
//! four bytes a subject, made when the piece has been walked through so often that an order would
//! have cost less, and only for one piece at a time. So whoever publishes pays nothing, and no
//! query waits for a long sort. Within an order, what a pattern begins with is one range; behind a
//! `*` the range falls into groups of one token each, of which every one is a range again. Where
//! there are so many groups that a walk over the slots is as good, that is done instead.
//!
//! Invariant: a slot that an order covers keeps its subject until the order is given up. So a
//! subject without messages is left where it is, and its slot is free when half of its piece are
//! such.

use crate::pattern::{Filter, is_wild, leading_literal, matches};
use crate::subjects::{Subject, key_of};
use std::ops::Range;

// Small in tests, so that few subjects are many pieces.
const PIECE_SLOTS: usize = if cfg!(test) { 1 << 4 } else { 1 << 17 }; // some milliseconds to sort
const ORDERED_MIN: usize = if cfg!(test) { 3 } else { 256 }; // fewer are walked over in no time
// Finding a group costs as much as walking over so many.
const SLOTS_WORTH_A_GROUP: usize = if cfg!(test) { 2 } else { 64 };
const WALKS_WORTH_A_SORT: usize = 4;

/// The slots of the table, and the bytes their subjects are in.
#[derive(Clone, Copy)]
pub(crate) struct Names<'a> {
    pub slots: &'a [Subject],
    pub keys: &'a [u8],
}

impl<'a> Names<'a> {
    fn key(&self, slot: usize) -> &'a [u8] {
        key_of(self.keys, &self.slots[slot])
    }

    fn is_alive(&self, slot: usize) -> bool {
        self.slots[slot].count > 0
    }

    /// Adds those of some slots that a filter means.
    fn walk(&self, slots: Range<usize>, filter: &Filter, found: &mut Vec<u32>) {
        let start = slots.start as u32;
        let meant = self.slots[slots].iter().zip(start..);
        found.extend(meant.filter_map(|(slot, id)| {
            (slot.count > 0 && filter.matches(key_of(self.keys, slot))).then_some(id)
        }));
    }
}

#[derive(Default)]
struct Piece {
    /// Those that had messages when it was made, by their place in the piece.
    order: Vec<u32>,
    /// The slots of the piece that it knows are the first so many.
    covered: usize,
    /// So many of them have no messages.
    dead: usize,
    /// Slots that were walked over since.
    walked: usize,
}

#[derive(Default)]
pub(crate) struct Orders {
    pieces: Vec<Piece>,
}

impl Orders {
    /// The subjects a filter means, in no order, each once.
    pub fn matching(&mut self, names: Names<'_>, filter: &Filter) -> Vec<u32> {
        let mut found = Vec::new();
        let count = names.slots.len().div_ceil(PIECE_SLOTS);
        self.pieces.resize_with(count, Piece::default);
        for (piece, start) in self.pieces.iter_mut().zip((0..).step_by(PIECE_SLOTS)) {
            let end = names.slots.len().min(start + PIECE_SLOTS);
            let covered = start + piece.covered;
            let before = found.len();
            let mut search = Search {
                names,
                start,
                order: &piece.order,
                groups_left: piece.order.len() / SLOTS_WORTH_A_GROUP + 1,
                offset: 0,
                found: &mut found,
            };
            if !search.all(filter) {
                found.truncate(before);
                names.walk(start..covered, filter, &mut found);
            }
            names.walk(covered..end, filter, &mut found);
            piece.walked += end - covered;
        }
        found
    }

    /// A piece that had better be sorted.
    pub fn unsorted(&self, slots: usize) -> Option<Range<usize>> {
        let places = (0..slots).step_by(PIECE_SLOTS);
        let ranges = places.map(move |start| start..slots.min(start + PIECE_SLOTS));
        let is_worth_it = |(piece, range): &(&Piece, Range<usize>)| {
            range.len() >= ORDERED_MIN && piece.walked >= range.len() * WALKS_WORTH_A_SORT
        };
        let mut pieces = self.pieces.iter().zip(ranges);
        pieces.find(is_worth_it).map(|(_, range)| range)
    }

    /// Puts the slots of a piece in order, unless half of them are empty.
    pub fn sort(&mut self, names: Names<'_>, slots: Range<usize>) -> bool {
        let Some(piece) = self.pieces.get_mut(slots.start / PIECE_SLOTS) else {
            return false;
        };
        piece.walked = 0;
        let alive: Vec<usize> = slots.clone().filter(|slot| names.is_alive(*slot)).collect();
        let dead = slots.len() - alive.len();
        if dead * 2 > slots.len() {
            return false;
        }
        // Subjects mostly begin alike; the bytes behind that mostly decide.
        let alike = alive.iter().map(|slot| names.key(*slot)).reduce(common);
        let alike = alike.map_or(0, <[u8]>::len);
        let mut keyed: Vec<(u64, u32)> = alive
            .iter()
            .map(|slot| {
                (
                    word(&names.key(*slot)[alike..]),
                    (slot - slots.start) as u32,
                )
            })
            .collect();
        let rest = |place: u32| &names.key(slots.start + place as usize)[alike..];
        keyed.sort_unstable_by(|one, other| {
            one.0
                .cmp(&other.0)
                .then_with(|| rest(one.1).cmp(rest(other.1)))
        });
        piece.order = keyed.into_iter().map(|(_, place)| place).collect();
        (piece.covered, piece.dead) = (slots.len(), dead);
        true
    }

    /// True if a slot must keep its subject, though it has no messages any more.
    pub fn keeps(&mut self, slot: usize) -> bool {
        match self.pieces.get_mut(slot / PIECE_SLOTS) {
            Some(piece) if slot % PIECE_SLOTS < piece.covered => {
                piece.dead += 1;
                true
            }
            _ => false,
        }
    }

    /// Gives up the order that knows a slot if half of its slots are empty; answers with them.
    pub fn give_up(&mut self, slot: usize) -> Option<Range<usize>> {
        let piece = self.pieces.get_mut(slot / PIECE_SLOTS)?;
        if piece.dead * 2 <= piece.covered {
            return None;
        }
        let start = slot - slot % PIECE_SLOTS;
        let covered = start..start + piece.covered;
        *piece = Piece::default();
        Some(covered)
    }

    pub fn bytes(&self) -> usize {
        let orders = self.pieces.iter().map(|piece| piece.order.capacity() * 4);
        orders.sum::<usize>() + self.pieces.capacity() * size_of::<Piece>()
    }
}

/// A filter held against one piece.
struct Search<'a> {
    names: Names<'a>,
    start: usize,
    order: &'a [u32],
    groups_left: usize,
    /// How far into the last range its literal was.
    offset: usize,
    found: &'a mut Vec<u32>,
}

impl<'a> Search<'a> {
    /// Adds what a filter means. False if a walk is the better way; what was added is void then.
    fn all(&mut self, filter: &Filter) -> bool {
        let before = self.found.len();
        for pattern in filter.patterns() {
            if !self.narrow(0..self.order.len(), 0, pattern) {
                return false;
            }
        }
        if filter.patterns().len() > 1 {
            let mut added = self.found.split_off(before);
            added.sort_unstable();
            added.dedup();
            self.found.append(&mut added);
        }
        true
    }

    /// Adds those of a range that a pattern means. They all begin with the same `depth` bytes,
    /// whole tokens; `rest` is what the pattern says about what follows.
    fn narrow(&mut self, range: Range<usize>, depth: usize, rest: &[u8]) -> bool {
        if range.is_empty() || rest.starts_with(b">.") {
            return true; // `>` means something at the end only
        }
        let literal = leading_literal(rest);
        if literal > 0 {
            return self.narrow_literal(range, depth, rest.split_at(literal));
        }
        let has_literal = rest
            .split(|byte| *byte == b'.')
            .any(|token| !is_wild(token));
        if !has_literal {
            return self.take(range, depth, rest);
        }
        let (mut at, mut size) = (range.start, 1);
        while at < range.end {
            if self.groups_left == 0 {
                return false;
            }
            self.groups_left -= 1;
            let key = self.key(at);
            let dot = key[depth..].iter().position(|byte| *byte == b'.');
            let Some(dot) = dot else {
                at += 1; // it has too few tokens
                continue;
            };
            let (token, below) = (&key[depth..=depth + dot], depth + dot + 1);
            let end = self.seek(at + 1..range.end, at + size, |key| {
                key[depth..].starts_with(token)
            });
            if !self.narrow(at..end, below, &rest[2..]) {
                return false;
            }
            (at, size) = (end, end - at);
        }
        true
    }

    /// The pattern goes on with bytes, and then with wildcards if anything.
    fn narrow_literal(
        &mut self,
        range: Range<usize>,
        depth: usize,
        (literal, rest): (&[u8], &[u8]),
    ) -> bool {
        let guess = range.start + self.offset;
        let start = self.seek(range.clone(), guess, |key| &key[depth..] < literal);
        self.offset = start - range.start;
        if rest.is_empty() {
            if start < range.end && &self.key(start)[depth..] == literal {
                self.add(start);
            }
            return true;
        }
        let end = self.seek(start..range.end, start, |key| {
            key[depth..].starts_with(literal)
        });
        self.narrow(start..end, depth + literal.len(), rest)
    }

    /// Adds those of a range whose tokens have the right number: only wildcards are left.
    fn take(&mut self, range: Range<usize>, depth: usize, rest: &[u8]) -> bool {
        if range.len() * 2 > self.order.len() {
            return false;
        }
        for at in range {
            if matches(rest, &self.key(at)[depth..]) {
                self.add(at);
            }
        }
        true
    }

    fn slot(&self, at: usize) -> usize {
        self.start + self.order[at] as usize
    }

    fn key(&self, at: usize) -> &'a [u8] {
        self.names.key(self.slot(at))
    }

    fn add(&mut self, at: usize) {
        let slot = self.slot(at);
        if self.names.is_alive(slot) {
            self.found.push(slot as u32);
        }
    }

    /// The first of a range that something is not true of; it is true of none behind that. Groups
    /// of a tree are mostly alike, so it is looked for around a guess, in steps that double.
    fn seek(&self, range: Range<usize>, guess: usize, is_before: impl Fn(&[u8]) -> bool) -> usize {
        let Range {
            start: mut low,
            end: mut high,
        } = range;
        let (mut at, mut step) = (guess, 1);
        while (low..high).contains(&at) {
            if is_before(self.key(at)) {
                low = at + 1;
                at += step;
            } else {
                high = at;
                at = at.wrapping_sub(step); // below zero is far above the range
            }
            step *= 2;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(self.key(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

fn common<'a>(one: &'a [u8], other: &'a [u8]) -> &'a [u8] {
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    &one[..same]
}

/// The first bytes as a number, in the order of the bytes; what is missing is zero.
fn word(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = key.len().min(8);
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}
