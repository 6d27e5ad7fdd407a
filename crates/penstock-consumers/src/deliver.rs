//! Deliveries: messages from the store's bytes into the output of whoever listens.
//!
//! Strategy: what is queued again comes first, then the list, then a walk from the cursor on. The
//! requests take turns, one message each. A message is counted as delivered after somebody got it,
//! so whatever stops a call leaves it where it was.

use crate::ack_subject::Numbers;
use crate::count::Arrived;
use crate::headers::Rewriting;
use crate::ledger::{AckPolicy, Ledger};
use penstock_blocks::{Error, Message, Result, Store, Visit, WalkEnd};
use penstock_turn::{Delivery, Hub, Route};
use std::collections::VecDeque;

/// Why deliveries stopped. The numbers are shared with Python (`kernel/consumers.py`).
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Every request has what it asked for.
    Done = 1,
    /// There is nothing more.
    End = 2,
    /// A request has its messages, and bytes left.
    Batch = 3,
    /// The next message does not fit into what a request has left.
    Bytes = 4,
    /// Too much is pending for anything new.
    AckPending = 5,
    /// Nobody listens to a request's inbox.
    NoInterest = 6,
    /// A queued message had all its deliveries.
    GiveUp = 7,
    /// Too much waits for a listener already.
    Crowded = 8,
    /// `bytes_soft` was passed.
    Soft = 9,
    /// Much was looked at, and there may be more.
    Busy = 10,
}

/// Who wants messages, and how many; 0 bytes is no limit.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub inbox: &'a [u8],
    pub messages_max: u64,
    pub bytes_max: u64,
}

/// What holds for all requests of a call; 0 is no limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms<'a> {
    pub account: u32,
    pub ack_pending_max: usize,
    pub deliveries_max: u64,
    /// Deliveries end behind the one that brings their bytes above this.
    pub bytes_soft: u64,
    /// A line for the headers of every message; not counted.
    pub header: &'a [u8],
    pub now_ns: i64,
    pub arrived: Option<Arrived>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub stop: Stop,
    /// The request it concerns, or whose turn is next.
    pub index: usize,
    /// The message it concerns, or 0.
    pub sequence: u64,
    /// Messages and bytes for each request.
    pub served: Vec<(u64, u64)>,
}

/// The requests of a call, in turns.
struct Round<'a> {
    hub: &'a mut Hub,
    requests: &'a [Request<'a>],
    account: u32,
    routes: Vec<Option<Route>>,
    turns: VecDeque<usize>,
    served: Vec<(u64, u64)>,
    bytes: u64,
    bytes_soft: u64,
    rewriting: Rewriting<'a>,
    /// The ledger's subject, and room for the rest of a delivery's.
    reply: Vec<u8>,
    reply_start: usize,
    /// Why no more messages are wanted, which request it concerns, and which message.
    stop: Option<(Stop, usize, u64)>,
}

