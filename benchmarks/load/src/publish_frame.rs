//! One publish with a reply subject of its own, as a template in which only digits change.
//!
//! All numbers have a fixed width, so that one template serves every stream, subject, reply and
//! message id: a frame is a copy of it and a few digits written over.

use std::ops::Range;

use crate::Outcome;
use crate::blocks::{STAMP_BYTES, stamp};

pub const NUMBER_DIGITS: usize = 10;
const SUBJECT_DIGITS: usize = 7;
const STREAM_DIGITS: usize = 1;
const SUBJECT_STRIDE: u64 = 7919; // a prime, so that neighbours are not neighbours in an index

/// What all publishes of a run have in common.
pub struct Shape {
    pub subject: String,
    pub streams: u64,
    pub subjects: u64,
    pub size: usize,
    pub message_ids: bool,
}

pub struct PublishFrame {
    bytes: Vec<u8>,
    connection: usize,
    streams: u64,
    subjects: u64,
    stream_at: Range<usize>,
    subject_at: Range<usize>,
    reply_at: Range<usize>,
    message_id_at: Option<Range<usize>>,
    payload_at: usize,
}

pub fn stream_subject(root: &str, stream: usize) -> String {
    format!("{root}.{stream}.*")
}

fn write_digits(slot: &mut [u8], mut number: u64) {
    for digit in slot.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

fn add(bytes: &mut Vec<u8>, text: &str) -> Range<usize> {
    let start = bytes.len();
    bytes.extend_from_slice(text.as_bytes());
    start..bytes.len()
}

impl PublishFrame {
    pub fn new(shape: &Shape, inbox: &str, connection: usize) -> Outcome<Self> {
        if shape.size < STAMP_BYTES {
            return Err(format!("--size must be at least {STAMP_BYTES}").into());
        }
        let within = |count, digits| count > 0 && count <= 10_u64.pow(digits as u32);
        if !within(shape.streams, STREAM_DIGITS) || !within(shape.subjects, SUBJECT_DIGITS) {
            return Err("--streams is 1 to 10, --subjects 1 to 10 million".into());
        }
        let mut bytes = Vec::new();
        let verb = if shape.message_ids { "HPUB" } else { "PUB" };
        add(&mut bytes, &format!("{verb} {}.", shape.subject));
        let stream_at = add(&mut bytes, &"0".repeat(STREAM_DIGITS));
        add(&mut bytes, ".");
        let subject_at = add(&mut bytes, &"0".repeat(SUBJECT_DIGITS));
        add(&mut bytes, &format!(" {inbox}."));
        let reply_at = add(&mut bytes, &"0".repeat(NUMBER_DIGITS));
        let before_id = format!("NATS/1.0\r\nNats-Msg-Id: {connection:05}-");
        let message_id_at = if shape.message_ids {
            let headers = before_id.len() + NUMBER_DIGITS + 4;
            add(
                &mut bytes,
                &format!(" {headers} {}\r\n", headers + shape.size),
            );
            add(&mut bytes, &before_id);
            let at = add(&mut bytes, &"0".repeat(NUMBER_DIGITS));
            add(&mut bytes, "\r\n\r\n");
            Some(at)
        } else {
            add(&mut bytes, &format!(" {}\r\n", shape.size));
            None
        };
        let payload_at = bytes.len();
        add(&mut bytes, &"x".repeat(shape.size));
        add(&mut bytes, "\r\n");
        Ok(Self {
            bytes,
            connection,
            streams: shape.streams,
            subjects: shape.subjects,
            stream_at,
            subject_at,
            reply_at,
            message_id_at,
            payload_at,
        })
    }

    /// Streams take turns, and so do the subjects of each.
    pub fn stream_of(&self, number: u64) -> usize {
        (number % self.streams) as usize
    }

    pub fn add_to(&mut self, outbox: &mut Vec<u8>, number: u64) {
        let turn = number / self.streams;
        write_digits(
            &mut self.bytes[self.stream_at.clone()],
            number % self.streams,
        );
        if self.subjects > 1 {
            let subject = (turn * SUBJECT_STRIDE) % self.subjects;
            write_digits(&mut self.bytes[self.subject_at.clone()], subject);
        }
        write_digits(&mut self.bytes[self.reply_at.clone()], number);
        if let Some(at) = self.message_id_at.clone() {
            write_digits(&mut self.bytes[at], number);
        }
        self.bytes[self.payload_at..self.payload_at + STAMP_BYTES]
            .copy_from_slice(&stamp(self.connection, number));
        outbox.extend_from_slice(&self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::{PublishFrame, Shape};

    fn frame(number: u64, message_ids: bool) -> String {
        let shape = Shape {
            subject: "b".to_owned(),
            streams: 2,
            subjects: 10,
            size: 9,
            message_ids,
        };
        let mut frame = PublishFrame::new(&shape, "_INBOX.i", 3).expect("a good shape");
        let mut outbox = Vec::new();
        frame.add_to(&mut outbox, number);
        String::from_utf8(outbox[..outbox.len() - 11].to_vec()).expect("text")
    }

    #[test]
    fn only_digits_change() {
        assert_eq!(frame(0, false), "PUB b.0.0000000 _INBOX.i.0000000000 9\r\n");
        assert_eq!(
            frame(13, false),
            "PUB b.1.0000004 _INBOX.i.0000000013 9\r\n"
        );
        let headers = "NATS/1.0\r\nNats-Msg-Id: 00003-0000000013\r\n\r\n";
        let line = format!("HPUB b.1.0000004 _INBOX.i.0000000013 {} {}\r\n", 43, 52);
        assert_eq!(frame(13, true), line + headers);
        assert_eq!(headers.len(), 43);
    }
}
