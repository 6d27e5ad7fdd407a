//! Copies: messages on their way from one store into another, as bytes.
//!
//! Strategy: a walk over the origin writes what it shows into one buffer, which then is the content
//! of a log entry and what the other store appends. A mirror's copies keep sequence and time; those
//! of a source get new ones, and a header line that says where they come from. Header lines that
//! mean nothing elsewhere are dropped on the way. The walk stops before a message that the caller
//! has to look at: one with a special header, one that is too large, or, where subjects are
//! renamed, one whose new subject is not known yet. A run of increments becomes such a buffer too,
//! on its way into its own store (`counting`).
//!
//! Messages may also be staged one by one, and go into their store together when they have got their
//! sequences: an atomic batch.
//!
//! Layout, little endian: the last sequence of the store before, u64; then for each message
//! sequence u64, time i64, the lengths of subject u16, headers u32 and message u32, and the three.

use crate::error::Result;
use crate::pattern::Filter;
use crate::record::Content;
use crate::store::{Message, Store};
use crate::walking::{Visit, WalkEnd};
use ahash::AHashMap;
use memchr::memmem::{self, Finder};

const BEFORE_BYTES: usize = 8;
const HEAD_BYTES: usize = 26;
const STATUS_LINE: &[u8] = b"NATS/1.0\r\n";
const LINE_END: &[u8] = b"\r\n";

/// Why a walk ended. The numbers are shared with Python (`kernel/storage.py`).
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyStop {
    /// There is nothing more.
    Over = 1,
    /// There is as much as was asked for.
    Full = 2,
    /// The next message is for the caller to look at.
    Special = 3,
    /// Much was looked at, and there may be more.
    Busy = 4,
}

/// New sequences and one time, and the parts of the header line around sequence and subject.
#[derive(Clone, Copy, Debug)]
pub struct Sourced<'a> {
    pub first: u64,
    pub time_ns: i64,
    pub head: &'a [u8],
    pub middle: &'a [u8],
    pub end: &'a [u8],
}

/// What is copied, and how.
pub struct CopyTerms<'a> {
    pub filter: &'a Filter,
    pub from: u64,
    /// No message beyond this one.
    pub up_to: u64,
    pub messages_max: usize,
    /// Copying ends behind the message that brings the bytes above this.
    pub bytes_max: usize,
    /// Of headers, and of headers and message; larger ones are special.
    pub header_bytes_max: usize,
    pub message_bytes_max: usize,
    /// Beginnings of header lines that are left out, and names of headers that are special.
    pub dropped: &'a [Vec<u8>],
    pub special: &'a [Vec<u8>],
    pub sourced: Option<Sourced<'a>>,
    /// Subjects get other names: those that were told with `rename`.
    pub renames: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Copies {
    names: AHashMap<Vec<u8>, Vec<u8>>,
    bytes: Vec<u8>,
    count: usize,
    /// Sequence and time of the last one, and where its headers are.
    last: (u64, i64),
    last_headers: (usize, usize),
    scratch: Vec<u8>,
    /// Where the message begins that was staged last.
    staged_last: usize,
}

impl Copies {
    /// Begins anew with the messages of a walk; answers with why it ended and where to go on. An
    /// error is told only if there are none.
    pub fn take(&mut self, origin: &mut Store, terms: &CopyTerms<'_>) -> Result<(CopyStop, u64)> {
        self.clear();
        let wanted = terms.messages_max as u64;
        let (dropped, special) = (finders(terms.dropped), finders(terms.special));
        let names = std::mem::take(&mut self.names);
        let mut stop = CopyStop::Over;
        let walked = origin.walk(terms.filter, terms.from, wanted, |message| {
            if message.sequence > terms.up_to {
                return Visit::Refuse;
            }
            let subject = match terms.renames {
                true => names.get(message.subject).map(Vec::as_slice),
                false => Some(message.subject),
            };
            let is_known = |subject| self.take_one(message, subject, terms, &dropped, &special);
            if !subject.is_some_and(is_known) {
                stop = CopyStop::Special;
                return Visit::Refuse;
            }
            if self.count >= terms.messages_max || self.bytes.len() > terms.bytes_max {
                stop = CopyStop::Full;
                return Visit::TakeLast;
            }
            Visit::Take
        });
        self.names = names;
        match walked.end {
            WalkEnd::Stopped => Ok((stop, walked.next)),
            WalkEnd::Over => Ok((CopyStop::Over, walked.next)),
            WalkEnd::Paused => Ok((CopyStop::Busy, walked.next)),
            WalkEnd::Failed(error) if self.count == 0 => Err(error),
            WalkEnd::Failed(_) => Ok((CopyStop::Busy, walked.next)),
        }
    }

