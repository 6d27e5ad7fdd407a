//! `publish`: publishes into streams, W outstanding on each of C connections, every ack checked.
//!
//! A connection sends as long as fewer than a window of its publishes wait for their
//! acknowledgement; each has a reply subject of its own. The acknowledgements of one stream must
//! come to a connection in the order of its publishes and with rising sequences, each a plain
//! success; over all connections every sequence comes once, none is left out, and afterwards the
//! stream holds exactly what was acknowledged. Counters must come to the sum of their increments,
//! in every acknowledgement and when they are read at the end. Latency is from filling the buffer to reading the
//! acknowledgement, so with a window it holds the wait in the queue.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use mio::{Events, Poll};

use crate::Outcome;
use crate::acks::Acks;
use crate::connection::open_subscribed;
use crate::counters::Totals;
use crate::frames::{Frame, next_frame};
use crate::link::{Link, SCRATCH_BYTES};
use crate::options::Options;
use crate::publish_frame::{Header, NUMBER_DIGITS, PublishFrame, Shape, stream_subject};
use crate::pubsub::Mark;
use crate::report::Report;
use crate::stream_api::{StreamApi, StreamPlan, stream_name};

const POLL_MAX: Duration = Duration::from_millis(5);
const SILENCE_MAX: Duration = Duration::from_secs(20); // a durable server may stop for its disk
const WRITE_BYTES: usize = 64 * 1024; // one write; more would only be moved about in the outbox
const WINDOW_DEFAULT: u64 = 4_000;
const TIMES_MAX: usize = 4_000_000; // enough for a percentile, not for a long run's memory

struct Publisher {
    link: Link,
    frame: PublishFrame,
    /// What every acknowledgement begins with, up to the number of its publish.
    head: Vec<u8>,
    /// Between that number and the size.
    middle: Vec<u8>,
    sent: u64,
    acked: u64,
    limit: u64,
    /// For each stream: when its unacknowledged publishes were sent, and the last sequence.
    waiting: Vec<VecDeque<(u64, u64)>>,
    sequences: Vec<u64>,
    /// What counters have come to, if that is what is published to.
    totals: Option<Totals>,
}

/// The time of a run, and how long every acknowledgement took.
struct Times {
    begin: Instant,
    taken_ns: Vec<u64>,
}

fn number_of(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |value, digit| {
        digit
            .is_ascii_digit()
            .then(|| value * 10 + u64::from(digit - b'0'))
    })
}

impl Publisher {
    fn fill(&mut self, window: u64, now_ns: u64) {
        while self.sent - self.acked < window
            && self.sent < self.limit
            && self.link.outbox.len() < WRITE_BYTES
        {
            self.frame.add_to(&mut self.link.outbox, self.sent);
            let stream = self.frame.stream_of(self.sent);
            self.waiting[stream].push_back((self.sent, now_ns));
            self.sent += 1;
        }
    }

    /// Sends what window and socket take.
    fn send(&mut self, window: u64, begin: Instant) -> Outcome<()> {
        while self.link.writable {
            self.fill(window, begin.elapsed().as_nanos() as u64);
            if self.link.outbox.is_empty() {
                break;
            }
            self.link.flush()?;
        }
        Ok(())
    }

