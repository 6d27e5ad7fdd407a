//! The file of ids: what was saved is there after a clean stop, less what was removed; whatever is
//! wrong with the file or has changed, it is not believed.
#![allow(clippy::unwrap_used)]

use penstock_blocks::{Content, Options, RecentIds, Store};
use penstock_disk::{Disk, Operation, SimulatedDisk};
use std::io::ErrorKind;
use std::sync::Arc;

const PATH: &str = "streams/s/ids";

fn open_as(disk: &Arc<SimulatedDisk>, name: &str) -> Store {
    let options = Options {
        block_bytes_max: 1000,
        ..Options::default()
    };
    Store::open(Arc::clone(disk) as _, "streams/s", name, options)
        .unwrap()
        .0
}

fn open(disk: &Arc<SimulatedDisk>) -> Store {
    open_as(disk, "s")
}

fn append(store: &mut Store, sequence: u64) {
    let content = Content {
        sequence,
        timestamp_ns: sequence as i64 * 10,
        subject: b"a",
        headers: b"",
        message: &[b'm'; 40],
    };
    store.append(&content).unwrap();
}

fn id(sequence: u64) -> Vec<u8> {
    format!("id-{sequence}").into_bytes()
}

/// A store of many blocks with an id for each of its messages, closed and not saved yet.
fn filled(disk: &Arc<SimulatedDisk>) -> (Store, RecentIds) {
    let (mut store, mut ids) = (open(disk), RecentIds::default());
    for sequence in 1..=100 {
        append(&mut store, sequence);
        ids.remember(&id(sequence), sequence, sequence as i64 * 10);
    }
    store.checkpoint(0, true).unwrap();
    (store, ids)
}

/// The sequences whose ids were taken from the file, if it was believed.
fn taken(store: &mut Store) -> Option<Vec<u64>> {
    let mut ids = RecentIds::default();
    let is_there = store.take_ids(&mut ids);
    let known = (1..=120).filter(|sequence| ids.find(&id(*sequence), 0) == Some(*sequence));
    let known: Vec<u64> = known.collect();
    assert_eq!(
        (known.len(), is_there || known.is_empty()),
        (ids.len(), true)
    );
    is_there.then_some(known)
}

fn content(disk: &SimulatedDisk) -> Vec<u8> {
    let file = disk.open(PATH, false).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

fn put(disk: &SimulatedDisk, bytes: &[u8]) {
    let file = disk.open(PATH, true).unwrap();
    file.truncate(0).unwrap();
    file.write_at(0, bytes).unwrap();
}

#[test]
fn ids_are_there_again_once() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let (mut store, ids) = filled(&disk);
    store.save_ids(&ids, 0).unwrap();
    let mut store = open(&disk);
    assert_eq!(taken(&mut store), Some((1..=100).collect()));
    assert!(!disk.exists(PATH));
    assert_eq!(taken(&mut store), None);
}

#[test]
fn only_those_of_the_while_are_saved() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let (mut store, ids) = filled(&disk);
    store.save_ids(&ids, 901).unwrap();
    assert_eq!(taken(&mut open(&disk)), Some((91..=100).collect()));
    store.save_ids(&ids, 1001).unwrap();
    assert!(!disk.exists(PATH));
}

#[test]
fn removed_messages_are_left_out() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let (mut store, ids) = filled(&disk);
    store.remove(7, false).unwrap();
    store.save_ids(&ids, 0).unwrap();
    store.checkpoint(0, true).unwrap();
    let mut store = open(&disk);
    store.remove(50, true).unwrap();
    store.remove_below(5).unwrap();
    let expected = (5..=100).filter(|sequence| ![7, 50].contains(sequence));
    assert_eq!(taken(&mut store), Some(expected.collect()));
}

#[test]
fn a_block_with_gaps_must_be_asked_itself() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let (mut store, ids) = filled(&disk);
    append(&mut store, 101);
    append(&mut store, 103);
    store.save_ids(&ids, 0).unwrap();
    assert_eq!(taken(&mut store), None);
}

#[test]
fn what_was_stored_since_makes_it_worthless() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let (mut store, ids) = filled(&disk);
    store.save_ids(&ids, 0).unwrap();
    append(&mut store, 101);
    store.checkpoint(0, true).unwrap();
    assert_eq!(taken(&mut open(&disk)), None);
    assert!(!disk.exists(PATH));
}

#[test]
fn those_of_another_stream_are_not_taken() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let (mut store, ids) = filled(&disk);
    store.save_ids(&ids, 0).unwrap();
    let bytes = content(&disk);
    let other = Arc::new(SimulatedDisk::new(2));
    let mut store = open_as(&other, "other");
    (1..=100).for_each(|sequence| append(&mut store, sequence));
    put(&other, &bytes);
    assert_eq!(taken(&mut store), None);
}

#[test]
fn a_damaged_file_is_not_believed() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let (mut store, ids) = filled(&disk);
    store.save_ids(&ids, 0).unwrap();
    let bytes = content(&disk);
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        put(&disk, &flipped);
        assert_eq!(taken(&mut store), None, "bit {bit}");
    }
    for length in 0..bytes.len() {
        put(&disk, &bytes[..length]);
        assert_eq!(taken(&mut store), None, "length {length}");
    }
    put(&disk, &[&bytes[..], b"x"].concat());
    assert_eq!(taken(&mut store), None);
    put(&disk, &bytes);
    assert_eq!(taken(&mut store), Some((1..=100).collect()));
}

#[test]
fn a_memory_store_has_no_file() {
    let mut store = Store::in_memory("s", Options::default());
    let mut ids = RecentIds::default();
    append(&mut store, 1);
    ids.remember(b"a", 1, 10);
    store.save_ids(&ids, 0).unwrap();
    assert_eq!(taken(&mut store), None);
}

#[test]
fn a_full_disk_keeps_nothing_of_it() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let (mut store, ids) = filled(&disk);
    disk.fail_after(Operation::Write, 0, ErrorKind::StorageFull);
    assert!(store.save_ids(&ids, 0).is_err());
    disk.heal();
    assert!(!disk.exists(PATH));
    assert_eq!(taken(&mut open(&disk)), None);
}
