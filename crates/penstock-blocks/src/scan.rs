//! Reading a block from its bytes alone, trusting nothing: every record is verified, and behind
//! damage the next record that verifies is searched for, so that a bad record costs only itself.
//!
//! A damaged note or tombstone would bring removed messages back. Those are short, so a single
//! flipped bit in one is found by trying all of them.

use crate::framing;
use crate::index::{Index, NO_SUBJECT, Place};
use crate::note::{self, Note, Range as Sequences};
use crate::record::{BlockKey, ERASED, HASH_BYTES, HEAD_BYTES, Record, SEQUENCE_MAX, TOMBSTONE};
use std::collections::BTreeSet;
use std::ops::Range;

const REPAIR_BYTES_MAX: usize = 1024; // trying all bits of more takes milliseconds

/// Bytes that are no record, between two that are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Damage {
    /// Where it begins in the block.
    pub offset: u64,
    /// The messages before and after it, if the block has them.
    pub after: Option<u64>,
    pub before: Option<u64>,
    /// The sequence the damaged record claims, if it was one record.
    pub suspect: Option<u64>,
    pub bytes: u64,
}

impl Damage {
    /// The sequences that may have been lost, when the neighbours are these.
    pub fn lost(&self, after: u64, before: u64) -> Option<Sequences> {
        let (first, last) = (after + 1, before.checked_sub(1)?);
        match self.suspect {
            Some(suspect) if (first..=last).contains(&suspect) => Some((suspect, suspect)),
            _ => (first <= last).then_some((first, last)),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// Messages, without their subjects, which are not known here by number.
    pub index: Index,
    pub removals: Vec<Sequences>,
    /// Of them, those that are to be overwritten, or are already.
    pub erasures: Vec<Sequences>,
    pub note_bytes: u64,
    pub damage: Vec<Damage>,
    /// Notes and erased records that are not what was written and can be read all the same: where,
    /// and what they were.
    pub mended: Vec<(usize, Vec<u8>)>,
    pub framing: u64,
    /// Where the last whole record ends.
    pub end: usize,
    /// The last record is the final seal.
    pub sealed: bool,
    /// Lengths are damaged, and it is not known whose.
    pub framing_unexplained: bool,
    pub first_timestamp_ns: i64,
    pub last_timestamp_ns: i64,
    /// The latest time in any record, and the highest sequence of any message, erased ones too.
    pub latest_ns: i64,
    pub highest: u64,
    /// The stream's last sequence, as the seals have it.
    pub last_told: u64,
}

/// Scans from `start`, where the framing is `framing`. `expected` is what it should be at the end.
pub(crate) fn scan(
    bytes: &[u8],
    start: usize,
    framing: u64,
    key: &BlockKey,
    expected: Option<u64>,
) -> Scan {
    let mut scan = Scan {
        framing,
        end: start,
        ..Scan::default()
    };
    let mut at = start;
    while at < bytes.len() {
        if let Some(record) = Record::verified(&bytes[at..], key) {
            scan.take(bytes, at, &record);
            at += record.total();
            scan.end = at;
        } else {
            at = scan.pass_damage(bytes, at, key);
        }
    }
    if let Some(expected) = expected {
        scan.check_framing(bytes, expected);
    }
    scan
}

impl Scan {
    fn take(&mut self, bytes: &[u8], offset: usize, record: &Record<'_>) {
        self.sealed = false;
        let sequence = record.sequence & SEQUENCE_MAX;
        if record.sequence > SEQUENCE_MAX && !record.subject.is_empty() {
            self.mended.push((offset, record.without_subject()));
        }
        match (
            record.sequence & TOMBSTONE != 0,
            record.sequence & ERASED != 0,
            sequence,
        ) {
            (true, _, _) => {
                self.removals.push((sequence, sequence));
                self.note_bytes += record.total() as u64;
                self.latest_ns = self.latest_ns.max(record.timestamp_ns);
            }
            (false, true, 0) => self.take_note(bytes, record),
            (false, false, 0) => {}
            (false, erased, _) => {
                self.framing ^= record.framing(offset);
                let open = self
                    .damage
                    .iter_mut()
                    .rev()
                    .take_while(|d| d.before.is_none());
                open.for_each(|damage| damage.before = Some(sequence));
                if erased {
                    self.removals.push((sequence, sequence));
                } else if sequence > self.highest {
                    self.take_message(offset, record);
                }
                self.highest = self.highest.max(sequence);
            }
        }
    }

    fn take_message(&mut self, offset: usize, record: &Record<'_>) {
        let place = Place {
            offset: offset as u32,
            bytes: record.total() as u32,
            subject: NO_SUBJECT,
        };
        if self.index.len() == 0 {
            self.first_timestamp_ns = record.timestamp_ns;
        }
        self.last_timestamp_ns = record.timestamp_ns;
        self.latest_ns = self.latest_ns.max(record.timestamp_ns);
        self.index.push(record.sequence, place);
    }

    /// The body is taken whole: a note has no subject whose length could be wrong.
    fn take_note(&mut self, bytes: &[u8], record: &Record<'_>) {
        let body = &record.bytes()[HEAD_BYTES..record.total() - HASH_BYTES];
        match note::read(body) {
            Note::Removed(ranges) => self.take_removals(&ranges, record),
            Note::Erasure(ranges) => {
                self.take_removals(&ranges, record);
                self.erasures.extend(ranges);
            }
            Note::Seal(seal) => {
                self.check_framing(bytes, seal.framing);
                self.sealed = seal.is_final;
                self.last_told = self.last_told.max(seal.last);
            }
            Note::Unknown => {}
        }
    }

    fn take_removals(&mut self, ranges: &[Sequences], record: &Record<'_>) {
        self.removals.extend(ranges);
        self.note_bytes += record.total() as u64;
        self.latest_ns = self.latest_ns.max(record.timestamp_ns);
    }

    /// Compares with what the framing was when it was written. Behind damage that says nothing.
    fn check_framing(&mut self, bytes: &[u8], expected: u64) {
        let difference = self.framing ^ expected;
        if difference == 0 || !self.damage.is_empty() {
            return;
        }
        let explains = |ordinal: &usize| {
            let offset = self.index.place(*ordinal).offset as usize;
            let record = Record::decode(&bytes[offset..]);
            record.is_some_and(|record| framing::explains(&record, offset, difference))
        };
        let Some(ordinal) = (0..self.index.len()).find(explains) else {
            self.framing_unexplained = true;
            return;
        };
        let (sequence, place) = (self.index.sequence(ordinal), self.index.place(ordinal));
        self.damage.push(Damage {
            offset: u64::from(place.offset),
            after: Some(sequence - 1),
            before: Some(sequence + 1),
            suspect: Some(sequence),
            bytes: u64::from(place.bytes),
        });
        self.index.take_out(ordinal);
        self.framing = expected;
    }

    fn pass_damage(&mut self, bytes: &[u8], at: usize, key: &BlockKey) -> usize {
        let (end, suspect) = resume(bytes, at, key);
        let region = &bytes[at..end];
        if let Some(repaired) = repair(region, key)
            && let Some(record) = Record::decode(&repaired)
        {
            self.take(bytes, at, &record);
            self.end = end;
            self.mended.push((at, repaired));
            return end;
        }
        self.damage.push(Damage {
            offset: at as u64,
            after: (self.highest > 0).then_some(self.highest),
            before: None,
            suspect: suspect.filter(|sequence| *sequence <= SEQUENCE_MAX),
            bytes: region.len() as u64,
        });
        end
    }
}

/// Where the records of a block begin that could not be there if the stream ended at a sequence.
pub(crate) fn end_for(bytes: &[u8], key: &BlockKey, sequence: u64) -> usize {
    let mut at = 0;
    while at < bytes.len() {
        let Some(record) = Record::verified(&bytes[at..], key) else {
            at = resume(bytes, at, key).0;
            continue;
        };
        let body = &record.bytes()[HEAD_BYTES..record.total() - HASH_BYTES];
        let reach = match (
            record.sequence & SEQUENCE_MAX,
            record.sequence & ERASED != 0,
        ) {
            (0, true) => match note::read(body) {
                Note::Removed(ranges) | Note::Erasure(ranges) => {
                    ranges.iter().map(|range| range.1).max().unwrap_or(0)
                }
                Note::Seal(seal) => seal.last,
                Note::Unknown => 0,
            },
            (named, _) => named,
        };
        if reach > sequence {
            break;
        }
        at += record.total();
    }
    at.min(bytes.len())
}

/// Where records lie that have one of these sequences and do not verify.
pub(crate) fn torn_records(
    bytes: &[u8],
    key: &BlockKey,
    sequences: &BTreeSet<u64>,
) -> Vec<Range<usize>> {
    let mut torn = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if let Some(record) = Record::verified(&bytes[at..], key) {
            at += record.total();
            continue;
        }
        let end = resume(bytes, at, key).0;
        // Several in a row: the length of each leads to the next.
        while let Some(record) = Record::decode(&bytes[at..end]) {
            if sequences.contains(&(record.sequence & SEQUENCE_MAX)) {
                torn.push(at..at + record.total());
            }
            at += record.total();
        }
        at = end;
    }
    torn
}

/// Where the next record begins, and what sequence the damaged one has if it is only one.
///
/// The length of the damaged record is believed if a record follows it, unless records between
/// lead exactly there; those in the payload of a message do not, its hash comes after them.
fn resume(bytes: &[u8], at: usize, key: &BlockKey) -> (usize, Option<u64>) {
    let intact = |start: usize| Record::verified(&bytes[start..], key);
    let first_intact = |mut range: Range<usize>| range.find(|at| intact(*at).is_some());
    if let Some(record) = Record::decode(&bytes[at..]) {
        let end = at + record.total();
        if end == bytes.len() || intact(end).is_some() {
            let inside = first_intact(at + 1..end).filter(|start| {
                let mut next = *start;
                while next < end {
                    let Some(record) = intact(next) else { break };
                    next += record.total();
                }
                next == end
            });
            return inside.map_or((end, Some(record.sequence)), |start| (start, None));
        }
    }
    (
        first_intact(at + 1..bytes.len()).unwrap_or(bytes.len()),
        None,
    )
}

/// The note or tombstone this was before one bit of it flipped.
fn repair(region: &[u8], key: &BlockKey) -> Option<Vec<u8>> {
    if region.len() > REPAIR_BYTES_MAX {
        return None;
    }
    let mut bytes = region.to_vec();
    for bit in 0..region.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let record = Record::verified(&bytes, key);
        if record.is_some_and(|r| r.total() == region.len() && r.sequence > SEQUENCE_MAX) {
            return Some(bytes);
        }
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    None
}
