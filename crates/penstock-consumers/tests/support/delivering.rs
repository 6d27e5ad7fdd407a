//! The model's deliveries: one message after the other, each looked for from the start.

use super::model::{Model, Sent, Stored, Stream, Terms, Told, Wanted};
use penstock_consumers::{AckPolicy, Stop};

/// The requests, and what they got so far.
struct Round<'a> {
    wanted: &'a [Wanted],
    turns: Vec<usize>,
    told: Told,
}

impl Model {
    /// `listens` says whether anybody listens to an inbox.
    pub fn deliver(
        &mut self,
        stream: &Stream,
        wanted: &[Wanted],
        listens: impl Fn(usize) -> bool,
        terms: &Terms<'_>,
    ) -> Told {
        let mut round = Round {
            wanted,
            turns: (0..wanted.len()).collect(),
            told: Told {
                stop: Stop::Done,
                index: 0,
                sequence: 0,
                served: vec![(0, 0); wanted.len()],
                sent: Vec::new(),
            },
        };
        while !round.turns.is_empty() {
            let stop = self.deliver_one(stream, &mut round, &listens, terms);
            if let Some((stop, sequence)) = stop {
                round.told.stop = stop;
                round.told.sequence = sequence;
                if stop != Stop::Batch {
                    round.told.index = round.turns.first().copied().unwrap_or(0);
                }
                return round.told;
            }
        }
        round.told
    }

    /// The next message, and how often it was delivered; or why there is none.
    fn next(&mut self, stream: &Stream, terms: &Terms<'_>) -> Result<(u64, u64), (Stop, u64)> {
        while let Some(sequence) = self.queue.first().copied() {
            let deliveries = self.deliveries_of(sequence);
            if terms.deliveries_max > 0 && deliveries >= terms.deliveries_max {
                return Err((Stop::GiveUp, sequence));
            }
            if stream.messages.contains_key(&sequence) {
                return Ok((sequence, deliveries));
            }
            self.removed(|gone| gone == sequence);
        }
        let is_limited = self.policy != AckPolicy::None && terms.ack_pending_max > 0;
        if is_limited && self.pending.len() >= terms.ack_pending_max {
            return Err((Stop::AckPending, 0));
        }
        self.listed.retain({
            let mut done = false;
            move |s| {
                done |= stream.messages.contains_key(s);
                done
            }
        });
        if let Some(sequence) = self.listed.first() {
            return Ok((*sequence, 0));
        }
        let mut ahead = stream.messages.range(self.cursor..);
        match ahead.find(|(_, message)| self.is_meant(message)) {
            Some((sequence, _)) => {
                self.cursor = *sequence;
                Ok((*sequence, 0))
            }
            None => {
                self.cursor = self.cursor.max(stream.last + 1);
                Err((Stop::End, 0))
            }
        }
    }

    fn deliver_one(
        &mut self,
        stream: &Stream,
        round: &mut Round<'_>,
        listens: &impl Fn(usize) -> bool,
        terms: &Terms<'_>,
    ) -> Option<(Stop, u64)> {
        let (sequence, deliveries) = match self.next(stream, terms) {
            Ok(found) => found,
            Err(stop) => return Some(stop),
        };
        let index = round.turns[0];
        let (inbox, messages_max, bytes_max) = round.wanted[index];
        if !listens(inbox) {
            return Some((Stop::NoInterest, sequence));
        }
        let message = &stream.messages[&sequence];
        let pending = self.behind_cursor(stream) + self.listed.len() as u64;
        let pending = pending - u64::from(deliveries == 0);
        let sent = self.letter(
            inbox,
            message,
            sequence,
            deliveries + 1,
            pending,
            terms.header,
        );
        let uncounted = self.uncounted(message, terms.header);
        let size = sent.subject.len() + sent.reply.len() + sent.headers.len() + sent.payload.len();
        let size = (size - uncounted) as u64;
        if bytes_max > 0 && round.told.served[index].1 + size > bytes_max {
            return Some((Stop::Bytes, sequence));
        }
        round.told.sent.push(sent);
        self.delivered_now(sequence, deliveries, terms.now_ns);
        let served = &mut round.told.served[index];
        *served = (served.0 + 1, served.1 + size);
        let is_over = served.0 == messages_max || bytes_max > 0 && served.1 == bytes_max;
        let bytes_left = bytes_max > 0 && served.1 < bytes_max;
        round.turns.remove(0);
        if !is_over {
            round.turns.push(index);
        } else if bytes_left {
            round.told.index = index;
            return Some((Stop::Batch, 0));
        }
        let bytes: u64 = round.told.served.iter().map(|served| served.1).sum();
        let is_soft = terms.bytes_soft > 0 && bytes > terms.bytes_soft && !round.turns.is_empty();
        is_soft.then_some((Stop::Soft, 0))
    }

    fn uncounted(&self, message: &Stored, header: &str) -> usize {
        let is_made = message.headers.is_empty() && !self.headers_only && !header.is_empty();
        header.len() + if is_made { 12 } else { 0 }
    }

    fn letter(
        &self,
        inbox: usize,
        message: &Stored,
        sequence: u64,
        delivery: u64,
        pending: u64,
        header: &str,
    ) -> Sent {
        let consumer = self.delivered.0 + 1;
        let (mut headers, mut payload) = (message.headers.clone(), message.payload.clone());
        let mut lines = String::new();
        if self.headers_only {
            lines = format!("Nats-Msg-Size: {}\r\n", payload.len());
            payload.clear();
        }
        lines += header;
        if !lines.is_empty() {
            if headers.is_empty() {
                headers = b"NATS/1.0\r\n\r\n".to_vec();
            }
            headers.truncate(headers.len() - 2);
            headers.extend_from_slice(lines.as_bytes());
            headers.extend_from_slice(b"\r\n");
        }
        let time_ns = message.time_ns;
        Sent {
            inbox,
            subject: message.subject.clone(),
            reply: format!("$JS.ACK.S.C.{delivery}.{sequence}.{consumer}.{time_ns}.{pending}"),
            headers,
            payload,
        }
    }

    fn delivered_now(&mut self, sequence: u64, deliveries: u64, now_ns: i64) {
        self.delivered.0 += 1;
        if deliveries > 0 {
            self.queue.remove(0);
            self.deliveries.insert(sequence, deliveries + 1);
            let consumer = self.pending[&sequence].0;
            self.pending.insert(sequence, (consumer, now_ns));
            return;
        }
        self.delivered.1 = sequence;
        if self.policy == AckPolicy::None {
            (self.floor, self.shown) = (self.delivered, self.delivered);
        } else {
            self.pending.insert(sequence, (self.delivered.0, now_ns));
        }
        match self.listed.is_empty() {
            true => self.cursor = sequence + 1,
            false => drop(self.listed.remove(0)),
        }
    }
}
