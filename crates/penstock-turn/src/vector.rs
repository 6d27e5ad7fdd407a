//! The vector of a turn: all frames of all connections, in order of arrival, as ranges into one
//! arena of bytes. Both are reused from turn to turn.

use penstock_wire::{Frame, Message};

/// A frame and whose it is.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub frame: Frame,
    pub slot: u32,
    /// Where the frame's own bytes begin and end in the arena.
    pub start: u32,
    pub end: u32,
}

#[derive(Default)]
pub struct Vector {
    pub entries: Vec<Entry>,
    arena: Vec<u8>,
    used: usize,
}

const ARENA_KEPT_MAX: usize = 16 << 20; // what a turn may leave allocated for the next

impl Vector {
    pub fn clear(&mut self) {
        self.entries.clear();
        self.used = 0;
        if self.arena.len() > ARENA_KEPT_MAX {
            self.arena = Vec::new();
        }
    }

    #[must_use]
    pub fn used(&self) -> usize {
        self.used
    }

    /// Room for `bytes` more at the end of the arena.
    pub fn room(&mut self, bytes: usize) -> &mut [u8] {
        let needed = self.used + bytes;
        if self.arena.len() < needed {
            self.arena.resize(needed.next_power_of_two(), 0);
        }
        &mut self.arena[self.used..needed]
    }

    /// Counts `bytes` written into `room` as used.
    pub fn advance(&mut self, bytes: usize) {
        self.used += bytes;
        debug_assert!(self.used <= self.arena.len());
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.arena[..self.used]
    }

    /// A publish as it goes to subscribers. The two bytes behind a payload are its CRLF, which
    /// the decoder has checked.
    #[must_use]
    pub fn message(&self, frame: &Frame) -> Message<'_> {
        let bytes = self.bytes();
        let payload = frame.payload;
        Message {
            subject: frame.subject.of(bytes),
            reply: frame.reply.of(bytes),
            header_bytes: frame.header_bytes as usize,
            header_digits: frame.header_digits,
            size_digits: frame.size_digits,
            body: &bytes[payload.start as usize..payload.end as usize + 2],
        }
    }
}
