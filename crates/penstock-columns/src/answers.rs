//! The answers to direct gets, out of the bytes of a connection.
//!
//! Strategy: it stands between the socket and the client library. Messages to its inboxes
//! are taken out and become rows; everything else is handed on as it came, pings and errors too. Bytes
//! that are no frame yet wait here.

use crate::described::{Described, described};
use crate::rows::{Kind, Row, Rows};
use penstock_blocks::Filter;
use penstock_wire::{Sent, sent};

/// How far a request has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The status that ended it; 0 while it goes on.
    pub code: u32,
    pub words: Vec<u8>,
    pub pending: u64,
    /// Of the last message that came, wanted or not.
    pub last: u64,
    /// Of the first.
    pub first: u64,
}

#[derive(Debug)]
pub struct Answers {
    /// What its inboxes begin with, and the one of the request that is under way.
    prefix: Vec<u8>,
    inbox: Vec<u8>,
    kind: Kind,
    rows: Rows,
    waiting: Vec<u8>,
    up_to: u64,
    excluded: Option<Filter>,
    outcome: Outcome,
}

/// What came is not the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl Answers {
    #[must_use]
    pub fn new(prefix: &[u8], kind: Kind) -> Answers {
        Answers {
            prefix: prefix.to_vec(),
            inbox: Vec::new(),
            kind,
            rows: Rows::new(kind),
            waiting: Vec::new(),
            up_to: u64::MAX,
            excluded: None,
            outcome: Outcome::default(),
        }
    }

    /// Before a request: rows are wanted up to a sequence, and none of these subjects. What comes
    /// to the inbox of an earlier one is late, and dropped.
    pub fn begin(&mut self, inbox: &[u8], up_to: u64, excluded: &[Vec<u8>]) {
        self.inbox = inbox.to_vec();
        self.up_to = up_to;
        self.excluded = (!excluded.is_empty()).then(|| Filter::new(excluded));
        self.outcome = Outcome::default();
    }

    /// The connection is another one: what was not complete never will be.
    pub fn reset(&mut self) {
        self.waiting.clear();
    }

    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    #[must_use]
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    pub fn take(&mut self) -> Rows {
        std::mem::replace(&mut self.rows, Rows::new(self.kind))
    }

    /// Takes what is for it out of these bytes; the rest goes to `others`.
    pub fn feed(&mut self, bytes: &[u8], others: &mut Vec<u8>) -> Result<(), Malformed> {
        if self.waiting.is_empty() {
            let taken = self.walk(bytes, others)?;
            self.waiting.extend_from_slice(&bytes[taken..]);
            return Ok(());
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.extend_from_slice(bytes);
        let taken = self.walk(&waiting, others)?;
        waiting.drain(..taken);
        self.waiting = waiting;
        Ok(())
    }

    fn walk(&mut self, bytes: &[u8], others: &mut Vec<u8>) -> Result<usize, Malformed> {
        let mut at = 0;
        loop {
            let front = &bytes[at..];
            at += match sent(front) {
                Sent::Incomplete => return Ok(at),
                Sent::Fault => return Err(Malformed),
                Sent::Message(message, taken)
                    if message.subject.of(front).starts_with(&self.prefix) =>
                {
                    if message.subject.of(front) == self.inbox {
                        self.answer(message.headers.of(front), message.payload.of(front))?;
                    }
                    taken
                }
                Sent::Message(_, taken) | Sent::Line(taken) => {
                    others.extend_from_slice(&front[..taken]);
                    taken
                }
            };
        }
    }

    fn answer(&mut self, headers: &[u8], payload: &[u8]) -> Result<(), Malformed> {
        match described(headers, payload).ok_or(Malformed)? {
            Described::Message(row) => self.message(&row),
            Described::Status(code, words, pending) => {
                self.outcome.code = code;
                self.outcome.words = words.to_vec();
                self.outcome.pending = pending;
            }
        }
        Ok(())
    }

    fn message(&mut self, row: &Row<'_>) {
        let outcome = &mut self.outcome;
        outcome.last = row.sequence;
        if outcome.first == 0 {
            outcome.first = row.sequence;
        }
        let is_excluded = |filter: &Filter| filter.matches(row.subject);
        if row.sequence <= self.up_to && !self.excluded.as_ref().is_some_and(is_excluded) {
            self.rows.push(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind {
        columns: 0xff,
        counters: false,
    };

    fn message(inbox: &str, subject: &str, sequence: u64) -> Vec<u8> {
        let headers = format!(
            "NATS/1.0\r\nNats-Stream: S\r\nNats-Subject: {subject}\r\nNats-Sequence: {sequence}\r\n\
             Nats-Time-Stamp: 1970-01-01T00:00:01Z\r\n\r\n"
        );
        let size = headers.len();
        format!("HMSG {inbox} 1 {size} {}\r\n{headers}hi\r\n", size + 2).into_bytes()
    }

    fn end() -> Vec<u8> {
        let headers = "NATS/1.0 204 EOB\r\nNats-Num-Pending: 3\r\nNats-Last-Sequence: 9\r\n\r\n";
        let size = headers.len();
        format!("HMSG I.2 1 {size} {size}\r\n{headers}\r\n").into_bytes()
    }

    #[test]
    fn the_same_however_the_bytes_are_cut() {
        let bytes = [
            message("I.2", "a", 1),
            b"PING\r\n".to_vec(),
            message("J", "b", 2),
            message("I.2", "b", 4),
            message("I.1", "a", 3),
            message("I.2", "a", 9),
            end(),
        ]
        .concat();
        let strangers = [b"PING\r\n".to_vec(), message("J", "b", 2)].concat();
        for size in [1, 2, 7, 50, 211, bytes.len()] {
            let (mut answers, mut others) = (Answers::new(b"I.", KIND), Vec::new());
            answers.begin(b"I.2", 8, &[b"b".to_vec()]);
            for piece in bytes.chunks(size) {
                assert_eq!(answers.feed(piece, &mut others), Ok(()));
            }
            assert_eq!(others, strangers);
            assert_eq!(answers.take().len(), 1);
            let outcome = answers.outcome();
            assert_eq!((outcome.code, outcome.pending), (204, 3));
            assert_eq!((outcome.first, outcome.last), (1, 9));
        }
    }

    #[test]
    fn what_is_not_the_protocol_is_refused() {
        let mut answers = Answers::new(b"I.", KIND);
        let fed = answers.feed(b"MSG a b c d e f\r\n", &mut Vec::new());
        assert_eq!(fed, Err(Malformed));
        answers.reset();
        answers.begin(b"I.2", 8, &[]);
        let fed = answers.feed(b"MSG I.2 5 2\r\nhi\r\n", &mut Vec::new());
        assert_eq!(fed, Err(Malformed));
    }
}
