//! Plain acknowledgements of a turn, all in one go.

use crate::ack_subject::sequences;
use crate::ledger::{AckPolicy, Ledger, Range};
use crate::settling::Settled;
use penstock_turn::Hub;

/// How far a run of acknowledgements went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acked {
    /// The first frame that was left to the caller, or the end of the run.
    pub position: usize,
    /// How many acknowledgements settled something.
    pub count: u64,
    /// The sequences settled.
    pub ranges: Vec<Range>,
    /// Whether any of them expects an answer.
    pub wants_answers: bool,
}

impl Ledger {
    /// Takes the frames `picked[start..end]` as long as they are plain acknowledgements: under
    /// this ledger's subject, with digits where they matter, and no other payload than `+ACK` or
    /// `+OK`. One that expects an answer is left if its sequence was not reached.
    pub fn ack_run(&mut self, hub: &Hub, start: usize, end: usize) -> Acked {
        let mut acked = Acked {
            position: start,
            ..Acked::default()
        };
        while acked.position < end {
            if let Some(index) = hub.picked(acked.position)
                && let Some((entry, bytes)) = hub.entry(index)
            {
                let frame = &entry.frame;
                let payload = frame.payload.of(bytes);
                let payload = payload
                    .get(frame.header_bytes as usize..)
                    .unwrap_or(payload);
                let subject = frame.subject.of(bytes);
                let Some((sequence, consumer)) = self.plain(subject, payload) else {
                    break;
                };
                if !frame.reply.is_empty() && sequence >= self.reached() {
                    break;
                }
                acked.wants_answers |= !frame.reply.is_empty();
                let settled = self.ack(sequence, consumer, &mut acked.ranges);
                acked.count += u64::from(settled == Settled::Something);
            }
            acked.position += 1;
        }
        acked
    }

    #[inline]
    fn plain(&self, subject: &[u8], payload: &[u8]) -> Option<(u64, u64)> {
        if !matches!(payload, b"" | b"+ACK" | b"+OK") {
            return None;
        }
        let tokens = subject.strip_prefix(self.ack_subject.as_slice())?;
        let (sequence, consumer) = sequences(tokens)?;
        match self.policy {
            AckPolicy::Explicit => Some((sequence, 0)),
            AckPolicy::All => Some((sequence, consumer?)),
            AckPolicy::None => None,
        }
    }
}
