//! `consume`: one consumer reads a stream that was filled by `publish`, as fast as it is served.
//!
//! A pull consumer has requests for so many batches waiting at the server, as clients that consume
//! do: the next one goes out while messages of the one before are still to come. A push consumer is
//! only read from; with flow control its requests are answered. With explicit acknowledgements every
//! message is acknowledged when it is read, without waiting for anything; the server's limit of
//! unacknowledged messages bounds how far the acknowledgements may be behind, so that the rate is one
//! of both. At the end of the stream a new consumer begins at its start.
//!
//! Every message must be the next one: by its stamp, by both sequences of its ack subject and by the
//! number of messages behind it. At the end of each consumer the server's own figures must agree.

use std::io::Write;
use std::time::{Duration, Instant};

use mio::{Events, Poll};

use crate::Outcome;
use crate::blocks::stamp_of;
use crate::connection::{open, open_subscribed};
use crate::deliveries::{Delivery, DeliveryForm};
use crate::frames::Frame;
use crate::link::Link;
use crate::options::Options;
use crate::publish_frame::subject_text;
use crate::pubsub::Mark;
use crate::report::Report;
use crate::statuses::{Incoming, next_incoming};
use crate::stream_api::{Figures, StreamApi, stream_name};

const POLL_MAX: Duration = Duration::from_millis(5);
const SILENCE_MAX: Duration = Duration::from_secs(20);
// What is read at once, some hundred messages: a client that took whole batches would ask for the
// next ones only when all have come, and then client and server would wait for each other in turn.
const READ_BYTES: usize = 64 * 1024;
const INBOX: &str = "_INBOX.penstockconsume";
const ACK_SID: usize = 1; // of the answers to acknowledgements; those of the consumers follow
pub const HEARTBEAT: &str = "100 Idle Heartbeat";
const FLOW_CONTROL: &str = "100 FlowControl Request";

/// What is asked for, the same for every consumer of a run.
struct Plan {
    stream: String,
    subject: String,
    /// In the stream.
    messages: u64,
    size: usize,
    acks: bool,
    push: bool,
    flow_control: bool,
    batch: u64,
    ahead: u64,
    ack_pending_max: i64,
}

/// One consumer from the beginning of the stream to its end.
struct Pass {
    name: String,
    form: DeliveryForm,
    asked: u64,
    received: u64,
    /// The ack subject of the last message, once all are there.
    last_reply: Vec<u8>,
    confirmed: bool,
}

struct Reader {
    poll: Poll,
    events: Events,
    scratch: Vec<u8>,
    link: Link,
    api: StreamApi,
    plan: Plan,
    pass: Pass,
    passes: u64,
    /// Of the consumers before this one.
    received_before: u64,
}

