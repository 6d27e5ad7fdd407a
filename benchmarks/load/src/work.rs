//! `work`: messages are published, fetched and acknowledged, all at the same time.
//!
//! N pull consumers have a subject each, and their requests wait at the server. For each of them at
//! most a window of messages is on its way: one that has come and is acknowledged makes room for the
//! next publish. So the rate is one at which publishing, fetching and acknowledging go on together.
//! A connection of its own publishes, and checks the answers as `publish` does; consumers share
//! connections. At the end all has come, the last acknowledgement of each consumer is answered, and
//! the server's figures must agree; of a work queue nothing is left.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use mio::{Events, Poll};

use crate::Outcome;
use crate::acks::Acks;
use crate::connection::open_subscribed;
use crate::consume::HEARTBEAT;
use crate::frames::{Frame, next_frame};
use crate::link::Link;
use crate::options::Options;
use crate::publish_frame::{Header, PublishFrame, Shape, stream_subject};
use crate::pubsub::Mark;
use crate::report::Report;
use crate::statuses::{Incoming, next_incoming};
use crate::stream_api::{StreamApi, StreamPlan, stream_name};
use crate::worker::{WorkPlan, Worker};

const POLL_MAX: Duration = Duration::from_millis(5);
const SILENCE_MAX: Duration = Duration::from_secs(20);
const READ_BYTES: usize = 64 * 1024; // as in `consume`
const WRITE_BYTES: usize = 64 * 1024;
const SUBJECT_DIGITS: usize = 7;
const WINDOW_DEFAULT: u64 = 1;

struct Publisher {
    link: Link,
    frame: PublishFrame,
    acks: Acks,
    sent: u64,
    sequence: u64,
}

/// A connection on which consumers are worked for.
struct Bench {
    link: Link,
    /// In front of the number of a message's subject.
    head: Vec<u8>,
    ack_inbox: String,
    /// Acknowledgements that want an answer, and have none.
    unanswered: u64,
}

struct Shop {
    poll: Poll,
    events: Events,
    scratch: Vec<u8>,
    publisher: Publisher,
    benches: Vec<Bench>,
    workers: Vec<Worker>,
    /// Consumers for which one more message may be published, as often as they are in here.
    ready: VecDeque<usize>,
    plan: WorkPlan,
}

fn inbox_of(bench: usize) -> String {
    format!("_INBOX.penstockwork{bench:04}")
}

