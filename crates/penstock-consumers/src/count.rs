//! How many messages are still to come for the first time.
//!
//! Strategy: without filters the store knows. With them, counting in the store is slow, so it is
//! done once; then what `FilterIndex` counted is added, or what came since is counted. When
//! messages at or above the cursor have left the stream, which shows in the number of those alive,
//! it is done again if that is cheap or if somebody asks for the number. Deliveries go on with the
//! old number, which can only be too high.

use crate::ledger::Ledger;
use penstock_blocks::{Result, Store};

const LOOKED_AT_MAX: u64 = 1 << 16; // so many messages are counted by looking at them

/// What a `FilterIndex` knows about one consumer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Counts of different epochs have nothing to do with each other.
    pub epoch: u64,
    /// Messages for it so far.
    pub total: u64,
    /// The last message counted, whoever it was for.
    pub last: u64,
    /// A message for it, and how many came before that one.
    pub first: u64,
    pub before: u64,
}

/// The count for the cursor as it is, without the list.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    is_known: bool,
    /// Otherwise there are not more than `pending`.
    is_exact: bool,
    pub pending: u64,
    /// The store's last sequence, and how many it had from the cursor on, at that time.
    last: u64,
    alive: u64,
    /// Epoch and total of the index; none if it was not asked.
    total: Option<(u64, u64)>,
}

impl Ledger {
    /// How many messages are still to be delivered for the first time.
    pub fn num_pending(&mut self, store: &mut Store, arrived: Option<Arrived>) -> Result<u64> {
        let behind = self.count(store, arrived, true)?;
        Ok(behind + self.count_listed(store)?)
    }

    /// How many of the list are still there; of a long one, those that the limits did not take.
    fn count_listed(&self, store: &mut Store) -> Result<u64> {
        let first = store.first_at_or_after(0)?.unwrap_or(u64::MAX);
        let gone = self.listed.partition_point(|listed| *listed < first);
        let left = (self.listed.len() - gone) as u64;
        if left > LOOKED_AT_MAX {
            return Ok(left);
        }
        let mut found = 0;
        for sequence in self.listed.range(gone..) {
            found += u64::from(store.has(*sequence)?);
        }
        Ok(found)
    }

    /// How many are at or above the cursor, or, unless it must be exact, not less than that. Kept
    /// in `tally`.
    pub(crate) fn count(
        &mut self,
        store: &mut Store,
        arrived: Option<Arrived>,
        exactly: bool,
    ) -> Result<u64> {
        let cursor = self.place.cursor;
        let alive = store.alive_from(cursor)?;
        if self.filter.is_everything() {
            return Ok(alive);
        }
        let last = store.last_sequence();
        let known = self.tally;
        let grown = last.checked_sub(known.last).filter(|_| known.is_known);
        let is_whole = grown.is_some_and(|grown| known.alive + grown == alive);
        let arrived = arrived.filter(|arrived| arrived.last == last);
        let (pending, is_exact) = if is_whole && (known.is_exact || !exactly) {
            let more = self.count_new(store, arrived, exactly)?;
            (known.pending + more, known.is_exact)
        } else if alive <= LOOKED_AT_MAX {
            (store.count_matching(&self.filter, cursor)?, true)
        } else if exactly || grown.is_none() {
            (store.pending(&self.filter, cursor, false)?, true)
        } else {
            (known.pending + grown.unwrap_or(alive), false)
        };
        self.tally = Tally {
            is_known: true,
            is_exact,
            pending: pending.min(alive),
            last,
            alive,
            total: arrived.map(|arrived| (arrived.epoch, arrived.total)),
        };
        if self.place.cursor != cursor {
            self.recount(store, self.tally.pending)?;
        }
        Ok(self.tally.pending)
    }

    /// How many came since the tally was made.
    fn count_new(
        &mut self,
        store: &mut Store,
        arrived: Option<Arrived>,
        exactly: bool,
    ) -> Result<u64> {
        let known = self.tally;
        let is_same = |now: &Arrived| known.total.is_some_and(|then| then.0 == now.epoch);
        if let Some(now) = arrived.filter(is_same) {
            return Ok(self.add_arrived(now, exactly));
        }
        match store.last_sequence() - known.last {
            0 => Ok(0),
            few if few <= LOOKED_AT_MAX => store.count_matching(&self.filter, known.last + 1),
            _ => store.pending(&self.filter, known.last + 1, false),
        }
    }

    /// How many came since, as the index counted. If there were none before them, the cursor moves
    /// to the first, unless somebody only asks for the number: what is passed over then would not
    /// come with other filters either.
    fn add_arrived(&mut self, now: Arrived, is_asked: bool) -> u64 {
        let then = self.tally.total.map_or(0, |(_, total)| total);
        let is_first = self.tally.pending == 0 && now.before == then && now.total > then;
        if is_first && !is_asked && self.listed.is_empty() {
            self.place.cursor = self.place.cursor.max(now.first);
        }
        now.total - then
    }

    /// The cursor has moved; `pending` are left.
    pub(crate) fn recount(&mut self, store: &mut Store, pending: u64) -> Result<()> {
        if self.filter.is_everything() {
            return Ok(());
        }
        self.tally.pending = pending;
        self.tally.is_exact |= pending == 0;
        self.tally.alive = store.alive_from(self.place.cursor)?;
        Ok(())
    }
}
