//! Fan-out: publishes to the outputs of everybody who listens, in order of arrival.
//!
//! Strategy: frames in a row with the same publisher and the same route are a run, and a run is
//! rendered for each listener in one go. Listeners that use the same sid get the same bytes, so
//! those are rendered once and shared. Queue groups and subscriptions with a maximum need a
//! decision for each message and take the slow way.

use crate::connection::{Connection, ConnectionId};
use crate::held::Held;
use crate::hub::Hub;
use crate::output::Pool;
use crate::subscription::Subscription;
use crate::vector::Entry;
use ahash::AHashSet;
use penstock_subjects::Matches;
use penstock_wire::{Message, render};
use std::sync::Arc;

const SHARING_LISTENERS_MIN: usize = 3; // fewer listeners: copying is cheaper than sharing
const SHARING_FRAMES_MIN: usize = 8; // shorter runs: looking for equal sids costs more than it saves
const SHARING_BYTES_MIN: usize = 8 * 1024; // smaller blocks are copied into the output
const LARGE_BODY_BYTES: usize = 32 * 1024; // larger bodies are shared one by one
const BLOCKS_MAX: usize = 16; // sids beyond these are rendered on their own
const NOBODY: u32 = u32::MAX; // the publisher's slot of the server's own messages
const WORK_MAX: usize = 200_000; // listeners visited for one connection in one turn
const TURN_WORK_MAX: usize = 1_000_000; // and for all of them: some tens of milliseconds
const PAUSE_NS: u64 = 5_000_000; // the longest a publisher waits for a crowded subscriber
const PROGRESS_RECENT_NS: u64 = 10_000_000; // a subscriber without progress is not waited for

/// What a run looks like to listeners with the same sid and the same header support.
struct Block {
    sid: Box<[u8]>,
    headers: bool,
    bytes: Arc<Vec<u8>>,
}

impl Hub {
    /// Delivers the publishes of `start..end`. Stops behind the first request that nobody listens
    /// to and whose sender wants to know, and returns its index.
    pub fn fan_out(&mut self, start: usize, end: usize) -> Option<usize> {
        let end = end.min(self.vector.entries.len());
        if start < end && self.routes.answer(start).is_none() {
            self.resolve(start, end);
        }
        let mut at = start;
        while at < end {
            let Some((number, matches)) = self.routes.answer(at) else {
                at += 1;
                continue;
            };
            let matches = Arc::clone(matches);
            let slot = self.vector.entries[at].slot;
            let weight = matches.weight().max(1);
            if self.is_passed_over(at) || self.put_off(at, slot) {
                at += 1;
                continue;
            }
            let longest = at + (WORK_MAX / weight).max(1);
            let mut run_end = at + 1;
            while run_end < end.min(longest)
                && self.vector.entries[run_end].slot == slot
                && self.routes.answer(run_end).map(|(other, _)| other) == Some(number)
            {
                run_end += 1;
            }
            self.spend(slot, weight * (run_end - at));
            if let Some(unanswered) = self.deliver_run(at, run_end, slot, &matches) {
                return Some(unanswered);
            }
            at = run_end;
        }
        None
    }

    fn spend(&mut self, slot: u32, work: usize) {
        self.work += work;
        if let Some(connection) = &mut self.connections[slot as usize] {
            connection.work += work;
        }
    }

    /// If a connection has had its share of the turn, or the turn is full, the rest of its frames
    /// wait for the next one. The first frame of a turn is never put off.
    fn put_off(&mut self, index: usize, slot: u32) -> bool {
        let spent = self.connections[slot as usize]
            .as_ref()
            .map_or(0, |connection| connection.work);
        let full = spent >= WORK_MAX || self.work >= TURN_WORK_MAX;
        if full {
            self.defer(index);
        }
        full
    }

