//! Walking over many messages: those that are alive and meant, from a sequence on, each shown to
//! the caller where it lies in its block. And how many there are.
//!
//! Strategy: block by block, each read and verified once. Blocks without a message that is meant
//! are passed over where the subject table or their filter says so. A walk that had to read or to
//! look at much takes a rest, so that no caller waits for a whole stream.

use crate::bloom;
use crate::error::{Error, Result};
use crate::pattern::Filter;
use crate::record::Record;
use crate::store::{Message, Store};

const BLOCKS_READ_MAX: usize = 2; // of a walk; then it rests
const LOOKED_AT_MAX: usize = 1 << 20; // so it does after so many messages: some milliseconds
const TRIED_MAX: usize = 4096; // messages that a wildcard did not mean before the table is asked
const SINGLE_READS_MAX: u64 = 16; // more than so many are wanted: the block is read as a whole
const BLOOM_SUBJECTS_MAX: usize = 64; // more are in every block anyway

/// What becomes of a message that was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// It is taken, and the next one may come.
    Take,
    /// It is taken, and no other is wanted.
    TakeLast,
    /// It is not taken.
    Refuse,
}

/// Why a walk ended.
#[derive(Debug)]
pub enum WalkEnd {
    /// The caller wanted no more.
    Stopped,
    /// There is no other message.
    Over,
    /// There may be more; the walk rests.
    Paused,
    Failed(Error),
}

#[derive(Debug)]
pub struct Walked {
    /// Where to go on: everything before it was taken or is not meant.
    pub next: u64,
    pub end: WalkEnd,
}

/// Which messages are meant, by the number of their subject.
enum Meant {
    All,
    /// These, and no message beyond a sequence.
    Some(Set, u64),
    /// By asking the filter.
    Asked(Verdict),
}

/// A set of subjects.
struct Set {
    bits: Vec<u64>,
    /// What the filters of blocks are asked with; empty if there are too many subjects.
    hashes: Vec<u64>,
}

/// The last verdict of a filter, and how many messages it refused.
struct Verdict {
    subject: u32,
    is_meant: bool,
    refused: usize,
}

impl Set {
    fn has(&self, id: u32) -> bool {
        let word = self.bits.get(id as usize / 64);
        word.is_some_and(|word| word >> (id % 64) & 1 != 0)
    }
}

/// What a stretch of one block brought.
enum Stretch {
    /// Nothing (more) of this block is wanted.
    Through,
    Ended(Walked),
    /// The bytes of the block are needed to show this message.
    Unread(u64),
    /// The table should be asked, from this message on.
    Untold(u64),
}

