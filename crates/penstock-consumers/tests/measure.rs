//! What a delivery and an acknowledgement cost, in nanoseconds. Not a test: it asserts nothing
//! about time. `cargo test --release -p penstock-consumers --test measure -- --ignored --nocapture`
#![allow(clippy::unwrap_used)]

mod support;

use penstock_blocks::{Filter, Options, Store};
use penstock_consumers::{AckPolicy, FilterIndex, Ledger, Request, Stop, Terms};
use penstock_disk::SimulatedDisk;
use penstock_turn::{ConnectionId, Hub};
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use support::{ACK_SUBJECT, append, hub, open, turn};

const MESSAGES: u64 = 500_000;
const ROUNDS: usize = 3;

fn filled(store: &mut Store, subjects: u64) {
    for sequence in 1..=MESSAGES {
        let subject = format!("bench.{}", sequence % subjects);
        append(store, sequence, 1_700_000_000_000_000_000, &subject, 128);
    }
}

/// Takes everything and keeps nothing, like a fast socket.
fn discard(hub: &mut Hub, id: ConnectionId) {
    hub.flush(id.slot(), &mut io::sink()).unwrap();
}

/// What this thread has used of a processor, so that others on the machine do not count; the time
/// on the clock where the system does not say.
fn used_ns() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let used = text.split(' ').next().and_then(|field| field.parse().ok());
    used.unwrap_or_else(|| UNIX_EPOCH.elapsed().unwrap().as_nanos() as f64)
}

fn report(what: &str, times: &[(u64, f64)]) {
    let per_message = times.iter().map(|(count, ns)| ns / *count as f64);
    let best = per_message.fold(f64::MAX, f64::min);
    println!("{what}: {best:.0} ns/message, {:.2} M/s", 1e3 / best);
}

fn deliver(
    name: &str,
    policy: AckPolicy,
    filters: &[&str],
    in_files: bool,
    gated: bool,
    inboxes: usize,
) {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let disk = Arc::new(SimulatedDisk::new(1));
        let mut store = if in_files {
            Store::open(disk, "streams/S", "S", Options::default())
                .unwrap()
                .0
        } else {
            Store::in_memory("S", Options::default())
        };
        filled(&mut store, 10);
        if in_files {
            store.write_out().unwrap();
            store.cool();
        }
        let mut hub = hub(64 << 20);
        let client = open(&mut hub, true);
        let names: Vec<String> = (0..inboxes).map(|n| format!("_INBOX.abc.{n}")).collect();
        hub.subscribe(client, b"_INBOX.abc.*", None, b"1");
        let mut ledger = Ledger::new(policy, ACK_SUBJECT.as_bytes(), Filter::new(filters), true);
        ledger.start(1, &[]);
        let requests: Vec<Request<'_>> = names
            .iter()
            .map(|name| Request {
                inbox: name.as_bytes(),
                messages_max: 1000 / inboxes as u64,
                bytes_max: 0,
            })
            .collect();
        let (mut count, mut elapsed) = (0, 0.0);
        loop {
            hub.begin_turn(1);
            hub.set_gate(u64::from(gated));
            let begin = used_ns();
            let terms = Terms::default();
            let told = ledger
                .deliver(&mut hub, &mut store, &requests, &terms)
                .unwrap();
            hub.set_gate(0);
            hub.release_held(1);
            let changes = ledger.take_changes();
            elapsed += used_ns() - begin;
            assert!(changes.len() < 200 * 1000);
            count += told.served.iter().map(|served| served.0).sum::<u64>();
            discard(&mut hub, client);
            if told.stop == Stop::End {
                break;
            }
        }
        times.push((count, elapsed));
    }
    report(name, &times);
}

#[test]
#[ignore = "measures"]
fn what_a_delivery_costs() {
    use AckPolicy::{Explicit, None};
    deliver("deliver, no acks, memory", None, &[], false, false, 1);
    deliver("deliver, explicit, memory", Explicit, &[], false, false, 1);
    deliver(
        "deliver, explicit, memory, behind the gate",
        Explicit,
        &[],
        false,
        true,
        1,
    );
    deliver(
        "deliver, explicit, cold blocks",
        Explicit,
        &[],
        true,
        false,
        1,
    );
    deliver(
        "deliver, explicit, one of ten subjects",
        Explicit,
        &["bench.3"],
        false,
        false,
        1,
    );
    deliver(
        "deliver, explicit, wildcard",
        Explicit,
        &["*.3"],
        false,
        false,
        1,
    );
    deliver(
        "deliver, explicit, to ten requests in turn",
        Explicit,
        &[],
        false,
        false,
        10,
    );
}

