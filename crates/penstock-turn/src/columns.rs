//! Runs seen as columns: which frames need a careful look, one header of all of them, and their
//! acknowledgements. Which headers matter is the caller's business; here they are only names.

use crate::hub::Hub;
use memchr::memchr_iter;
use penstock_subjects::Matches;
use penstock_wire::{Frame, Message};

/// How a stretch of a run may be handled.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// No header that matters.
    Plain = 0,
    /// The one header that can be handled as a column, and no other that matters.
    Column = 1,
    /// Something that must be looked at.
    Careful = 2,
    /// No message any more: its connection is gone, or it was put off to the next turn.
    Gone = 3,
}

const STATUS_LINE: &[u8] = b"NATS/1.0\r\n"; // what headers begin with, unless they are a status

/// What is in front of the first CRLF, and what is behind it.
fn split_line(bytes: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut returns = memchr_iter(b'\r', bytes);
    match returns.find(|at| bytes.get(at + 1) == Some(&b'\n')) {
        Some(end) => (&bytes[..end], Some(&bytes[end + 2..])),
        None => (bytes, None),
    }
}

/// Header lines as (name, value); the status line is passed over. As the reference: only CRLF
/// ends a line, and only blanks before a value do not belong to it.
fn header_lines(headers: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let (_, mut rest) = split_line(headers);
    let lines = std::iter::from_fn(move || {
        let (line, after) = split_line(rest?);
        rest = after;
        Some(line)
    });
    lines.filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        let blanks = value.iter().take_while(|byte| **byte == b' ').count();
        Some((name, &value[blanks..]))
    })
}

/// What decides about the lane of a message.
#[derive(Clone, Copy, Debug)]
pub struct Marks<'a> {
    /// Headers whose name begins with this matter.
    pub prefix: &'a [u8],
    /// But not these, one after the other with a colon behind each.
    pub harmless: &'a [u8],
    /// The one of them that can be handled as a column.
    pub column: &'a [u8],
    /// More headers than this must be looked at.
    pub header_bytes_max: usize,
    /// So must more than this of headers and payload together.
    pub message_bytes_max: usize,
}

impl Marks<'_> {
    fn is_harmless(&self, name: &[u8]) -> bool {
        self.harmless
            .split(|byte| *byte == b':')
            .any(|known| known == name)
    }
}

impl Hub {
    fn picked_frame(&self, position: usize) -> Option<&Frame> {
        let index = self.picked(position)?;
        (!self.is_passed_over(index)).then(|| &self.vector.entries[index].frame)
    }

    fn headers_of(&self, frame: &Frame) -> &[u8] {
        let payload = frame.payload.of(self.vector.bytes());
        payload
            .get(..frame.header_bytes as usize)
            .unwrap_or_default()
    }

    /// Cuts the run `picked[start..end]` into stretches of the same lane.
    #[must_use]
    pub fn lanes(&self, start: usize, end: usize, marks: Marks<'_>) -> Vec<(Lane, usize, usize)> {
        let mut stretches: Vec<(Lane, usize, usize)> = Vec::new();
        for position in start..end {
            let lane = self
                .picked_frame(position)
                .map_or(Lane::Gone, |frame| self.lane(frame, marks));
            match stretches.last_mut() {
                Some((last, _, stretch_end)) if *last == lane => *stretch_end = position + 1,
                _ => stretches.push((lane, position, position + 1)),
            }
        }
        stretches
    }

    fn lane(&self, frame: &Frame, marks: Marks<'_>) -> Lane {
        if frame.payload.len() > marks.message_bytes_max {
            return Lane::Careful;
        }
        if frame.header_bytes == 0 {
            return Lane::Plain;
        }
        let headers = self.headers_of(frame);
        if headers.len() > marks.header_bytes_max || !headers.starts_with(STATUS_LINE) {
            return Lane::Careful;
        }
        let mut lane = Lane::Plain;
        for (name, _) in header_lines(headers) {
            if name == marks.column && lane == Lane::Plain {
                lane = Lane::Column;
            } else if name.starts_with(marks.prefix) && !marks.is_harmless(name) {
                return Lane::Careful;
            }
        }
        lane
    }

    /// The value of one header in every frame of a run; empty where it is missing.
    #[must_use]
    pub fn header_column(&self, start: usize, end: usize, name: &[u8]) -> Vec<&[u8]> {
        (start..end)
            .map(|position| {
                self.picked_frame(position)
                    .and_then(|frame| {
                        header_lines(self.headers_of(frame)).find(|(other, _)| *other == name)
                    })
                    .map_or(&b""[..], |(_, value)| value)
            })
            .collect()
    }

    /// Answers every request of a run with `prefix`, its own number counted from `first`, and
    /// `suffix`, in the account of its sender.
    pub fn acknowledge(
        &mut self,
        start: usize,
        end: usize,
        prefix: &[u8],
        first: u64,
        suffix: &[u8],
    ) {
        let mut body = Vec::with_capacity(prefix.len() + suffix.len() + 24);
        let mut reply: Vec<u8> = Vec::new();
        let mut inbox = Inbox::default();
        for position in start..end {
            let Some(index) = self.picked(position) else {
                continue;
            };
            let entry = self.vector.entries[index];
            let account = match &self.connections[entry.slot as usize] {
                Some(connection) if !entry.frame.reply.is_empty() => connection.switches.account,
                _ => continue,
            };
            body.clear();
            body.extend_from_slice(prefix);
            let number = first + (position - start) as u64;
            body.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
            body.extend_from_slice(suffix);
            body.extend_from_slice(b"\r\n");
            reply.clear();
            reply.extend_from_slice(entry.frame.reply.of(self.vector.bytes()));
            let message = Message {
                subject: &reply,
                reply: b"",
                header_bytes: 0,
                body: &body,
                header_digits: 0,
                size_digits: 0,
            };
            match inbox.listeners(self, account, &reply) {
                Some(matches) => self.publish_to(account, matches, &message),
                None => self.publish(account, &message),
            };
        }
    }
}

/// The inbox of a run: clients number their reply subjects below one prefix that they listen to
/// with a wildcard, so whoever hears one of them hears them all. Listeners do not change in a run.
#[derive(Default)]
struct Inbox {
    account: u32,
    prefix: Vec<u8>,
    matches: Option<Matches>,
}

impl Inbox {
    /// Who listens to `reply`, if that can be told from its prefix alone.
    fn listeners(&mut self, hub: &Hub, account: u32, reply: &[u8]) -> Option<&Matches> {
        let dot = memchr::memrchr(b'.', reply)?;
        let prefix = &reply[..dot];
        if dot + 1 == reply.len() || prefix.is_empty() {
            return None;
        }
        if self.account != account || self.prefix != prefix {
            self.account = account;
            self.prefix.clear();
            self.prefix.extend_from_slice(prefix);
            self.matches = hub.find_below(account, prefix);
        }
        self.matches.as_ref()
    }
}
