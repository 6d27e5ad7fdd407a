//! A fuzz of the decoder that needs no nightly compiler: valid sessions are built from the rules
//! of the protocol, broken in one to six places, cut anywhere, and decoded both whole and in
//! pieces. `drive` checks every single step (it consumes, or asks for more than is there, within
//! bounds); here both ways must agree, and the number of steps must stay below the bytes.
//!
//! A short form, the same executions every time, runs with the tests. The long form
//! (`make campaign`) takes `FUZZ_SECONDS` and `SEED`; a failure names the execution, and `SEED=<it> FUZZ_ONLY=<execution>` repeats that one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod drive;

use drive::{Outcome, decode_pieces, decode_whole};
use penstock_wire::{Fault, Limits, Verb};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

const EXECUTION_MAX: Duration = Duration::from_secs(60); // more is a hang: a session is a few kB
const EXECUTIONS_SHORT: u64 = 20_000; // about two seconds of a debug build
const NUMBERS: [&str; 16] = [
    "0",
    "1",
    "2",
    "00000007",
    "63",
    "64",
    "65",
    "4096",
    "999999999",
    "1000000000",
    "4294967296",
    "18446744073709551616",
    "-1",
    "+1",
    "1_0",
    "",
];
const WORDS: [&str; 14] = [
    "a",
    "a.b",
    "*",
    ">",
    "a.>",
    "..",
    "_INBOX.x.1",
    "\u{fc}",
    "\0",
    "a\rb",
    "PUB",
    "\u{661}",
    "-",
    "{}",
];
const LINES: [&str; 8] = [
    "PING\r\n",
    "pong\n",
    "+OK\r\n",
    "-ERR 'no'\r\n",
    "INFO {}\r\n",
    "CONNECT {}\r\n",
    "PINGxyz\r\n",
    "connect\t{\"verbose\":false}\n",
];

/// splitmix64: small, seeded, good enough to choose.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    #[allow(clippy::cast_possible_truncation)] // the result is below `bound`
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}

fn limits(random: &mut Random) -> Limits {
    Limits {
        control_line_bytes_max: [8, 64, 256, 4096][random.below(4)],
        payload_bytes_max: [0, 64, 4096, 1 << 20][random.below(4)],
    }
}

fn push_words(random: &mut Random, out: &mut Vec<u8>, words: &[&str]) {
    for word in words {
        let gap = random.pick(&[" ", " ", " ", "\t", "  ", " \t "]);
        out.extend_from_slice(gap.as_bytes());
        out.extend_from_slice(word.as_bytes());
    }
    let end = random.pick(&["\r\n", "\r\n", "\r\n", "\n", " \r\n"]);
    out.extend_from_slice(end.as_bytes());
}

fn push_publish(random: &mut Random, out: &mut Vec<u8>) {
    let payload_bytes = match random.below(12) {
        0 => 300 + random.below(3000),
        1..=3 => 0,
        _ => random.below(40),
    };
    let with_headers = random.one_in(3);
    let header_bytes = random.below(payload_bytes + 1);
    out.extend_from_slice(match (with_headers, random.one_in(4)) {
        (true, true) => b"hPuB",
        (true, false) => b"HPUB",
        (false, true) => b"pub",
        (false, false) => b"PUB",
    });
    let (headers, total) = (header_bytes.to_string(), payload_bytes.to_string());
    let mut words = vec![random.pick(&WORDS)];
    if random.one_in(3) {
        words.push(random.pick(&WORDS));
    }
    if with_headers {
        words.push(&headers);
    }
    words.push(&total);
    push_words(random, out, &words);
    let body = random.bytes(payload_bytes);
    out.extend_from_slice(&body);
    out.extend_from_slice(b"\r\n");
}

fn session(random: &mut Random) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..1 + random.below(12) {
        match random.below(8) {
            0 => out.extend_from_slice(random.pick(&LINES).as_bytes()),
            1 => {
                out.extend_from_slice(b"SUB");
                let words = [
                    random.pick(&WORDS),
                    random.pick(&WORDS),
                    random.pick(&WORDS),
                ];
                let skip = random.below(2);
                push_words(random, &mut out, &words[skip..]);
            }
            2 => {
                out.extend_from_slice(b"UNSUB");
                let words = [random.pick(&WORDS), random.pick(&NUMBERS)];
                let count = 1 + random.below(2);
                push_words(random, &mut out, &words[..count]);
            }
            _ => push_publish(random, &mut out),
        }
    }
    out
}

fn replace(bytes: &mut Vec<u8>, at: usize, until: usize, with: &[u8]) {
    bytes.splice(at..until.min(bytes.len()).max(at), with.iter().copied());
}

fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = random.below(bytes.len() + 1);
    let span = random.below(12);
    match random.below(10) {
        0 => {
            let noise = random.bytes(span);
            replace(bytes, at, at + span, &noise);
        }
        1 => replace(bytes, at, at + span, b""),
        2 => {
            let copy = bytes[at..(at + 40).min(bytes.len())].to_vec();
            let to = random.below(bytes.len() + 1);
            replace(bytes, to, to, &copy);
        }
        3 => {
            let found = (at..bytes.len()).find(|index| bytes[*index].is_ascii_digit());
            let start = found.unwrap_or(at);
            let number = random.pick(&NUMBERS).as_bytes();
            replace(bytes, start, start + 1, number);
        }
        4 => replace(
            bytes,
            at,
            at + 1,
            random.pick(&["\r", "\n", "\r\n", " ", "\0"]).as_bytes(),
        ),
        5 => {
            let filler = random
                .pick(&[" ", "\t", "a", ".", "\r", "9"])
                .repeat(random.below(400));
            replace(bytes, at, at, filler.as_bytes());
        }
        6 => bytes.truncate(at),
        7 => replace(bytes, at, at, random.pick(&LINES).as_bytes()),
        8 => {
            let found = (at..bytes.len()).find(|index| bytes[*index] == b'\r');
            if let Some(index) = found {
                replace(bytes, index, index + 1 + random.below(2), b"");
            }
        }
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
    }
}