/// A request for a batch, as clients that consume make it.
pub fn add_request(outbox: &mut Vec<u8>, target: &str, inbox: &str, batch: u64) -> Outcome<()> {
    let body = format!(r#"{{"batch":{batch},"expires":30000000000,"idle_heartbeat":15000000000}}"#);
    let size = body.len();
    Ok(write!(outbox, "PUB {target} {inbox} {size}\r\n{body}\r\n")?)
}

pub fn add_ack(outbox: &mut Vec<u8>, reply: &[u8]) {
    outbox.extend_from_slice(b"PUB ");
    outbox.extend_from_slice(reply);
    outbox.extend_from_slice(b" 4\r\n+ACK\r\n");
}

/// The same, with an answer wanted.
pub fn add_confirmed_ack(outbox: &mut Vec<u8>, reply: &[u8], inbox: &str) {
    outbox.extend_from_slice(b"PUB ");
    outbox.extend_from_slice(reply);
    outbox.extend_from_slice(format!(" {inbox} 4\r\n+ACK\r\n").as_bytes());
}

impl Plan {
    fn of(options: &Options, api: &mut StreamApi) -> Outcome<Self> {
        let stream = stream_name(options, 0);
        let held = api.held(&stream)?;
        if held.messages == 0 || held.messages != held.last {
            return Err(format!("{stream} is not a filled stream: {held:?}").into());
        }
        let delivery = options.text("delivery");
        if !["pull", "push", "push-flow"].contains(&delivery.as_str()) {
            return Err(format!("--delivery is pull, push or push-flow, not {delivery}").into());
        }
        Ok(Self {
            stream,
            subject: subject_text(&options.text("subject"), 1, 0),
            messages: held.messages,
            size: options.number("size")?,
            acks: options.yes("acks")?,
            push: delivery != "pull",
            flow_control: delivery == "push-flow",
            batch: options.number("batch")?,
            ahead: options.number("ahead")?,
            ack_pending_max: options.number("ack-pending")?,
        })
    }

    fn config(&self, inbox: &str) -> String {
        let mut text = if self.acks {
            let most = self.ack_pending_max;
            format!(r#""ack_policy":"explicit","max_ack_pending":{most}"#)
        } else {
            r#""ack_policy":"none""#.to_owned()
        };
        text += r#","deliver_policy":"all""#;
        if self.push {
            text += &format!(r#","deliver_subject":"{inbox}""#);
        }
        if self.flow_control {
            text += r#","flow_control":true,"idle_heartbeat":5000000000"#;
        }
        text
    }
}

impl Pass {
    fn begin(plan: &Plan, number: u64, link: &mut Link, api: &mut StreamApi) -> Outcome<Self> {
        let (name, sid) = (
            format!("C{}-{number}", std::process::id()),
            ACK_SID + 1 + number as usize,
        );
        let inbox = format!("{INBOX}.{name}");
        if number > 0 {
            write!(link.outbox, "UNSUB {}\r\n", sid - 1)?;
        }
        write!(link.outbox, "SUB {inbox} {sid}\r\n")?;
        let found = api.create_consumer(&plan.stream, &name, &plan.config(&inbox))?;
        if !plan.push && found.pending != plan.messages {
            return Err(format!("a new consumer has {} messages to come", found.pending).into());
        }
        Ok(Self {
            form: DeliveryForm::new(&plan.subject, sid, &plan.stream, &name, plan.size),
            name,
            asked: if plan.push { plan.messages } else { 0 },
            received: 0,
            last_reply: Vec::new(),
            confirmed: !plan.acks,
        })
    }

    fn take(&mut self, plan: &Plan, delivery: &Delivery, outbox: &mut Vec<u8>) -> Outcome<()> {
        let due = self.received + 1;
        let stamped = stamp_of(delivery.payload) == Some((0, self.received));
        if delivery.sequence_stream != due || delivery.sequence_consumer != due || !stamped {
            let found = (delivery.sequence_stream, delivery.sequence_consumer);
            return Err(format!("message {due} was due, found {found:?}").into());
        }
        if delivery.pending != plan.messages - due {
            let found = delivery.pending;
            return Err(format!("message {due} says that {found} are behind it").into());
        }
        self.received = due;
        if plan.acks {
            add_ack(outbox, delivery.reply);
        }
        if self.received == plan.messages {
            self.last_reply = delivery.reply.to_vec();
        }
        Ok(())
    }

    /// What is not a message as it should be.
    fn take_other(&mut self, incoming: &Incoming, outbox: &mut Vec<u8>) -> Outcome<()> {
        match incoming {
            Incoming::Plain(Frame::Ping) => outbox.extend_from_slice(b"PONG\r\n"),
            Incoming::Plain(Frame::Pong | Frame::Notice) => {}
            Incoming::Plain(Frame::Message {
                subject,
                payload: b"",
                ..
            }) if *subject == format!("{INBOX}.ack").as_bytes() => self.confirmed = true,
            Incoming::Plain(Frame::Message { subject, reply, .. }) => {
                let what = (
                    String::from_utf8_lossy(subject),
                    String::from_utf8_lossy(reply),
                );
                return Err(format!("behind {}: not due: {what:?}", self.received).into());
            }
            Incoming::Status { words, reply } if *words == FLOW_CONTROL => {
                outbox.extend_from_slice(b"PUB ");
                outbox.extend_from_slice(reply);
                outbox.extend_from_slice(b" 0\r\n\r\n");
            }
            Incoming::Status { words, .. } if *words == HEARTBEAT => {}
            Incoming::Status { words, .. } => {
                return Err(format!("after {} messages: {words}", self.received).into());
            }
        }
        Ok(())
    }

    fn complete(&self, plan: &Plan) -> bool {
        self.received == plan.messages
    }

    fn check(&self, plan: &Plan, api: &mut StreamApi) -> Outcome<()> {
        let found = api.figures(&plan.stream, &self.name)?;
        let due = Figures {
            delivered: (self.received, self.received),
            acknowledged: (self.received, self.received),
            ack_pending: 0,
            redelivered: 0,
            pending: plan.messages - self.received,
        };
        if found != due {
            return Err(format!("the server says {found:?}, due is {due:?}").into());
        }
        Ok(())
    }
}

impl Reader {
    fn connect(options: &Options) -> Outcome<Self> {
        let mut api = StreamApi::connect(options)?;
        let plan = Plan::of(options, &mut api)?;
        let poll = Poll::new()?;
        let opened = if plan.acks {
            open_subscribed(options, &format!("{INBOX}.ack"), ACK_SID)?
        } else {
            open(options)?
        };
        let mut link = Link::new(opened, &poll, 0)?;
        let pass = Pass::begin(&plan, 0, &mut link, &mut api)?;
        Ok(Self {
            poll,
            events: Events::with_capacity(16),
            scratch: vec![0; READ_BYTES],
            link,
            api,
            plan,
            pass,
            passes: 1,
            received_before: 0,
        })
    }

    fn received(&self) -> u64 {
        self.received_before + self.pass.received
    }

    fn read(&mut self) -> Outcome<()> {
        let valid = self.link.receive(&mut self.scratch)?;
        let (data, outbox) = (&self.scratch[..valid], &mut self.link.outbox);
        let mut at = 0;
        loop {
            while let Some(delivery) = self.pass.form.first(&data[at..]) {
                self.pass.take(&self.plan, &delivery, outbox)?;
                at += delivery.length;
            }
            let Some((incoming, length)) = next_incoming(&data[at..])? else {
                break;
            };
            self.pass.take_other(&incoming, outbox)?;
            at += length;
        }
        self.link.keep(&self.scratch[at..valid])
    }

    /// Keeps so many batches asked for as there are to be.
    fn ask(&mut self) -> Outcome<()> {
        let (plan, pass) = (&self.plan, &mut self.pass);
        while pass.asked < plan.messages
            && pass.asked - pass.received + plan.batch <= plan.ahead * plan.batch
        {
            let batch = plan.batch.min(plan.messages - pass.asked);
            let target = format!("$JS.API.CONSUMER.MSG.NEXT.{}.{}", plan.stream, pass.name);
            let inbox = format!("{INBOX}.{}", pass.name);
            add_request(&mut self.link.outbox, &target, &inbox, batch)?;
            pass.asked += batch;
        }
        Ok(())
    }

    fn turn(&mut self, asking: bool) -> Outcome<()> {
        match self.poll.poll(&mut self.events, Some(POLL_MAX)) {
            Err(fault) if fault.kind() != std::io::ErrorKind::Interrupted => {
                return Err(fault.into());
            }
            _ => {}
        }
        for event in &self.events {
            self.link.note(event);
        }
        loop {
            if self.link.readable {
                self.read()?;
            }
            if asking {
                self.ask()?;
            }
            self.link.flush()?;
            if !self.link.readable {
                return Ok(());
            }
        }
    }

    fn run(&mut self, asking: bool, done: impl Fn(&Self) -> bool) -> Outcome<()> {
        let (mut last, mut since) = (self.received(), Instant::now());
        while !done(self) {
            self.turn(asking)?;
            if self.received() != last {
                (last, since) = (self.received(), Instant::now());
            } else if since.elapsed() > SILENCE_MAX {
                let (asked, got) = (self.pass.asked, self.pass.received);
                return Err(format!("of {asked} asked for {got} came, and then nothing").into());
            }
        }
        Ok(())
    }

    /// The end of a consumer: its last acknowledgement is answered, so all before it took effect.
    fn settle(&mut self) -> Outcome<()> {
        if !self.pass.confirmed {
            let inbox = format!("{INBOX}.ack");
            add_confirmed_ack(&mut self.link.outbox, &self.pass.last_reply, &inbox);
            self.run(false, |reader| reader.pass.confirmed)?;
        }
        self.pass.check(&self.plan, &mut self.api)
    }

    fn run_for(&mut self, length: Duration) -> Outcome<()> {
        let end = Instant::now() + length;
        loop {
            self.run(true, |reader| {
                Instant::now() >= end || reader.pass.complete(&reader.plan)
            })?;
            if Instant::now() >= end {
                return Ok(());
            }
            self.settle()?;
            self.received_before += self.pass.received;
            self.pass = Pass::begin(&self.plan, self.passes, &mut self.link, &mut self.api)?;
            self.passes += 1;
        }
    }

    fn mark(&self, server_pid: Option<u32>) -> Mark {
        Mark::take(self.received(), self.received(), server_pid)
    }
}

pub fn run(options: &Options) -> Outcome<Report> {
    let server_pid = options.server_pid()?;
    let mut reader = Reader::connect(options)?;
    reader.run_for(options.duration("warmup")?)?;
    let start = reader.mark(server_pid);
    reader.run_for(options.duration("seconds")?)?;
    let end = reader.mark(server_pid);
    reader.run(true, |reader| reader.pass.complete(&reader.plan))?;
    reader.settle()?;
    Ok(start
        .until(&end)
        .add_to(Report::default())
        .count("consumers", reader.passes)
        .count("received_total", reader.received()))
}