    fn deliver_run(
        &mut self,
        start: usize,
        end: usize,
        slot: u32,
        matches: &Matches,
    ) -> Option<usize> {
        let publisher = self.connections[slot as usize].as_ref()?;
        let wants_to_know = publisher.switches.no_responders;
        let needs_decisions = !matches.groups.is_empty()
            || matches
                .plain
                .iter()
                .any(|number| self.subscriptions.table[*number as usize].delivered_max > 0)
            || self.has_twins(&matches.plain);
        if needs_decisions {
            for index in start..end {
                let heard = self.deliver_one(index, slot, matches) || !matches.targets.is_empty();
                self.count_in(slot, index, index + 1);
                if !heard && wants_to_know && self.is_request(index) {
                    return Some(index);
                }
            }
            return None;
        }
        let receivers = self.deliver_to_all(start, end, slot, &matches.plain);
        let heard = receivers > 0 || !matches.targets.is_empty();
        if !heard && wants_to_know {
            let unanswered = (start..end).find(|index| self.is_request(*index));
            self.count_in(slot, start, unanswered.map_or(end, |index| index + 1));
            return unanswered;
        }
        self.count_in(slot, start, end);
        None
    }

    /// True if a connection listens twice: its messages must alternate, one by one.
    fn has_twins(&mut self, plain: &[u32]) -> bool {
        if plain.len() < 2 {
            return false;
        }
        self.run_number += 1;
        let run_number = self.run_number;
        plain.iter().any(|number| {
            let slot = self.subscriptions.table[*number as usize].slot;
            self.connections[slot as usize]
                .as_mut()
                .is_some_and(|found| {
                    std::mem::replace(&mut found.run_number, run_number) == run_number
                })
        })
    }

    fn is_request(&self, index: usize) -> bool {
        !self.vector.entries[index].frame.reply.is_empty()
    }

    fn count_in(&mut self, slot: u32, start: usize, end: usize) {
        if let Some(connection) = &mut self.connections[slot as usize] {
            let entries = &self.vector.entries[start..end];
            connection.traffic.messages_in += entries.len() as u64;
            connection.traffic.bytes_in += payload_bytes(entries);
        }
    }

    /// A run to listeners without a maximum; returns how many of them took it.
    fn deliver_to_all(&mut self, start: usize, end: usize, slot: u32, plain: &[u32]) -> usize {
        let entries = &self.vector.entries[start..end];
        let body_bytes = payload_bytes(entries);
        let header_bytes: u64 = entries
            .iter()
            .map(|e| u64::from(e.frame.header_bytes))
            .sum();
        let large = body_bytes / entries.len() as u64 >= LARGE_BODY_BYTES as u64;
        let wide = plain.len() >= SHARING_LISTENERS_MIN;
        let bodies = if wide && large {
            self.share_bodies(start, end)
        } else {
            Vec::new()
        };
        let repeated = if wide && bodies.is_empty() && entries.len() >= SHARING_FRAMES_MIN {
            self.repeated_sids(plain)
        } else {
            AHashSet::default()
        };
        let mut blocks: Vec<Block> = Vec::new();
        let mut receivers = 0;
        for number in plain {
            let subscription = &mut self.subscriptions.table[*number as usize];
            let Some(connection) = open_receiver(&mut self.connections, subscription, slot) else {
                continue;
            };
            receivers += 1;
            let headers = connection.switches.headers;
            let output = &mut connection.output;
            let entries = &self.vector.entries[start..end];
            let messages = entries
                .iter()
                .map(|entry| seen_by(self.vector.message(&entry.frame), headers));
            if !bodies.is_empty() && headers {
                for (message, body) in messages.zip(&bodies) {
                    output.append(&mut self.pool, message.subject.len(), |out| {
                        message.push_head(out, &subscription.sid)
                    });
                    output.append_shared(body);
                }
            } else if repeated.contains(&*subscription.sid) {
                let block = shared_block(&mut blocks, &subscription.sid, headers, messages);
                if block.len() < SHARING_BYTES_MIN {
                    output.append(&mut self.pool, block.len(), |out| {
                        out.extend_from_slice(&block);
                    });
                } else {
                    output.append_shared(&block);
                }
            } else {
                for message in messages {
                    output.append(&mut self.pool, message.body.len(), |out| {
                        render(out, &message, &subscription.sid);
                    });
                }
            }
            subscription.delivered += entries.len() as u64;
            connection.traffic.messages_out += entries.len() as u64;
            connection.traffic.bytes_out += if headers {
                body_bytes
            } else {
                body_bytes - header_bytes
            };
            let receiver = subscription.slot;
            self.after_delivery(receiver, slot);
        }
        receivers
    }

