//! Counters: a run of increments, each added to what the last message of its subject has come to.
//!
//! Strategy: the sums stand in the stored messages themselves, and the last one of a subject is
//! found at once, so nothing is kept beside them. Only numbers that fit into 128 bits are added
//! here: a run ends before a message with a larger one, or with anything that is no number, and
//! before one whose subject's last message has more to say than its sum. Whoever called sees to
//! that message. Where an increment stands, and what a sum is wrapped in, is the caller's business.

use crate::copies::Copies;
use crate::error::Result;
use crate::limits::Limits;
use crate::record::Content;
use crate::store::Store;
use memchr::memmem::Finder;
use std::io::Write;

/// What counted messages look like, and how far to go.
pub struct CountTerms<'a> {
    pub first: u64,
    pub time_ns: i64,
    /// What a message has before its sum, and behind it.
    pub head: &'a [u8],
    pub tail: &'a [u8],
    /// A header that says more than the sum.
    pub special: &'a [u8],
    /// Of headers and message together.
    pub message_bytes_max: usize,
    /// What has to go for them goes at once, as it may be the last message of a subject. With a
    /// limit for each subject, which waits for the caller, the run ends there.
    pub limits: Limits,
}

impl Store {
    /// Appends what increments come to, and has it in `counted` too. Each item is subject, headers
    /// and message, which must be empty, and the increment. Answers with how many of the oldest
    /// gave way. On an error the messages before the one it is about are in.
    pub fn append_counted<'a>(
        &mut self,
        run: impl Iterator<Item = ((&'a [u8], &'a [u8], &'a [u8]), &'a [u8])>,
        terms: &CountTerms<'_>,
        counted: &mut Copies,
    ) -> Result<u64> {
        let mut evicted = 0;
        let special = Finder::new(terms.special);
        let mut body = Vec::new();
        counted.clear();
        for (sequence, ((subject, headers, message), increment)) in (terms.first..).zip(run) {
            let Some(sum) = self.sum(subject, increment, terms, &special) else {
                break;
            };
            body.clear();
            body.extend_from_slice(terms.head);
            let _ = write!(body, "{sum}"); // into memory
            body.extend_from_slice(terms.tail);
            if !message.is_empty() || headers.len() + body.len() > terms.message_bytes_max {
                break;
            }
            let content = Content {
                sequence,
                timestamp_ns: terms.time_ns,
                subject,
                headers,
                message: &body,
            };
            self.append(&content)?;
            counted.push(&content);
            if !terms.limits.holds(self.messages, self.bytes) {
                if terms.limits.messages_per_subject > 0 {
                    break;
                }
                let before = self.messages;
                self.evict(&terms.limits)?;
                evicted += before - self.messages;
            }
        }
        Ok(evicted)
    }

    /// What a subject comes to; none if it takes more than adding two numbers to say.
    fn sum(
        &mut self,
        subject: &[u8],
        increment: &[u8],
        terms: &CountTerms<'_>,
        special: &Finder<'_>,
    ) -> Option<i128> {
        let increment = number(increment).filter(|_| matches!(increment[0], b'+' | b'-'))?;
        let value = match self.last_of_subject(subject).ok()? {
            None => 0,
            Some(last) => {
                let last = self.load(last).ok()??;
                if special.find(last.headers).is_some() {
                    return None;
                }
                let text = last.message.strip_prefix(terms.head)?;
                number(text.strip_suffix(terms.tail)?)?
            }
        };
        value.checked_add(increment)
    }
}

/// Digits and perhaps a sign.
fn number(text: &[u8]) -> Option<i128> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
