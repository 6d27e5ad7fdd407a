//! The store's promises one by one: sizes, order, limits, what a failing disk leaves, erasing.
#![allow(clippy::unwrap_used)]

mod support;

use penstock_blocks::{
    BlockKey, Content, Error, Filter, Gone, Item, Limits, Options, RECORD_BYTES_MAX, Record, Store,
};
use penstock_disk::{Disk, Operation, SimulatedDisk};
use std::io::ErrorKind;
use std::sync::Arc;

fn open(disk: &Arc<SimulatedDisk>) -> Store {
    let options = Options {
        block_bytes_max: 2000,
        ..Options::default()
    };
    let (store, _) = Store::open(Arc::clone(disk) as _, "streams/s", "s", options).unwrap();
    store
}

fn append(store: &mut Store, count: u64, subject: &str, message: &[u8]) {
    let first = store.state().unwrap().last_sequence + 1;
    let items = (0..count).map(|_| (subject.as_bytes(), &b""[..], message));
    store.append_run(items, first, first as i64).unwrap();
}

fn content(sequence: u64, message: &[u8]) -> Content<'_> {
    Content {
        sequence,
        timestamp_ns: 1,
        subject: b"a",
        headers: b"",
        message,
    }
}

#[test]
fn sizes_are_those_of_the_reference() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let mut store = open(&disk);
    append(&mut store, 1, "ORDERS.processed", b"7 bytes");
    assert_eq!(store.state().unwrap().bytes, 53);
    let headers = b"NATS/1.0\r\nA: b\r\n\r\n";
    let items = [(&b"ORDERS.processed"[..], &headers[..], &b"7 bytes"[..])];
    let added = store.append_run(items.into_iter(), 2, 9).unwrap();
    assert_eq!(added, 53 + 4 + headers.len() as u64);
    let mut memory = Store::in_memory("s", Options::default());
    append(&mut memory, 1, "ORDERS.processed", b"7 bytes");
    assert_eq!(memory.state().unwrap().bytes, 16 + 7 + 16);
}