    /// Adds a message; false if the caller has to look at it.
    fn take_one(
        &mut self,
        message: &Message<'_>,
        subject: &[u8],
        terms: &CopyTerms<'_>,
        dropped: &[Finder<'_>],
        special: &[Finder<'_>],
    ) -> bool {
        let is_special = |name: &Finder<'_>| name.find(message.headers).is_some();
        if !message.headers.is_empty() && special.iter().any(is_special) {
            return false;
        }
        let mut headers = message.headers;
        let mut scratch = std::mem::take(&mut self.scratch);
        if !headers.is_empty() && drop_lines(headers, dropped, &mut scratch) {
            headers = &scratch;
        }
        let (mut sequence, mut time_ns) = (message.sequence, message.timestamp_ns);
        let line;
        if let Some(sourced) = terms.sourced {
            line = sourced_line(headers, message, &sourced);
            headers = &line;
            (sequence, time_ns) = (sourced.first + self.count as u64, sourced.time_ns);
        }
        let fits = headers.len() <= terms.header_bytes_max
            && headers.len() + message.message.len() <= terms.message_bytes_max;
        if fits {
            self.push(&Content {
                sequence,
                timestamp_ns: time_ns,
                subject,
                headers,
                message: message.message,
            });
        }
        scratch.clear();
        self.scratch = scratch;
        fits
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.extend_from_slice(&[0; BEFORE_BYTES]);
        self.count = 0;
    }

    pub(crate) fn push(&mut self, content: &Content<'_>) {
        let out = &mut self.bytes;
        out.extend_from_slice(&content.sequence.to_le_bytes());
        out.extend_from_slice(&content.timestamp_ns.to_le_bytes());
        out.extend_from_slice(&(content.subject.len() as u16).to_le_bytes());
        out.extend_from_slice(&(content.headers.len() as u32).to_le_bytes());
        out.extend_from_slice(&(content.message.len() as u32).to_le_bytes());
        out.extend_from_slice(content.subject);
        self.last_headers = (out.len(), out.len() + content.headers.len());
        out.extend_from_slice(content.headers);
        out.extend_from_slice(content.message);
        self.count += 1;
        self.last = (content.sequence, content.timestamp_ns);
    }

    /// A subject and what it is called in the other store; answers with how many are known.
    pub fn rename(&mut self, subject: &[u8], name: &[u8]) -> usize {
        self.names.insert(subject.to_vec(), name.to_vec());
        self.names.len()
    }

    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Sequence, time and headers of the last message.
    #[must_use]
    pub fn last(&self) -> Option<(u64, i64, &[u8])> {
        let (start, end) = self.last_headers;
        (self.count > 0).then(|| (self.last.0, self.last.1, &self.bytes[start..end]))
    }

    /// Whether one of them has this subject.
    #[must_use]
    pub fn has_subject(&self, subject: &[u8]) -> bool {
        self.messages().any(|content| content.subject == subject)
    }

    pub fn messages(&self) -> impl Iterator<Item = Content<'_>> {
        messages(self.bytes.get(BEFORE_BYTES..).unwrap_or(&[]))
    }

    /// For a log: with the last sequence of the store that they go into.
    pub fn bytes(&mut self, before: u64) -> &[u8] {
        if self.bytes.is_empty() {
            self.bytes.extend_from_slice(&[0; BEFORE_BYTES]);
        }
        self.bytes[..BEFORE_BYTES].copy_from_slice(&before.to_le_bytes());
        &self.bytes
    }

    /// Adds a message that waits for its sequence and time: `number` gives them to all.
    pub fn stage(&mut self, subject: &[u8], headers: &[u8], message: &[u8]) {
        if self.count == 0 {
            self.clear();
        }
        self.staged_last = self.bytes.len();
        self.push(&Content {
            sequence: 0,
            timestamp_ns: 0,
            subject,
            headers,
            message,
        });
    }

    /// Takes away the message that was staged last, if that was not done already.
    pub fn unstage(&mut self) -> Option<(Vec<u8>, Vec<u8>, Vec<u8>)> {
        let (content, _) = split_message(self.bytes.get(self.staged_last..)?)?;
        let taken = (
            content.subject.to_vec(),
            content.headers.to_vec(),
            content.message.to_vec(),
        );
        self.bytes.truncate(self.staged_last);
        self.count -= 1;
        Some(taken)
    }

    /// Gives the messages sequences from `first` on, and one time.
    pub fn number(&mut self, first: u64, time_ns: i64) {
        let (mut at, mut sequence) = (BEFORE_BYTES, first);
        while let Some((content, _)) = self.bytes.get(at..).and_then(split_message) {
            let parts = content.subject.len() + content.headers.len() + content.message.len();
            self.bytes[at..at + 8].copy_from_slice(&sequence.to_le_bytes());
            self.bytes[at + 8..at + 16].copy_from_slice(&time_ns.to_le_bytes());
            self.last = (sequence, time_ns);
            sequence += 1;
            at += HEAD_BYTES + parts;
        }
    }
}

impl Store {
    /// Appends copies, whose sequences must go up from the last one on. On an error those before
    /// the one it is about are in.
    pub fn append_copies(&mut self, copies: &Copies) -> Result<()> {
        for content in copies.messages() {
            self.append(&content)?;
        }
        Ok(())
    }

