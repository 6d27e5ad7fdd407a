//! Direct gets of the last message of a subject, which is how the keys of a bucket are read.
//!
//! Strategy: a run of them is answered from the store's bytes, straight into the output of whoever
//! listens, as long as they ask for nothing but one subject. Any other one is left to the caller,
//! and so is a message that cannot be read.

use crate::place::Place;
use penstock_blocks::{Store, is_literal};
use penstock_turn::{Asked, Delivery, Hub};

/// Who asks whom, and what is said where there is no message.
pub struct LastTerms<'a> {
    pub account: u32,
    pub stream: &'a [u8],
    /// So many dots stand before the subject that is asked for.
    pub dots: usize,
    /// Headers without a payload.
    pub missing: &'a [u8],
}

/// Answers the requests `picked[start..end]`; where it stopped, which is the end of the run or one
/// for the caller.
pub fn send_lasts(
    hub: &mut Hub,
    store: &mut Store,
    terms: &LastTerms<'_>,
    start: usize,
    end: usize,
) -> usize {
    let mut place = Place::new(terms.stream);
    let mut inbox = Vec::new();
    for position in start..end {
        let Some(asked) = hub.asked(position).filter(|asked| !asked.reply.is_empty()) else {
            continue; // nobody waits for an answer
        };
        let Some(subject) = lone_subject(&asked, terms.dots) else {
            return position;
        };
        let Ok(sequence) = store.last_of_subject(subject) else {
            return position;
        };
        inbox.clear();
        inbox.extend_from_slice(asked.reply);
        let message = match sequence.map(|sequence| store.load(sequence)) {
            None | Some(Ok(None)) => None,
            Some(Ok(found)) => found,
            Some(Err(_)) => return position,
        };
        let (headers, payload) = match &message {
            Some(message) => (place.alone(message), message.message),
            None => (terms.missing, &[][..]),
        };
        let route = hub.route(terms.account, &inbox);
        let answer = Delivery {
            subject: &inbox,
            reply: &[],
            headers,
            payload,
        };
        hub.hand_out(&route, &answer);
    }
    end
}

/// The subject that is asked for, if it is one and nothing else is said.
fn lone_subject<'a>(asked: &Asked<'a>, dots: usize) -> Option<&'a [u8]> {
    if asked.header_bytes > 0 || !asked.body.is_empty() {
        return None;
    }
    let mut tokens = asked.subject.splitn(dots + 1, |byte| *byte == b'.');
    let subject = tokens.nth(dots)?;
    (!subject.is_empty() && is_literal(subject)).then_some(subject)
}