impl Store {
    /// Shows the messages that a filter means, in order, from a sequence on. `wanted` says how
    /// many the caller will take at the most.
    pub fn walk(
        &mut self,
        filter: &Filter,
        from: u64,
        wanted: u64,
        mut visit: impl FnMut(&Message<'_>) -> Visit,
    ) -> Walked {
        let mut from = from.max(self.first);
        let mut meant = match filter {
            filter if filter.is_everything() => Meant::All,
            filter if filter.literals().is_some() => self.ask_table(filter, &mut from),
            _ => Meant::Asked(Verdict {
                subject: u32::MAX,
                is_meant: false,
                refused: 0,
            }),
        };
        let (mut read, mut looked_at) = (0, 0);
        loop {
            let Some(position) = self.next_block(&mut from, &meant) else {
                let next = from.max(self.last + 1);
                return Walked {
                    next,
                    end: WalkEnd::Over,
                };
            };
            if read >= BLOCKS_READ_MAX || looked_at > LOOKED_AT_MAX {
                let end = WalkEnd::Paused;
                return Walked { next: from, end };
            }
            if matches!(meant, Meant::All)
                && let Some(walked) = self.visit_alone(position, &mut from, wanted, &mut visit)
            {
                match walked {
                    Stretch::Ended(walked) => return walked,
                    _ => continue,
                }
            }
            let is_in_memory = self.loaded(position).is_some();
            if let Err(error) = self.ensure(position) {
                return failed(from, error);
            }
            read += usize::from(!is_in_memory);
            match self.stretch(
                position,
                from,
                filter,
                &mut meant,
                &mut looked_at,
                &mut visit,
            ) {
                Stretch::Through => from = from.max(self.blocks[position].last + 1),
                Stretch::Ended(walked) => return walked,
                Stretch::Unread(next) => {
                    read += 1;
                    from = next;
                    if let Err(error) = self.ensure_data(position) {
                        return failed(from, error);
                    }
                }
                Stretch::Untold(next) => {
                    from = next;
                    meant = self.ask_table(filter, &mut from);
                }
            }
        }
    }

    /// Which subjects are meant; `from` moves to where the first of them can be.
    fn ask_table(&mut self, filter: &Filter, from: &mut u64) -> Meant {
        let mut ids = self.subjects.matching(filter);
        ids.retain(|id| self.subjects.get(*id).last >= *from);
        let first = ids.iter().map(|id| self.subjects.get(*id).first).min();
        let last = ids.iter().map(|id| self.subjects.get(*id).last).max();
        *from = (*from).max(first.unwrap_or(0));
        let mut bits = vec![0; ids.iter().max().map_or(0, |id| *id as usize / 64 + 1)];
        for id in &ids {
            bits[*id as usize / 64] |= 1 << (id % 64);
        }
        let few = ids.len() <= BLOOM_SUBJECTS_MAX;
        let hashes = ids.iter().filter(|_| few);
        let hashes = hashes
            .map(|id| bloom::hash(self.subjects.key(*id)))
            .collect();
        Meant::Some(Set { bits, hashes }, last.unwrap_or(0))
    }

    /// The next block in which there may be something; `from` moves into it.
    fn next_block(&self, from: &mut u64, meant: &Meant) -> Option<usize> {
        if *from > self.last || matches!(meant, Meant::Some(_, last) if *from > *last) {
            return None;
        }
        let mut position = self.position_of(*from);
        while let Some(block) = self.blocks.get(position) {
            let is_passed_over = match meant {
                Meant::Some(_, last) if block.first > *last => return None,
                Meant::Some(set, _) => {
                    let is_known = |hash: &u64| block.bloom.may_contain(*hash);
                    !set.hashes.is_empty() && !set.hashes.iter().any(is_known)
                }
                _ => false,
            };
            *from = (*from).max(block.first);
            if block.messages > 0 && !is_passed_over && *from <= block.last {
                return Some(position);
            }
            *from = (*from).max(block.last + 1);
            position += 1;
        }
        None
    }

    /// Shows one message of a block that is not in memory, if few are wanted: then reading all of
    /// it is not worth it. `None` if that is no way to go.
    fn visit_alone(
        &mut self,
        position: usize,
        from: &mut u64,
        wanted: u64,
        visit: &mut impl FnMut(&Message<'_>) -> Visit,
    ) -> Option<Stretch> {
        let block = &self.blocks[position];
        if wanted > SINGLE_READS_MAX || !block.is_dense() || self.loaded(position).is_some() {
            return None;
        }
        let sequence = block.deleted.next_absent(*from);
        if sequence > block.last {
            *from = block.last + 1;
            return Some(Stretch::Through);
        }
        let visited = match self.load(sequence) {
            Ok(Some(message)) => visit(&message),
            Ok(None) | Err(Error::Damaged { .. }) => Visit::Take, // there is no such message
            Err(error) => return Some(Stretch::Ended(failed(sequence, error))),
        };
        *from = sequence + u64::from(visited != Visit::Refuse);
        Some(match visited {
            Visit::Take => Stretch::Through,
            _ => Stretch::Ended(Walked {
                next: *from,
                end: WalkEnd::Stopped,
            }),
        })
    }

    /// Shows the messages of a block from a sequence on.
    fn stretch(
        &self,
        position: usize,
        from: u64,
        filter: &Filter,
        meant: &mut Meant,
        looked_at: &mut usize,
        visit: &mut impl FnMut(&Message<'_>) -> Visit,
    ) -> Stretch {
        let (Some(loaded), block) = (self.loaded(position), &self.blocks[position]) else {
            return Stretch::Through;
        };
        let subjects_are_few = (self.subjects.len() as u64) < self.last - from;
        for ordinal in loaded.index.at_or_after(from)..loaded.index.len() {
            let sequence = loaded.index.sequence(ordinal);
            *looked_at += 1;
            if block.deleted.contains(sequence) {
                continue;
            }
            let place = loaded.index.place(ordinal);
            let is_meant = match meant {
                Meant::All => true,
                Meant::Some(set, _) => set.has(place.subject),
                Meant::Asked(verdict) => {
                    if verdict.subject != place.subject {
                        verdict.subject = place.subject;
                        verdict.is_meant = filter.matches(self.subjects.key(place.subject));
                    }
                    verdict.refused += usize::from(!verdict.is_meant);
                    if verdict.refused > TRIED_MAX && subjects_are_few {
                        return Stretch::Untold(sequence);
                    }
                    verdict.is_meant
                }
            };
            if !is_meant {
                continue;
            }
            if loaded.data.is_empty() {
                return Stretch::Unread(sequence);
            }
            let visited = match Record::decode(&loaded.data[place.offset as usize..]) {
                Some(record) => visit(&message(&record)),
                None => Visit::Take,
            };
            if visited != Visit::Take {
                return Stretch::Ended(Walked {
                    next: sequence + u64::from(visited == Visit::TakeLast),
                    end: WalkEnd::Stopped,
                });
            }
        }
        Stretch::Through
    }

    /// Whether there is a message of this sequence.
    pub fn has(&mut self, sequence: u64) -> Result<bool> {
        if !self.is_alive(sequence) {
            return Ok(false);
        }
        let position = self.position_of(sequence);
        let block = &self.blocks[position];
        if block.is_dense() {
            return Ok(sequence <= block.last);
        }
        self.ensure(position)?;
        let found = self
            .loaded(position)
            .and_then(|loaded| loaded.index.find(sequence));
        Ok(found.is_some())
    }

    /// How many messages a filter means from a sequence on, found by looking at all of them: good
    /// where they are few and the subjects may be many.
    pub fn count_matching(&mut self, filter: &Filter, from: u64) -> Result<u64> {
        let from = from.max(self.first);
        let (mut count, mut last) = (0, (u32::MAX, false));
        for position in self.position_of(from)..self.blocks.len() {
            if self.blocks[position].messages == 0 {
                continue;
            }
            self.ensure(position)?;
            let (Some(loaded), block) = (self.loaded(position), &self.blocks[position]) else {
                continue;
            };
            for ordinal in loaded.index.at_or_after(from)..loaded.index.len() {
                let subject = loaded.index.place(ordinal).subject;
                if block.deleted.contains(loaded.index.sequence(ordinal)) {
                    continue;
                }
                if last.0 != subject {
                    last = (subject, filter.matches(self.subjects.key(subject)));
                }
                count += u64::from(last.1);
            }
        }
        Ok(count)
    }

    /// How many messages there are from a sequence on.
    pub fn alive_from(&mut self, from: u64) -> Result<u64> {
        let from = from.max(self.first);
        if from > self.last {
            return Ok(0);
        }
        let position = self.position_of(from);
        let Some(block) = self.blocks.get(position) else {
            return Ok(0);
        };
        let whole = block.messages;
        let in_block = if from <= block.first.max(self.first) {
            whole
        } else {
            self.alive_in_block(position, from)?
        };
        let count = |blocks: std::ops::Range<usize>| -> u64 {
            self.blocks.range(blocks).map(|block| block.messages).sum()
        };
        Ok(in_block
            + if position < self.blocks.len() / 2 {
                self.messages - whole - count(0..position)
            } else {
                count(position + 1..self.blocks.len())
            })
    }

    fn alive_in_block(&mut self, position: usize, from: u64) -> Result<u64> {
        let block = &self.blocks[position];
        let removed = block.deleted.count_from(from);
        if block.is_dense() {
            return Ok((block.last + 1).saturating_sub(from) - removed);
        }
        self.ensure(position)?;
        let Some(loaded) = self.loaded(position) else {
            return Ok(0);
        };
        let (index, deleted) = (&loaded.index, &self.blocks[position].deleted);
        let ordinals = index.at_or_after(from)..index.len();
        if removed == 0 {
            return Ok(ordinals.len() as u64);
        }
        // Some of the removed may have been erased, and have no record.
        let alive = ordinals.filter(|ordinal| !deleted.contains(index.sequence(*ordinal)));
        Ok(alive.count() as u64)
    }
}

fn message<'a>(record: &Record<'a>) -> Message<'a> {
    Message {
        sequence: record.sequence,
        timestamp_ns: record.timestamp_ns,
        subject: record.subject,
        headers: record.headers,
        message: record.message,
    }
}

fn failed(next: u64, error: Error) -> Walked {
    Walked {
        next,
        end: WalkEnd::Failed(error),
    }
}
