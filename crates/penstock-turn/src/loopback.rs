//! Loopback: messages of the server itself that parts of the server listen to, such as a
//! republished message whose new subject another stream stores.
//!
//! Whatever is published goes to its subscribers at once (or behind the gate). If targets listen
//! too, a copy comes here; behind the gate it waits for the same entry. When the frames of the
//! clients are done, `loopback_runs` makes what is ready the vector of a round of its own: frames
//! of the account's own connection, with routes and runs as any other. What a round causes is for
//! a later round, so nothing recurses, and a chain that never ends costs a bounded part of each
//! turn.
//!
//! Invariant: copies are taken in the order they were published, those behind the gate among
//! themselves; nothing behind the gate is taken before its entry is durable.

use crate::groups::Run;
use crate::hub::Hub;
use crate::vector::Entry;
use penstock_subjects::Matches;
use penstock_wire::{Frame, Message, Span, Verb};
use std::collections::VecDeque;

const LETTERS_MAX: usize = 2048; // taken in one turn, each perhaps ten microseconds of Python
const LETTERS_FOR_FRAME: usize = 2; // and for each frame of a client: its copy and its answer
const BYTES_MAX: usize = 128 << 20; // on their way, twice what lets streams refuse publishes; more is lost

/// A message on its way to targets.
struct Letter {
    /// The entry it depends on; 0 for none.
    entry: u64,
    account: u32,
    subject_bytes: u32,
    reply_bytes: u32,
    header_bytes: u32,
    /// Subject, reply, headers, payload and CRLF.
    text: Box<[u8]>,
}

impl Letter {
    #[allow(clippy::cast_possible_truncation)] // what the server says is far below 4 GiB
    fn new(entry: u64, account: u32, message: &Message<'_>) -> Letter {
        let parts = [message.subject, message.reply, message.body];
        Letter {
            entry,
            account,
            subject_bytes: message.subject.len() as u32,
            reply_bytes: message.reply.len() as u32,
            header_bytes: message.header_bytes as u32,
            text: parts.concat().into(),
        }
    }

    /// As a frame of the vector whose text begins at `start`.
    fn frame(&self, start: u32, end: u32) -> Frame {
        let subject_end = start + self.subject_bytes;
        let reply_end = subject_end + self.reply_bytes;
        let span = |start, end| Span { start, end };
        let with_headers = self.header_bytes > 0;
        Frame {
            header_bytes: self.header_bytes,
            subject: span(start, subject_end),
            reply: span(subject_end, reply_end),
            payload: span(reply_end, end - 2),
            ..Frame::bare(if with_headers {
                Verb::PublishWithHeaders
            } else {
                Verb::Publish
            })
        }
    }
}

/// The letters on their way.
#[derive(Default)]
pub(crate) struct Loopback {
    /// Behind the gate, by entry.
    held: VecDeque<Letter>,
    ready: VecDeque<Letter>,
    held_bytes: usize,
    ready_bytes: usize,
    lost: u64,
    /// What this turn may still take: letters and bytes.
    room: (usize, usize),
    /// The vector holds a round, not the frames of clients.
    begun: bool,
}

impl Loopback {
    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// What depends on entries up to `durable` may be taken.
    pub fn release(&mut self, durable: u64) {
        let count = self.held.partition_point(|letter| letter.entry <= durable);
        for letter in self.held.drain(..count) {
            self.held_bytes -= letter.text.len();
            self.ready_bytes += letter.text.len();
            self.ready.push_back(letter);
        }
    }

    /// What is behind the gate depends on what will never be durable.
    pub fn drop_held(&mut self) {
        self.held = VecDeque::new();
        self.held_bytes = 0;
    }

    pub fn begin_turn(&mut self, bytes_max: usize) {
        self.room = (LETTERS_MAX, bytes_max);
        self.begun = false;
    }
}

impl Hub {
    /// Keeps a copy of a message of the server for the targets among its listeners. False if
    /// there are none, or no room.
    pub(crate) fn loop_back(
        &mut self,
        account: u32,
        matches: &Matches,
        message: &Message<'_>,
    ) -> bool {
        if matches.targets.is_empty() {
            return false;
        }
        let entry = self.held.gate;
        let loopback = &mut self.loopback;
        if loopback.held_bytes + loopback.ready_bytes > BYTES_MAX {
            loopback.lost += 1;
            return false;
        }
        let letter = Letter::new(entry, account, message);
        if entry > 0 {
            loopback.held_bytes += letter.text.len();
            loopback.held.push_back(letter);
        } else {
            loopback.ready_bytes += letter.text.len();
            loopback.ready.push_back(letter);
        }
        true
    }

    /// True if there are messages that `loopback_runs` would take.
    #[must_use]
    pub fn loops_back(&self) -> bool {
        !self.loopback.ready.is_empty()
    }

    /// Messages for targets that were dropped because too many were on their way, since the last
    /// time this was asked.
    pub fn take_loopback_lost(&mut self) -> u64 {
        std::mem::take(&mut self.loopback.lost)
    }

    /// The next round of the server's own messages, as runs; none if nothing is ready or the turn
    /// has had its share. The vector before is gone.
    pub fn loopback_runs(&mut self) -> Vec<Run> {
        if !self.loops_back() {
            return Vec::new();
        }
        if !std::mem::replace(&mut self.loopback.begun, true) {
            self.loopback.room.0 += LETTERS_FOR_FRAME * self.vector.entries.len();
        }
        self.vector.clear();
        self.routes.clear();
        let count = self.fill_from_loopback();
        let taken = self.resolve(0, count);
        for letter in self.loopback.ready.drain(..taken) {
            let bytes = letter.text.len();
            self.loopback.ready_bytes -= bytes;
            self.loopback.room.0 -= 1;
            self.loopback.room.1 = self.loopback.room.1.saturating_sub(bytes);
        }
        self.pick_runs(0, taken)
    }

    /// Copies what is ready and has room into the empty vector; returns how many there are.
    #[allow(clippy::cast_possible_truncation)] // an arena is far below 4 GiB
    fn fill_from_loopback(&mut self) -> usize {
        let (letters_max, bytes_max) = self.loopback.room;
        for letter in self.loopback.ready.iter().take(letters_max) {
            let start = self.vector.used();
            if start >= bytes_max {
                break;
            }
            let bytes = letter.text.len();
            self.vector.room(bytes).copy_from_slice(&letter.text);
            self.vector.advance(bytes);
            let (start, end) = (start as u32, (start + bytes) as u32);
            self.vector.entries.push(Entry {
                frame: letter.frame(start, end),
                slot: self.own[letter.account as usize],
                start,
                end,
            });
        }
        self.vector.entries.len()
    }
}
