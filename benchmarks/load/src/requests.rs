//! `requests`: C connections with N requests in flight each, answered by one responder.
//!
//! Every request has a reply subject of its own, as clients make them, so a server cannot live off a
//! memo of reply subjects. A request carries the time it was sent; the responder echoes it. Replies
//! to one connection must come in the order of its requests, each once.

use std::io::Write;
use std::time::{Duration, Instant};

use mio::{Events, Poll};

use crate::Outcome;
use crate::connection::open_subscribed;
use crate::frames::{Frame, next_frame};
use crate::link::{Link, SCRATCH_BYTES};
use crate::options::Options;
use crate::pubsub::Mark;
use crate::report::Report;

const POLL_MAX: Duration = Duration::from_millis(5);
const SILENCE_MAX: Duration = Duration::from_secs(10);
const TIME_BYTES: usize = 8;

struct Requester {
    link: Link,
    inbox: String,
    sent: u64,
    answered: u64,
}

struct Exchange {
    poll: Poll,
    events: Events,
    scratch: Vec<u8>,
    responder: Link,
    requesters: Vec<Requester>,
    subject: String,
    filler: Vec<u8>,
    inflight: u64,
    begin: Instant,
    times: Vec<u64>,
}

/// Echoes every request to its reply subject.
fn answer(link: &mut Link, scratch: &mut [u8]) -> Outcome<()> {
    let valid = link.receive(scratch)?;
    let mut at = 0;
    while let Some((frame, length)) = next_frame(&scratch[at..valid])? {
        at += length;
        match frame {
            Frame::Message { reply, payload, .. } => {
                link.outbox.extend_from_slice(b"PUB ");
                link.outbox.extend_from_slice(reply);
                write!(link.outbox, " {}\r\n", payload.len())?;
                link.outbox.extend_from_slice(payload);
                link.outbox.extend_from_slice(b"\r\n");
            }
            Frame::Ping => link.outbox.extend_from_slice(b"PONG\r\n"),
            Frame::Pong | Frame::Notice => {}
        }
    }
    link.keep(&scratch[at..valid])
}

impl Requester {
    fn ask(&mut self, subject: &str, filler: &[u8], inflight: u64, now_ns: u64) -> Outcome<()> {
        while self.sent - self.answered < inflight {
            let (size, inbox, number) = (filler.len() + TIME_BYTES, &self.inbox, self.sent);
            write!(
                self.link.outbox,
                "PUB {subject} {inbox}.{number} {size}\r\n"
            )?;
            self.link.outbox.extend_from_slice(&now_ns.to_le_bytes());
            self.link.outbox.extend_from_slice(filler);
            self.link.outbox.extend_from_slice(b"\r\n");
            self.sent += 1;
        }
        Ok(())
    }

    fn read(&mut self, scratch: &mut [u8], begin: Instant, times: &mut Vec<u64>) -> Outcome<()> {
        let valid = self.link.receive(scratch)?;
        let now_ns = begin.elapsed().as_nanos() as u64;
        let mut at = 0;
        while let Some((frame, length)) = next_frame(&scratch[at..valid])? {
            at += length;
            match frame {
                Frame::Message {
                    subject, payload, ..
                } => {
                    let number = self.answered.to_string();
                    if !subject.ends_with(number.as_bytes()) {
                        let found = String::from_utf8_lossy(subject);
                        return Err(format!("the reply {number} was due, not {found}").into());
                    }
                    let sent: Option<[u8; TIME_BYTES]> = payload
                        .get(..TIME_BYTES)
                        .and_then(|bytes| bytes.try_into().ok());
                    let sent = sent.ok_or("a reply is too short")?;
                    times.push(now_ns.saturating_sub(u64::from_le_bytes(sent)));
                    self.answered += 1;
                }
                Frame::Ping => self.link.outbox.extend_from_slice(b"PONG\r\n"),
                Frame::Pong | Frame::Notice => {}
            }
        }
        self.link.keep(&scratch[at..valid])
    }
}

impl Exchange {
    fn connect(options: &Options) -> Outcome<Self> {
        let size: usize = options.number("size")?;
        let filler = size
            .checked_sub(TIME_BYTES)
            .ok_or("--size must be at least 8")?;
        let (poll, subject) = (Poll::new()?, options.text("subject"));
        let responder = Link::new(open_subscribed(options, &subject, 1)?, &poll, 0)?;
        let mut requesters = Vec::new();
        for number in 1..=options.number::<usize>("connections")? {
            let inbox = format!("_INBOX.penstockload{number:06}");
            let opened = open_subscribed(options, &format!("{inbox}.*"), number)?;
            let link = Link::new(opened, &poll, number)?;
            requesters.push(Requester {
                link,
                inbox,
                sent: 0,
                answered: 0,
            });
        }
        Ok(Self {
            poll,
            events: Events::with_capacity(1024),
            scratch: vec![0; SCRATCH_BYTES],
            responder,
            requesters,
            subject,
            filler: vec![b'x'; filler],
            inflight: options.number("inflight")?,
            begin: Instant::now(),
            times: Vec::new(),
        })
    }

    fn wait(&mut self) -> Outcome<()> {
        match self.poll.poll(&mut self.events, Some(POLL_MAX)) {
            Err(fault) if fault.kind() != std::io::ErrorKind::Interrupted => {
                return Err(fault.into());
            }
            _ => {}
        }
        for event in &self.events {
            match event.token().0.checked_sub(1) {
                None => self.responder.note(event),
                Some(index) => {
                    if let Some(requester) = self.requesters.get_mut(index) {
                        requester.link.note(event);
                    }
                }
            }
        }
        Ok(())
    }

    fn turn(&mut self) -> Outcome<()> {
        self.wait()?;
        while self.responder.readable {
            answer(&mut self.responder, &mut self.scratch)?;
        }
        self.responder.flush()?;
        for requester in &mut self.requesters {
            while requester.link.readable {
                requester.read(&mut self.scratch, self.begin, &mut self.times)?;
            }
            let now_ns = self.begin.elapsed().as_nanos() as u64;
            requester.ask(&self.subject, &self.filler, self.inflight, now_ns)?;
            requester.link.flush()?;
        }
        Ok(())
    }

    fn run_for(&mut self, length: Duration) -> Outcome<()> {
        let begin = Instant::now();
        let (mut last, mut since) = (self.times.len(), begin);
        while begin.elapsed() < length {
            self.turn()?;
            if self.times.len() != last {
                (last, since) = (self.times.len(), Instant::now());
            } else if since.elapsed() > SILENCE_MAX {
                return Err("no reply came for ten seconds".into());
            }
        }
        Ok(())
    }

    fn mark(&self, server_pid: Option<u32>) -> Mark {
        let sent = self.requesters.iter().map(|requester| requester.sent).sum();
        let answered = self
            .requesters
            .iter()
            .map(|requester| requester.answered)
            .sum();
        Mark::take(sent, answered, server_pid)
    }
}

pub fn run(options: &Options) -> Outcome<Report> {
    let server_pid = options.server_pid()?;
    let mut exchange = Exchange::connect(options)?;
    exchange.run_for(options.duration("warmup")?)?;
    exchange.times.clear();
    let start = exchange.mark(server_pid);
    exchange.run_for(options.duration("seconds")?)?;
    let end = exchange.mark(server_pid);
    Ok(start
        .until(&end)
        .add_to(Report::default())
        .latencies(exchange.times))
}
