//! `latency`: one publisher, one subscriber, one message in flight, blocking sockets.
//!
//! The time is from before the write to after the read of the whole frame, so it holds two passes
//! through the kernel and the wake-up of this thread as well as the server's own work.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::blocks::stamp;
use crate::connection::{open, open_subscribed};
use crate::options::Options;
use crate::pubsub::Mark;
use crate::report::Report;
use crate::sequences::Sequences;

struct Pair {
    publisher: TcpStream,
    subscriber: TcpStream,
    sequences: Sequences,
    message: Vec<u8>,
    stamp_at: usize,
    unread: Vec<u8>,
}

impl Pair {
    /// Sends one message and waits for it.
    fn exchange(&mut self, sequence: u64) -> Outcome<Duration> {
        let at = self.stamp_at;
        self.message[at..at + 8].copy_from_slice(&stamp(0, sequence));
        let begin = Instant::now();
        self.publisher.write_all(&self.message)?;
        let mut buffer = [0; 16 * 1024];
        while self.sequences.received() <= sequence {
            let count = self.subscriber.read(&mut buffer)?;
            if count == 0 {
                return Err("the server closed the subscriber's connection".into());
            }
            self.unread.extend_from_slice(&buffer[..count]);
            let (taken, pings) = self.sequences.scan(&self.unread)?;
            self.unread.drain(..taken);
            self.subscriber.write_all(&b"PONG\r\n".repeat(pings))?;
        }
        Ok(begin.elapsed())
    }
}

pub fn run(options: &Options) -> Outcome<Report> {
    let (subject, size) = (options.text("subject"), options.number::<usize>("size")?);
    let head = format!("PUB {subject} {size}\r\n");
    let stamp_at = head.len();
    let message = [head.into_bytes(), vec![b'x'; size.max(8)], b"\r\n".to_vec()].concat();
    let subscribed = open_subscribed(options, &subject, 1)?;
    let mut pair = Pair {
        publisher: open(options)?.stream,
        subscriber: subscribed.stream,
        sequences: Sequences::new(Rc::new([subject]), 1, size, 1),
        message,
        stamp_at,
        unread: subscribed.rest,
    };
    let (warmup, length) = (options.duration("warmup")?, options.duration("seconds")?);
    let mut sequence = 0;
    let begin = Instant::now();
    while begin.elapsed() < warmup {
        pair.exchange(sequence)?;
        sequence += 1;
    }
    let server_pid = options.server_pid()?;
    let start = Mark::take(sequence, sequence, server_pid);
    let (begin, mut times) = (Instant::now(), Vec::new());
    while begin.elapsed() < length {
        times.push(pair.exchange(sequence)?.as_nanos() as u64);
        sequence += 1;
    }
    let end = Mark::take(sequence, sequence, server_pid);
    Ok(start.until(&end).add_to(Report::default()).latencies(times))
}