    /// The number, payload and length of an acknowledgement that has the usual form.
    fn usual<'a>(&self, data: &'a [u8]) -> Option<(u64, &'a [u8], usize)> {
        let rest = data.strip_prefix(&self.head[..])?;
        let number = number_of(rest.get(..NUMBER_DIGITS)?)?;
        let rest = rest[NUMBER_DIGITS..].strip_prefix(&self.middle[..])?;
        let size = number_of(rest.get(..2)?)? as usize;
        let rest = rest[2..].strip_prefix(b"\r\n")?;
        let payload = rest.get(..size)?;
        rest[size..].strip_prefix(b"\r\n")?;
        let head = self.head.len() + NUMBER_DIGITS + self.middle.len() + 2 + 2;
        Some((number, payload, head + size + 2))
    }

    fn take(
        &mut self,
        number: u64,
        payload: &[u8],
        acks: &mut [Acks],
        now_ns: u64,
        times: &mut Times,
    ) -> Outcome<()> {
        let stream = self.frame.stream_of(number);
        let sequence = match &mut self.totals {
            None => acks[stream].take(payload)?,
            Some(totals) => {
                let (sequence, value) = acks[stream].take_counted(payload)?;
                totals.check(number, value)?;
                sequence
            }
        };
        match self.waiting[stream].pop_front() {
            Some((due, sent_ns)) if due == number => {
                if times.taken_ns.len() < TIMES_MAX {
                    times.taken_ns.push(now_ns - sent_ns);
                }
            }
            other => {
                let due = other.map_or("none".to_owned(), |(due, _)| due.to_string());
                let found = format!("that of publish {number}, due was {due}");
                return Err(format!("an acknowledgement is out of order: {found}").into());
            }
        }
        if sequence <= self.sequences[stream] {
            return Err(format!("sequence {sequence} came behind a higher one").into());
        }
        self.sequences[stream] = sequence;
        self.acked += 1;
        Ok(())
    }

    fn read(&mut self, scratch: &mut [u8], acks: &mut [Acks], times: &mut Times) -> Outcome<()> {
        let valid = self.link.receive(scratch)?;
        let now_ns = times.begin.elapsed().as_nanos() as u64;
        let mut at = 0;
        loop {
            while let Some((number, payload, length)) = self.usual(&scratch[at..valid]) {
                self.take(number, payload, acks, now_ns, times)?;
                at += length;
            }
            let Some((frame, length)) = next_frame(&scratch[at..valid])? else {
                break;
            };
            match frame {
                Frame::Message {
                    subject, payload, ..
                } => {
                    let digits = &subject[subject.len().saturating_sub(NUMBER_DIGITS)..];
                    let number = number_of(digits).ok_or("an acknowledgement has no number")?;
                    self.take(number, payload, acks, now_ns, times)?;
                }
                Frame::Ping => self.link.outbox.extend_from_slice(b"PONG\r\n"),
                Frame::Pong | Frame::Notice => {}
            }
            at += length;
        }
        self.link.keep(&scratch[at..valid])
    }
}

struct Load {
    poll: Poll,
    events: Events,
    scratch: Vec<u8>,
    publishers: Vec<Publisher>,
    acks: Vec<Acks>,
    times: Times,
    window: u64,
}

fn shape_of(options: &Options) -> Outcome<Shape> {
    let header = match ["message-ids", "counters", "revisions"].map(|name| options.yes(name)) {
        [Ok(false), Ok(false), Ok(false)] => Header::None,
        [Ok(true), Ok(false), Ok(false)] => Header::MessageId,
        [Ok(false), Ok(true), Ok(false)] => Header::Increment,
        [Ok(false), Ok(false), Ok(true)] => Header::Revision,
        _ => return Err("one of --message-ids, --counters and --revisions, each yes or no".into()),
    };
    Ok(Shape {
        subject: options.text("subject"),
        streams: options.number("streams")?,
        subjects: options.number("subjects")?,
        tokens: options.number("tokens")?,
        size: options.number("size")?,
        header,
    })
}

fn publisher(
    options: &Options,
    poll: &Poll,
    shape: &Shape,
    index: usize,
    limit: u64,
) -> Outcome<Publisher> {
    let inbox = format!("_INBOX.penstockload{index:08}");
    let sid = index + 1;
    let opened = open_subscribed(options, &format!("{inbox}.*"), sid)?;
    let streams = shape.streams as usize;
    Ok(Publisher {
        link: Link::new(opened, poll, index)?,
        frame: PublishFrame::new(shape, &inbox, index)?,
        head: format!("MSG {inbox}.").into_bytes(),
        middle: format!(" {sid} ").into_bytes(),
        sent: 0,
        acked: 0,
        limit,
        waiting: vec![VecDeque::new(); streams],
        sequences: vec![0; streams],
        totals: (shape.header == Header::Increment).then(|| Totals::new(shape.subjects)),
    })
}

impl Load {
    fn connect(options: &Options, api: &mut StreamApi) -> Outcome<Self> {
        let (shape, storage) = (shape_of(options)?, options.text("storage"));
        let connections: usize = options.number("connections")?;
        let messages = options.some("messages")?;
        let counts = shape.header == Header::Increment;
        let is_alone = counts || shape.header == Header::Revision;
        if is_alone && (connections > 1 || shape.streams > 1) {
            return Err("--counters and --revisions are for one connection and one stream".into());
        }
        let mut acks = Vec::new();
        for number in 0..shape.streams as usize {
            let name = stream_name(options, number);
            let subject = stream_subject(&shape, number);
            let held = api.create(&StreamPlan {
                name: &name,
                subject: &subject,
                storage: &storage,
                retention: "limits",
                counts,
            })?;
            if is_alone && held.last > 0 {
                return Err(format!("{name} has messages already").into());
            }
            acks.push(Acks::new(&name, held.last));
        }
        let poll = Poll::new()?;
        let mut publishers = Vec::new();
        for index in 0..connections {
            let share = |all: u64| {
                let (each, rest) = (all / connections as u64, all % connections as u64);
                each + u64::from((index as u64) < rest)
            };
            let limit = messages.map_or(u64::MAX, share);
            publishers.push(publisher(options, &poll, &shape, index, limit)?);
        }
        Ok(Self {
            poll,
            events: Events::with_capacity(1024),
            scratch: vec![0; SCRATCH_BYTES],
            publishers,
            acks,
            times: Times {
                begin: Instant::now(),
                taken_ns: Vec::new(),
            },
            window: options.some("window")?.unwrap_or(WINDOW_DEFAULT),
        })
    }

