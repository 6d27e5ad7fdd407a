//! The hub: the tables of connections and accounts, and the turn's common state. The other
//! modules add what happens to them: `intake`, `groups`, `fanout`, `subscription`.

use crate::connection::{Connection, ConnectionId, Ending, Switches, Traffic};
use crate::groups::Routes;
use crate::held::Held;
use crate::loopback::Loopback;
use crate::output::{Flushed, Pool};
use crate::subscription::Subscriptions;
use crate::vector::Vector;
use penstock_subjects::Router;
use penstock_wire::Limits;
use std::io::{self, Write};

/// The bounds of a hub; Python's `model/limits.py` has the reasons.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub wire: Limits,
    /// Output waiting for one connection; above it the connection is given up.
    pub pending_bytes_max: usize,
    /// Output waiting for one connection from which on its publishers are slowed down.
    pub crowded_bytes: usize,
    /// Bytes read from one connection in one turn.
    pub read_bytes_max: usize,
    /// Bytes read from all connections in one turn.
    pub turn_bytes_max: usize,
}

/// Connections, subscriptions and the turn in progress.
pub struct Hub {
    pub(crate) bounds: Bounds,
    pub(crate) vector: Vector,
    pub(crate) routes: Routes,
    pub(crate) connections: Vec<Option<Connection>>,
    pub(crate) generations: Vec<u32>,
    pub(crate) free: Vec<u32>,
    /// Slots given back in this turn: frames of the vector may still name them.
    pub(crate) retired: Vec<u32>,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) accounts: Vec<Router>,
    pub(crate) pool: Pool,
    pub(crate) held: Held,
    pub(crate) loopback: Loopback,
    /// Each account's own connection: nobody's, in whose name the server talks to itself.
    pub(crate) own: Vec<u32>,
    pub(crate) dirty: Vec<u32>,
    pub(crate) ended: Vec<(ConnectionId, Ending)>,
    /// Subscribers for which publishers are resting.
    pub(crate) crowded: Vec<u32>,
    /// Listeners that were found crowded in this turn, for letters that wait.
    pub(crate) awaited: Vec<u32>,
    /// Frames of this turn that Python must look at.
    pub(crate) careful_frames: usize,
    /// What this turn's publishes cost so far, in listeners visited.
    pub(crate) work: usize,
    /// Connections whose frames were put off to the next turn.
    pub(crate) deferred: Vec<u32>,
    /// Numbers the runs, to notice a connection that listens twice.
    pub(crate) run_number: u64,
    pub(crate) random: u64,
    pub(crate) now_ns: u64,
}

impl Hub {
    /// `seed` decides which member of a queue group gets a message; any value will do.
    #[must_use]
    pub fn new(bounds: Bounds, seed: u64) -> Hub {
        Hub {
            bounds,
            vector: Vector::default(),
            routes: Routes::default(),
            connections: Vec::new(),
            generations: Vec::new(),
            free: Vec::new(),
            retired: Vec::new(),
            subscriptions: Subscriptions::default(),
            accounts: Vec::new(),
            pool: Pool::default(),
            held: Held::default(),
            loopback: Loopback::default(),
            own: Vec::new(),
            dirty: Vec::new(),
            ended: Vec::new(),
            crowded: Vec::new(),
            awaited: Vec::new(),
            careful_frames: 0,
            work: 0,
            deferred: Vec::new(),
            run_number: 0,
            random: seed | 1,
            now_ns: 0,
        }
    }

    #[must_use]
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// A new account; its number is used in `Switches`.
    #[allow(clippy::cast_possible_truncation)] // accounts come from a configuration file
    pub fn add_account(&mut self) -> u32 {
        self.accounts.push(Router::default());
        let account = self.accounts.len() as u32 - 1;
        let own = self.open(Switches {
            account,
            expects_connect: false,
            bulk: true,
            echo: true,
            headers: true,
            no_responders: false,
        });
        self.own.push(own.slot());
        account
    }

