//! One publish with a reply subject of its own, as a template in which only digits change.
//!
//! All numbers have a fixed width, so that one template serves every stream, subject, reply,
//! message id and increment: a frame is a copy of it and a few digits written over. The digits of a
//! subject may be two tokens, for wildcards that take one of them.

use std::ops::Range;

use crate::Outcome;
use crate::blocks::{STAMP_BYTES, stamp};

pub const NUMBER_DIGITS: usize = 10;
const SUBJECT_DIGITS: usize = 7;
const SUBJECT_DIGITS_LAST: usize = 3; // of the second token, if there are two
const STREAM_DIGITS: usize = 1;
const INCREMENT_DIGITS: usize = 3;
const SUBJECT_STRIDE: u64 = 7919; // a prime, so that neighbours are not neighbours in an index

/// The header that every publish has.
#[derive(Clone, Copy, PartialEq)]
pub enum Header {
    None,
    MessageId,
    /// Of a counter; there is no payload then.
    Increment,
    /// The sequence that the last message of the subject has: what comes in one by one is known.
    Revision,
}

/// What all publishes of a run have in common.
pub struct Shape {
    pub subject: String,
    pub streams: u64,
    pub subjects: u64,
    /// One token for the number of the subject, or two.
    pub tokens: usize,
    pub size: usize,
    pub header: Header,
}

pub struct PublishFrame {
    bytes: Vec<u8>,
    connection: usize,
    streams: u64,
    subjects: u64,
    stream_at: Range<usize>,
    subject_at: Range<usize>,
    reply_at: Range<usize>,
    header: Header,
    header_at: Range<usize>,
    payload_at: usize,
}

pub fn stream_subject(shape: &Shape, stream: usize) -> String {
    let (root, tokens) = (&shape.subject, ".*".repeat(shape.tokens));
    format!("{root}.{stream}{tokens}")
}

/// The number of the subject that a stream's publish `turn` has.
pub fn subject_of(turn: u64, subjects: u64) -> u64 {
    (turn * SUBJECT_STRIDE) % subjects
}

/// What publish `number` adds to its counter: as many digits for each, and none of them in vain.
pub fn increment_of(number: u64) -> u64 {
    let least = 10_u64.pow(INCREMENT_DIGITS as u32 - 1);
    least + number % (9 * least)
}

/// The sequence of the message before publish `number` on the same subject, if a stream has nothing
/// else: all subjects have a turn before one has the next.
fn revision_of(number: u64, subjects: u64) -> u64 {
    (number + 1).saturating_sub(subjects)
}

/// That subject of the first stream.
pub fn subject_text(root: &str, tokens: usize, subject: u64) -> String {
    let mut digits = subject_digits(tokens).into_bytes();
    write_digits(&mut digits, subject);
    format!("{root}.0.{}", String::from_utf8_lossy(&digits))
}

fn subject_digits(tokens: usize) -> String {
    let mut digits = "0".repeat(SUBJECT_DIGITS);
    if tokens > 1 {
        digits.insert(SUBJECT_DIGITS - SUBJECT_DIGITS_LAST, '.');
    }
    digits
}

