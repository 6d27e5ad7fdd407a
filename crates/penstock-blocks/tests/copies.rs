//! Copies from store to store: what is taken, what is left out, and what a log gives back.
#![allow(clippy::unwrap_used)]

use penstock_blocks::{
    Content, Copies, CopyStop, CopyTerms, Filter, Message, Options, Sourced, Store,
};
use penstock_disk::SimulatedDisk;
use std::sync::Arc;

type Row = (u64, i64, Vec<u8>, Vec<u8>, Vec<u8>);

const HEADERS: &[u8] = b"NATS/1.0\r\nA: b\r\nNats-Expected-Stream: O\r\nX: Nats-Expected-\r\n\r\n";

fn file_store(disk: &Arc<SimulatedDisk>, name: &str) -> Store {
    let options = Options {
        block_bytes_max: 700,
        ..Options::default()
    };
    let directory = format!("streams/{name}");
    Store::open(Arc::clone(disk) as _, &directory, name, options)
        .unwrap()
        .0
}

fn memory_store() -> Store {
    Store::in_memory("m", Options::default())
}

/// Messages 1 to `count` on a, b and c in turn; every fifth has headers.
fn filled(mut store: Store, count: u64) -> Store {
    for sequence in 1..=count {
        let headers = if sequence % 5 == 0 { HEADERS } else { b"" };
        let subject = [b'a' + (sequence % 3) as u8];
        let message = sequence.to_string();
        let content = Content {
            sequence,
            timestamp_ns: 1000 + sequence as i64 * 7,
            subject: &subject,
            headers,
            message: message.as_bytes(),
        };
        store.append(&content).unwrap();
    }
    store
}

fn terms<'a>(filter: &'a Filter, from: u64, dropped: &'a [Vec<u8>]) -> CopyTerms<'a> {
    CopyTerms {
        filter,
        from,
        up_to: u64::MAX,
        messages_max: usize::MAX,
        bytes_max: usize::MAX,
        header_bytes_max: usize::MAX,
        message_bytes_max: usize::MAX,
        dropped,
        special: &[],
        sourced: None,
        renames: false,
    }
}

fn row(message: &Message<'_>) -> Row {
    (
        message.sequence,
        message.timestamp_ns,
        message.subject.to_vec(),
        message.headers.to_vec(),
        message.message.to_vec(),
    )
}

fn rows(store: &mut Store) -> Vec<Row> {
    (1..=store.last_sequence())
        .filter_map(|sequence| store.load(sequence).unwrap().map(|found| row(&found)))
        .collect()
}

#[test]
fn a_mirror_keeps_sequences_and_times_and_gaps() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let mut origin = filled(file_store(&disk, "o"), 60);
    for sequence in [1, 2, 17, 40, 41] {
        origin.remove(sequence, false).unwrap();
    }
    for mut target in [file_store(&disk, "t"), memory_store()] {
        let (everything, mut copies) = (Filter::everything(), Copies::default());
        let mut next = 1;
        loop {
            let terms = CopyTerms {
                messages_max: 7,
                ..terms(&everything, next, &[])
            };
            let (stop, after) = copies.take(&mut origin, &terms).unwrap();
            target.append_copies(&copies).unwrap();
            next = after;
            if stop == CopyStop::Over {
                break;
            }
        }
        assert_eq!(next, 61);
        assert_eq!(rows(&mut target), rows(&mut origin));
        let (ours, theirs) = (target.state().unwrap(), origin.state().unwrap());
        assert_eq!(ours.messages, theirs.messages);
        assert_eq!(ours.deleted, theirs.deleted);
    }
}

#[test]
fn a_walk_ends_where_it_is_told_to() {
    let mut origin = filled(memory_store(), 30);
    let (filter, mut copies) = (Filter::new(&["a"]), Copies::default());
    let up_to = CopyTerms {
        up_to: 10,
        ..terms(&filter, 1, &[])
    };
    let (stop, next) = copies.take(&mut origin, &up_to).unwrap();
    assert_eq!((stop, next, copies.count()), (CopyStop::Over, 12, 3)); // 3, 6, 9, and not 12
    let special = [b"\r\nA:".to_vec()];
    let stopped = CopyTerms {
        special: &special,
        ..terms(&filter, 12, &[])
    };
    let (stop, next) = copies.take(&mut origin, &stopped).unwrap();
    assert_eq!((stop, next, copies.count()), (CopyStop::Special, 15, 1));
    let small = CopyTerms {
        message_bytes_max: 2,
        ..terms(&filter, 12, &[])
    };
    let (stop, next) = copies.take(&mut origin, &small).unwrap();
    assert_eq!((stop, next, copies.count()), (CopyStop::Special, 15, 1));
    let full = CopyTerms {
        bytes_max: 1,
        ..terms(&filter, 1, &[])
    };
    let (stop, next) = copies.take(&mut origin, &full).unwrap();
    assert_eq!((stop, next, copies.count()), (CopyStop::Full, 4, 1));
}

