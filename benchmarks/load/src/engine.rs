//! Publishers and subscribers on one epoll, with a window between them.
//!
//! A publisher sends whole blocks while the messages that the slowest subscriber has not received
//! yet fit the window. So the rate is one that the server sustains from end to end, no server is
//! flooded into dropping a subscriber, and both servers under test meet the same pressure.

use std::rc::Rc;
use std::time::{Duration, Instant};

use mio::{Events, Poll};

use crate::Outcome;
use crate::blocks::Block;
use crate::connection::{Opened, open, open_subscribed};
use crate::frames::{Frame, next_frame};
use crate::link::{Link, SCRATCH_BYTES};
use crate::options::Options;
use crate::sequences::Sequences;

const WINDOW_MESSAGES: u64 = 100_000;
const WINDOW_BYTES: u64 = 16 << 20; // a quarter of what the reference lets wait for a subscriber
const WINDOW_BYTES_IN_ALL: u64 = 64 << 20; // with many subscribers, or the server's memory swells
const POLL_MAX: Duration = Duration::from_millis(5); // so that a mark is never late by more
const SILENCE_MAX: Duration = Duration::from_secs(10);

struct Publisher {
    link: Link,
    block: Block,
    written: usize,
    filled: usize,
    sequence: u64,
}

struct Subscriber {
    link: Link,
    sequences: Sequences,
}

pub struct Engine {
    poll: Poll,
    events: Events,
    scratch: Vec<u8>,
    publishers: Vec<Publisher>,
    subscribers: Vec<Subscriber>,
    window: u64,
    limit: u64,
    sent: u64,
    first: usize,
}

impl Publisher {
    /// The next block, if the window has room for it; the number of messages in it.
    fn refill(&mut self, index: usize, room: u64, left: u64) -> u64 {
        let count = (self.block.count() as u64).min(left);
        if count == 0 || count > room {
            return 0;
        }
        self.filled = self.block.fill(index, self.sequence, count as usize);
        self.written = 0;
        self.sequence += count;
        count
    }

    /// PINGs are answered between two blocks, never inside a frame.
    fn read(&mut self, scratch: &mut [u8]) -> Outcome<()> {
        let valid = self.link.receive(scratch)?;
        let mut at = 0;
        while let Some((frame, length)) = next_frame(&scratch[at..valid])? {
            at += length;
            if frame == Frame::Ping {
                self.link.outbox.extend_from_slice(b"PONG\r\n");
            }
        }
        self.link.keep(&scratch[at..valid])
    }
}

impl Subscriber {
    fn read(&mut self, scratch: &mut [u8]) -> Outcome<()> {
        let valid = self.link.receive(scratch)?;
        let (taken, pings) = self.sequences.scan(&scratch[..valid])?;
        self.link.keep(&scratch[taken..valid])?;
        self.link
            .outbox
            .extend_from_slice(&b"PONG\r\n".repeat(pings));
        self.link.flush()
    }
}

/// The subjects that are published to, and the one that is subscribed to.
fn subjects_of(options: &Options) -> Outcome<(Rc<[String]>, String)> {
    let (root, count) = (
        options.text("subject"),
        options.number::<usize>("subjects")?,
    );
    if count <= 1 {
        return Ok((Rc::new([root.clone()]), root));
    }
    Ok((
        (0..count)
            .map(|number| format!("{root}.{number}"))
            .collect(),
        format!("{root}.*"),
    ))
}

/// Subscribers with the same sid get the same bytes, which a server may render once for all of
/// them. Real clients number their own subscriptions, so that must not be what is measured.
fn sids_are_distinct(options: &Options) -> Outcome<bool> {
    match options.text("sids").as_str() {
        "distinct" => Ok(true),
        "same" => Ok(false),
        other => Err(format!("--sids is distinct or same, not {other}").into()),
    }
}

fn window_of(size: u64, subscribers: u64) -> u64 {
    let bytes = WINDOW_BYTES.min(WINDOW_BYTES_IN_ALL / subscribers.max(1));
    WINDOW_MESSAGES.min(bytes / size.max(1))
}

impl Engine {
    pub fn connect(options: &Options) -> Outcome<Self> {
        let publishers: usize = options.number("publishers")?;
        let subscribers: usize = options.number("subscribers")?;
        let size: usize = options.number("size")?;
        let (subjects, filter) = subjects_of(options)?;
        let heads: Vec<_> = subjects
            .iter()
            .map(|s| format!("PUB {s} {size}\r\n"))
            .collect();
        let mut engine = Self {
            poll: Poll::new()?,
            events: Events::with_capacity(1024),
            scratch: vec![0; SCRATCH_BYTES],
            publishers: Vec::new(),
            subscribers: Vec::new(),
            window: window_of(size as u64, subscribers as u64),
            limit: options.some("messages")?.unwrap_or(u64::MAX),
            sent: 0,
            first: 0,
        };
        let distinct = sids_are_distinct(options)?;
        for index in 0..subscribers {
            let sid = if distinct { index + 1 } else { 1 };
            let opened = open_subscribed(options, &filter, sid)?;
            let link = Link::new(opened, &engine.poll, engine.subscribers.len())?;
            let sequences = Sequences::new(Rc::clone(&subjects), sid, size, publishers.max(1));
            engine.subscribers.push(Subscriber { link, sequences });
        }
        for index in 0..publishers {
            let link = Link::new(open(options)?, &engine.poll, subscribers + index)?;
            let block = Block::new(&heads, size)?;
            engine.window = engine.window.max(2 * block.count() as u64);
            let publisher = Publisher {
                link,
                block,
                written: 0,
                filled: 0,
                sequence: 0,
            };
            engine.publishers.push(publisher);
        }
        engine.window = options.some("window")?.unwrap_or(engine.window);
        Ok(engine)
    }

