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

const FRAMES_MAX: usize = 4096; // of one connection in one turn
const CAREFUL_MAX: usize = 256; // of those, frames that Python must look at
const TURN_CAREFUL_MAX: usize = 2048; // of all connections: about ten milliseconds of Python
const PARTIAL_COPIED_MAX: usize = 16 * 1024; // a longer rest grows where it is
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
        self.free.append(&mut self.retired);
        self.subscriptions.begin_turn();
        self.subscriptions.sweep(&mut self.accounts);
        self.careful_frames = 0;
        self.work = 0;
        self.loopback.begin_turn(self.bounds.turn_bytes_max);
        self.awaited.clear();
        self.ease();
    }

    /// True if there is work that waits for no socket.
    #[must_use]
    pub fn has_chores(&self) -> bool {
        !self.subscriptions.is_swept() || self.has_room_again()
    }

    /// True while this turn may take more.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.vector.used() < self.bounds.turn_bytes_max && self.careful_frames < TURN_CAREFUL_MAX
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
        connection.work = 0;
        if connection.backlog && connection.partial.len() > PARTIAL_COPIED_MAX {
            self.take_partial(slot);
            return Received::More;
        }
        let missing = connection.wanted.saturating_sub(connection.partial.len());
        let large = missing > self.bounds.read_bytes_max;
        if large || (missing > 0 && connection.partial.len() > PARTIAL_COPIED_MAX) {
            let asked = missing.min(self.bounds.read_bytes_max);
            let room = self.vector.room(asked);
            let (outcome, count) = read_once(source, room);
            connection.partial.extend_from_slice(&room[..count]);
            connection.note_activity(count, self.now_ns);
            if count == missing {
                self.take_partial(slot);
            }
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
        if self.decode_segment(slot, start) {
            return Received::More;
        }
        outcome
    }

    /// A large frame is whole: it joins the vector.
    fn take_partial(&mut self, slot: u32) {
        let start = self.vector.used();
        if let Some(connection) = &mut self.connections[slot as usize] {
            let bytes = connection.partial.len();
            self.vector.room(bytes).copy_from_slice(&connection.partial);
            self.vector.advance(bytes);
            connection.partial.clear();
        }
        self.decode_segment(slot, start);
    }

    #[allow(clippy::cast_possible_truncation)] // an arena is far below 4 GiB
    /// Decodes a connection's segment; true if whole frames may be left for the next turn.
    fn decode_segment(&mut self, slot: u32, start: usize) -> bool {
        let Some(connection) = &mut self.connections[slot as usize] else {
            return false;
        };
        let end = self.vector.used();
        let mut entries = std::mem::take(&mut self.vector.entries);
        let bytes = self.vector.bytes();
        let mut at = start;
        let (mut frames, mut careful) = (0, 0);
        connection.wanted = 0;
        connection.backlog = false;
        loop {
            if frames == FRAMES_MAX || careful == CAREFUL_MAX {
                connection.partial.extend_from_slice(&bytes[at..end]);
                connection.backlog = true;
                break;
            }
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
            frames += 1;
            careful += usize::from(!(connection.switches.bulk && frame.is_publish()));
            at += taken;
        }
        if connection.partial.is_empty() && connection.partial.capacity() > PARTIAL_KEPT_MAX {
            connection.partial = Vec::new();
        }
        connection.segment_end = end as u32;
        self.careful_frames += careful;
        self.vector.entries = entries;
        connection.backlog
    }

    /// Suspends a connection after the frame `index` of the vector: its later frames are taken
    /// back and decoded again after `release`.
    pub fn hold_after(&mut self, index: usize) {
        let Some(entry) = self.vector.entries.get(index) else {
            return;
        };
        let (slot, end) = (entry.slot, entry.end);
        self.take_back(index + 1, slot, end);
        if let Some(connection) = &mut self.connections[slot as usize] {
            connection.held = true;
        }
    }

    /// Puts the frame `index` and all later ones of its connection off to the next turn.
    pub(crate) fn defer(&mut self, index: usize) {
        let entry = &self.vector.entries[index];
        let (slot, start) = (entry.slot, entry.start);
        self.take_back(index, slot, start);
        self.deferred.push(slot);
    }

    /// Takes a connection's bytes from an offset on, and its frames from an index on, back.
    fn take_back(&mut self, index: usize, slot: u32, offset: u32) {
        let Some(connection) = &mut self.connections[slot as usize] else {
            return;
        };
        let rest = offset as usize..connection.segment_end as usize;
        connection.broken = false;
        connection.backlog = true;
        connection.partial.clear();
        connection
            .partial
            .extend_from_slice(&self.vector.bytes()[rest]);
        for later in &mut self.vector.entries[index..] {
            if later.slot == slot {
                later.frame.verb = Verb::Skipped;
            }
        }
    }

    /// Connections to read again in the next turn though their sockets may have nothing.
    pub fn take_deferred(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.deferred)
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
