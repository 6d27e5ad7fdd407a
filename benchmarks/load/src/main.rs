//! The load generator: a NATS client on raw sockets that must never be the slow side.
//!
//! One thread, one epoll, prebuilt blocks of frames out, whole buffers in. Every message carries its
//! publisher and sequence, and every receiver checks them, so a lost, doubled or reordered message
//! ends the run with an error instead of improving the rate. Each mode prints one line of JSON.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod acks;
mod blocks;
mod connection;
mod consume;
mod counters;
mod cpu;
mod deliveries;
mod engine;
mod frames;
mod idle;
mod latency;
mod link;
mod num_pending;
mod options;
mod publish;
mod publish_frame;
mod pubsub;
mod report;
mod requests;
mod selfcheck;
mod sequences;
mod statuses;
mod stream_api;
mod stuck;
mod work;
mod worker;

use std::io::Write;
use std::process::ExitCode;

use options::Options;
use report::Report;

/// Whatever ends a run: the text is for the person who reads the benchmark's output.
pub type Fault = Box<dyn std::error::Error>;
pub type Outcome<T> = Result<T, Fault>;

type Mode = fn(&Options) -> Outcome<Report>;

const MODES: &[(&str, Mode, &str)] = &[
    (
        "pubsub",
        pubsub::run,
        "P publishers to S subscribers, end-to-end rate",
    ),
    (
        "requests",
        requests::run,
        "request and reply, rate and latency",
    ),
    (
        "latency",
        latency::run,
        "one message in flight, publisher to subscriber",
    ),
    (
        "stuck",
        stuck::run,
        "pub/sub while one subscriber does not read",
    ),
    (
        "idle",
        idle::run,
        "hold idle connections until stdin closes",
    ),
    (
        "publish",
        publish::run,
        "publish into streams, every acknowledgement checked",
    ),
    (
        "consume",
        consume::run,
        "read a filled stream through a consumer, again and again",
    ),
    (
        "work",
        work::run,
        "publish, fetch and acknowledge at the same time",
    ),
    (
        "num-pending",
        num_pending::run,
        "create filtered consumers, and ask them what is left",
    ),
    ("state", stream_api::run, "what the streams hold"),
    (
        "selfcheck",
        selfcheck::run,
        "how fast this generator is without a server",
    ),
];

fn usage() -> String {
    let mut text = String::from("usage: penstock-load MODE [--option value ...]\n\nmodes:\n");
    for (name, _, summary) in MODES {
        text.push_str(&format!("  {name:<11} {summary}\n"));
    }
    text.push_str("\noptions:\n");
    text.push_str(&options::help());
    text
}

fn run() -> Outcome<Report> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().ok_or_else(usage)?;
    let mode = MODES.iter().find(|(known, _, _)| *known == name);
    let (_, mode, _) = mode.ok_or_else(usage)?;
    mode(&Options::parse(arguments)?)
}

fn main() -> ExitCode {
    let printed = run().and_then(|report| Ok(writeln!(std::io::stdout(), "{report}")?));
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("penstock-load: {fault}");
            ExitCode::FAILURE
        }
    }
}
