//! Pages of a direct get: many messages of a stream to one inbox, as they are, with where each is
//! stored appended to its headers.
//!
//! Strategy: one walk over the store's bytes, straight into the output of whoever listens. It sends
//! what was asked for and says how far it came; what ends a page is said by the caller.

use crate::place::Place;
use penstock_blocks::{Filter, Store, Visit, WalkEnd};
use penstock_turn::{Delivery, Hub};

/// What is asked for: messages from a sequence up to another, so many, until their bytes pass a
/// bound.
pub struct PageTerms<'a> {
    pub account: u32,
    pub inbox: &'a [u8],
    pub stream: &'a [u8],
    pub filter: &'a Filter,
    pub from: u64,
    pub up_to: u64,
    pub messages_max: u64,
    pub bytes_max: u64,
    /// Messages there are from the first on, and the sequence of the one before it.
    pub pending: u64,
    pub before: u64,
}

/// Why a page ended. The numbers are shared with Python (`kernel/consumers.py`).
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageStop {
    /// It is complete, or nobody listens.
    Over = 1,
    /// The walk rests; there may be more.
    Busy = 2,
    /// The next message could not be read.
    Failed = 3,
}

/// How far it came.
#[derive(Clone, Copy, Debug)]
pub struct PageSent {
    pub stop: PageStop,
    pub next: u64,
    pub messages: u64,
    pub bytes: u64,
    pub pending: u64,
    pub before: u64,
}

/// Sends a page, or a part of it.
pub fn send_page(hub: &mut Hub, store: &mut Store, terms: &PageTerms<'_>) -> PageSent {
    let mut sent = PageSent {
        stop: PageStop::Over,
        next: terms.from,
        messages: 0,
        bytes: 0,
        pending: terms.pending,
        before: terms.before,
    };
    if terms.messages_max == 0 {
        return sent;
    }
    let route = hub.route(terms.account, terms.inbox);
    let mut place = Place::new(terms.stream);
    let walked = store.walk(terms.filter, terms.from, terms.messages_max, |message| {
        if message.sequence > terms.up_to {
            return Visit::Refuse;
        }
        let pending = sent.pending.saturating_sub(1);
        let delivery = Delivery {
            subject: terms.inbox,
            reply: &[],
            headers: place.in_page(message, pending, sent.before),
            payload: message.message,
        };
        if !hub.hand_out(&route, &delivery) {
            return Visit::Refuse;
        }
        sent.pending = pending;
        sent.before = message.sequence;
        sent.messages += 1;
        let counted = message.subject.len() + message.headers.len() + message.message.len();
        sent.bytes += counted as u64;
        if sent.messages == terms.messages_max || sent.bytes >= terms.bytes_max {
            return Visit::TakeLast;
        }
        Visit::Take
    });
    sent.next = walked.next;
    sent.stop = match walked.end {
        WalkEnd::Stopped | WalkEnd::Over => PageStop::Over,
        WalkEnd::Paused => PageStop::Busy,
        WalkEnd::Failed(_) => PageStop::Failed,
    };
    sent
}