    /// Appends copies as a log has kept them, apart from what is there already. Answers with the
    /// sequences that are missing before them, if any: gaps between copies are none.
    pub fn replay_copies(&mut self, bytes: &[u8]) -> Result<Option<(u64, u64)>> {
        let Some((before, rest)) = bytes.split_first_chunk::<BEFORE_BYTES>() else {
            return Ok(None);
        };
        let (before, next) = (u64::from_le_bytes(*before), self.last_sequence() + 1);
        for content in messages(rest) {
            if content.sequence >= next {
                self.append(&content)?;
            }
        }
        Ok((before >= next).then_some((next, before)))
    }
}

fn finders(texts: &[Vec<u8>]) -> Vec<Finder<'_>> {
    texts.iter().map(Finder::new).collect()
}

fn messages(mut rest: &[u8]) -> impl Iterator<Item = Content<'_>> {
    std::iter::from_fn(move || {
        let (content, after) = split_message(rest)?;
        rest = after;
        Some(content)
    })
}

fn split_message(bytes: &[u8]) -> Option<(Content<'_>, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
    let subject = usize::from(u16::from_le_bytes([head[16], head[17]]));
    let headers = u32::from_le_bytes([head[18], head[19], head[20], head[21]]) as usize;
    let message = u32::from_le_bytes([head[22], head[23], head[24], head[25]]) as usize;
    let (subject, rest) = rest.split_at_checked(subject)?;
    let (headers, rest) = rest.split_at_checked(headers)?;
    let (message, rest) = rest.split_at_checked(message)?;
    let content = Content {
        sequence: crate::record::word(head, 0),
        timestamp_ns: crate::record::word(head, 8).cast_signed(),
        subject,
        headers,
        message,
    };
    Some((content, rest))
}

/// Writes headers without the lines that begin so into `out`; false if there are none of them.
fn drop_lines(headers: &[u8], dropped: &[Finder<'_>], out: &mut Vec<u8>) -> bool {
    let mut is_changed = false;
    for beginning in dropped {
        let mut at = 0;
        loop {
            let text: &[u8] = if is_changed { out } else { headers };
            let Some(found) = beginning.find(&text[at..]) else {
                break;
            };
            let start = at + found;
            let behind = start + beginning.needle().len();
            let is_line = start > 0 && text[start - 1] == b'\n';
            let Some(length) = memmem::find(&text[behind..], LINE_END).filter(|_| is_line) else {
                at = behind;
                continue;
            };
            let end = behind + length + LINE_END.len();
            if !is_changed {
                out.clear();
                out.extend_from_slice(headers);
                is_changed = true;
            }
            out.drain(start..end);
            at = start;
        }
    }
    if is_changed && out.len() <= STATUS_LINE.len() + LINE_END.len() {
        out.clear();
    }
    is_changed
}

/// The headers with one more line.
fn sourced_line(headers: &[u8], message: &Message<'_>, sourced: &Sourced<'_>) -> Vec<u8> {
    let kept = match headers {
        [] => STATUS_LINE,
        _ => headers.strip_suffix(LINE_END).unwrap_or(headers),
    };
    let ends_a_line = kept.ends_with(LINE_END);
    let number = message.sequence.to_string();
    let parts = [
        kept,
        if ends_a_line { b"" } else { LINE_END },
        sourced.head,
        number.as_bytes(),
        sourced.middle,
        message.subject,
        sourced.end,
        b"\r\n\r\n",
    ];
    parts.concat()
}
