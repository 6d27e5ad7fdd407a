//! Acknowledgements in bulk: what a publisher's socket brings, counted.
//!
//! Every publish was sent with its number at the end of its reply subject, so an answer says
//! which row it is about. One that names the stream and no error is counted, each number once,
//! in whatever order they come; everything else is handed out as it came, for Python to read.

use memchr::memmem;
use penstock_wire::{Sent, Span, sent};
use std::collections::VecDeque;

/// What a piece of input held.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Rows that are stored now, duplicates included.
    pub stored: u64,
    /// Of them, rows that the stream had already.
    pub duplicates: u64,
    /// Answers that are something else: the row, then headers and payload.
    pub others: Vec<(u64, Vec<u8>)>,
    /// How often the server asked whether we are there.
    pub pings: u64,
    /// What it complains about.
    pub errors: Vec<Vec<u8>>,
}

/// The answers of one connection.
pub struct Acks {
    input: Vec<u8>,
    reply: Vec<u8>,
    stream: Vec<u8>,
    sent: u64,
    /// All rows before this one were answered; `answered` goes on from here.
    first: u64,
    answered: VecDeque<bool>,
}

/// What can never be an answer to us.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed;

impl Acks {
    /// `reply` is what stands before the number; `stream` a stream's name as acknowledgements
    /// have it, quotes included, or nothing if all answers are for Python.
    #[must_use]
    pub fn new(reply: &[u8], stream: &[u8], first: u64) -> Acks {
        let mut name = Vec::new();
        if !stream.is_empty() {
            name.extend_from_slice(b"\"stream\":");
            name.extend_from_slice(stream);
        }
        Acks {
            input: Vec::new(),
            reply: reply.to_vec(),
            stream: name,
            sent: first,
            first,
            answered: VecDeque::new(),
        }
    }

    /// More rows are on their way.
    pub fn expect(&mut self, rows: u64) {
        self.sent += rows;
    }

    /// The first row without an answer.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// A row whose answer was something else counts as stored; false if it did already.
    pub fn settle(&mut self, row: u64) -> bool {
        row < self.sent && self.mark(row)
    }

    pub fn take(&mut self, data: &[u8]) -> Result<Taken, Malformed> {
        self.input.extend_from_slice(data);
        let input = std::mem::take(&mut self.input);
        let mut taken = Taken::default();
        let mut position = 0;
        loop {
            let rest = &input[position..];
            match sent(rest) {
                Sent::Message(found, taken_bytes) => {
                    let content = Span {
                        start: found.headers.start,
                        end: found.payload.end,
                    };
                    self.answer(found.subject.of(rest), content.of(rest), &mut taken)?;
                    position += taken_bytes;
                }
                Sent::Line(line_bytes) => {
                    line(&rest[..line_bytes], &mut taken)?;
                    position += line_bytes;
                }
                Sent::Incomplete => break,
                Sent::Fault => return Err(Malformed),
            }
        }
        self.input.extend_from_slice(&input[position..]);
        Ok(taken)
    }

    fn answer(
        &mut self,
        subject: &[u8],
        content: &[u8],
        taken: &mut Taken,
    ) -> Result<(), Malformed> {
        let number = subject.strip_prefix(self.reply.as_slice());
        let row = number.and_then(parse_row).ok_or(Malformed)?;
        if row >= self.sent {
            return Err(Malformed);
        }
        let is_plain = !self.stream.is_empty()
            && memmem::find(content, &self.stream).is_some()
            && memmem::find(content, b"\"error\"").is_none();
        if !is_plain {
            taken.others.push((row, content.to_vec()));
            return Ok(());
        }
        if self.mark(row) {
            taken.stored += 1;
            taken.duplicates += u64::from(memmem::find(content, b"\"duplicate\"").is_some());
        }
        Ok(())
    }

    /// True if this row had no answer yet.
    fn mark(&mut self, row: u64) -> bool {
        if row == self.first && self.answered.is_empty() {
            self.first += 1;
            return true;
        }
        let Some(ahead) = row.checked_sub(self.first) else {
            return false;
        };
        let ahead = usize::try_from(ahead).unwrap_or(usize::MAX);
        if ahead >= self.answered.len() {
            self.answered.resize(ahead + 1, false);
        }
        if std::mem::replace(&mut self.answered[ahead], true) {
            return false;
        }
        while self.answered.front() == Some(&true) {
            self.answered.pop_front();
            self.first += 1;
        }
        true
    }
}

/// What is no answer: the rest of what a server may say.
fn line(text: &[u8], taken: &mut Taken) -> Result<(), Malformed> {
    let text = text.trim_ascii_end();
    match text.split(|byte| *byte == b' ').next().unwrap_or_default() {
        b"PING" => taken.pings += 1,
        b"-ERR" => taken.errors.push(text[4..].trim_ascii().to_vec()),
        b"PONG" | b"+OK" | b"INFO" => {}
        _ => return Err(Malformed),
    }
    Ok(())
}

fn parse_row(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