    /// Sids that more than one of these subscriptions uses.
    fn repeated_sids(&self, plain: &[u32]) -> AHashSet<Box<[u8]>> {
        let mut seen: AHashSet<&[u8]> = AHashSet::with_capacity(plain.len());
        plain
            .iter()
            .map(|number| &self.subscriptions.table[*number as usize].sid)
            .filter(|sid| !seen.insert(sid))
            .cloned()
            .collect()
    }

    fn share_bodies(&self, start: usize, end: usize) -> Vec<Arc<Vec<u8>>> {
        self.vector.entries[start..end]
            .iter()
            .map(|entry| Arc::new(self.vector.message(&entry.frame).body.to_vec()))
            .collect()
    }

    /// One message to everybody: plain listeners, and one member of each queue group.
    fn deliver_one(&mut self, index: usize, slot: u32, matches: &Matches) -> bool {
        let mut heard = false;
        for number in &matches.plain {
            heard |= self.deliver_to(index, slot, *number);
        }
        for group in &matches.groups {
            let count = group.members.len();
            let first = self.choose(count);
            heard |= (0..count)
                .any(|step| self.deliver_to(index, slot, group.members[(first + step) % count]));
        }
        heard
    }

    /// One message of the vector to one subscription; false if it cannot take it.
    fn deliver_to(&mut self, index: usize, slot: u32, number: u32) -> bool {
        let message = self.vector.message(&self.vector.entries[index].frame);
        let subscription = &mut self.subscriptions.table[number as usize];
        let connections = &mut self.connections;
        if !hand_over(connections, &mut self.pool, subscription, slot, &message) {
            return false;
        }
        let receiver = subscription.slot;
        self.after_delivery(receiver, slot);
        self.end_if_exhausted(number);
        true
    }

    fn end_if_exhausted(&mut self, number: u32) {
        let subscription = &self.subscriptions.table[number as usize];
        if subscription.delivered == subscription.delivered_max {
            self.end_subscription(number);
        }
    }

    /// Marks the receiver for flushing. If much waits for it already and it is still reading,
    /// the publisher rests for a moment, so that a fast publisher does not turn every subscriber
    /// into a slow consumer. One that stopped reading is not waited for.
    fn after_delivery(&mut self, receiver: u32, publisher: u32) {
        self.touch(receiver);
        let Some(connection) = &self.connections[receiver as usize] else {
            return;
        };
        let crowded = !connection.ended && connection.output.bytes() > self.bounds.crowded_bytes;
        let idle_ns = self.now_ns.saturating_sub(connection.output.progress_ns());
        if crowded && idle_ns < PROGRESS_RECENT_NS {
            self.crowded.push(receiver);
            let until_ns = self.now_ns + PAUSE_NS;
            if let Some(connection) = &mut self.connections[publisher as usize] {
                connection.paused_until_ns = until_ns;
            }
        }
    }

    /// A message from the server itself to everybody in an account who listens, its own targets
    /// included. True if somebody does.
    pub fn publish(&mut self, account: u32, message: &Message<'_>) -> bool {
        let matches = self.find_routes(account, message.subject);
        self.publish_to(account, &matches, message)
    }

    /// The same, where the listeners are known.
    pub(crate) fn publish_to(
        &mut self,
        account: u32,
        matches: &Matches,
        message: &Message<'_>,
    ) -> bool {
        let mut heard = self.loop_back(account, matches, message);
        for number in &matches.plain {
            heard |= self.give(*number, message);
        }
        for group in &matches.groups {
            let count = group.members.len();
            let first = self.choose(count);
            heard |=
                (0..count).any(|step| self.give(group.members[(first + step) % count], message));
        }
        heard
    }

