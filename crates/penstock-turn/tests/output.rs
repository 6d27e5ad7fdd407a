//! Output: whatever a socket takes and whenever it blocks, the bytes that arrive are those that
//! were sent, once and in order, and the count of what waits is exact. Small sends, shared blocks
//! and shared bodies come from real fan-out, so all kinds of pieces stand in one queue.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod rig;

use penstock_turn::{Bounds, ConnectionId, Ending, Flushed, Hub};
use proptest::collection::vec;
use proptest::prelude::*;
use rig::{Sink, Take, bounds, deliver_all, drain, feed, switches};

const RECEIVERS: usize = 4; // enough to share blocks

#[derive(Clone, Debug)]
enum Action {
    /// The server says something to one of them, possibly nothing at all.
    Send(usize, usize),
    /// A client publishes that many messages of that size to all of them, in one turn.
    Publish(usize, usize),
    Flush(usize, Vec<Take>),
}

fn take() -> impl Strategy<Value = Take> {
    prop_oneof![
        3 => (1usize..200).prop_map(Take::Bytes),
        3 => (1usize..300_000).prop_map(Take::Bytes),
        1 => Just(Take::Block),
        1 => Just(Take::Interrupt),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    let size = prop_oneof![0usize..40, 8_000usize..9_000, 33_000usize..40_000];
    prop_oneof![
        3 => (0..RECEIVERS, prop_oneof![0usize..30, 100_000usize..300_000])
            .prop_map(|(receiver, bytes)| Action::Send(receiver, bytes)),
        3 => (1usize..5, size).prop_map(|(count, bytes)| Action::Publish(count, bytes)),
        2 => (30usize..60, 200usize..400).prop_map(|(count, bytes)| Action::Publish(count, bytes)),
        4 => (0..RECEIVERS, vec(take(), 0..6))
            .prop_map(|(receiver, plan)| Action::Flush(receiver, plan)),
    ]
}

struct Receiver {
    id: ConnectionId,
    sid: &'static str,
    meant: Vec<u8>,
    arrived: Vec<u8>,
}

fn open() -> (Hub, ConnectionId, Vec<Receiver>) {
    let mut hub = Hub::new(bounds(), 1);
    hub.add_account();
    let publisher = hub.open(switches());
    let receivers = (0..RECEIVERS)
        .map(|number| {
            let id = hub.open(switches());
            let sid = if number == 0 { "own" } else { "1" };
            assert!(hub.subscribe(id, b"x", None, sid.as_bytes()));
            let (meant, arrived) = (Vec::new(), Vec::new());
            Receiver {
                id,
                sid,
                meant,
                arrived,
            }
        })
        .collect();
    (hub, publisher, receivers)
}

/// Bytes that tell their position, so that a lost or doubled piece shows.
fn filler(from: usize, bytes: usize) -> Vec<u8> {
    let text = (from / 8..).flat_map(|number| format!("{number:08x}").into_bytes());
    text.take(bytes).collect()
}

fn publish(
    hub: &mut Hub,
    publisher: ConnectionId,
    receivers: &mut [Receiver],
    count: usize,
    bytes: usize,
) {
    let mut wire = Vec::new();
    for number in 0..count {
        let body = filler(number * 77, bytes);
        wire.extend_from_slice(format!("PUB x {bytes}\r\n").as_bytes());
        wire.extend_from_slice(&body);
        wire.extend_from_slice(b"\r\n");
        for receiver in &mut *receivers {
            let head = format!("MSG x {} {bytes}\r\n", receiver.sid);
            receiver.meant.extend_from_slice(head.as_bytes());
            receiver.meant.extend_from_slice(&body);
            receiver.meant.extend_from_slice(b"\r\n");
        }
    }
    hub.begin_turn(1);
    assert_eq!(feed(hub, publisher, &wire).0, wire.len());
    deliver_all(hub);
}

fn check(hub: &Hub, receiver: &Receiver) -> Result<(), TestCaseError> {
    let (_, pending, _) = hub.traffic(receiver.id).unwrap();
    prop_assert_eq!(pending + receiver.arrived.len(), receiver.meant.len());
    let same = receiver.meant.starts_with(&receiver.arrived);
    prop_assert!(same, "bytes were lost, doubled or moved");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_arrives_is_what_was_sent(actions in vec(action(), 1..30)) {
        let (mut hub, publisher, mut receivers) = open();
        for action in actions {
            match action {
                Action::Send(number, bytes) => {
                    let receiver = &mut receivers[number];
                    let data = filler(receiver.meant.len(), bytes);
                    hub.send(receiver.id, &data);
                    receiver.meant.extend_from_slice(&data);
                }
                Action::Publish(count, bytes) => {
                    publish(&mut hub, publisher, &mut receivers, count, bytes);
                }
                Action::Flush(number, plan) => {
                    let receiver = &mut receivers[number];
                    let mut sink = Sink::new(plan);
                    let flushed = hub.flush(receiver.id.slot(), &mut sink).unwrap();
                    receiver.arrived.extend_from_slice(&sink.taken);
                    let all = receiver.arrived.len() == receiver.meant.len();
                    prop_assert_eq!(flushed == Flushed::Everything, all);
                }
            }
            for receiver in &receivers {
                check(&hub, receiver)?;
            }
        }
        for receiver in &mut receivers {
            receiver.arrived.extend(drain(&mut hub, receiver.id));
            check(&hub, receiver)?;
            prop_assert!(receiver.arrived == receiver.meant);
        }
    }
}

#[test]
fn a_sink_that_takes_nothing_is_an_error_and_loses_nothing() {
    let (mut hub, _, receivers) = open();
    let id = receivers[1].id;
    hub.send(id, b"hello");
    let error = hub
        .flush(id.slot(), &mut Sink::new(vec![Take::Bytes(0)]))
        .unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WriteZero);
    assert_eq!(drain(&mut hub, id), b"hello");
}