impl<'a> Round<'a> {
    fn new(
        ledger: &Ledger,
        hub: &'a mut Hub,
        requests: &'a [Request<'a>],
        terms: &Terms<'a>,
    ) -> Round<'a> {
        Round {
            hub,
            requests,
            account: terms.account,
            routes: requests.iter().map(|_| None).collect(),
            turns: (0..requests.len()).collect(),
            served: vec![(0, 0); requests.len()],
            bytes: 0,
            bytes_soft: terms.bytes_soft,
            rewriting: Rewriting::new(ledger.headers_only, terms.header),
            reply: ledger.ack_subject.clone(),
            reply_start: ledger.ack_subject.len(),
            stop: None,
        }
    }

    /// How many messages are wanted at the most.
    fn wanted(&self) -> u64 {
        let left = |index: &usize| self.requests[*index].messages_max - self.served[*index].0;
        self.turns.iter().map(left).fold(0, u64::saturating_add)
    }

    fn stop_at(&mut self, stop: Stop, sequence: u64) -> bool {
        let index = self.turns.front().copied().unwrap_or(0);
        self.stop = Some((stop, index, sequence));
        false
    }

    fn is_open(&self) -> bool {
        self.stop.is_none()
    }

    /// Gives a message to the request whose turn it is; false if it did not get it, and then
    /// `stop` says why. It may be set after a delivery too.
    #[inline]
    fn send(
        &mut self,
        message: &Message<'_>,
        deliveries: u64,
        consumer: u64,
        pending: u64,
    ) -> bool {
        let sequence = message.sequence;
        let Some(index) = self.turns.front().copied() else {
            return self.stop_at(Stop::Done, 0);
        };
        let request = &self.requests[index];
        let account = self.account;
        let hub = &mut *self.hub;
        let route = self.routes[index].get_or_insert_with(|| hub.route(account, request.inbox));
        if !hub.reaches(route) {
            return self.stop_at(Stop::NoInterest, sequence);
        }
        if hub.crowds(route) {
            return self.stop_at(Stop::Crowded, sequence);
        }
        self.reply.truncate(self.reply_start);
        let numbers = Numbers {
            deliveries,
            sequence,
            consumer,
            time_ns: message.timestamp_ns,
            pending,
        };
        numbers.push(&mut self.reply);
        let (headers, payload, added) = self.rewriting.of(message);
        let size = message.subject.len() + self.reply.len() + headers.len() + payload.len() - added;
        let (messages, bytes) = self.served[index];
        if request.bytes_max > 0 && bytes + size as u64 > request.bytes_max {
            return self.stop_at(Stop::Bytes, sequence);
        }
        let delivery = Delivery {
            subject: message.subject,
            reply: &self.reply,
            headers,
            payload,
        };
        if !self.hub.hand_out(route, &delivery) {
            return self.stop_at(Stop::NoInterest, sequence);
        }
        self.served[index] = (messages + 1, bytes + size as u64);
        self.bytes += size as u64;
        self.after_delivery(index);
        true
    }

    /// Whose turn is next, and whether there is to be one.
    #[inline]
    fn after_delivery(&mut self, index: usize) {
        let request = &self.requests[index];
        let (messages, bytes) = self.served[index];
        let has_bytes = request.bytes_max > 0 && bytes < request.bytes_max;
        let is_over = messages >= request.messages_max
            || (request.bytes_max > 0 && bytes >= request.bytes_max);
        if is_over {
            self.turns.pop_front();
        } else if self.turns.len() > 1 {
            self.turns.rotate_left(1);
        }
        if is_over && has_bytes {
            self.stop = Some((Stop::Batch, index, 0));
        } else if self.turns.is_empty() {
            self.stop = Some((Stop::Done, 0, 0));
        } else if self.bytes_soft > 0 && self.bytes > self.bytes_soft {
            self.stop_at(Stop::Soft, 0);
        }
    }
}

