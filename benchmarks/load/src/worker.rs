//! One consumer of `work`: what it has asked for, what was published for it, what it has got.
//!
//! Messages must come in the order of their publishes, each once, with rising stream sequences and
//! consumer sequences without a gap. Each is acknowledged when it is read.

use std::collections::VecDeque;

use crate::Outcome;
use crate::blocks::stamp_of;
use crate::consume::{add_ack, add_confirmed_ack, add_request};
use crate::deliveries::{Delivery, DeliveryForm};
use crate::publish_frame::subject_text;
use crate::stream_api::{Figures, StreamApi};

/// What all of them have in common.
pub struct WorkPlan {
    pub stream: String,
    pub subject: String,
    pub size: usize,
    pub batch: u64,
    pub ahead: u64,
    pub ack_pending_max: i64,
}

pub struct Worker {
    name: String,
    form: DeliveryForm,
    target: String,
    inbox: String,
    asked: u64,
    received: u64,
    /// The publishes that have not come yet.
    due: VecDeque<u64>,
    sequence_stream: u64,
    last_reply: Vec<u8>,
}

impl Worker {
    /// Creates the consumer; `inbox` is that of the connection that works for it, with its sid.
    pub fn create(
        plan: &WorkPlan,
        api: &mut StreamApi,
        number: u64,
        inbox: &str,
        sid: usize,
    ) -> Outcome<Self> {
        let (stream, name) = (&plan.stream, format!("W{number:06}"));
        let subject = subject_text(&plan.subject, 1, number);
        let most = plan.ack_pending_max;
        let config = format!(
            r#""ack_policy":"explicit","max_ack_pending":{most},"deliver_policy":"all","filter_subject":"{subject}""#
        );
        api.create_consumer(stream, &name, &config)?;
        Ok(Self {
            form: DeliveryForm::new(&subject, sid, stream, &name, plan.size),
            target: format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{name}"),
            inbox: format!("{inbox}.{name}"),
            name,
            asked: 0,
            received: 0,
            due: VecDeque::new(),
            sequence_stream: 0,
            last_reply: Vec::new(),
        })
    }

    pub fn received(&self) -> u64 {
        self.received
    }

    pub fn published(&mut self, number: u64) {
        self.due.push_back(number);
    }

    /// Keeps so many batches asked for as there are to be.
    pub fn ask(&mut self, plan: &WorkPlan, outbox: &mut Vec<u8>) -> Outcome<()> {
        while self.asked - self.received + plan.batch <= plan.ahead * plan.batch {
            add_request(outbox, &self.target, &self.inbox, plan.batch)?;
            self.asked += plan.batch;
        }
        Ok(())
    }

    /// The delivery at the beginning of `data`, if it is complete and one of this consumer.
    pub fn first<'a>(&self, data: &'a [u8]) -> Option<Delivery<'a>> {
        self.form.first(data)
    }

    pub fn take(&mut self, delivery: &Delivery, outbox: &mut Vec<u8>) -> Outcome<()> {
        let (name, number) = (
            &self.name,
            stamp_of(delivery.payload).map(|(_, number)| number),
        );
        let due = self.due.pop_front();
        if due.is_none() || number != due {
            return Err(format!("{name}: publish {number:?} came, due was {due:?}").into());
        }
        self.received += 1;
        let behind = delivery.sequence_stream <= self.sequence_stream;
        if behind || delivery.sequence_consumer != self.received {
            let found = (delivery.sequence_stream, delivery.sequence_consumer);
            return Err(format!("{name}: the sequences of publish {number:?}: {found:?}").into());
        }
        self.sequence_stream = delivery.sequence_stream;
        self.last_reply.clear();
        self.last_reply.extend_from_slice(delivery.reply);
        add_ack(outbox, delivery.reply);
        Ok(())
    }

    /// Acknowledges the last message once more, to be answered behind all that went before.
    pub fn confirm(&self, outbox: &mut Vec<u8>, inbox: &str) -> bool {
        if self.received > 0 {
            add_confirmed_ack(outbox, &self.last_reply, inbox);
        }
        self.received > 0
    }

    /// Everything came and was acknowledged, and the server says the same.
    pub fn check(&self, plan: &WorkPlan, api: &mut StreamApi) -> Outcome<()> {
        let found = api.figures(&plan.stream, &self.name)?;
        let Figures {
            delivered,
            ack_pending,
            redelivered,
            pending,
            ..
        } = found;
        if delivered.0 != self.received || ack_pending + redelivered + pending != 0 {
            let (name, received) = (&self.name, self.received);
            return Err(format!("{name}: {received} came, the server says {found:?}").into());
        }
        Ok(())
    }
}