#[test]
fn too_much_waiting_ends_one_connection_and_frees_its_output() {
    let mut hub = Hub::new(
        Bounds {
            pending_bytes_max: 10,
            ..bounds()
        },
        1,
    );
    hub.add_account();
    let (slow, fine) = (hub.open(switches()), hub.open(switches()));
    hub.send(slow, b"0123456789");
    assert_eq!(hub.take_ended(), []);
    hub.send(slow, b"!");
    hub.send(slow, b"and more");
    hub.send(fine, b"ok");
    assert_eq!(hub.take_ended(), [(slow, Ending::PendingTooLarge)]);
    assert_eq!(hub.take_ended(), []);
    assert_eq!(drain(&mut hub, slow), b"");
    assert_eq!(drain(&mut hub, fine), b"ok");
}

#[test]
fn a_blocked_flush_is_overdue_until_all_that_waited_then_is_sent() {
    let (mut hub, _, receivers) = open();
    let id = receivers[1].id;
    hub.begin_turn(100);
    hub.send(id, &[b'x'; 1000]);
    let flush = |hub: &mut Hub, now_ns: u64, plan: Vec<Take>| {
        hub.begin_turn(now_ns);
        hub.flush(id.slot(), &mut Sink::new(plan)).unwrap()
    };
    assert_eq!(
        flush(&mut hub, 100, vec![Take::Bytes(10)]),
        Flushed::Blocked
    );
    // It crawls: some bytes go, but not all that waited at 100.
    assert_eq!(
        flush(&mut hub, 150, vec![Take::Bytes(10)]),
        Flushed::Blocked
    );
    hub.give_up_overdue(199, 100);
    assert_eq!(hub.take_ended(), []);
    // All of the first went, more came: the clock starts again.
    hub.send(id, &[b'y'; 1000]);
    assert_eq!(
        flush(&mut hub, 199, vec![Take::Bytes(980)]),
        Flushed::Blocked
    );
    hub.give_up_overdue(250, 100);
    assert_eq!(hub.take_ended(), []);
    hub.give_up_overdue(299, 100);
    assert_eq!(hub.take_ended(), [(id, Ending::WriteDeadline)]);
}
