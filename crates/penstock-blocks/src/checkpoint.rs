//! Checkpoints: the state as of now becomes the one that a later opening goes on from.
//!
//! Three steps, so that the slow one can be taken in another thread while the store is used:
//! `begin_checkpoint` writes everything to the files and notes down the index; `Checkpoint::write`
//! syncs the files, puts the index in its place and removes files that it does not name any more;
//! `end_checkpoint` overwrites what the index says is erased, and compacts. The next checkpoint makes
//! that durable; until then the index says that it is to be done.
//!
//! Order, so that a crash at any step leaves something whole: blocks written and synced; then the
//! index, by renaming; then what the index says is gone goes. What was written to a block behind
//! the index meanwhile is cut off again by an opening with a log, or scanned by one without.

use crate::error::{Error, Result};
use crate::files::{Files, Flight, Landing};
use crate::index_file;
use crate::store::Store;

const RECLAIMED_READ_MAX: usize = 16; // blocks read in one checkpoint, so that it ends some time
const COMPACTED_MAX: usize = 2; // of them, those written anew, which the store waits for

/// What is to be made durable, apart from the store.
pub struct Checkpoint {
    flight: Flight,
    index: Vec<u8>,
    landing: Option<Landing>,
}

/// What stays with the store until a checkpoint has ended.
#[derive(Default)]
pub(crate) struct Underway {
    pub erasures: Vec<u64>,
    /// Blocks without messages: no longer the store's, still in the files.
    pub doomed: Vec<u32>,
    /// Blocks to be written anew; what they note of others is in this checkpoint.
    pub sparse: Vec<u32>,
}

impl Checkpoint {
    /// May take long, and may be called from another thread.
    pub fn write(&mut self) {
        self.landing = Some(self.flight.land(&self.index));
    }

    /// True if a sync failed, which is never tried again: the store takes nothing more.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        matches!(self.landing, Some(Landing::Lost(_)))
    }

    /// What went wrong.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        match &self.landing {
            Some(Landing::Late(error) | Landing::Lost(error)) => Some(error),
            _ => None,
        }
    }
}

impl Store {
    /// Notes the state down. `mark` is the log entry up to which everything is in; entries above
    /// it must be replayed after a crash. With `closing` the index is complete whatever its size,
    /// so that the next opening need not scan. None for a store in memory.
    pub fn begin_checkpoint(&mut self, mark: u64, closing: bool) -> Result<Option<Checkpoint>> {
        if self.files.is_none() {
            return Ok(None);
        }
        self.give_up_blocks()?;
        self.note_removals()?;
        self.write_seal(false);
        self.write_out()?;
        let erasures = std::mem::take(&mut self.erasures);
        self.erasures_noted = 0;
        self.underway.erasures.extend(erasures);
        let index = index_file::encode(self, mark, closing);
        let doomed = &self.underway.doomed;
        let flight = self.files.as_mut().map(|files| files.take_off(doomed));
        Ok(flight.map(|flight| Checkpoint {
            flight,
            index,
            landing: None,
        }))
    }

    /// The checkpoint was written, or could not be. True if another one should follow
    /// soon: blocks were compacted, and the index does not fit them; or more blocks can go.
    pub fn end_checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<bool> {
        let (Some(landing), Some(files)) = (&checkpoint.landing, &mut self.files) else {
            return Ok(false);
        };
        files.landed(landing);
        if !matches!(landing, Landing::Safe) {
            return Ok(false);
        }
        self.underway.doomed.clear();
        self.erase_underway()?;
        let mut compacted = false;
        for number in std::mem::take(&mut self.underway.sparse) {
            compacted |= self.compact(number)?;
        }
        Ok(compacted || self.has_empty_blocks())
    }

    /// All steps at once.
    pub fn checkpoint(&mut self, mark: u64, closing: bool) -> Result<()> {
        while let Some(mut checkpoint) = self.begin_checkpoint(mark, closing)? {
            checkpoint.write();
            let is_more = self.end_checkpoint(&checkpoint)?;
            match checkpoint.landing {
                Some(Landing::Late(error) | Landing::Lost(error)) => return Err(error),
                _ if is_more || self.has_overwritten() => {}
                _ => break,
            }
        }
        Ok(())
    }

    /// The index of a store without anything; the log has what follows, and the next checkpoint
    /// makes it durable.
    pub(crate) fn write_first_index(&mut self, mark: u64) -> Result<()> {
        let content = index_file::encode(self, mark, true);
        match &mut self.files {
            Some(files) => files.write_first_index(&content),
            None => Ok(()),
        }
    }

    /// The index alone, where the files are durable already.
    pub(crate) fn write_index(&mut self, mark: u64, closing: bool) -> Result<()> {
        let content = index_file::encode(self, mark, closing);
        match &mut self.files {
            Some(files) => files.write_index(&content),
            None => Ok(()),
        }
    }

    /// Whether a removed message's bytes wait for a checkpoint to be overwritten.
    #[must_use]
    pub fn has_erasures(&self) -> bool {
        !self.erasures.is_empty() || !self.underway.erasures.is_empty()
    }

    /// Whether something was overwritten that the next checkpoint is to make durable.
    #[must_use]
    pub fn has_overwritten(&self) -> bool {
        self.files.as_ref().is_some_and(Files::has_overwritten)
    }

    /// Erased messages that are not overwritten yet, in order.
    pub(crate) fn erasures_pending(&self) -> Vec<u64> {
        let mut pending = [&self.erasures[..], &self.underway.erasures[..]].concat();
        pending.sort_unstable();
        pending
    }

    /// Takes blocks without messages out of the store, after carrying on what they note, and
    /// finds those worth writing anew.
    fn give_up_blocks(&mut self) -> Result<()> {
        self.underway.sparse.clear();
        let numbers = self.reclaimable(RECLAIMED_READ_MAX)?;
        for number in numbers {
            if self.give_up_if_empty(number) {
                self.underway.doomed.push(number);
            } else if self.underway.sparse.len() < COMPACTED_MAX {
                self.underway.sparse.push(number);
            }
        }
        Ok(())
    }
}