/// Who the first message of `data` is for, by the number in its subject.
fn worker_of(data: &[u8], head: &[u8]) -> Option<usize> {
    let digits = data.strip_prefix(head)?.get(..SUBJECT_DIGITS)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

impl Publisher {
    fn read(&mut self, scratch: &mut [u8]) -> Outcome<()> {
        let valid = self.link.receive(scratch)?;
        let mut at = 0;
        while let Some((frame, length)) = next_frame(&scratch[at..valid])? {
            match frame {
                Frame::Message { payload, .. } => {
                    let sequence = self.acks.take(payload)?;
                    if sequence <= self.sequence {
                        return Err(format!("sequence {sequence} came behind a higher one").into());
                    }
                    self.sequence = sequence;
                }
                Frame::Ping => self.link.outbox.extend_from_slice(b"PONG\r\n"),
                Frame::Pong | Frame::Notice => {}
            }
            at += length;
        }
        self.link.keep(&scratch[at..valid])
    }

    fn send(&mut self, ready: &mut VecDeque<usize>, workers: &mut [Worker]) -> Outcome<()> {
        while self.link.writable {
            while self.link.outbox.len() < WRITE_BYTES {
                let Some(index) = ready.pop_front() else {
                    break;
                };
                let outbox = &mut self.link.outbox;
                self.frame.add_with_subject(outbox, self.sent, index as u64);
                workers[index].published(self.sent);
                self.sent += 1;
            }
            if self.link.outbox.is_empty() {
                break;
            }
            self.link.flush()?;
        }
        Ok(())
    }
}

impl Bench {
    fn take_other(&mut self, incoming: &Incoming) -> Outcome<()> {
        match incoming {
            Incoming::Plain(Frame::Ping) => self.link.outbox.extend_from_slice(b"PONG\r\n"),
            Incoming::Plain(Frame::Pong | Frame::Notice) => {}
            Incoming::Plain(Frame::Message {
                subject,
                payload: b"",
                ..
            }) if *subject == self.ack_inbox.as_bytes() && self.unanswered > 0 => {
                self.unanswered -= 1;
            }
            Incoming::Plain(Frame::Message { subject, reply, .. }) => {
                let what = (
                    String::from_utf8_lossy(subject),
                    String::from_utf8_lossy(reply),
                );
                return Err(format!("a message that is not due: {what:?}").into());
            }
            Incoming::Status { words, .. } if *words == HEARTBEAT => {}
            Incoming::Status { words, .. } => {
                return Err(format!("a request ended with {words}").into());
            }
        }
        Ok(())
    }

    fn read(
        &mut self,
        scratch: &mut [u8],
        workers: &mut [Worker],
        ready: &mut VecDeque<usize>,
        plan: &WorkPlan,
    ) -> Outcome<()> {
        let valid = self.link.receive(scratch)?;
        let data = &scratch[..valid];
        let mut at = 0;
        loop {
            while let Some(index) = worker_of(&data[at..], &self.head)
                && let Some(worker) = workers.get_mut(index)
                && let Some(delivery) = worker.first(&data[at..])
            {
                worker.take(&delivery, &mut self.link.outbox)?;
                worker.ask(plan, &mut self.link.outbox)?;
                ready.push_back(index);
                at += delivery.length;
            }
            let Some((incoming, length)) = next_incoming(&data[at..])? else {
                break;
            };
            self.take_other(&incoming)?;
            at += length;
        }
        self.link.keep(&scratch[at..valid])
    }
}

impl Shop {
    fn connect(options: &Options, api: &mut StreamApi) -> Outcome<Self> {
        let plan = WorkPlan {
            stream: stream_name(options, 0),
            subject: options.text("subject"),
            size: options.number("size")?,
            batch: options.number("batch")?,
            ahead: options.number("ahead")?,
            ack_pending_max: options.number("ack-pending")?,
        };
        let consumers: u64 = options.number("consumers")?;
        let shape = Shape {
            subject: plan.subject.clone(),
            streams: 1,
            subjects: consumers,
            tokens: 1,
            size: plan.size,
            header: Header::None,
        };
        let held = api.create(&StreamPlan {
            name: &plan.stream,
            subject: &stream_subject(&shape, 0),
            storage: &options.text("storage"),
            retention: &options.text("retention"),
            counts: false,
        })?;
        let poll = Poll::new()?;
        let connections: usize = options.number("connections")?;
        let mut benches = Vec::new();
        for index in 0..connections {
            let (inbox, sid) = (inbox_of(index), index + 1);
            let opened = open_subscribed(options, &format!("{inbox}.*"), sid)?;
            benches.push(Bench {
                link: Link::new(opened, &poll, index)?,
                head: format!("MSG {}.0.", plan.subject).into_bytes(),
                ack_inbox: format!("{inbox}.ack"),
                unanswered: 0,
            });
        }
        let mut workers = Vec::new();
        for number in 0..consumers {
            let bench = number as usize % connections;
            let inbox = inbox_of(bench);
            workers.push(Worker::create(&plan, api, number, &inbox, bench + 1)?);
        }
        let inbox = "_INBOX.penstockworkpublish";
        let opened = open_subscribed(options, &format!("{inbox}.*"), 1)?;
        let publisher = Publisher {
            link: Link::new(opened, &poll, connections)?,
            frame: PublishFrame::new(&shape, inbox, 0)?,
            acks: Acks::new(&plan.stream, held.last),
            sent: 0,
            sequence: held.last,
        };
        let window = options.some("window")?.unwrap_or(WINDOW_DEFAULT);
        Ok(Self {
            poll,
            events: Events::with_capacity(1024),
            scratch: vec![0; READ_BYTES],
            publisher,
            benches,
            ready: (0..window).flat_map(|_| 0..workers.len()).collect(),
            workers,
            plan,
        })
    }

    /// The first requests of all consumers.
    fn open(&mut self) -> Outcome<()> {
        let benches = self.benches.len();
        for (index, worker) in self.workers.iter_mut().enumerate() {
            worker.ask(&self.plan, &mut self.benches[index % benches].link.outbox)?;
        }
        Ok(())
    }

    fn turn(&mut self, publishing: bool) -> Outcome<()> {
        match self.poll.poll(&mut self.events, Some(POLL_MAX)) {
            Err(fault) if fault.kind() != std::io::ErrorKind::Interrupted => {
                return Err(fault.into());
            }
            _ => {}
        }
        for event in &self.events {
            let link = match self.benches.get_mut(event.token().0) {
                Some(bench) => &mut bench.link,
                None => &mut self.publisher.link,
            };
            link.note(event);
        }
        let mut more = true;
        while more {
            more = false;
            for bench in &mut self.benches {
                if bench.link.readable {
                    let (workers, ready) = (&mut self.workers, &mut self.ready);
                    bench.read(&mut self.scratch, workers, ready, &self.plan)?;
                }
                bench.link.flush()?;
                more |= bench.link.readable;
            }
            if self.publisher.link.readable {
                self.publisher.read(&mut self.scratch)?;
                more |= self.publisher.link.readable;
            }
            if publishing {
                self.publisher.send(&mut self.ready, &mut self.workers)?;
            }
            self.publisher.link.flush()?;
        }
        Ok(())
    }

    fn received(&self) -> u64 {
        self.workers.iter().map(Worker::received).sum()
    }

    fn unanswered(&self) -> u64 {
        self.benches.iter().map(|bench| bench.unanswered).sum()
    }

    fn run(&mut self, publishing: bool, done: impl Fn(&Self) -> bool) -> Outcome<()> {
        let state = |shop: &Self| {
            (
                shop.received(),
                shop.unanswered(),
                shop.publisher.acks.count(),
            )
        };
        let (mut last, mut since) = (state(self), Instant::now());
        while !done(self) {
            self.turn(publishing)?;
            if state(self) != last {
                (last, since) = (state(self), Instant::now());
            } else if since.elapsed() > SILENCE_MAX {
                let (sent, (received, unanswered, stored)) = (self.publisher.sent, last);
                let found =
                    format!("{stored} stored, {received} came, {unanswered} acks not answered");
                return Err(format!("of {sent} published {found}, then nothing").into());
            }
        }
        Ok(())
    }

    fn run_for(&mut self, length: Duration) -> Outcome<()> {
        let end = Instant::now() + length;
        self.run(true, |_| Instant::now() >= end)
    }

    fn mark(&self, server_pid: Option<u32>) -> Mark {
        Mark::take(self.publisher.sent, self.received(), server_pid)
    }

    /// Everything published has come, and every acknowledgement took effect.
    fn settle(&mut self, options: &Options, api: &mut StreamApi) -> Outcome<()> {
        self.run(false, |shop| {
            let sent = shop.publisher.sent;
            let unsent = !shop.publisher.link.outbox.is_empty();
            !unsent && shop.received() == sent && shop.publisher.acks.count() == sent
        })?;
        let benches = self.benches.len();
        for (index, worker) in self.workers.iter().enumerate() {
            let bench = &mut self.benches[index % benches];
            let wanted = worker.confirm(&mut bench.link.outbox, &bench.ack_inbox);
            bench.unanswered += u64::from(wanted);
        }
        self.run(false, |shop| shop.unanswered() == 0)?;
        self.publisher.acks.check_unbroken()?;
        for worker in &self.workers {
            worker.check(&self.plan, api)?;
        }
        let held = api.held(&self.plan.stream)?;
        if options.text("retention") == "workqueue" && held.messages != 0 {
            return Err(format!("{} messages are left in the work queue", held.messages).into());
        }
        Ok(())
    }
}

pub fn run(options: &Options) -> Outcome<Report> {
    let server_pid = options.server_pid()?;
    let mut api = StreamApi::connect(options)?;
    let mut shop = Shop::connect(options, &mut api)?;
    shop.open()?;
    shop.run_for(options.duration("warmup")?)?;
    let start = shop.mark(server_pid);
    shop.run_for(options.duration("seconds")?)?;
    let end = shop.mark(server_pid);
    shop.settle(options, &mut api)?;
    Ok(start
        .until(&end)
        .add_to(Report::default())
        .count("received_total", shop.received()))
}

#[cfg(test)]
mod tests {
    use super::worker_of;

    #[test]
    fn a_message_is_for_the_consumer_of_its_subject() {
        let head = b"MSG b.0.";
        assert_eq!(worker_of(b"MSG b.0.0000042 1 $JS", head), Some(42));
        assert_eq!(worker_of(b"MSG b.0.00000", head), None);
        assert_eq!(worker_of(b"MSG b.1.0000042 1 $JS", head), None);
    }
}
