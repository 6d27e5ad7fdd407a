//! Intake: the frames of a connection do not depend on how its bytes were read, on how little a
//! read may take, or on being held and released between any two of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod rig;

use penstock_turn::{Bounds, ConnectionId, Hub, Received, Switches};
use penstock_wire::Verb;
use proptest::collection::vec;
use proptest::prelude::*;
use rig::{bounds, feed, switches};
use std::collections::VecDeque;

type Seen = (Verb, Vec<u8>, Vec<u8>, u32);

fn frame() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => (0usize..500).prop_map(|bytes| format!("PUB a.b {bytes}\r\n{}\r\n", "x".repeat(bytes))),
        2 => "[a-c]{1,5}".prop_map(|subject| format!("SUB {subject} 1\r\n")),
        2 => Just("PING\r\n".to_string()),
        1 => Just("CONNECT {}\r\n".to_string()),
    ]
    .prop_map(String::into_bytes)
}

fn open(read_bytes_max: usize) -> (Hub, ConnectionId) {
    let mut hub = Hub::new(
        Bounds {
            read_bytes_max,
            ..bounds()
        },
        1,
    );
    hub.add_account();
    let id = hub.open(Switches {
        bulk: false,
        ..switches()
    });
    (hub, id)
}

/// Feeds everything, one piece in a turn; `holds` says after which frames to suspend.
fn collect(pieces: &[Vec<u8>], read_bytes_max: usize, holds: &[bool]) -> Vec<Seen> {
    let (mut hub, id) = open(read_bytes_max);
    let mut pieces: VecDeque<Vec<u8>> = pieces.iter().cloned().collect();
    let mut holds = holds.iter().copied().cycle();
    let mut seen = Vec::new();
    let mut again = true;
    while again || !pieces.is_empty() {
        hub.begin_turn(1);
        let piece = pieces.pop_front().unwrap_or_default();
        let (taken, received) = feed(&mut hub, id, &piece);
        if taken < piece.len() {
            pieces.push_front(piece[taken..].to_vec());
        }
        again = received == Received::More;
        for index in 0.. {
            let Some((entry, bytes)) = hub.entry(index) else {
                break;
            };
            if hub.is_passed_over(index) {
                continue;
            }
            let frame = entry.frame;
            let payload = frame.payload.of(bytes).to_vec();
            seen.push((
                frame.verb,
                frame.subject.of(bytes).to_vec(),
                payload,
                frame.number,
            ));
            if frame.verb != Verb::Fault && holds.next().unwrap_or(false) {
                hub.hold_after(index);
                assert!(!hub.may_read(id.slot()));
                assert!(hub.release(id) && !hub.release(id));
                again = true;
            }
        }
        if !hub.may_read(id.slot()) {
            break;
        }
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frames_do_not_depend_on_reads_and_holds(
        frames in vec(frame(), 0..8), noise in vec(any::<u8>(), 0..4),
        cuts in vec(1usize..300, 1..5), read_bytes_max in 1usize..200,
        holds in vec(any::<bool>(), 1..5),
    ) {
        let stream = [frames.concat(), noise].concat();
        let whole = collect(std::slice::from_ref(&stream), 1 << 20, &[false]);
        prop_assert!(whole.len() >= frames.len());
        let mut pieces = Vec::new();
        let mut rest = &stream[..];
        for cut in cuts.iter().cycle() {
            let (piece, later) = rest.split_at((*cut).min(rest.len()));
            pieces.push(piece.to_vec());
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(&collect(&pieces, 1 << 20, &[false]), &whole);
        prop_assert_eq!(&collect(&pieces, read_bytes_max, &[false]), &whole);
        prop_assert_eq!(&collect(&pieces, read_bytes_max, &holds), &whole);
    }
}

#[test]
fn nothing_is_read_after_a_fault() {
    let (mut hub, id) = open(1000);
    hub.begin_turn(1);
    feed(&mut hub, id, b"PING\r\nnonsense\r\nPING\r\n");
    let verbs: Vec<Verb> = (0..)
        .map_while(|index| hub.entry(index))
        .map(|(entry, _)| entry.frame.verb)
        .collect();
    assert_eq!(verbs, [Verb::Ping, Verb::Fault]);
    assert!(!hub.may_read(id.slot()));
}

/// A slot that is used again in the same turn must not inherit the frames of its predecessor.
#[test]
fn frames_of_a_closed_connection_stay_passed_over() {
    let (mut hub, first) = open(1000);
    hub.begin_turn(1);
    feed(&mut hub, first, b"PUB secret 1\r\nx\r\n");
    assert!(hub.close(first));
    assert!(hub.is_passed_over(0));
    let second = hub.open(switches());
    assert_ne!(first, second);
    assert!(
        hub.is_passed_over(0),
        "sent by {first:?}, now seen from {:?}",
        hub.sender(0)
    );
}
