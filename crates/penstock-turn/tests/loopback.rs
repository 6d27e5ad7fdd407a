//! What the server says to itself: it waits for what its words depend on, in order, and neither a
//! flood nor a circle makes a turn endless.
#![allow(clippy::unwrap_used)]

mod rig;

use penstock_turn::{Bounds, ConnectionId, Hub};
use penstock_wire::Message;
use rig::{bounds, deliver_all, drain, feed, switches};

const TARGET: u32 = 7;

fn hub() -> Hub {
    hub_within(bounds())
}

fn hub_within(bounds: Bounds) -> Hub {
    let mut hub = Hub::new(bounds, 1);
    hub.add_account();
    assert!(hub.add_target(0, b"kept.>", TARGET));
    hub.begin_turn(1);
    hub
}

fn listener(hub: &mut Hub, pattern: &[u8]) -> ConnectionId {
    let id = hub.open(switches());
    assert!(hub.subscribe(id, pattern, None, b"1"));
    id
}

fn say(hub: &mut Hub, subject: &[u8], text: &[u8]) -> bool {
    let body = [text, b"\r\n"].concat();
    hub.publish(
        0,
        &Message {
            subject,
            reply: b"",
            header_bytes: 0,
            body: &body,
            header_digits: 0,
            size_digits: 0,
        },
    )
}

/// One round: the payloads that the target gets.
fn round(hub: &mut Hub) -> Vec<Vec<u8>> {
    let runs = hub.loopback_runs();
    assert!(runs.iter().all(|run| run.target == TARGET));
    let mut payloads = Vec::new();
    for run in runs {
        payloads.extend(
            hub.run(run.start, run.end)
                .map(|(_, _, text)| text.to_vec()),
        );
    }
    payloads
}

#[test]
fn a_message_is_heard_outside_and_inside() {
    let mut hub = hub();
    let client = listener(&mut hub, b"kept.*");
    assert!(say(&mut hub, b"kept.a", b"one"));
    assert!(!say(&mut hub, b"elsewhere", b"two"));
    assert_eq!(drain(&mut hub, client), b"MSG kept.a 1 3\r\none\r\n");
    assert!(hub.loops_back());
    assert_eq!(round(&mut hub), [b"one"]);
    assert!(!hub.loops_back());
    assert_eq!(round(&mut hub), [b""; 0]);
    assert_eq!(drain(&mut hub, client), b"", "and not twice");
}

#[test]
fn a_message_keeps_its_parts() {
    let mut hub = hub();
    let message = Message {
        subject: b"kept.a",
        reply: b"r",
        header_bytes: 3,
        body: b"HHHtext\r\n",
        header_digits: 0,
        size_digits: 0,
    };
    assert!(hub.publish(0, &message));
    let run = hub.loopback_runs()[0];
    let index = hub.picked(run.start).unwrap();
    let (entry, bytes) = hub.entry(index).unwrap();
    assert_eq!(entry.frame.subject.of(bytes), b"kept.a");
    assert_eq!(entry.frame.reply.of(bytes), b"r");
    assert_eq!(entry.frame.payload.of(bytes), b"HHHtext");
    assert_eq!(entry.frame.header_bytes, 3);
    assert!(!hub.is_passed_over(index));
    let parts: Vec<_> = hub.run(run.start, run.end).collect();
    assert_eq!(parts, [(&b"kept.a"[..], &b"HHH"[..], &b"text"[..])]);
}

#[test]
fn behind_the_gate_it_waits_for_its_entry() {
    let mut hub = hub();
    for entry in [3, 3, 5] {
        hub.set_gate(entry);
        say(&mut hub, b"kept.a", entry.to_string().as_bytes());
    }
    hub.set_gate(0);
    assert!(hub.held_bytes() > 0);
    assert_eq!(round(&mut hub), [b""; 0]);
    say(&mut hub, b"kept.a", b"free");
    assert_eq!(round(&mut hub), [b"free"]);
    hub.release_held(2);
    assert!(!hub.loops_back());
    hub.release_held(4);
    assert_eq!(round(&mut hub), [b"3", b"3"]);
    hub.release_held(9);
    assert_eq!(round(&mut hub), [b"5"]);
    assert_eq!(hub.held_bytes(), 0);
}

#[test]
fn what_will_never_be_durable_is_never_heard() {
    let mut hub = hub();
    say(&mut hub, b"kept.a", b"durable");
    hub.set_gate(3);
    say(&mut hub, b"kept.a", b"lost");
    hub.set_gate(0);
    hub.drop_held();
    assert_eq!(hub.held_bytes(), 0);
    hub.release_held(9);
    assert_eq!(round(&mut hub), [b"durable"]);
    assert!(!hub.loops_back());
}

