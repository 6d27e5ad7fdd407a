//! `stuck`: what good subscribers lose when another one subscribes and never reads.
//!
//! One run, one set of connections: a window without it, then the same length from the moment of
//! its SUB. It is not part of the flow control, so the server alone decides what becomes of it. As
//! it never reads, the end of its connection shows only when it writes: a PING now and then meets a
//! reset once the server has closed its side.

use std::time::{Duration, Instant};

use crate::Outcome;
use crate::connection::open;
use crate::engine::Engine;
use crate::link::Link;
use crate::options::Options;
use crate::pubsub::{Mark, publish_for};
use crate::report::Report;

const PROBE_INTERVAL: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(15); // the reference's write deadline is 10 s

struct Stuck {
    link: Link,
    probed: Instant,
}

impl Stuck {
    /// Whether the server has disconnected it.
    fn is_gone(&mut self) -> bool {
        if self.probed.elapsed() < PROBE_INTERVAL {
            return false;
        }
        self.probed = Instant::now();
        self.link.write(b"PING\r\n").is_err()
    }
}

pub fn run(options: &Options) -> Outcome<Report> {
    let (server_pid, length) = (options.server_pid()?, options.duration("seconds")?);
    let mut engine = Engine::connect(options)?;
    let link = engine.adopt(open(options)?)?;
    publish_for(&mut engine, options.duration("warmup")?)?;

    let start = Mark::of(&engine, server_pid);
    publish_for(&mut engine, length)?;
    let stuck_from = Mark::of(&engine, server_pid);
    let mut stuck = Stuck {
        link,
        probed: Instant::now(),
    };
    stuck
        .link
        .write(format!("SUB {} 1\r\n", options.text("subject")).as_bytes())?;

    let (begin, mut gone, mut end) = (Instant::now(), None, None);
    engine.run(|engine| {
        let elapsed = begin.elapsed();
        if gone.is_none() && stuck.is_gone() {
            gone = Some((elapsed.as_secs_f64(), Mark::of(engine, server_pid)));
        }
        if end.is_none() && elapsed >= length {
            end = Some(Mark::of(engine, server_pid));
        }
        Ok(end.is_some() && (gone.is_some() || elapsed >= length + PATIENCE))
    })?;
    let end = end.ok_or("the run ended before its window")?;
    engine.drain()?;

    let (without, with) = (start.until(&stuck_from), stuck_from.until(&end));
    let attached = gone
        .as_ref()
        .map(|(_, mark)| stuck_from.until(mark).delivered_rate());
    let report = Report::default()
        .number("rate_without", without.delivered_rate())
        .number("rate_with", with.delivered_rate())
        .number("kept", with.delivered_rate() / without.delivered_rate())
        .optional("rate_while_attached", attached)
        .flag("disconnected", gone.is_some())
        .optional(
            "disconnected_after_seconds",
            gone.as_ref().map(|(seconds, _)| *seconds),
        );
    Ok(with.add_to(report))
}
