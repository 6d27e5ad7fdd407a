//! Rows out of block files, for a range of sequences of which it is known which are removed.
//!
//! Every sequence of the range that is not known to be removed must be found. The first one that is
//! not ends it: whoever asked has it from the server then, and everything behind it.

use crate::rows::{Kind, Row, Rows};
use penstock_blocks::{Filter, Sight, Sighted};

/// What one block gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// As many as fit; there may be more of it.
    Full,
    /// All that it has of the range; the next block goes on.
    More,
    /// The range is complete.
    Complete,
    /// The next message is not there.
    Missing,
}

/// A message of the block is not what was written.
struct Damaged;

pub struct BlockRows {
    stream: String,
    kind: Kind,
    filter: Filter,
    /// The next sequence, and the last.
    next: u64,
    last: u64,
    /// Sequences without messages, ascending.
    removed: Vec<(u64, u64)>,
    /// The block that is being read, and how many of its messages are.
    sighted: Option<(Sighted, usize)>,
    rows: Rows,
}

impl BlockRows {
    /// From `first` to `last`, both included.
    #[must_use]
    pub fn new(
        stream: &str,
        kind: Kind,
        patterns: &[Vec<u8>],
        range: (u64, u64),
        mut removed: Vec<(u64, u64)>,
    ) -> BlockRows {
        removed.sort_unstable();
        removed.reverse(); // the next one is at the end
        let mut rows = BlockRows {
            stream: stream.to_owned(),
            kind,
            filter: Filter::new(patterns),
            next: range.0,
            last: range.1,
            removed,
            sighted: None,
            rows: Rows::new(kind),
        };
        rows.pass_removed();
        rows
    }

    /// The first sequence that is still to be read.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    #[must_use]
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    pub fn take(&mut self) -> Rows {
        std::mem::replace(&mut self.rows, Rows::new(self.kind))
    }

    /// The next block, by its number. Blocks come in the order of their numbers.
    pub fn begin(&mut self, bytes: &[u8], number: u32) {
        let sighted = Sighted::new(bytes, &self.stream, number);
        self.know_removed(&sighted.removed);
        self.sighted = Some((sighted, 0));
    }

    /// Removed since the range was planned: what verifies so in a block was, whoever knows of it.
    fn know_removed(&mut self, ranges: &[(u64, u64)]) {
        let before = self.removed.len();
        let later = ranges.iter().filter(|range| range.1 >= self.next);
        self.removed.extend(later);
        if self.removed.len() > before {
            self.removed.sort_unstable();
            self.removed.reverse();
            self.pass_removed();
        }
    }

    /// More rows of the block that was begun, up to so many and so many bytes, or one.
    pub fn fill(&mut self, bytes: &[u8], rows_max: usize, bytes_max: usize) -> Taken {
        let Some((mut sighted, mut at)) = self.sighted.take() else {
            return Taken::More;
        };
        at = sighted.seek(bytes, at, self.next);
        if self.filter.is_everything() {
            let rows = rows_max.min(sighted.len() - at);
            self.rows.reserve(rows, bytes_max.min(bytes.len()));
        }
        let bounds = (rows_max, bytes_max);
        let taken = self.go_on(&sighted, &mut at, bytes, bounds);
        let taken = taken.unwrap_or_else(|Damaged| {
            sighted.scan(bytes);
            self.know_removed(&sighted.removed);
            at = sighted.seek(bytes, 0, self.next);
            let again = self.go_on(&sighted, &mut at, bytes, bounds);
            again.unwrap_or(Taken::Missing) // the bytes are not those that were scanned
        });
        if taken == Taken::Full {
            self.sighted = Some((sighted, at));
        }
        taken
    }

    fn go_on(
        &mut self,
        sighted: &Sighted,
        at: &mut usize,
        bytes: &[u8],
        (rows_max, bytes_max): (usize, usize),
    ) -> Result<Taken, Damaged> {
        while self.next <= self.last {
            let record = match sighted.message(bytes, *at) {
                Sight::Message(record) => record,
                Sight::Damaged => return Err(Damaged),
                Sight::End => return Ok(Taken::More),
            };
            if record.sequence > self.next {
                return Ok(Taken::Missing);
            }
            if self.rows.len() >= rows_max || self.rows.bytes() >= bytes_max {
                return Ok(Taken::Full);
            }
            *at += 1;
            if record.sequence < self.next {
                continue;
            }
            if self.filter.matches(record.subject) {
                self.rows.push(&Row {
                    sequence: record.sequence,
                    time_ns: record.timestamp_ns,
                    subject: record.subject,
                    headers: record.headers,
                    payload: record.message,
                });
            }
            self.next += 1;
            self.pass_removed();
        }
        Ok(Taken::Complete)
    }

    fn pass_removed(&mut self) {
        while let Some((first, last)) = self.removed.last().copied()
            && first <= self.next
        {
            self.next = self.next.max(last.saturating_add(1));
            self.removed.pop();
        }
    }
}
