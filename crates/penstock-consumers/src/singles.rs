//! Direct gets of one message: the last of a subject, which is how the keys of a bucket are read, or
//! the one of a sequence.
//!
//! Strategy: a run of them is answered from the store's bytes, straight into the output of whoever
//! listens, as long as they ask for nothing else, in the words that clients use. Any other one is
//! left to the caller, and so is a message that cannot be read.

use crate::place::Place;
use penstock_blocks::{Store, is_literal};
use penstock_turn::{Asked, Delivery, Hub};

/// Who asks whom, and what is said where there is no message.
pub struct SingleTerms<'a> {
    pub account: u32,
    pub stream: &'a [u8],
    /// So many dots stand before the subject that is asked for.
    pub dots: usize,
    /// Headers without a payload.
    pub missing: &'a [u8],
}

/// Answers the requests `picked[start..end]`; where it stopped, which is the end of the run or one
/// for the caller.
pub fn send_singles(
    hub: &mut Hub,
    store: &mut Store,
    terms: &SingleTerms<'_>,
    start: usize,
    end: usize,
) -> usize {
    let mut place = Place::new(terms.stream);
    let mut inbox = Vec::new();
    for position in start..end {
        let Some(asked) = hub.asked(position).filter(|asked| !asked.reply.is_empty()) else {
            continue; // nobody waits for an answer
        };
        let sequence = match wanted(&asked, terms.dots) {
            Some(Wanted::LastOf(subject)) => store.last_of_subject(subject),
            Some(Wanted::Sequence(sequence)) => Ok(Some(sequence)),
            None => return position,
        };
        let Ok(sequence) = sequence else {
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

enum Wanted<'a> {
    LastOf(&'a [u8]),
    Sequence(u64),
}

/// What is asked for, if nothing else is said.
fn wanted<'a>(asked: &Asked<'a>, dots: usize) -> Option<Wanted<'a>> {
    if asked.header_bytes > 0 {
        return None;
    }
    match asked
        .subject
        .splitn(dots + 1, |byte| *byte == b'.')
        .nth(dots)
    {
        None => sequence_in(asked.body).map(Wanted::Sequence),
        Some(subject) if subject.is_empty() || !asked.body.is_empty() => None,
        Some(subject) => is_literal(subject).then_some(Wanted::LastOf(subject)),
    }
}

/// `{"seq":17}`, with or without a blank before the number.
fn sequence_in(body: &[u8]) -> Option<u64> {
    let number = body.strip_prefix(b"{\"seq\":")?.strip_suffix(b"}")?;
    let digits = number.strip_prefix(b" ").unwrap_or(number);
    let is_plain = digits.len() <= 18 && digits.iter().all(u8::is_ascii_digit);
    if !is_plain || digits.first().is_none_or(|first| *first == b'0') {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_in_the_words_of_clients() {
        for (body, sequence) in [
            (&b"{\"seq\":17}"[..], Some(17)),
            (b"{\"seq\": 170}", Some(170)),
            (b"{\"seq\":0}", None),
            (b"{\"seq\":017}", None),
            (b"{\"seq\":-1}", None),
            (b"{\"seq\":}", None),
            (b"{\"seq\":1.5}", None),
            (b"{\"seq\":1,\"batch\":2}", None),
            (b"{\"seq\":12345678901234567890}", None),
            (b" {\"seq\":17}", None),
            (b"", None),
        ] {
            assert_eq!(sequence_in(body), sequence, "{body:?}");
        }
    }
}
