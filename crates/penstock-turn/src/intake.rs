//! Bytes in: reads a connection's bytes behind what was left of it, and decodes all whole frames
//! into the vector.
//!
//! A frame that is still far from complete grows in the connection's own buffer, so a large
//! payload is copied once when it is whole, not once for each read.

use crate::connection::ConnectionId;
use crate::hub::Hub;
use crate::vector::Entry;
use penstock_wire::{Fault, Frame, Step, Verb, decode};
use std::io;

const PARTIAL_KEPT_MAX: usize = 4096; // an idle connection holds no more than this

/// Where a connection's bytes come from: a socket, or a slice in tests and other transports.
pub trait Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;
}

/// What a read found out about its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// Nothing more is there at the moment.
    Drained,
    /// The buffer was filled: there may be more.
    More,
    /// The peer has closed, or the source failed.
    Closed,
    Failed,
}

impl Hub {
    /// Starts a turn: the vector of the last one is gone.
    pub fn begin_turn(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        self.vector.clear();
        self.routes.clear();
        self.subscriptions.begin_turn();
        self.ease();
    }

    /// True while this turn may take more bytes.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.vector.used() < self.bounds.turn_bytes_max
    }

    /// True if a slot's connection may be read now.
    #[must_use]
    pub fn may_read(&self, slot: u32) -> bool {
        self.connections[slot as usize]
            .as_ref()
            .is_some_and(|found| !found.held && !found.ended && !found.broken)
    }

    /// How long a slot's publishes still wait for crowded subscribers; 0 for not at all.
    #[must_use]
    pub fn pause_ns(&self, slot: u32) -> u64 {
        self.connections[slot as usize]
            .as_ref()
            .map_or(0, |found| found.paused_until_ns.saturating_sub(self.now_ns))
    }

    /// Ends all pauses as soon as no subscriber is crowded any more.
    fn ease(&mut self) {
        if self.crowded.is_empty() {
            return;
        }
        let (connections, mark) = (&self.connections, self.bounds.crowded_bytes / 2);
        self.crowded.retain(|slot| {
            connections[*slot as usize]
                .as_ref()
                .is_some_and(|found| !found.ended && found.output.bytes() > mark)
        });
        self.crowded.sort_unstable();
        self.crowded.dedup();
        if self.crowded.is_empty() {
            for connection in self.connections.iter_mut().flatten() {
                connection.paused_until_ns = 0;
            }
        }
    }

    /// One read of one connection, decoded into the vector. At most once for each connection in
    /// a turn: its bytes are one segment of the arena.
    pub fn receive(&mut self, slot: u32, source: &mut impl Source) -> Received {
        let Some(connection) = &mut self.connections[slot as usize] else {
            return Received::Drained;
        };
        let missing = connection.wanted.saturating_sub(connection.partial.len());
        if missing > self.bounds.read_bytes_max {
            let (outcome, count) = read_partial(&mut connection.partial, missing, source);
            connection.note_activity(count, self.now_ns);
            return outcome;
        }
        let start = self.vector.used();
        let kept = connection.partial.len();
        let asked = self.bounds.read_bytes_max;
        let room = self.vector.room(kept + asked);
        room[..kept].copy_from_slice(&connection.partial);
        connection.partial.clear();
        let (outcome, count) = read_once(source, &mut room[kept..]);
        connection.note_activity(count, self.now_ns);
        self.vector.advance(kept + count);
        self.decode_segment(slot, start);
        outcome
    }

    #[allow(clippy::cast_possible_truncation)] // an arena is far below 4 GiB
    fn decode_segment(&mut self, slot: u32, start: usize) {
        let Some(connection) = &mut self.connections[slot as usize] else {
            return;
        };
        let end = self.vector.used();
        let mut entries = std::mem::take(&mut self.vector.entries);
        let bytes = self.vector.bytes();
        let mut at = start;
        connection.wanted = 0;
        loop {
            let (frame, taken) = match decode(&bytes[at..end], &self.bounds.wire) {
                Step::Frame(frame, taken) => (frame.shifted(at as u32), taken),
                Step::Fault(fault) => (Frame::fault(fault), end - at),
                Step::Incomplete(_)
                    if at == start
                        && connection.switches.expects_connect
                        && bytes[at..end].first().is_some_and(|b| !b"Cc".contains(b)) =>
                {
                    (Frame::fault(Fault::UnknownOperation), end - at)
                }
                Step::Incomplete(wanted) => {
                    connection.partial.extend_from_slice(&bytes[at..end]);
                    connection.wanted = wanted;
                    break;
                }
            };
            entries.push(Entry {
                frame,
                slot,
                start: at as u32,
                end: (at + taken) as u32,
            });
            if frame.verb == Verb::Fault {
                connection.broken = true;
                break;
            }
            at += taken;
        }
        if connection.partial.is_empty() && connection.partial.capacity() > PARTIAL_KEPT_MAX {
            connection.partial = Vec::new();
        }
        connection.segment_end = end as u32;
        self.vector.entries = entries;
    }

    /// Suspends a connection after the frame `index` of the vector: its later frames are taken
    /// back and decoded again after `release`.
    pub fn hold_after(&mut self, index: usize) {
        let Some(entry) = self.vector.entries.get(index).copied() else {
            return;
        };
        let Some(connection) = &mut self.connections[entry.slot as usize] else {
            return;
        };
        let rest = entry.end as usize..connection.segment_end as usize;
        connection.held = true;
        connection.broken = false;
        connection.wanted = 0;
        connection.partial.clear();
        connection
            .partial
            .extend_from_slice(&self.vector.bytes()[rest]);
        for later in &mut self.vector.entries[index + 1..] {
            if later.slot == entry.slot {
                later.frame.verb = Verb::Skipped;
            }
        }
    }

    /// Ends a suspension; the connection must be read again, its bytes are waiting. False if it
    /// was not suspended.
    pub fn release(&mut self, id: ConnectionId) -> bool {
        self.find_mut(id)
            .is_some_and(|connection| std::mem::take(&mut connection.held))
    }
}

fn read_once(source: &mut impl Source, buffer: &mut [u8]) -> (Received, usize) {
    loop {
        return match source.read(buffer) {
            Ok(0) => (Received::Closed, 0),
            Ok(count) if count < buffer.len() => (Received::Drained, count),
            Ok(count) => (Received::More, count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => (Received::Drained, 0),
            Err(_) => (Received::Failed, 0),
        };
    }
}

fn read_partial(
    partial: &mut Vec<u8>,
    missing: usize,
    source: &mut impl Source,
) -> (Received, usize) {
    let before = partial.len();
    partial.resize(before + missing, 0);
    let (outcome, count) = read_once(source, &mut partial[before..]);
    partial.truncate(before + count);
    (outcome, count)
}