/// One input, from nothing but a number.
fn input(seed: u64, execution: u64) -> (Vec<u8>, Vec<usize>, Limits) {
    let mut random = Random(seed ^ execution.wrapping_mul(0xA076_1D64_78BD_642F));
    let limits = limits(&mut random);
    let mut bytes = match random.below(16) {
        0 => {
            let count = random.below(300);
            random.bytes(count)
        }
        _ => session(&mut random),
    };
    if !random.one_in(4) {
        for _ in 0..1 + random.below(6) {
            mutate(&mut random, &mut bytes);
        }
    }
    let cuts = (0..1 + random.below(6))
        .map(|_| 1 + random.below(90))
        .collect();
    (bytes, cuts, limits)
}

#[derive(Default)]
struct Tally {
    executions: u64,
    bytes: u64,
    whole_sessions: u64,
    frames: BTreeMap<String, u64>,
}

impl Tally {
    fn count(&mut self, bytes: usize, outcome: &Outcome) {
        self.executions += 1;
        self.bytes += bytes as u64;
        self.whole_sessions += u64::from(outcome.fault.is_none() && outcome.left == 0);
        for frame in &outcome.frames {
            *self.frames.entry(format!("{:?}", frame.verb)).or_default() += 1;
        }
        if let Some(fault) = outcome.fault {
            *self.frames.entry(format!("fault {fault:?}")).or_default() += 1;
        }
    }

    #[allow(clippy::print_stdout)] // a person reads it
    fn report(&self, seed: u64, elapsed: Duration) {
        #[allow(clippy::cast_precision_loss)]
        let rate = self.executions as f64 / elapsed.as_secs_f64();
        println!(
            "fuzz: seed {seed}, {} executions in {:.1} s ({rate:.0}/s), {} bytes, {} whole sessions",
            self.executions,
            elapsed.as_secs_f64(),
            self.bytes,
            self.whole_sessions
        );
        for (what, count) in &self.frames {
            println!("fuzz: {count:>12}  {what}");
        }
    }

    /// The fuzz does real work: it reaches every verb and every way to fail.
    fn check_reach(&self) {
        let verbs = [
            Verb::Connect,
            Verb::Publish,
            Verb::PublishWithHeaders,
            Verb::Subscribe,
            Verb::Unsubscribe,
            Verb::Ping,
            Verb::Pong,
            Verb::Info,
            Verb::Ok,
            Verb::Err,
        ];
        let faults = [
            Fault::UnknownOperation,
            Fault::ControlLineTooLong,
            Fault::BadArguments,
            Fault::PayloadTooLarge,
        ];
        let names = verbs.iter().map(|verb| format!("{verb:?}"));
        let names = names.chain(faults.iter().map(|fault| format!("fault {fault:?}")));
        let missed: Vec<String> = names
            .filter(|name| !self.frames.contains_key(name))
            .collect();
        assert!(missed.is_empty(), "never seen: {missed:?}");
        assert!(self.whole_sessions > 0, "no session came through");
    }
}

fn execute(seed: u64, execution: u64) -> (usize, Outcome) {
    let (bytes, cuts, limits) = input(seed, execution);
    let whole = decode_whole(&bytes, &limits);
    assert!(
        whole.frames.len() * 4 <= bytes.len(),
        "more frames than bytes for them"
    );
    for cuts in [&cuts[..], &[1]] {
        assert_eq!(
            decode_pieces(&bytes, cuts, &limits),
            whole,
            "cuts {cuts:?} of {bytes:?}"
        );
    }
    (bytes.len(), whole)
}

fn run(seed: u64, executions: std::ops::Range<u64>, time: Option<Duration>) {
    let begin = Instant::now();
    let mut tally = Tally::default();
    for execution in executions.clone() {
        let start = Instant::now();
        if time.is_some_and(|time| start - begin > time) {
            break;
        }
        let result = catch_unwind(AssertUnwindSafe(|| execute(seed, execution)));
        let again = format!("repeat with SEED={seed} FUZZ_ONLY={execution}");
        match result {
            Ok((bytes, outcome)) => tally.count(bytes, &outcome),
            Err(_) => {
                let (bytes, _, limits) = input(seed, execution);
                panic!(
                    "execution {execution}: {again}: {} ({limits:?})",
                    bytes.escape_ascii()
                );
            }
        }
        assert!(
            start.elapsed() < EXECUTION_MAX,
            "execution {execution} hung; {again}"
        );
    }
    tally.report(seed, begin.elapsed());
    if executions.end - executions.start > 1 {
        tally.check_reach();
    }
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().expect(name))
}

fn fuzz(count: u64, time: Option<Duration>) {
    let seed = from_environment("SEED").unwrap_or(1);
    let executions = match from_environment("FUZZ_ONLY") {
        Some(execution) => execution..execution + 1,
        None => 0..count,
    };
    run(seed, executions, time);
}

#[test]
fn the_decoder_survives_a_short_run() {
    fuzz(EXECUTIONS_SHORT, None);
}

#[test]
#[ignore = "long: make campaign"]
fn the_decoder_survives_a_campaign() {
    let seconds = from_environment("FUZZ_SECONDS").unwrap_or(300);
    fuzz(u64::MAX, Some(Duration::from_secs(seconds)));
}