impl Ledger {
    /// Delivers to requests until something stops it. An error is told only by a call that has
    /// delivered nothing; otherwise the next call finds it again.
    pub fn deliver(
        &mut self,
        hub: &mut Hub,
        store: &mut Store,
        requests: &[Request<'_>],
        terms: &Terms<'_>,
    ) -> Result<Outcome> {
        let mut round = Round::new(self, hub, requests, terms);
        if requests.is_empty() {
            round.stop_at(Stop::Done, 0);
        }
        let done = self.deliver_all(&mut round, store, terms);
        if done.is_err() && round.bytes == 0 {
            done?;
        }
        let (stop, index, sequence) = round.stop.unwrap_or((Stop::Busy, 0, 0));
        Ok(Outcome {
            stop,
            index,
            sequence,
            served: round.served,
        })
    }

    fn deliver_all(
        &mut self,
        round: &mut Round<'_>,
        store: &mut Store,
        terms: &Terms<'_>,
    ) -> Result<()> {
        let pending = self.count(store, terms.arrived, false)?;
        self.deliver_queued(round, store, terms, pending)?;
        self.deliver_listed(round, store, terms, pending)?;
        if round.is_open() {
            self.deliver_new(round, store, terms, pending)?;
        }
        Ok(())
    }

    fn deliver_queued(
        &mut self,
        round: &mut Round<'_>,
        store: &mut Store,
        terms: &Terms<'_>,
        pending: u64,
    ) -> Result<()> {
        let pending = pending + self.listed.len() as u64;
        while round.is_open()
            && let Some(sequence) = self.pending.next_queued()
        {
            let deliveries = self.deliveries_of(sequence);
            if terms.deliveries_max > 0 && deliveries >= terms.deliveries_max {
                round.stop_at(Stop::GiveUp, sequence);
                break;
            }
            let Some(message) = load(store, sequence)? else {
                self.removed((sequence, sequence));
                continue;
            };
            let consumer = self.place.delivered.consumer + 1;
            if round.send(&message, deliveries + 1, consumer, pending) {
                self.delivered_again(sequence, deliveries + 1, terms.now_ns);
            }
        }
        Ok(())
    }

    fn deliver_listed(
        &mut self,
        round: &mut Round<'_>,
        store: &mut Store,
        terms: &Terms<'_>,
        pending: u64,
    ) -> Result<()> {
        while round.is_open()
            && let Some(sequence) = self.listed.front().copied()
        {
            if self.is_full(terms.ack_pending_max) {
                round.stop_at(Stop::AckPending, 0);
                break;
            }
            let consumer = self.place.delivered.consumer + 1;
            let left = self.listed.len() as u64 - 1;
            match load(store, sequence)? {
                Some(message) if !round.send(&message, 1, consumer, pending + left) => break,
                Some(_) => self.delivered(sequence, terms.now_ns),
                None => {}
            }
            self.listed.pop_front();
            if let Some(changes) = &mut self.changes {
                changes.listed(self.listed.len());
            }
        }
        Ok(())
    }

    fn deliver_new(
        &mut self,
        round: &mut Round<'_>,
        store: &mut Store,
        terms: &Terms<'_>,
        pending: u64,
    ) -> Result<()> {
        if self.is_full(terms.ack_pending_max) {
            round.stop_at(Stop::AckPending, 0);
            return Ok(());
        }
        if pending == 0 {
            round.stop_at(Stop::End, 0);
            return self.go_to_end(store);
        }
        let filter = std::mem::replace(&mut self.filter, penstock_blocks::Filter::everything());
        let mut left = pending;
        let walked = store.walk(&filter, self.place.cursor, round.wanted(), |message| {
            let consumer = self.place.delivered.consumer + 1;
            if !round.send(message, 1, consumer, left.saturating_sub(1)) {
                return Visit::Refuse;
            }
            left = left.saturating_sub(1);
            self.delivered(message.sequence, terms.now_ns);
            if round.is_open() && self.is_full(terms.ack_pending_max) {
                round.stop_at(Stop::AckPending, 0);
            }
            if round.is_open() {
                Visit::Take
            } else {
                Visit::TakeLast
            }
        });
        self.filter = filter;
        self.place.cursor = self.place.cursor.max(walked.next);
        match walked.end {
            WalkEnd::Stopped => {}
            WalkEnd::Over => {
                round.stop_at(Stop::End, 0);
                left = 0;
            }
            WalkEnd::Paused => {
                round.stop_at(Stop::Busy, 0);
            }
            WalkEnd::Failed(error) => {
                self.recount(store, left)?;
                return Err(error);
            }
        }
        self.recount(store, left)
    }

    fn is_full(&self, ack_pending_max: usize) -> bool {
        self.policy != AckPolicy::None
            && ack_pending_max > 0
            && self.pending.len() >= ack_pending_max
    }

    /// Whether a `deliver` would find nothing and end with `Stop::End`; if so, the state is as
    /// behind it.
    pub fn is_at_end(
        &mut self,
        store: &mut Store,
        ack_pending_max: usize,
        arrived: Option<Arrived>,
    ) -> Result<bool> {
        let is_first = self.pending.queued() == 0 && self.listed.is_empty();
        if !is_first || self.is_full(ack_pending_max) || self.count(store, arrived, false)? > 0 {
            return Ok(false);
        }
        self.go_to_end(store)?;
        Ok(true)
    }

    /// There is nothing more from the cursor on.
    fn go_to_end(&mut self, store: &mut Store) -> Result<()> {
        self.place.cursor = self.place.cursor.max(store.last_sequence() + 1);
        self.recount(store, 0)
    }

    /// Sequence and time of the next new message; the cursor moves to it.
    pub fn peek(&mut self, store: &mut Store) -> Result<Option<(u64, i64)>> {
        while let Some(sequence) = self.listed.front().copied() {
            if let Some(message) = load(store, sequence)? {
                return Ok(Some((sequence, message.timestamp_ns)));
            }
            self.removed((sequence, sequence));
        }
        let pending = self.count(store, None, false)?;
        let mut found = None;
        let walked = store.walk(&self.filter, self.place.cursor, 1, |message| {
            found = Some((message.sequence, message.timestamp_ns));
            Visit::Refuse
        });
        self.place.cursor = self.place.cursor.max(walked.next);
        self.recount(store, pending)?;
        match walked.end {
            WalkEnd::Failed(error) => Err(error),
            _ => Ok(found),
        }
    }
}

/// A message, unless it is gone or damaged.
fn load(store: &mut Store, sequence: u64) -> Result<Option<Message<'_>>> {
    match store.load(sequence) {
        Err(Error::Damaged { .. }) => Ok(None),
        other => other,
    }
}