fn write_digits(slot: &mut [u8], mut number: u64) {
    for digit in slot.iter_mut().rev().filter(|byte| **byte != b'.') {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

fn add(bytes: &mut Vec<u8>, text: &str) -> Range<usize> {
    let start = bytes.len();
    bytes.extend_from_slice(text.as_bytes());
    start..bytes.len()
}

/// The sizes and the header lines, and where the digits of the header are.
fn add_header(bytes: &mut Vec<u8>, header: Header, size: usize, connection: usize) -> Range<usize> {
    let (line, digits) = match header {
        Header::None => return add(bytes, &format!(" {size}\r\n")),
        Header::MessageId => (format!("Nats-Msg-Id: {connection:05}-"), NUMBER_DIGITS),
        Header::Increment => ("Nats-Incr: +".to_owned(), INCREMENT_DIGITS),
        Header::Revision => {
            let name = "Nats-Expected-Last-Subject-Sequence";
            (format!("{name}: "), NUMBER_DIGITS)
        }
    };
    let line = format!("NATS/1.0\r\n{line}");
    let headers = line.len() + digits + 4;
    add(bytes, &format!(" {headers} {}\r\n{line}", headers + size));
    let at = add(bytes, &"0".repeat(digits));
    add(bytes, "\r\n\r\n");
    at
}

impl PublishFrame {
    pub fn new(shape: &Shape, inbox: &str, connection: usize) -> Outcome<Self> {
        let size = match shape.header {
            Header::Increment => 0,
            _ => shape.size,
        };
        if shape.size < STAMP_BYTES {
            return Err(format!("--size must be at least {STAMP_BYTES}").into());
        }
        let within = |count, digits| count > 0 && count <= 10_u64.pow(digits as u32);
        if !within(shape.streams, STREAM_DIGITS) || !within(shape.subjects, SUBJECT_DIGITS) {
            return Err("--streams is 1 to 10, --subjects 1 to 10 million".into());
        }
        if shape.header == Header::Revision && shape.subjects.is_multiple_of(SUBJECT_STRIDE) {
            return Err("with --revisions, every subject must have its turn".into());
        }
        if !within(shape.tokens as u64, 1) || shape.tokens > 2 {
            return Err("--tokens is 1 or 2".into());
        }
        let mut bytes = Vec::new();
        let verb = match shape.header {
            Header::None => "PUB",
            _ => "HPUB",
        };
        add(&mut bytes, &format!("{verb} {}.", shape.subject));
        let stream_at = add(&mut bytes, &"0".repeat(STREAM_DIGITS));
        add(&mut bytes, ".");
        let subject_at = add(&mut bytes, &subject_digits(shape.tokens));
        add(&mut bytes, &format!(" {inbox}."));
        let reply_at = add(&mut bytes, &"0".repeat(NUMBER_DIGITS));
        let header_at = add_header(&mut bytes, shape.header, size, connection);
        let payload_at = bytes.len();
        add(&mut bytes, &"x".repeat(size));
        add(&mut bytes, "\r\n");
        Ok(Self {
            bytes,
            connection,
            streams: shape.streams,
            subjects: shape.subjects,
            stream_at,
            subject_at,
            reply_at,
            header: shape.header,
            header_at,
            payload_at,
        })
    }

    /// Streams take turns, and so do the subjects of each.
    pub fn stream_of(&self, number: u64) -> usize {
        (number % self.streams) as usize
    }

    pub fn add_to(&mut self, outbox: &mut Vec<u8>, number: u64) {
        let subject = subject_of(number / self.streams, self.subjects);
        self.add_with_subject(outbox, number, subject);
    }

    pub fn add_with_subject(&mut self, outbox: &mut Vec<u8>, number: u64, subject: u64) {
        write_digits(
            &mut self.bytes[self.stream_at.clone()],
            number % self.streams,
        );
        if self.subjects > 1 {
            write_digits(&mut self.bytes[self.subject_at.clone()], subject);
        }
        write_digits(&mut self.bytes[self.reply_at.clone()], number);
        let header = &mut self.bytes[self.header_at.clone()];
        match self.header {
            Header::None => {}
            Header::MessageId => write_digits(header, number),
            Header::Increment => write_digits(header, increment_of(number)),
            Header::Revision => write_digits(header, revision_of(number, self.subjects)),
        }
        if self.header != Header::Increment {
            self.bytes[self.payload_at..self.payload_at + STAMP_BYTES]
                .copy_from_slice(&stamp(self.connection, number));
        }
        outbox.extend_from_slice(&self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::{Header, PublishFrame, Shape, subject_of, subject_text};

    fn frame(number: u64, header: Header) -> String {
        frame_of(number, header, 1)
    }

    fn frame_of(number: u64, header: Header, tokens: usize) -> String {
        let shape = Shape {
            subject: "b".to_owned(),
            streams: 2,
            subjects: 10,
            tokens,
            size: 9,
            header,
        };
        let mut frame = PublishFrame::new(&shape, "_INBOX.i", 3).expect("a good shape");
        let mut outbox = Vec::new();
        frame.add_to(&mut outbox, number);
        let payload = if header == Header::Increment { 0 } else { 9 };
        String::from_utf8(outbox[..outbox.len() - payload - 2].to_vec()).expect("text")
    }

    #[test]
    fn only_digits_change() {
        assert_eq!(
            frame(0, Header::None),
            "PUB b.0.0000000 _INBOX.i.0000000000 9\r\n"
        );
        assert_eq!(
            frame(13, Header::None),
            "PUB b.1.0000004 _INBOX.i.0000000013 9\r\n"
        );
        let headers = "NATS/1.0\r\nNats-Msg-Id: 00003-0000000013\r\n\r\n";
        let line = format!("HPUB b.1.0000004 _INBOX.i.0000000013 {} {}\r\n", 43, 52);
        assert_eq!(frame(13, Header::MessageId), line + headers);
        assert_eq!(headers.len(), 43);
        let two = "PUB b.1.0000.004 _INBOX.i.0000000013 9\r\n";
        assert_eq!(frame_of(13, Header::None, 2), two);
    }

    #[test]
    fn an_increment_has_no_payload() {
        let headers = "NATS/1.0\r\nNats-Incr: +113\r\n\r\n";
        let line = "HPUB b.1.0000004 _INBOX.i.0000000013 29 29\r\n";
        assert_eq!(frame(13, Header::Increment), format!("{line}{headers}"));
        assert_eq!(headers.len(), 29);
    }

    #[test]
    fn a_revision_is_the_sequence_of_the_message_before() {
        for (number, revision) in [(0, 0), (9, 0), (10, 1), (27, 18)] {
            let line = format!("Nats-Expected-Last-Subject-Sequence: {revision:010}\r\n\r\n");
            assert!(frame(number, Header::Revision).ends_with(&line));
        }
    }

    #[test]
    fn the_subject_of_a_publish() {
        assert_eq!(subject_text("b", 1, subject_of(6, 10)), "b.0.0000004");
        assert_eq!(subject_text("b", 2, 1_234_567), "b.0.1234.567");
    }
}
