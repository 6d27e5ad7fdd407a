//! Whoever reads a block without its store sees what a scan of every record sees, whatever has
//! happened to its bytes: the short cut along the lengths believes nothing that a scan does not.
#![allow(clippy::unwrap_used, clippy::panic)]

use penstock_blocks::{Content, Options, Sight, Sighted, Store};
use penstock_disk::{Disk, SimulatedDisk};
use std::sync::Arc;

const STREAM: &str = "s";
/// Every bit in a release build; a selection where that would take minutes.
const STEP: usize = if cfg!(debug_assertions) { 19 } else { 1 };

type Found = (Vec<(u64, Vec<u8>, Vec<u8>, Vec<u8>)>, Vec<(u64, u64)>);

/// Blocks with all there is in one: messages with and without headers, removed ones, erased ones,
/// seals, and a last block that is still open.
fn blocks() -> Vec<(u32, Vec<u8>)> {
    let disk = Arc::new(SimulatedDisk::new(1));
    let options = Options {
        block_bytes_max: 1500,
        ..Options::default()
    };
    let (mut store, _) = Store::open(Arc::clone(&disk) as _, "streams/s", STREAM, options).unwrap();
    for sequence in 1..=60u64 {
        let headers: &[u8] = match sequence % 3 {
            0 => b"NATS/1.0\r\nA: 1\r\n\r\n",
            _ => b"",
        };
        let content = Content {
            sequence,
            timestamp_ns: 1_000 + sequence as i64,
            subject: b"a.b",
            headers,
            message: &vec![b'x'; (sequence % 40) as usize],
        };
        store.append(&content).unwrap();
        if sequence % 7 == 0 {
            store.remove(sequence - 2, sequence % 2 == 0).unwrap();
        }
    }
    store.sync().unwrap();
    let numbers = 1..100u32;
    let files = numbers.filter_map(|number| {
        let path = format!("streams/s/msgs/{number}.blk");
        let file = disk.open(&path, false).ok()?;
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_at(0, &mut bytes).unwrap();
        Some((number, bytes))
    });
    files.collect()
}

fn rows(sighted: &Sighted, bytes: &[u8]) -> Option<Found> {
    let mut found = Vec::new();
    loop {
        match sighted.message(bytes, found.len()) {
            Sight::Message(record) => found.push((
                record.sequence,
                record.subject.to_vec(),
                record.headers.to_vec(),
                record.message.to_vec(),
            )),
            Sight::Damaged => return None,
            Sight::End => return Some((found, sighted.removed.clone())),
        }
    }
}

/// As a scan finds it, and as it is found with the short cut; the latter says if there was one.
fn both(bytes: &[u8], number: u32) -> (Found, Found, bool) {
    let mut sighted = Sighted::new(bytes, STREAM, number);
    let short = rows(&sighted, bytes);
    sighted.scan(bytes);
    let scanned = rows(&sighted, bytes).unwrap();
    let is_short = short.is_some();
    (scanned.clone(), short.unwrap_or(scanned), is_short)
}

#[test]
fn unharmed_blocks_need_no_scan() {
    let blocks = blocks();
    assert!(blocks.len() > 2);
    let mut messages = 0;
    for (number, bytes) in &blocks {
        let (scanned, found, is_short) = both(bytes, *number);
        assert!(is_short);
        assert_eq!(found, scanned);
        messages += found.0.len();
    }
    assert!(messages > 50);
}

#[test]
fn whatever_flips_nothing_is_seen_that_a_scan_does_not_see() {
    for (number, whole) in blocks() {
        for bit in (0..whole.len() * 8).step_by(STEP) {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let (scanned, found, _) = both(&bytes, number);
            assert_eq!(found, scanned, "block {number}, bit {bit}");
        }
    }
}

#[test]
fn wherever_it_ends_nothing_is_seen_that_a_scan_does_not_see() {
    for (number, whole) in blocks() {
        for length in (0..whole.len()).step_by(STEP.min(3)) {
            let (scanned, found, _) = both(&whole[..length], number);
            assert_eq!(found, scanned, "block {number}, {length} bytes");
        }
    }
}

#[test]
fn a_place_is_found_by_its_sequence() {
    for (number, bytes) in blocks() {
        let sighted = Sighted::new(&bytes, STREAM, number);
        let (found, _) = rows(&sighted, &bytes).unwrap();
        for sequence in 0..70 {
            let expected = found.iter().position(|row| row.0 >= sequence);
            let expected = expected.unwrap_or(found.len());
            assert_eq!(sighted.seek(&bytes, 0, sequence), expected);
        }
    }
}
