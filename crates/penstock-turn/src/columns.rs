//! Runs seen as columns: which frames need a careful look, one header of all of them, and their
//! acknowledgements. Which headers matter is the caller's business; here they are only names.

use crate::hub::Hub;
use memchr::memchr_iter;
use penstock_subjects::Matches;
use penstock_wire::lifetime::{self, Lifetime};
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
    /// The one header that says what must be there before, and no other that matters.
    Expecting = 4,
}

pub(crate) const STATUS_LINE: &[u8] = b"NATS/1.0\r\n"; // what headers begin with, unless they are a status

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
pub(crate) fn header_lines(headers: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
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
    /// The one of them that says what must be there before; empty if none may.
    pub expected: &'a [u8],
    /// More headers than this must be looked at.
    pub header_bytes_max: usize,
    /// So must more than this of headers and payload together.
    pub message_bytes_max: usize,
    /// A lifetime between these, in seconds, does not matter; if the second is less than the
    /// first, every lifetime does.
    pub lifetime_seconds: (u64, u64),
}

impl Marks<'_> {
    fn is_harmless(&self, name: &[u8]) -> bool {
        self.harmless
            .split(|byte| *byte == b':')
            .any(|known| known == name)
    }

    /// A store finds the lifetime of a message by itself; what is to be looked at is one that may
    /// be refused or changed.
    fn is_plain_lifetime(&self, name: &[u8], value: &[u8]) -> bool {
        let (min, max) = self.lifetime_seconds;
        name == lifetime::HEADER
            && min <= max
            && match lifetime::parse(value) {
                Some(Lifetime::Endless | Lifetime::Seconds(0)) => true,
                Some(Lifetime::Seconds(seconds)) => (min..=max).contains(&seconds),
                None => false,
            }
    }
}

impl Hub {
    pub(crate) fn picked_frame(&self, position: usize) -> Option<&Frame> {
        let index = self.picked(position)?;
        (!self.is_passed_over(index)).then(|| &self.vector.entries[index].frame)
    }

    pub(crate) fn headers_of(&self, frame: &Frame) -> &[u8] {
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
        for (name, value) in header_lines(headers) {
            if name == marks.column && lane == Lane::Plain {
                lane = Lane::Column;
            } else if name == marks.expected && !name.is_empty() && lane == Lane::Plain {
                lane = Lane::Expecting;
            } else if name.starts_with(marks.prefix)
                && !marks.is_harmless(name)
                && !marks.is_plain_lifetime(name, value)
            {
                return Lane::Careful;
            }
        }
        lane
    }

    /// The value of one header in every frame of a run; empty where it is missing.
    pub fn header_column(
        &self,
        start: usize,
        end: usize,
        name: &[u8],
    ) -> impl Iterator<Item = &[u8]> {
        (start..end).map(move |position| {
            self.picked_frame(position)
                .and_then(|frame| {
                    header_lines(self.headers_of(frame)).find(|(other, _)| *other == name)
                })
                .map_or(&b""[..], |(_, value)| value)
        })
    }

    /// The subject of every message of the run `picked[start..end]`, and the value of one header.
    pub fn headed(
        &self,
        start: usize,
        end: usize,
        name: &[u8],
    ) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.run(start, end).map(move |(subject, headers, _)| {
            let found = header_lines(headers).find(|(other, _)| *other == name);
            (subject, found.map_or(&b""[..], |(_, value)| value))
        })
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
        self.answer(start, end, |place, body| {
            body.extend_from_slice(prefix);
            body.extend_from_slice(itoa::Buffer::new().format(first + place).as_bytes());
            body.extend_from_slice(suffix);
        });
    }

    /// The same for as many requests as there are texts: one of them goes on behind each number,
    /// with `joint` in the place of its first byte.
    pub fn acknowledge_each(
        &mut self,
        start: usize,
        prefix: &[u8],
        first: u64,
        joint: &[u8],
        texts: &[&[u8]],
    ) {
        self.answer(start, start + texts.len(), |place, body| {
            body.extend_from_slice(prefix);
            body.extend_from_slice(itoa::Buffer::new().format(first + place).as_bytes());
            body.extend_from_slice(joint);
            body.extend_from_slice(texts[place as usize].get(1..).unwrap_or_default());
        });
    }

    /// Answers every request of a run with nothing.
    pub fn answer_run(&mut self, start: usize, end: usize) {
        self.answer(start, end, |_, _| {});
    }

    /// Answers every request of a run with what is written for its place in it.
    fn answer(&mut self, start: usize, end: usize, write: impl Fn(u64, &mut Vec<u8>)) {
        let mut body = Vec::new();
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
            write((position - start) as u64, &mut body);
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
