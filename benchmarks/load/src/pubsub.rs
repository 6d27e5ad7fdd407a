//! `pubsub`: the rate from end to end, and what the server's CPU pays for a message.

use std::time::{Duration, Instant};

use crate::Outcome;
use crate::cpu;
use crate::engine::Engine;
use crate::options::Options;
use crate::report::Report;

/// The counters at one moment; a measured window lies between two of them.
pub struct Mark {
    at: Instant,
    own_cpu_seconds: f64,
    server_cpu_seconds: Option<f64>,
    sent: u64,
    delivered: u64,
}

/// What happened between two marks.
pub struct Window {
    pub seconds: f64,
    pub sent: u64,
    pub delivered: u64,
    pub own_cpu_seconds: f64,
    pub server_cpu_seconds: Option<f64>,
}

impl Mark {
    pub fn take(sent: u64, delivered: u64, server_pid: Option<u32>) -> Self {
        Self {
            at: Instant::now(),
            own_cpu_seconds: cpu::own_seconds(),
            server_cpu_seconds: server_pid.and_then(cpu::process_seconds),
            sent,
            delivered,
        }
    }

    pub fn of(engine: &Engine, server_pid: Option<u32>) -> Self {
        Self::take(engine.sent(), engine.delivered(), server_pid)
    }

    pub fn until(&self, end: &Self) -> Window {
        let server = end.server_cpu_seconds.zip(self.server_cpu_seconds);
        Window {
            seconds: (end.at - self.at).as_secs_f64(),
            sent: end.sent - self.sent,
            delivered: end.delivered - self.delivered,
            own_cpu_seconds: end.own_cpu_seconds - self.own_cpu_seconds,
            server_cpu_seconds: server.map(|(end, start)| end - start),
        }
    }
}

impl Window {
    pub fn delivered_rate(&self) -> f64 {
        self.delivered as f64 / self.seconds
    }

    pub fn add_to(&self, report: Report) -> Report {
        report
            .number("seconds", self.seconds)
            .count("sent", self.sent)
            .count("delivered", self.delivered)
            .number("sent_rate", self.sent as f64 / self.seconds)
            .number("delivered_rate", self.delivered_rate())
            .number("load_cpu_seconds", self.own_cpu_seconds)
            .optional("server_cpu_seconds", self.server_cpu_seconds)
    }
}

pub fn publish_for(engine: &mut Engine, length: Duration) -> Outcome<()> {
    let end = Instant::now() + length;
    engine.run(|engine| Ok(Instant::now() >= end || engine.finished()))
}

pub fn run(options: &Options) -> Outcome<Report> {
    let server_pid = options.server_pid()?;
    let by_count = options.some("messages")?.is_some();
    let mut engine = Engine::connect(options)?;
    if !by_count {
        publish_for(&mut engine, options.duration("warmup")?)?;
    }
    let start = Mark::of(&engine, server_pid);
    if by_count {
        engine.run(|engine| Ok(engine.finished()))?;
    } else {
        publish_for(&mut engine, options.duration("seconds")?)?;
    }
    let end = Mark::of(&engine, server_pid);
    engine.drain()?;
    let report = start.until(&end).add_to(Report::default());
    Ok(report
        .count("sent_total", engine.sent())
        .count("delivered_total", engine.delivered()))
}