#[test]
fn header_lines_are_dropped_and_a_source_is_named() {
    let mut origin = filled(memory_store(), 5);
    let dropped = [b"Nats-Expected-".to_vec(), b"A:".to_vec()];
    let (everything, mut copies) = (Filter::everything(), Copies::default());
    let sourced = CopyTerms {
        sourced: Some(Sourced {
            first: 100,
            time_ns: 9,
            head: b"S: O ",
            middle: b" > > ",
            end: b" id",
        }),
        ..terms(&everything, 4, &dropped)
    };
    copies.take(&mut origin, &sourced).unwrap();
    let found: Vec<_> = copies
        .messages()
        .map(|one| (one.sequence, one.timestamp_ns, one.headers.to_vec()))
        .collect();
    let alone = b"NATS/1.0\r\nS: O 4 > > b id\r\n\r\n".to_vec();
    let joined = b"NATS/1.0\r\nX: Nats-Expected-\r\nS: O 5 > > c id\r\n\r\n".to_vec();
    assert_eq!(found, [(100, 9, alone), (101, 9, joined.clone())]);
    assert_eq!(copies.last(), Some((101, 9, &joined[..])));
}

#[test]
fn a_subject_whose_new_name_is_not_known_is_special() {
    let mut origin = filled(memory_store(), 6);
    let (everything, mut copies) = (Filter::everything(), Copies::default());
    let renaming = CopyTerms {
        renames: true,
        ..terms(&everything, 1, &[])
    };
    assert_eq!(copies.rename(b"b", b"second"), 1);
    let (stop, next) = copies.take(&mut origin, &renaming).unwrap();
    assert_eq!((stop, next, copies.count()), (CopyStop::Special, 2, 1));
    copies.rename(b"a", b"first");
    copies.rename(b"c", b"third");
    let (stop, _) = copies.take(&mut origin, &renaming).unwrap();
    let names: Vec<_> = copies.messages().map(|one| one.subject.to_vec()).collect();
    assert_eq!((stop, names.len()), (CopyStop::Over, 6));
    assert_eq!(names[..3], [&b"second"[..], b"third", b"first"]);
}

#[test]
fn headers_of_which_nothing_is_left_are_none() {
    let mut origin = memory_store();
    let content = Content {
        sequence: 1,
        timestamp_ns: 1,
        subject: b"a",
        headers: b"NATS/1.0\r\nDrop-A: b\r\nDrop-C: d\r\n\r\n",
        message: b"x",
    };
    origin.append(&content).unwrap();
    let dropped = [b"Drop-".to_vec()];
    let (everything, mut copies) = (Filter::everything(), Copies::default());
    copies
        .take(&mut origin, &terms(&everything, 1, &dropped))
        .unwrap();
    assert!(copies.messages().all(|one| one.headers.is_empty()));
}

#[test]
fn a_log_gives_copies_back_once_and_tells_what_is_missing_before_them() {
    let mut origin = filled(memory_store(), 20);
    origin.remove(11, false).unwrap();
    let (everything, mut copies) = (Filter::everything(), Copies::default());
    let first = CopyTerms {
        up_to: 10,
        ..terms(&everything, 1, &[])
    };
    copies.take(&mut origin, &first).unwrap();
    let entry_one = copies.bytes(0).to_vec();
    copies
        .take(&mut origin, &terms(&everything, 11, &[]))
        .unwrap();
    let entry_two = copies.bytes(10).to_vec();

    let mut store = memory_store();
    for entry in [&entry_one, &entry_one, &entry_two, &entry_one, &entry_two] {
        assert_eq!(store.replay_copies(entry).unwrap(), None);
    }
    assert_eq!(rows(&mut store), rows(&mut origin)); // 11 is a gap of the origin, and no loss

    let mut damaged = memory_store();
    assert_eq!(damaged.replay_copies(&entry_two).unwrap(), Some((1, 10)));
    assert_eq!(damaged.replay_copies(b"short").unwrap(), None);
    assert_eq!(rows(&mut damaged).len(), 9);
}