    #[allow(clippy::cast_possible_truncation)] // connections are bounded by file descriptors
    pub fn open(&mut self, switches: Switches) -> ConnectionId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.generations.push(0);
            self.connections.len() as u32 - 1
        });
        let generation = &mut self.generations[slot as usize];
        *generation = generation.wrapping_add(1);
        let id = ConnectionId::new(slot, *generation);
        self.connections[slot as usize] = Some(Connection::new(id, switches));
        id
    }

    /// Ends a connection: its subscriptions go, unsent output is dropped, its frames in the
    /// vector are passed over. False for an id that is no more.
    pub fn close(&mut self, id: ConnectionId) -> bool {
        let Some(mut connection) = self.find(id).is_some().then(|| self.take(id)).flatten() else {
            return false;
        };
        for (_, number) in connection.subscriptions.drain() {
            self.subscriptions.leave(number);
        }
        self.subscriptions.sweep(&mut self.accounts);
        connection.output.clear(&mut self.pool);
        self.retired.push(id.slot());
        true
    }

    fn take(&mut self, id: ConnectionId) -> Option<Connection> {
        self.connections[id.slot() as usize].take()
    }

    pub fn switch(&mut self, id: ConnectionId, switches: Switches) {
        if let Some(connection) = self.find_mut(id) {
            connection.switches = switches;
        }
    }

    /// Appends bytes to a connection's output.
    pub fn send(&mut self, id: ConnectionId, bytes: &[u8]) {
        let slot = id.slot();
        if self.find(id).is_none_or(|connection| connection.ended) {
            return;
        }
        if let Some(connection) = &mut self.connections[slot as usize] {
            if self.held.gate > 0 {
                self.held.push(id, bytes);
                connection.held_bytes += bytes.len();
            } else {
                connection
                    .output
                    .append(&mut self.pool, bytes.len(), |out| {
                        out.extend_from_slice(bytes);
                    });
            }
        }
        self.touch(slot);
    }

    /// Notes that a connection has output, and gives it up when that is too much.
    pub(crate) fn touch(&mut self, slot: u32) {
        let Some(connection) = &mut self.connections[slot as usize] else {
            return;
        };
        if !connection.dirty {
            connection.dirty = true;
            self.dirty.push(slot);
        }
        if connection.output.bytes() + connection.held_bytes > self.bounds.pending_bytes_max {
            self.give_up(slot, Ending::PendingTooLarge);
        }
    }

    /// Stops delivering to a connection; Python hears of it through `take_ended`.
    pub fn give_up(&mut self, slot: u32, ending: Ending) {
        if let Some(connection) = &mut self.connections[slot as usize]
            && !connection.ended
        {
            connection.ended = true;
            if matches!(ending, Ending::PendingTooLarge | Ending::WriteDeadline) {
                connection.output.clear(&mut self.pool);
            }
            self.ended.push((connection.id, ending));
        }
    }

    pub fn take_ended(&mut self) -> Vec<(ConnectionId, Ending)> {
        std::mem::take(&mut self.ended)
    }

    /// Exchanges the list of slots with output for an empty one.
    pub fn swap_dirty(&mut self, empty: &mut Vec<u32>) {
        std::mem::swap(&mut self.dirty, empty);
    }

    /// Puts a slot on the list of those with output, if it has any.
    pub fn mark_dirty(&mut self, slot: u32) {
        let waiting = self.connections[slot as usize]
            .as_ref()
            .is_some_and(|connection| connection.output.bytes() > 0);
        if waiting {
            self.touch(slot);
        }
    }

    pub fn clear_dirty(&mut self, slot: u32) {
        if let Some(connection) = &mut self.connections[slot as usize] {
            connection.dirty = false;
        }
    }

    /// Writes what waits for a slot to `sink`, as much as it takes.
    pub fn flush(&mut self, slot: u32, sink: &mut impl Write) -> io::Result<Flushed> {
        let Some(connection) = &mut self.connections[slot as usize] else {
            return Ok(Flushed::Everything);
        };
        connection.dirty = false;
        connection.output.flush(sink, &mut self.pool, self.now_ns)
    }

    /// Gives up every connection whose flush has been blocked for `deadline_ns`.
    pub fn give_up_overdue(&mut self, now_ns: u64, deadline_ns: u64) {
        self.now_ns = now_ns;
        #[allow(clippy::cast_possible_truncation)] // connections are bounded by descriptors
        for slot in 0..self.connections.len() as u32 {
            let since_ns = self.connections[slot as usize]
                .as_ref()
                .map_or(0, |connection| connection.output.waiting_since_ns());
            if since_ns != 0 && now_ns.saturating_sub(since_ns) >= deadline_ns {
                self.give_up(slot, Ending::WriteDeadline);
            }
        }
    }

    /// Counters, bytes waiting and number of subscriptions.
    #[must_use]
    pub fn traffic(&self, id: ConnectionId) -> Option<(Traffic, usize, usize)> {
        let connection = self.find(id)?;
        let pending = connection.output.bytes();
        Some((connection.traffic, pending, connection.subscriptions.len()))
    }

    pub(crate) fn find(&self, id: ConnectionId) -> Option<&Connection> {
        self.connections
            .get(id.slot() as usize)?
            .as_ref()
            .filter(|connection| connection.id == id)
    }

    pub(crate) fn find_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.connections
            .get_mut(id.slot() as usize)?
            .as_mut()
            .filter(|connection| connection.id == id)
    }
}