    fn turn(&mut self, publishing: bool) -> Outcome<()> {
        match self.poll.poll(&mut self.events, Some(POLL_MAX)) {
            Err(fault) if fault.kind() != std::io::ErrorKind::Interrupted => {
                return Err(fault.into());
            }
            _ => {}
        }
        for event in &self.events {
            if let Some(publisher) = self.publishers.get_mut(event.token().0) {
                publisher.link.note(event);
            }
        }
        let window = if publishing { self.window } else { 0 };
        for (index, publisher) in self.publishers.iter_mut().enumerate() {
            while publisher.link.readable {
                let read = publisher.read(&mut self.scratch, &mut self.acks, &mut self.times);
                read.map_err(|fault| format!("connection {index}: {fault}"))?;
                publisher.send(window, self.times.begin)?;
            }
            publisher.send(window, self.times.begin)?;
        }
        Ok(())
    }

    fn sent(&self) -> u64 {
        self.publishers.iter().map(|one| one.sent).sum()
    }

    fn acked(&self) -> u64 {
        self.acks.iter().map(Acks::count).sum()
    }

    fn run(&mut self, publishing: bool, done: impl Fn(&Self) -> bool) -> Outcome<()> {
        let (mut last, mut since) = (self.acked(), Instant::now());
        while !done(self) {
            self.turn(publishing)?;
            if self.acked() != last {
                (last, since) = (self.acked(), Instant::now());
            } else if since.elapsed() > SILENCE_MAX {
                let missing = self.sent() - last;
                let seconds = SILENCE_MAX.as_secs();
                return Err(format!("{missing} acks missing, none for {seconds} s").into());
            }
        }
        Ok(())
    }

    fn run_for(&mut self, length: Duration) -> Outcome<()> {
        let end = Instant::now() + length;
        self.run(true, |_| Instant::now() >= end)
    }

    fn mark(&self, server_pid: Option<u32>) -> Mark {
        Mark::take(self.sent(), self.acked(), server_pid)
    }

    /// Everything sent was acknowledged once, and the streams hold just that.
    fn check(&self, options: &Options, api: &mut StreamApi) -> Outcome<()> {
        for (number, acks) in self.acks.iter().enumerate() {
            acks.check_unbroken()?;
            let name = stream_name(options, number);
            let (last, due) = (api.held(&name)?.last, acks.before() + acks.count());
            if last != due {
                return Err(format!("{name} ends at {last}, acknowledged was up to {due}").into());
            }
        }
        Ok(())
    }
}

pub fn run(options: &Options) -> Outcome<Report> {
    let server_pid = options.server_pid()?;
    let by_count = options.some("messages")?.is_some();
    let mut api = StreamApi::connect(options)?;
    let mut load = Load::connect(options, &mut api)?;
    if !by_count {
        load.run_for(options.duration("warmup")?)?;
    }
    load.times.taken_ns.clear();
    let start = load.mark(server_pid);
    if by_count {
        let all = options.number("messages")?;
        load.run(true, |load| load.acked() >= all)?;
    } else {
        load.run_for(options.duration("seconds")?)?;
    }
    let end = load.mark(server_pid);
    let times = std::mem::take(&mut load.times.taken_ns);
    load.run(false, |load| {
        let unsent = load
            .publishers
            .iter()
            .any(|one| !one.link.outbox.is_empty());
        !unsent && load.acked() >= load.sent()
    })?;
    load.check(options, &mut api)?;
    let report = start.until(&end).add_to(Report::default());
    let report = report.latencies(times).count("acked_total", load.acked());
    match &load.publishers[0].totals {
        Some(totals) => totals.read_back(&mut api, options, report),
        None => Ok(report),
    }
}
