//! One client connection as the kernel sees it: what arrived and is no frame yet, what waits to
//! leave, its subscriptions by sid, and the few switches the bulk lanes must obey.

use crate::output::Output;
use ahash::AHashMap;

/// A connection's name outside the kernel: its slot, and a generation that tells a reused slot
/// from the one that was meant. A stale id is ignored wherever it comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionId(pub u64);

impl ConnectionId {
    #[must_use]
    pub fn new(slot: u32, generation: u32) -> ConnectionId {
        ConnectionId(u64::from(generation) << 32 | u64::from(slot))
    }

    #[must_use]
    #[allow(clippy::cast_possible_truncation)] // the low half is the slot
    pub fn slot(self) -> u32 {
        self.0 as u32
    }

    #[must_use]
    pub fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// What Python decided about a connection; the bulk lanes obey.
#[derive(Clone, Copy, Debug)]
pub struct Switches {
    /// Which account's routes it uses.
    pub account: u32,
    /// Nothing but CONNECT may come first; anything else is refused at its first byte.
    pub expects_connect: bool,
    /// Publishes go through the bulk lane; otherwise Python sees each of them.
    pub bulk: bool,
    /// Its own messages come back to it.
    pub echo: bool,
    /// It may publish with headers, and receives them.
    pub headers: bool,
    /// It wants to hear when nobody listens to a request.
    pub no_responders: bool,
}

/// Why the kernel gave a connection up. The numbers are shared with Python (`kernel/hub.py`).
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    ClosedByPeer = 1,
    ReadError = 2,
    WriteError = 3,
    PendingTooLarge = 4,
    WriteDeadline = 5,
}

/// Counters of one connection, as the monitoring pages show them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    pub messages_in: u64,
    pub bytes_in: u64,
    pub messages_out: u64,
    pub bytes_out: u64,
    pub last_activity_ns: u64,
}

pub(crate) struct Connection {
    pub id: ConnectionId,
    pub switches: Switches,
    /// Bytes that are no frame yet, and how many there must be before it is worth looking again.
    pub partial: Vec<u8>,
    pub wanted: usize,
    /// `partial` holds whole frames that a turn had no room for: they come before any read.
    pub backlog: bool,
    /// What its publishes cost in this turn, in listeners visited.
    pub work: usize,
    /// Where this turn's bytes of the connection end in the arena.
    pub segment_end: u32,
    /// After a fault nothing more is read from it.
    pub broken: bool,
    /// Reading is suspended by Python.
    pub held: bool,
    /// Given up: nothing is delivered to it any more, Python will hear of it.
    pub ended: bool,
    pub dirty: bool,
    /// The last run that was looked at for this connection.
    pub run_number: u64,
    pub output: Output,
    /// Bytes for it behind the gate; they count towards its limit.
    pub held_bytes: usize,
    pub subscriptions: AHashMap<Box<[u8]>, u32>,
    pub traffic: Traffic,
    /// Until when its publishes wait for a crowded subscriber, 0 for not at all.
    pub paused_until_ns: u64,
}

impl Connection {
    pub fn new(id: ConnectionId, switches: Switches) -> Connection {
        Connection {
            id,
            switches,
            partial: Vec::new(),
            wanted: 0,
            backlog: false,
            work: 0,
            segment_end: 0,
            broken: false,
            held: false,
            ended: false,
            dirty: false,
            run_number: 0,
            output: Output::default(),
            held_bytes: 0,
            subscriptions: AHashMap::default(),
            traffic: Traffic::default(),
            paused_until_ns: 0,
        }
    }

    pub fn note_activity(&mut self, bytes: usize, now_ns: u64) {
        if bytes > 0 {
            self.traffic.last_activity_ns = now_ns;
        }
    }
}
