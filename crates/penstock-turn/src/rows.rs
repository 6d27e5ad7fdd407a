//! Rows: subjects that come once each, one after another, and differ only where nobody looks.
//!
//! Strategy: acknowledgements of deliveries, numbered replies and the like share a prefix, and
//! whoever listens does so with wildcards behind it. When a subject shares a prefix with one that
//! came shortly before, the routes are asked whether it matters what follows
//! (`Router::find_below`). If not, the answer is good for every subject with that prefix and as
//! many tokens, and costs a comparison. A few rows may be under way at the same time; a sender with
//! whom it does not work soon is no longer tried.

use penstock_subjects::{Matches, Router};
use std::sync::Arc;

const ROWS_MAX: usize = 8; // open at a time
const RECENT_MAX: usize = 4; // subjects that a new one is compared with
const FAILURES_MAX: usize = 32; // of one sender in a row; then nothing is tried
const REFUSALS_MAX: usize = 16; // prefixes below which it matters what follows

/// Rows of one stretch of the vector, during which routes do not change.
#[derive(Default)]
pub(crate) struct Rows<'a> {
    open: Vec<Row<'a>>,
    /// Account, prefix and tokens behind it.
    refused: Vec<(u32, &'a [u8], usize)>,
    recent: Vec<(u32, &'a [u8])>,
    sender: u32,
    failures: usize,
}

struct Row<'a> {
    account: u32,
    /// With its last dot.
    prefix: &'a [u8],
    tokens: usize,
    number: u32,
}

impl<'a> Rows<'a> {
    /// The number of the answer for a subject, if it belongs to an open row.
    #[inline]
    pub fn find(&mut self, account: u32, subject: &[u8]) -> Option<u32> {
        let holds = |row: &Row<'_>| {
            row.account == account
                && subject
                    .strip_prefix(row.prefix)
                    .is_some_and(|rest| tokens_of(rest) == Some(row.tokens))
        };
        let row = self.open.iter().find(|row| holds(row))?;
        self.failures = 0;
        Some(row.number)
    }

    /// Begins a row with a subject and one of those before it, if it does not matter where they
    /// differ; answers with who listens to all of it.
    pub fn begin(
        &mut self,
        router: &Router,
        account: u32,
        sender: u32,
        subject: &'a [u8],
        number: u32,
    ) -> Option<Arc<Matches>> {
        if self.sender != sender {
            (self.sender, self.failures) = (sender, 0);
        }
        if self.failures == FAILURES_MAX {
            return None;
        }
        self.failures += 1;
        let dot = self.shared_prefix(account, subject);
        if self.recent.len() == RECENT_MAX {
            self.recent.remove(0);
        }
        self.recent.push((account, subject));
        let dot = dot?;
        let (prefix, rest) = (&subject[..dot], &subject[dot + 1..]);
        let tokens = tokens_of(rest)?;
        if self.refused.contains(&(account, prefix, tokens)) {
            return None;
        }
        let Some(matches) = router.find_below(prefix, tokens) else {
            if self.refused.len() < REFUSALS_MAX {
                self.refused.push((account, prefix, tokens));
            }
            return None;
        };
        if self.open.len() == ROWS_MAX {
            self.open.remove(0);
        }
        self.open.push(Row {
            account,
            prefix: &subject[..=dot],
            tokens,
            number,
        });
        Some(Arc::new(matches))
    }

    /// Where the longest prefix ends that a subject shares with a recent one.
    fn shared_prefix(&self, account: u32, subject: &[u8]) -> Option<usize> {
        let recent = self.recent.iter().filter(|(other, _)| *other == account);
        let shared = recent.filter_map(|(_, other)| {
            let same = other.iter().zip(subject).take_while(|(a, b)| a == b);
            let same = &subject[..same.count()];
            same.iter().rposition(|byte| *byte == b'.')
        });
        shared.max().filter(|dot| *dot > 0)
    }
}

/// How many tokens there are; none if one is empty.
#[inline]
fn tokens_of(text: &[u8]) -> Option<usize> {
    let (mut tokens, mut previous) = (1, b'.');
    for byte in text {
        if *byte == b'.' {
            if previous == b'.' {
                return None;
            }
            tokens += 1;
        }
        previous = *byte;
    }
    (previous != b'.').then_some(tokens)
}