#[test]
fn acknowledgements_are_heard_too() {
    let mut hub = hub();
    assert!(hub.add_target(0, b"t", 9));
    let client = hub.open(switches());
    feed(
        &mut hub,
        client,
        b"PUB t kept.1 1\r\nx\r\nPUB t other 1\r\nx\r\nPUB t kept.2 1\r\nx\r\n",
    );
    let group = hub.next_group(0).unwrap();
    hub.fan_out(group.start, group.end);
    let run = group.runs[0];
    hub.set_gate(4);
    hub.acknowledge(run.start, run.end, b"seq ", 10, b".");
    hub.set_gate(0);
    assert!(!hub.loops_back());
    hub.release_held(4);
    assert_eq!(round(&mut hub), [b"seq 10.", b"seq 12."]);
}

#[test]
fn a_circle_costs_a_bounded_part_of_each_turn() {
    let mut hub = hub();
    say(&mut hub, b"kept.a", b"round");
    let mut counts = Vec::new();
    for turn in 0..3 {
        hub.begin_turn(turn);
        let mut count = 0;
        while !round(&mut hub).is_empty() {
            count += 1;
            say(&mut hub, b"kept.a", b"round");
        }
        assert!(hub.loops_back(), "it goes on in the next turn");
        counts.push(count);
    }
    assert!(counts[0] > 0 && counts[0] < 10_000);
    assert_eq!(counts, [counts[0]; 3]);
}

#[test]
fn a_turn_takes_what_its_clients_caused() {
    let mut hub = hub();
    let client = hub.open(switches());
    let frames = 4000;
    feed(&mut hub, client, &b"PUB a 0\r\n\r\n".repeat(frames));
    deliver_all(&mut hub);
    for _ in 0..2 * frames {
        say(&mut hub, b"kept.a", b"caused");
    }
    assert_eq!(round(&mut hub).len(), 2 * frames);
}

#[test]
fn a_turn_takes_so_many_bytes_and_at_least_one_message() {
    let mut hub = hub_within(Bounds {
        turn_bytes_max: 1000,
        ..bounds()
    });
    for bytes in [500, 500, 5000, 1] {
        assert!(say(&mut hub, b"kept.a", &vec![b'x'; bytes]));
    }
    let sizes = |hub: &mut Hub| round(hub).iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(sizes(&mut hub), [500, 500]);
    assert_eq!(sizes(&mut hub), []);
    hub.begin_turn(2);
    assert_eq!(sizes(&mut hub), [5000]);
    assert_eq!(sizes(&mut hub), []);
    hub.begin_turn(3);
    assert_eq!(sizes(&mut hub), [1]);
}

#[test]
fn a_flood_is_cut_and_counted() {
    let mut hub = hub();
    let large = vec![b'x'; 45 << 20];
    let heard: Vec<bool> = (0..5).map(|_| say(&mut hub, b"kept.a", &large)).collect();
    assert_eq!(heard, [true, true, true, false, false]);
    assert_eq!(hub.take_loopback_lost(), 2);
    assert_eq!(hub.take_loopback_lost(), 0);
    assert!(!round(&mut hub).is_empty());
    assert!(say(&mut hub, b"kept.a", b"there is room again"));
}

#[test]
fn accounts_do_not_hear_each_other() {
    let mut hub = hub();
    let other = hub.add_account();
    assert!(hub.add_target(other, b"kept.>", 8));
    say(&mut hub, b"kept.a", b"one");
    assert_eq!(round(&mut hub), [b"one"]);
    assert!(!hub.loops_back());
}

#[test]
fn whoever_listens_counts_while_it_lives() {
    let mut hub = hub();
    assert!(hub.listens(0, b"kept.a"));
    assert!(!hub.listens(0, b"a"));
    let plain = listener(&mut hub, b"a");
    assert!(hub.listens(0, b"a"));
    assert!(!hub.listens(1, b"a"));
    assert!(hub.close(plain));
    assert!(!hub.listens(0, b"a"));
    let member = hub.open(switches());
    assert!(hub.subscribe(member, b"*", Some(b"q"), b"1"));
    assert!(hub.listens(0, b"a"));
    assert!(hub.unsubscribe(member, b"1", 0));
    assert!(!hub.listens(0, b"a"));
    assert!(hub.remove_target(0, b"kept.>", TARGET));
    assert!(!hub.listens(0, b"kept.a"));
}
