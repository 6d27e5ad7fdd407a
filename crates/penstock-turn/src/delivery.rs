//! Deliveries: stored messages to whoever listens to an inbox. The subject on the wire is the
//! message's own; the inbox only says who gets it. A part of the server that listens to the inbox
//! gets the message under that subject.
//!
//! Strategy: who listens is found once for many messages. Mostly it is one subscription, and then
//! they are rendered straight into that connection's output. A listener that already has much to
//! read is not filled up further: the sender comes again when there is room.

use crate::connection::Connection;
use crate::hub::Hub;
use penstock_subjects::Matches;
use penstock_wire::Message;
use std::sync::Arc;

const PROGRESS_RECENT_NS: u64 = 10_000_000; // among several, one without progress is not waited for

/// A message with another reply subject, and perhaps other headers.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    pub subject: &'a [u8],
    pub reply: &'a [u8],
    pub headers: &'a [u8],
    pub payload: &'a [u8],
}

impl Delivery<'_> {
    #[inline]
    fn render(&self, out: &mut Vec<u8>, sid: &[u8], with_headers: bool) {
        let headers = if with_headers { self.headers } else { &[] };
        let size = headers.len() + self.payload.len();
        out.reserve(64 + self.subject.len() + sid.len() + self.reply.len() + size);
        out.extend_from_slice(if headers.is_empty() {
            b"MSG "
        } else {
            b"HMSG "
        });
        for text in [self.subject, sid, self.reply] {
            if !text.is_empty() {
                out.extend_from_slice(text);
                out.push(b' ');
            }
        }
        let mut buffer = itoa::Buffer::new();
        if !headers.is_empty() {
            out.extend_from_slice(buffer.format(headers.len()).as_bytes());
            out.push(b' ');
        }
        out.extend_from_slice(buffer.format(size).as_bytes());
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(headers);
        out.extend_from_slice(self.payload);
        out.extend_from_slice(b"\r\n");
    }
}

/// Who listens to an inbox. Good for as long as nobody begins to.
pub struct Route {
    account: u32,
    /// Subscribers.
    matches: Arc<Matches>,
    /// The only one, if its subscription has no maximum.
    lone: Option<u32>,
    /// Parts of the server, and the inbox, if there are any.
    own: Option<(Arc<Matches>, Box<[u8]>)>,
}

impl Hub {
    /// Finds who listens to an inbox.
    pub fn route(&mut self, account: u32, inbox: &[u8]) -> Route {
        let mut matches = self.find_routes(account, inbox);
        let mut own = None;
        if !matches.targets.is_empty() {
            let mut others = Matches::clone(&matches);
            others.targets.clear();
            own = Some((
                std::mem::replace(&mut matches, Arc::new(others)),
                inbox.into(),
            ));
        }
        let lone = match matches.plain[..] {
            [number] if matches.groups.is_empty() && own.is_none() => Some(number),
            _ => None,
        };
        let is_endless =
            |number: &u32| self.subscriptions.table[*number as usize].delivered_max == 0;
        Route {
            account,
            matches,
            lone: lone.filter(is_endless),
            own,
        }
    }

    /// Whether anybody would get a message.
    #[must_use]
    pub fn reaches(&self, route: &Route) -> bool {
        let mut everybody = everybody(&route.matches);
        route.own.is_some() || everybody.any(|number| self.receiver(number).is_some())
    }

    /// The connection behind a subscription, if both are open.
    pub(crate) fn receiver(&self, number: u32) -> Option<&Connection> {
        let subscription = &self.subscriptions.table[number as usize];
        let connection = self.connections[subscription.slot as usize].as_ref()?;
        (subscription.live && !connection.ended).then_some(connection)
    }

    /// Whether so much waits for those who listen that they should not get more now. If so, the
    /// hub asks for another turn when there is room.
    pub fn crowds(&mut self, route: &Route) -> bool {
        if let Some(connection) = route.lone.and_then(|number| self.receiver(number))
            && !self.is_crowded(connection)
        {
            return false;
        }
        let (mut crowded, mut others, mut waited_for) = (Vec::new(), false, route.lone.is_some());
        for number in everybody(&route.matches) {
            match self.receiver(number) {
                Some(connection) if self.is_crowded(connection) => {
                    let idle_ns = self.now_ns.saturating_sub(connection.output.progress_ns());
                    waited_for |= idle_ns < PROGRESS_RECENT_NS;
                    crowded.push(connection.id.slot());
                }
                Some(_) => others = true,
                None => {}
            }
        }
        let crowds = !crowded.is_empty() && (waited_for || !others);
        if crowds {
            self.awaited.append(&mut crowded);
        }
        crowds
    }

    fn is_crowded(&self, connection: &Connection) -> bool {
        connection.output.bytes() + connection.held_bytes > self.bounds.crowded_bytes
    }

    /// True if somebody who was found crowded in this turn no longer is.
    pub(crate) fn has_room_again(&self) -> bool {
        self.awaited.iter().any(|slot| {
            let connection = self.connections[*slot as usize].as_ref();
            connection.is_none_or(|found| {
                let waiting = found.output.bytes() + found.held_bytes;
                found.ended || waiting <= self.bounds.crowded_bytes / 2
            })
        })
    }

    /// Sends a message; false if nobody got it.
    #[inline]
    pub fn hand_out(&mut self, route: &Route, delivery: &Delivery<'_>) -> bool {
        match route.lone {
            Some(number) => self.hand_over_stored(number, delivery),
            None => {
                let body = [delivery.headers, delivery.payload, b"\r\n"].concat();
                let message = Message {
                    subject: delivery.subject,
                    reply: delivery.reply,
                    header_bytes: delivery.headers.len(),
                    body: &body,
                    header_digits: 0,
                    size_digits: 0,
                };
                let mut heard = false;
                if let Some((matches, inbox)) = &route.own {
                    let subject = inbox;
                    heard = self.loop_back(route.account, matches, &Message { subject, ..message });
                }
                self.publish_to(route.account, &route.matches, &message) || heard
            }
        }
    }

    #[inline]
    fn hand_over_stored(&mut self, number: u32, delivery: &Delivery<'_>) -> bool {
        let subscription = &mut self.subscriptions.table[number as usize];
        let slot = subscription.slot;
        let Some(connection) = self.connections[slot as usize].as_mut() else {
            return false;
        };
        if !subscription.live || connection.ended {
            return false;
        }
        let with_headers = connection.switches.headers;
        if self.held.gate > 0 {
            self.held.scratch.clear();
            delivery.render(&mut self.held.scratch, &subscription.sid, with_headers);
            connection.held_bytes += self.held.scratch.len();
            self.held.push_scratch(connection.id);
        } else {
            let bytes = delivery.headers.len() + delivery.payload.len();
            connection.output.append(&mut self.pool, bytes, |out| {
                delivery.render(out, &subscription.sid, with_headers);
            });
        }
        let header_bytes = if with_headers {
            delivery.headers.len()
        } else {
            0
        };
        connection.traffic.messages_out += 1;
        connection.traffic.bytes_out += (header_bytes + delivery.payload.len()) as u64;
        subscription.delivered += 1;
        self.touch(slot);
        true
    }
}

fn everybody(matches: &Matches) -> impl Iterator<Item = u32> {
    let in_groups = matches.groups.iter().flat_map(|group| &group.members);
    matches.plain.iter().chain(in_groups).copied()
}