fn acks(name: &str, reply: &str, nosy: &str, order: impl Fn(u64) -> u64) {
    let mut times = Vec::new();
    let mut routing = Vec::new();
    for _ in 0..ROUNDS {
        let mut store = Store::in_memory("S", Options::default());
        filled(&mut store, 10);
        let mut hub = hub(1 << 30);
        hub.add_target(0, b"$JS.ACK.S.C.*.*.*.*.*", 1);
        let client = open(&mut hub, true);
        hub.subscribe(client, b"_INBOX.abc.*", None, b"1");
        hub.subscribe(client, nosy.as_bytes(), None, b"2");
        let mut ledger = Ledger::new(
            AckPolicy::Explicit,
            ACK_SUBJECT.as_bytes(),
            Filter::everything(),
            true,
        );
        ledger.start(1, &[]);
        let request = Request {
            inbox: b"_INBOX.abc.1",
            messages_max: MESSAGES,
            bytes_max: 0,
        };
        let terms = Terms::default();
        ledger
            .deliver(&mut hub, &mut store, &[request], &terms)
            .unwrap();
        assert_eq!(ledger.figures().pending, MESSAGES as usize);
        discard(&mut hub, client);
        let (mut elapsed, mut routed, mut count) = (0.0, 0.0, 0);
        for start in (1..=MESSAGES).step_by(1000) {
            let mut data = String::new();
            for at in start..start + 1000 {
                let sequence = order(at);
                let pending = MESSAGES - sequence;
                write!(
                    data,
                    "PUB {ACK_SUBJECT}1.{sequence}.{sequence}.1700000000000000000."
                )
                .unwrap();
                write!(data, "{pending}{reply} 4\r\n+ACK\r\n").unwrap();
            }
            let begin = used_ns();
            let (_, from, to) = turn(&mut hub, client, data.as_bytes())[0];
            routed += used_ns() - begin;
            let begin = used_ns();
            let acked = ledger.ack_run(&hub, from, to);
            let changes = ledger.take_changes();
            elapsed += used_ns() - begin;
            assert_eq!(acked.position, to);
            assert!(!changes.is_empty());
            count += acked.count;
        }
        assert_eq!(count, MESSAGES);
        times.push((count, elapsed));
        routing.push((count, routed));
    }
    report(name, &times);
    report(&format!("{name}: reading, decoding, routing"), &routing);
}

#[test]
#[ignore = "measures"]
fn what_an_acknowledgement_costs() {
    acks("ack_run, in order", "", "x", |at| at);
    let nosy = "$JS.ACK.S.C.1.0.>";
    acks(
        "ack_run, somebody else listens to one of them",
        "",
        nosy,
        |at| at,
    );
    acks("ack_run, with replies", " _INBOX.abc.7", "x", |at| at);
    acks("ack_run, shuffled within a thousand", "", "x", |at| {
        let (block, within) = ((at - 1) / 1000, (at - 1) % 1000);
        block * 1000 + within * 607 % 1000 + 1
    });
    acks("ack_run, shuffled over all", "", "x", |at| {
        (at - 1) * 61_007 % MESSAGES + 1
    });
}

#[test]
#[ignore = "measures"]
fn what_counting_a_run_costs() {
    for consumers in [1u32, 100, 1000] {
        let mut index = FilterIndex::default();
        for number in 0..consumers {
            let filter = format!("bench.{}", number % 10);
            index.set(number, &[filter.into_bytes()]);
            index.wait(number, number < 10);
        }
        let mut hub = hub(1 << 30);
        hub.add_target(0, b"bench.*", 1);
        let client = open(&mut hub, true);
        let data: String = (0..1000)
            .map(|n| format!("PUB bench.{} 0\r\n\r\n", n % 10))
            .collect();
        let mut elapsed = 0.0;
        for round in 0..1000 {
            let (_, from, to) = turn(&mut hub, client, data.as_bytes())[0];
            let begin = used_ns();
            let woken = index.count_run(&hub, from, to, round * 1000 + 1);
            elapsed += used_ns() - begin;
            assert_eq!(woken.len(), consumers.min(10) as usize);
        }
        let times = [(1_000_000, elapsed)];
        report(&format!("count_run for {consumers} consumers"), &times);
    }
}
