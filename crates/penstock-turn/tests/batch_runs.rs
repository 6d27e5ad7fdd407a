//! Which messages of a run wait with a batch, by example.
#![allow(clippy::unwrap_used)]

mod rig;

use penstock_turn::{BatchNames, Hub, Marks};
use rig::{bounds, feed, switches};

const NAMES: BatchNames<'static> = BatchNames {
    id: b"Nats-Batch-Id",
    place: b"Nats-Batch-Sequence",
    ends: b"Nats-Batch-Commit:Nats-Required-Api-Level:",
};
const MARKS: Marks<'static> = Marks {
    prefix: b"Nats-",
    harmless: b"Nats-Stream:",
    column: b"",
    expected: b"",
    header_bytes_max: 150,
    message_bytes_max: 200,
    lifetime_seconds: (1, 0),
};

/// A run with a message for each block of header lines, each with a body of three bytes.
fn hub_with(blocks: &[&str]) -> Hub {
    let mut hub = Hub::new(bounds(), 1);
    hub.add_account();
    assert!(hub.add_target(0, b"t", 7));
    let client = hub.open(switches());
    hub.begin_turn(1);
    let mut data = Vec::new();
    for lines in blocks {
        let headers = format!("NATS/1.0\r\n{lines}\r\n");
        let (head, all) = (headers.len(), headers.len() + 3);
        data.extend_from_slice(format!("HPUB t {head} {all}\r\n{headers}xyz\r\n").as_bytes());
    }
    assert_eq!(feed(&mut hub, client, &data).0, data.len());
    assert_eq!(hub.next_group(0).unwrap().runs.len(), 1);
    hub
}

fn part(id: &str, place: &str, more: &str) -> String {
    format!("Nats-Batch-Id: {id}\r\nNats-Batch-Sequence: {place}\r\n{more}")
}

/// Start, end, id, place and whether it is plain.
fn runs(blocks: &[String]) -> Vec<(usize, usize, String, u64, bool)> {
    let blocks: Vec<&str> = blocks.iter().map(String::as_str).collect();
    let hub = hub_with(&blocks);
    let found = hub.batch_runs(0, blocks.len(), NAMES, MARKS);
    found
        .iter()
        .map(|run| {
            let id = String::from_utf8(run.id.to_vec()).unwrap();
            (run.start, run.end, id, run.place, run.is_plain)
        })
        .collect()
}

#[test]
fn places_that_follow_each_other_are_one_stretch() {
    let found = runs(&[
        part("a", "1", ""),
        part("a", "2", "X: y\r\n"),
        part("a", "3", "Nats-Stream: S\r\n"),
        part("b", "1", ""),
        part("a", "4", ""),
        part("a", "6", ""),
        part("a", "7", "Nats-Msg-Id: 1\r\n"),
    ]);
    let expected = [
        (0, 3, "a", 1, true),
        (3, 4, "b", 1, true),
        (4, 5, "a", 4, true),
        (5, 7, "a", 6, false),
    ];
    let expected = expected.map(|(start, end, id, place, plain)| {
        let id: String = id.into();
        (start, end, id, place, plain)
    });
    assert_eq!(found, expected);
}

#[test]
fn what_has_to_be_looked_at_is_in_none() {
    let long = "i".repeat(65);
    for block in [
        "X: y\r\n".to_owned(),
        part("a", "2", "Nats-Batch-Commit: 1\r\n"),
        part("a", "2", "Nats-Required-Api-Level: 2\r\n"),
        part("a", "", ""),
        part("a", "x", ""),
        part("a", "-1", ""),
        part("a", "2 ", ""),
        part("a", "1234567890", ""),
        part("", "2", ""),
        part(&long, "2", ""),
        "Nats-Batch-Id: a\r\n".to_owned(),
        "Nats-Batch-Sequence: 2\r\n".to_owned(),
        part("a", "2", &format!("X: {}\r\n", "y".repeat(150))),
    ] {
        let found = runs(&[part("a", "1", ""), block.clone(), part("a", "3", "")]);
        let places: Vec<_> = found.iter().map(|run| (run.0, run.1)).collect();
        assert_eq!(places, [(0, 1), (2, 3)], "{block}");
    }
}

#[test]
fn of_several_headers_the_first_counts_and_blanks_do_not() {
    let twice = "Nats-Batch-Id:   a\r\nNats-Batch-Id: b\r\nNats-Batch-Sequence: 1\r\n\
                 Nats-Batch-Sequence: 9\r\n";
    let found = runs(&[twice.to_owned(), part("a", "2", "")]);
    assert_eq!(found, [(0, 2, "a".to_owned(), 1, true)]);
}

#[test]
fn bytes_are_those_of_subjects_headers_and_bodies() {
    let blocks = [part("a", "1", ""), part("a", "2", "X: y\r\n")];
    let hub = hub_with(&[&blocks[0], &blocks[1]]);
    let run = &hub.batch_runs(0, 2, NAMES, MARKS)[0];
    let sizes = blocks.map(|lines| "NATS/1.0\r\n\r\n".len() + lines.len() + 3);
    assert_eq!(run.bytes, sizes[0] + sizes[1] + 2);
    assert_eq!(run.message_bytes_max, sizes[1]);
}