    fn give(&mut self, number: u32, message: &Message<'_>) -> bool {
        let subscription = &mut self.subscriptions.table[number as usize];
        let connections = &mut self.connections;
        let handed = if self.held.gate > 0 {
            hand_over_held(connections, &mut self.held, subscription, message)
        } else {
            hand_over(connections, &mut self.pool, subscription, NOBODY, message)
        };
        if handed {
            let receiver = subscription.slot;
            self.touch(receiver);
            self.end_if_exhausted(number);
        }
        handed
    }

    /// A member's number below `count`, all equally likely (xorshift64*).
    #[allow(clippy::cast_possible_truncation)] // the result is below `count`
    fn choose(&mut self, count: usize) -> usize {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        let draw = self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        (draw as usize * count) >> 32
    }

    /// The id of the connection behind a frame.
    #[must_use]
    pub fn sender(&self, index: usize) -> Option<ConnectionId> {
        let entry = self.vector.entries.get(index)?;
        let connection = self.connections[entry.slot as usize].as_ref()?;
        Some(connection.id)
    }

    /// A frame of the vector with the bytes it points into.
    #[must_use]
    pub fn entry(&self, index: usize) -> Option<(&Entry, &[u8])> {
        let entry = self.vector.entries.get(index)?;
        Some((entry, self.vector.bytes()))
    }
}

/// The connection behind a subscription, if it takes messages of `publisher`.
fn open_receiver<'a>(
    connections: &'a mut [Option<Connection>],
    subscription: &Subscription,
    publisher: u32,
) -> Option<&'a mut Connection> {
    let connection = connections[subscription.slot as usize].as_mut()?;
    let is_echo = subscription.slot == publisher && !connection.switches.echo;
    (subscription.live && !connection.ended && !is_echo).then_some(connection)
}

/// Renders one message for one subscription; false if it cannot take it.
fn hand_over(
    connections: &mut [Option<Connection>],
    pool: &mut Pool,
    subscription: &mut Subscription,
    publisher: u32,
    message: &Message<'_>,
) -> bool {
    let Some(connection) = open_receiver(connections, subscription, publisher) else {
        return false;
    };
    let message = seen_by(*message, connection.switches.headers);
    connection.output.append(pool, message.body.len(), |out| {
        render(out, &message, &subscription.sid);
    });
    count_out(connection, subscription, &message);
    true
}

/// Renders one message for one subscription behind the gate.
fn hand_over_held(
    connections: &mut [Option<Connection>],
    held: &mut Held,
    subscription: &mut Subscription,
    message: &Message<'_>,
) -> bool {
    let Some(connection) = open_receiver(connections, subscription, NOBODY) else {
        return false;
    };
    let message = seen_by(*message, connection.switches.headers);
    held.scratch.clear();
    render(&mut held.scratch, &message, &subscription.sid);
    connection.held_bytes += held.scratch.len();
    held.push_scratch(connection.id);
    count_out(connection, subscription, &message);
    true
}

fn count_out(connection: &mut Connection, subscription: &mut Subscription, message: &Message<'_>) {
    connection.traffic.messages_out += 1;
    connection.traffic.bytes_out += message.body.len() as u64 - 2;
    subscription.delivered += 1;
}

fn seen_by(message: Message<'_>, headers: bool) -> Message<'_> {
    if headers {
        message
    } else {
        message.without_headers()
    }
}

fn shared_block<'a>(
    blocks: &mut Vec<Block>,
    sid: &[u8],
    headers: bool,
    messages: impl Iterator<Item = Message<'a>>,
) -> Arc<Vec<u8>> {
    let known = blocks
        .iter()
        .find(|block| *block.sid == *sid && block.headers == headers);
    if let Some(block) = known {
        return Arc::clone(&block.bytes);
    }
    let mut bytes = Vec::new();
    for message in messages {
        render(&mut bytes, &message, sid);
    }
    let bytes = Arc::new(bytes);
    if blocks.len() < BLOCKS_MAX {
        blocks.push(Block {
            sid: sid.into(),
            headers,
            bytes: Arc::clone(&bytes),
        });
    }
    bytes
}

fn payload_bytes(entries: &[Entry]) -> u64 {
    entries
        .iter()
        .map(|entry| entry.frame.payload.len() as u64)
        .sum()
}
