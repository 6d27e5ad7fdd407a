//! The hot path of receiving: count messages, and check each one's header, end and sequence.
//!
//! With one subject every frame has the same header and length, so a frame is a comparison of its
//! header, a look at its end and at its stamp. Anything else goes the slow way through `frames`,
//! which checks the same things: a message under a wrong sid or subject is a fault, not a delivery.

use std::rc::Rc;

use crate::Outcome;
use crate::blocks::stamp_of;
use crate::frames::{Frame, next_frame};

pub struct Sequences {
    /// Publishers go round these, so a message's sequence says which one it must have.
    subjects: Rc<[String]>,
    sid: String,
    header: Vec<u8>,
    size: usize,
    /// The sequence each publisher's next message must have.
    next: Vec<u64>,
    received: u64,
}

impl Sequences {
    pub fn new(subjects: Rc<[String]>, sid: usize, size: usize, publishers: usize) -> Self {
        let subject = subjects.first().map_or("", String::as_str);
        let header = format!("MSG {subject} {sid} {size}\r\n").into_bytes();
        Self {
            subjects,
            sid: sid.to_string(),
            header,
            size,
            next: vec![0; publishers],
            received: 0,
        }
    }

    pub fn received(&self) -> u64 {
        self.received
    }

    #[inline]
    fn take(&mut self, payload: &[u8]) -> Outcome<()> {
        let (publisher, sequence) = stamp_of(payload).ok_or("a payload is too short")?;
        let next = self
            .next
            .get_mut(publisher)
            .ok_or("a payload is not one that was sent")?;
        if *next != sequence || payload.len() != self.size {
            let what = if sequence > *next {
                "lost or reordered"
            } else {
                "delivered again"
            };
            let found = format!("found {sequence} where {next} was due");
            return Err(format!("publisher {publisher}: messages were {what}: {found}").into());
        }
        *next += 1;
        self.received += 1;
        Ok(())
    }

    fn take_checked(&mut self, subject: &[u8], sid: &[u8], payload: &[u8]) -> Outcome<()> {
        let (_, sequence) = stamp_of(payload).ok_or("a payload is too short")?;
        let due = self
            .subjects
            .get((sequence % self.subjects.len().max(1) as u64) as usize)
            .ok_or("no subject is due")?;
        if sid != self.sid.as_bytes() || subject != due.as_bytes() {
            let (subject, sid) = (
                String::from_utf8_lossy(subject),
                String::from_utf8_lossy(sid),
            );
            let wanted = format!("not {due} and sid {}", self.sid);
            return Err(format!("a message came for {subject} and sid {sid}, {wanted}").into());
        }
        self.take(payload)
    }

    /// Takes every complete frame of `data`; the bytes taken and the PINGs that want a PONG.
    pub fn scan(&mut self, data: &[u8]) -> Outcome<(usize, usize)> {
        let (mut at, mut pings) = (0, 0);
        let (head, length) = (self.header.len(), self.header.len() + self.size + 2);
        loop {
            while self.subjects.len() == 1 {
                let Some(frame) = data.get(at..at + length) else {
                    break;
                };
                if frame[..head] != self.header[..] || frame[length - 2..] != *b"\r\n" {
                    break;
                }
                self.take(&frame[head..length - 2])?;
                at += length;
            }
            match next_frame(&data[at..])? {
                None => return Ok((at, pings)),
                Some((frame, length)) => {
                    at += length;
                    match frame {
                        Frame::Message {
                            subject,
                            sid,
                            payload,
                            ..
                        } => self.take_checked(subject, sid, payload)?,
                        Frame::Ping => pings += 1,
                        Frame::Pong | Frame::Notice => {}
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Sequences;
    use crate::blocks::Block;

    fn bytes(head: &str, publisher: usize, from: u64, count: usize) -> Vec<u8> {
        let mut block = Block::new(&[format!("{head}\r\n")], 16).expect("long enough");
        let end = block.fill(publisher, from, count);
        block.bytes()[..end].to_vec()
    }

    fn sequences(subjects: &[&str], publishers: usize) -> Sequences {
        let subjects = subjects.iter().map(|subject| (*subject).to_owned());
        Sequences::new(subjects.collect(), 3, 16, publishers)
    }

    #[test]
    fn every_cut_gives_the_same_count() {
        let mut data = bytes("MSG a 3 16", 0, 0, 3);
        data.extend_from_slice(b"PING\r\n");
        data.extend(bytes("MSG a 3 16", 1, 0, 2));
        data.extend(bytes("MSG a 3 16", 0, 3, 1));
        for cut in 0..data.len() {
            let mut sequences = sequences(&["a"], 2);
            let (taken, first) = sequences.scan(&data[..cut]).expect("in order");
            let (rest, second) = sequences.scan(&data[taken..]).expect("in order");
            assert_eq!((taken + rest, first + second), (data.len(), 1));
            assert_eq!(sequences.received(), 6);
        }
    }

    #[test]
    fn lost_doubled_and_foreign_messages_are_faults() {
        let fault = |data: &[u8]| {
            let found = sequences(&["a"], 1).scan(data);
            found.err().map_or(String::new(), |fault| fault.to_string())
        };
        let one = bytes("MSG a 3 16", 0, 0, 1);
        assert_eq!(fault(&one), "");
        assert!(fault(&bytes("MSG a 3 16", 0, 1, 1)).contains("lost"));
        assert!(fault(&[one.clone(), one].concat()).contains("again"));
        assert!(fault(&bytes("MSG a 3 16", 1, 0, 1)).contains("not one that was sent"));
        assert!(fault(&bytes("MSG a 4 16", 0, 0, 1)).contains("sid 4"));
        assert!(fault(&bytes("MSG b 3 16", 0, 0, 1)).contains("for b"));
        assert!(!fault(b"MSG a 3 17\r\n\0\0\0\0\0\0\0\0xxxxxxxxx\r\n").is_empty());
    }

    #[test]
    fn many_subjects_must_come_in_their_turn() {
        let heads = ["MSG a.0 3 16\r\n".to_owned(), "MSG a.1 3 16\r\n".to_owned()];
        let mut block = Block::new(&heads, 16).expect("long enough");
        let end = block.fill(0, 0, 5);
        let mut right = sequences(&["a.0", "a.1"], 1);
        assert!(right.scan(&block.bytes()[..end]).is_ok());
        assert_eq!(right.received(), 5);
        let mut wrong = sequences(&["a.1", "a.0"], 1);
        assert!(wrong.scan(&block.bytes()[..end]).is_err());
    }
}