#[test]
fn a_record_is_laid_out_as_the_references() {
    let mut block = Vec::new();
    let key = BlockKey::new("REF", 1);
    let record = Content {
        sequence: 258,
        timestamp_ns: 3,
        subject: b"ab",
        headers: b"HH",
        message: b"m",
    };
    record.encode(&mut block, Some(&key));
    assert_eq!(block[..4], [39, 0, 0, 0x80]);
    assert_eq!(block[4..12], [2, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(block[12..20], [3, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(block[20..31], *b"\x02\0ab\x02\0\0\0HHm");
    assert_eq!(block.len(), record.total());
    let read = Record::verified(&block, &key).unwrap();
    assert_eq!(
        (read.subject, read.headers, read.message),
        (&b"ab"[..], &b"HH"[..], &b"m"[..])
    );
    assert!(Record::verified(&block, &BlockKey::new("REF", 2)).is_none());
    assert!(Record::verified(&block, &BlockKey::new("OTHER", 1)).is_none());
}

#[test]
fn sequences_go_up_and_records_have_a_bound() {
    let mut store = Store::in_memory("s", Options::default());
    store.append(&content(5, b"")).unwrap();
    assert!(matches!(
        store.append(&content(5, b"")),
        Err(Error::Order { .. })
    ));
    assert!(matches!(
        store.append(&content(1 << 62, b"")),
        Err(Error::Order { .. })
    ));
    let long = vec![0; RECORD_BYTES_MAX];
    assert!(matches!(
        store.append(&content(6, &long)),
        Err(Error::TooLarge { .. })
    ));
    let state = store.state().unwrap();
    assert_eq!(
        (state.messages, state.first_sequence, state.last_sequence),
        (1, 5, 5)
    );
}

#[test]
fn what_fits_is_counted_and_limits_are_kept() {
    let mut store = Store::in_memory("s", Options::default());
    append(&mut store, 8, "a", b"12345");
    let each = store.counted_bytes(1, 0, 5);
    let limits = |messages, bytes| Limits {
        messages,
        bytes,
        ..Limits::default()
    };
    let run: [Item<'_>; 10] = [(b"a", b"", b"12345"); 10];
    let mut fitting = |limits: &Limits| store.fitting(run.into_iter(), limits, false);
    assert_eq!(fitting(&limits(10, 0)), 2);
    assert_eq!(fitting(&limits(0, each * 11)), 3);
    assert_eq!(fitting(&limits(5, 0)), 0);
    assert_eq!(fitting(&limits(0, 0)), 10);
    let gone = store.enforce(&limits(3, 0)).unwrap();
    assert_eq!(
        gone,
        Gone {
            messages: 5,
            bytes: 5 * each
        }
    );
    assert_eq!(store.first_at_or_after(1).unwrap(), Some(6));
}

#[test]
fn only_subjects_that_got_something_are_looked_at() {
    let mut store = Store::in_memory("s", Options::default());
    append(&mut store, 5, "a", b"");
    append(&mut store, 5, "b", b"");
    let limits = Limits {
        messages_per_subject: 2,
        ..Limits::default()
    };
    assert_eq!(store.enforce(&limits).unwrap().messages, 6);
    append(&mut store, 1, "b", b"");
    assert_eq!(store.enforce(&limits).unwrap().messages, 1);
    assert_eq!(store.pending(&Filter::new(&["b"]), 0, false).unwrap(), 2);
}

#[test]
fn a_full_disk_costs_nothing_once_there_is_room_again() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let mut store = open(&disk);
    append(&mut store, 20, "a", b"before");
    store.sync().unwrap();
    disk.fail_after(Operation::Write, 1, ErrorKind::StorageFull);
    append(&mut store, 100, "a", b"while it is full");
    store.remove(3, true).unwrap();
    let error = store.write_out().unwrap_err().to_string();
    assert!(error.contains("streams/s/msgs/"), "{error}");
    append(&mut store, 10, "b", b"more");
    assert!(store.write_out().is_err());
    disk.heal();
    store.write_out().unwrap();
    let mut again = open(&disk);
    assert_eq!(again.state().unwrap(), store.state().unwrap());
    assert_eq!(again.state().unwrap().messages, 129);
}

#[test]
fn an_erased_message_is_not_on_the_disk() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let mut store = open(&disk);
    append(&mut store, 1, "secrets", b"the launch code");
    append(&mut store, 40, "other", b"nothing of interest");
    store.remove(1, true).unwrap();
    store.write_out().unwrap();
    let on_disk = || {
        let file = disk.open("streams/s/msgs/1.blk", false).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_at(0, &mut bytes).unwrap();
        bytes
            .windows(6)
            .any(|window| window == b"launch" || window == b"secret")
    };
    assert!(on_disk());
    assert!(store.has_erasures());
    store.checkpoint(0, false).unwrap();
    assert!(!store.has_erasures());
    assert!(!on_disk());
    store.sync().unwrap();
    let mut again = open(&disk);
    assert_eq!(again.state().unwrap().messages, 40);
    assert!(again.lost().0.is_empty());
}

#[test]
fn an_export_has_the_living_and_nothing_else() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let mut store = open(&disk);
    append(&mut store, 100, "a.b", b"something to keep");
    for sequence in (2..=100).step_by(2) {
        store.remove(sequence, false).unwrap();
    }
    let (mut after, copy) = (0, Arc::new(SimulatedDisk::new(2)));
    copy.create_directory("streams/s/msgs").unwrap();
    while let Some((number, bytes)) = store.export(after).unwrap() {
        let file = copy.open(&format!("streams/s/msgs/{number}.blk"), true);
        file.unwrap().write_at(0, &bytes).unwrap();
        after = number;
    }
    let options = Options {
        foreign: true,
        ..Options::default()
    };
    let (mut copied, report) = Store::open(copy as _, "streams/s", "s", options).unwrap();
    assert!(report.lost.is_empty());
    assert_eq!(copied.state().unwrap(), store.state().unwrap());
    assert_eq!(copied.deleted().unwrap(), store.deleted().unwrap());
}

#[test]
fn damage_that_comes_while_running_is_told_when_it_is_met() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let mut store = open(&disk);
    append(&mut store, 100, "a.b", b"something to keep");
    store.checkpoint(0, true).unwrap();
    store.cool();
    let file = disk.open("streams/s/msgs/2.blk", false).unwrap();
    let mut byte = [0];
    file.read_at(70, &mut byte).unwrap();
    file.write_at(70, &[!byte[0]]).unwrap();
    let mut number = Some(0);
    while let Some(next) = number {
        number = store.verify_block(next).unwrap();
    }
    let (lost, bytes) = store.lost();
    let (sequence, lost_bytes) = (lost[0].0, bytes);
    assert_eq!((lost.len(), lost[0].1, lost_bytes), (1, sequence, 50));
    assert!(matches!(store.load(sequence), Err(Error::Damaged { .. })));
    assert!(store.load(sequence + 1).unwrap().is_some());
    assert_eq!(store.state().unwrap().messages, 99);
}

/// However many they are, and what was not written yet needs no space for it.
#[test]
fn purged_blocks_go_with_the_next_checkpoint() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let mut store = open(&disk);
    append(&mut store, 1000, "a", b"written and soon of no use");
    store.checkpoint(1, false).unwrap();
    append(&mut store, 1000, "a", b"not written, of no use either");
    let unwritten = store.unwritten_bytes();
    store.remove_below(2001).unwrap();
    assert!(store.unwritten_bytes() < 2500, "of {unwritten}");
    let before = disk.list("streams/s/msgs").unwrap();
    assert!(before.len() > 20);
    let mut checkpoint = store.begin_checkpoint(2, false).unwrap().unwrap();
    checkpoint.write();
    assert!(!store.end_checkpoint(&checkpoint).unwrap());
    assert_eq!(disk.list("streams/s/msgs").unwrap().len(), 1);
    let mut again = open(&disk);
    assert_eq!(again.state().unwrap().last_sequence, 2000);
    assert_eq!(again.state().unwrap().messages, 0);
    assert!(again.lost().0.is_empty());
}

#[test]
fn what_was_appended_is_counted_once_though_it_is_gone() {
    let mut store = open(&Arc::new(SimulatedDisk::new(1)));
    append(&mut store, 10, "a", b"something");
    let bytes = store.state().unwrap().bytes;
    store.remove_below(11).unwrap();
    assert_eq!(store.take_appended_bytes(), bytes);
    assert_eq!(store.take_appended_bytes(), 0);
}

#[test]
fn a_long_walk_keeps_two_blocks_however_much_room_there_is() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let mut store = open(&disk);
    for _ in 0..100 {
        append(&mut store, 40, "a", &[7; 20]); // about one block
        store.sync().unwrap();
    }
    let (_, written) = store.memory_bytes();
    for sequence in 1..=4000 {
        let message = store.load(sequence).unwrap().unwrap();
        assert_eq!(message.message, [7; 20]);
    }
    let (_, walked) = store.memory_bytes();
    // The indexes of all blocks stay, 24 bytes a message; the records would be twice as many.
    assert!(written < 150_000 && walked < 150_000, "{written}, {walked}");
    assert_eq!(store.load(500).unwrap().unwrap().sequence, 500);

    let mut memory = Store::in_memory("s", Options::default());
    append(&mut memory, 1000, "a", &[7; 20]);
    assert_eq!(memory.load(1).unwrap().unwrap().message, [7; 20]);
}
