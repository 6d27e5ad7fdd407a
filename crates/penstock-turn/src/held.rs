//! Output that must not leave yet: what the server says about changes that are not durable.
//!
//! While a gate is set, everything the server itself sends (replies, acknowledgements, deliveries)
//! goes into one buffer with the number of the entry it depends on; `release` lets it out in order
//! once that entry is durable. Core traffic never passes here. What the server says to itself
//! waits in `loopback`, for the same entries.
//!
//! Invariant: gates only rise, so the queue is ordered by entry.

use crate::connection::ConnectionId;
use crate::hub::Hub;
use std::collections::VecDeque;

const BUFFER_KEPT_MAX: usize = 4 << 20; // what an empty queue may keep allocated

struct Waiting {
    entry: u64,
    id: ConnectionId,
    bytes: usize,
}

/// The queue behind the gate.
#[derive(Default)]
pub(crate) struct Held {
    /// The entry that what is sent now depends on; 0 for nothing.
    pub gate: u64,
    queue: VecDeque<Waiting>,
    buffer: VecDeque<u8>,
    /// Where one message is rendered before it is pushed.
    pub scratch: Vec<u8>,
}

impl Held {
    pub fn push(&mut self, id: ConnectionId, data: &[u8]) {
        self.buffer.extend(data);
        match self.queue.back_mut() {
            Some(last) if last.id == id && last.entry == self.gate => last.bytes += data.len(),
            _ => self.queue.push_back(Waiting {
                entry: self.gate,
                id,
                bytes: data.len(),
            }),
        }
    }

    pub fn push_scratch(&mut self, id: ConnectionId) {
        let scratch = std::mem::take(&mut self.scratch);
        self.push(id, &scratch);
        self.scratch = scratch;
    }

    pub fn bytes(&self) -> usize {
        self.buffer.len()
    }
}

impl Hub {
    /// From now on, what the server sends waits for `entry` to be durable; 0 opens the gate.
    pub fn set_gate(&mut self, entry: u64) {
        debug_assert!(entry == 0 || entry >= self.held.queue.back().map_or(0, |last| last.entry));
        self.held.gate = entry;
    }

    /// Bytes behind the gate.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.held.bytes() + self.loopback.held_bytes()
    }

    /// Lets out everything that depends on entries up to `durable`.
    pub fn release_held(&mut self, durable: u64) {
        self.loopback.release(durable);
        while let Some(front) = self.held.queue.front() {
            if front.entry > durable {
                break;
            }
            let (id, bytes) = (front.id, front.bytes);
            self.held.queue.pop_front();
            let open = self.find(id).is_some_and(|connection| !connection.ended);
            if let Some(Some(connection)) = self.connections.get_mut(id.slot() as usize)
                && open
            {
                connection.held_bytes -= bytes;
                let (first, second) = self.held.buffer.as_slices();
                let in_first = bytes.min(first.len());
                let (first, second) = (&first[..in_first], &second[..bytes - in_first]);
                connection.output.append(&mut self.pool, bytes, |out| {
                    out.extend_from_slice(first);
                    out.extend_from_slice(second);
                });
                self.touch(id.slot());
            }
            self.held.buffer.drain(..bytes);
        }
        if self.held.queue.is_empty() && self.held.buffer.capacity() > BUFFER_KEPT_MAX {
            self.held.buffer = VecDeque::new();
        }
    }

    /// Forgets everything behind the gate: what it depended on will never be durable.
    pub fn drop_held(&mut self) {
        self.loopback.drop_held();
        for waiting in self.held.queue.drain(..) {
            if let Some(Some(connection)) = self.connections.get_mut(waiting.id.slot() as usize)
                && connection.id == waiting.id
            {
                connection.held_bytes -= waiting.bytes;
            }
        }
        self.held.buffer.clear();
    }
}