    /// A connection of the caller's, with a token that no publisher or subscriber has.
    pub fn adopt(&self, opened: Opened) -> Outcome<Link> {
        Link::new(
            opened,
            &self.poll,
            self.subscribers.len() + self.publishers.len(),
        )
    }

    pub fn sent(&self) -> u64 {
        self.sent
    }

    pub fn delivered(&self) -> u64 {
        self.subscribers
            .iter()
            .map(|subscriber| subscriber.sequences.received())
            .sum()
    }

    fn outstanding(&self) -> u64 {
        let received = self
            .subscribers
            .iter()
            .map(|subscriber| subscriber.sequences.received());
        received
            .min()
            .map_or(0, |slowest| self.sent.saturating_sub(slowest))
    }

    pub fn finished(&self) -> bool {
        let unwritten = self
            .publishers
            .iter()
            .any(|publisher| publisher.written < publisher.filled);
        self.sent >= self.limit && !unwritten && self.outstanding() == 0
    }

    fn wait(&mut self, timeout: Duration) -> Outcome<()> {
        match self.poll.poll(&mut self.events, Some(timeout)) {
            Err(fault) if fault.kind() != std::io::ErrorKind::Interrupted => {
                return Err(fault.into());
            }
            _ => {}
        }
        let subscribers = self.subscribers.len();
        for event in &self.events {
            let token = event.token().0;
            if let Some(subscriber) = self.subscribers.get_mut(token) {
                subscriber.link.note(event);
            } else if let Some(publisher) = self.publishers.get_mut(token - subscribers) {
                publisher.link.note(event);
            }
        }
        Ok(())
    }

    /// Reads once from each subscriber that has something; whether there may be more.
    fn read(&mut self) -> Outcome<bool> {
        let mut more = false;
        for (number, subscriber) in self.subscribers.iter_mut().enumerate() {
            if subscriber.link.readable {
                let read = subscriber.read(&mut self.scratch);
                let count = subscriber.sequences.received();
                read.map_err(|fault| format!("subscriber {number} after {count}: {fault}"))?;
                more |= subscriber.link.readable;
            }
        }
        for (number, publisher) in self.publishers.iter_mut().enumerate() {
            if publisher.link.readable {
                let read = publisher.read(&mut self.scratch);
                read.map_err(|fault| format!("publisher {number}: {fault}"))?;
            }
        }
        Ok(more)
    }

    /// Writes once to each publisher that has room; whether there may be more to write.
    fn write(&mut self, publishing: bool) -> Outcome<bool> {
        let mut more = false;
        let mut room = self.window.saturating_sub(self.outstanding());
        // Another one begins each time, or the first would take all the room there is.
        self.first = (self.first + 1) % self.publishers.len().max(1);
        for step in 0..self.publishers.len() {
            let index = (self.first + step) % self.publishers.len();
            let publisher = &mut self.publishers[index];
            if !publisher.link.writable {
                continue;
            }
            if publisher.written == publisher.filled {
                publisher.link.flush()?;
                if publishing && publisher.link.outbox.is_empty() {
                    let count = publisher.refill(index, room, self.limit - self.sent);
                    room -= count;
                    self.sent += count;
                }
            }
            if publisher.written < publisher.filled {
                let bytes = &publisher.block.bytes()[publisher.written..publisher.filled];
                publisher.written += publisher.link.write(bytes)?;
                more |= publisher.link.writable;
            }
        }
        Ok(more)
    }

    fn turn(&mut self, publishing: bool, work: bool) -> Outcome<bool> {
        self.wait(if work { Duration::ZERO } else { POLL_MAX })?;
        Ok(self.read()? | self.write(publishing)?)
    }

    /// Publishes until `done` says so; it is asked after every turn.
    pub fn run(&mut self, mut done: impl FnMut(&mut Self) -> Outcome<bool>) -> Outcome<()> {
        let mut work = true;
        let (mut last, mut since) = (self.delivered(), Instant::now());
        while !done(self)? {
            work = self.turn(true, work)?;
            if self.delivered() != last || self.subscribers.is_empty() {
                (last, since) = (self.delivered(), Instant::now());
            } else if since.elapsed() > SILENCE_MAX {
                return Err("nothing was delivered for ten seconds".into());
            }
        }
        Ok(())
    }

    /// Stops publishing and waits until every subscriber has everything, and not one message more.
    pub fn drain(&mut self) -> Outcome<()> {
        let (mut last, mut since) = (self.delivered(), Instant::now());
        loop {
            let unwritten = self.publishers.iter().any(|one| one.written < one.filled);
            if !unwritten && self.outstanding() == 0 {
                break;
            }
            self.turn(false, false)?;
            if self.delivered() != last {
                (last, since) = (self.delivered(), Instant::now());
            } else if since.elapsed() > SILENCE_MAX {
                let missing = self.outstanding();
                return Err(format!("{missing} messages never reached every subscriber").into());
            }
        }
        // A message that is delivered twice would come behind the last one.
        let due = self.delivered();
        for _ in 0..4 {
            self.turn(false, false)?;
        }
        if self.delivered() != due || due != self.sent * self.subscribers.len() as u64 {
            return Err("more was delivered than was sent".into());
        }
        Ok(())
    }
}
