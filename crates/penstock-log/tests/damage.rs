//! Damage: one wrong bit is mended, a torn tail is cut, anything else is an error that names file
//! and offset, or is left out and told where that was asked for. Wrong entries never come out.

#![allow(clippy::unwrap_used)]

mod rig;

use penstock_disk::{Disk, SimulatedDisk};
use penstock_log::{Damage, Log, Options};
use rig::{Dice, Kept, append, collect, reopen, steps};
use std::ops::Range;
use std::sync::Arc;

const SEGMENT: &str = "log/00000000000000000001.log";

/// A log of groups with the given payload sizes, one entry each.
fn written(salt: u64, payloads: &[usize]) -> (Arc<dyn Disk>, Vec<Kept>) {
    let disk: Arc<dyn Disk> = Arc::new(SimulatedDisk::new(1));
    let (mut log, _) = reopen(&disk, steps(salt)).unwrap();
    let mut entries = Vec::new();
    for payload_bytes in payloads {
        entries.push(append(&mut log, *payload_bytes));
        log.commit();
        log.write_waiting();
    }
    (disk, entries)
}

fn content(disk: &Arc<dyn Disk>, path: &str) -> Vec<u8> {
    let file = disk.open(path, false).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

fn put(disk: &Arc<dyn Disk>, path: &str, bytes: &[u8]) {
    disk.create_directory("log").unwrap();
    let file = disk.open(path, true).unwrap();
    file.truncate(0).unwrap();
    file.write_at(0, bytes).unwrap();
}

fn holding(bytes: &[u8]) -> Arc<dyn Disk> {
    let disk: Arc<dyn Disk> = Arc::new(SimulatedDisk::new(1));
    put(&disk, SEGMENT, bytes);
    disk
}

fn skipping(salt: u64) -> Options {
    Options {
        damage: Damage::Skip,
        ..steps(salt)
    }
}

/// More than one bit of the same KiB.
fn spoil(bytes: &mut [u8], at: usize) {
    bytes[at] ^= 0x10;
    bytes[at + 1] ^= 0x02;
}

/// Groups at 512 (2 sectors), 1536 (1 sector), 2048 (2 sectors); where their entries end.
const GROUPS: [(usize, usize); 3] = [
    (512, 512 + 48 + 600),
    (1536, 1536 + 48 + 100),
    (2048, 2048 + 48 + 700),
];

/// In the segment's header, in those of groups, in entries, in their checks, in between.
#[test]
fn a_flipped_bit_costs_nothing() {
    let (disk, entries) = written(9, &[600, 100, 700]);
    let whole = content(&disk, SEGMENT);
    let heads = GROUPS.iter().flat_map(|(start, _)| *start..start + 48);
    let checks = GROUPS.iter().flat_map(|(_, end)| *end..end + 8);
    let between = (0..40).chain(256..296).chain((512..3072).step_by(61));
    for at in between.chain(heads).chain(checks) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        let (_, mut replay) = Log::open(holding(&bytes), "log", steps(9)).unwrap();
        assert_eq!(collect(&mut replay).unwrap(), entries, "{at}");
        let group = GROUPS
            .iter()
            .find(|(start, end)| (*start..end + 8).contains(&at));
        let told: Vec<u64> = replay.mended().iter().map(|(_, offset)| *offset).collect();
        assert_eq!(told, Vec::from_iter(group.map(|(start, _)| *start as u64)));
        assert!(replay.lost().is_empty());
    }
}

#[test]
fn wrong_bytes_are_an_error_or_a_cut_tail() {
    let (disk, entries) = written(9, &[600, 100, 700]);
    let whole = content(&disk, SEGMENT);
    for (group, (start, end)) in GROUPS.into_iter().enumerate() {
        let in_head = [8, 12, 16, 24].map(|at| start + at);
        for at in (start + 32..end - 1).step_by(101).chain(in_head) {
            let mut bytes = whole.clone();
            spoil(&mut bytes, at);
            let result = reopen(&holding(&bytes), steps(9));
            if group == 2 {
                assert_eq!(result.unwrap().1, entries[..2], "{at}");
                continue;
            }
            let text = result.err().unwrap().to_string();
            let told = format!("read {SEGMENT}: damaged at offset {start}:");
            assert!(text.starts_with(&told), "{at}: {text}");
            assert_skipped(&bytes, &entries, group);
        }
    }
}

/// Of a group with many entries, those that have the wrong bytes are left out.
#[test]
fn wrong_bytes_cost_the_entries_that_have_them() {
    let disk: Arc<dyn Disk> = Arc::new(SimulatedDisk::new(1));
    let (mut log, _) = reopen(&disk, steps(9)).unwrap();
    let mut entries: Vec<Kept> = (0..30).map(|_| append(&mut log, 400)).collect();
    log.commit();
    log.write_waiting();
    entries.push(append(&mut log, 10));
    log.commit();
    log.write_waiting();
    let whole = content(&disk, SEGMENT);
    let entries_start = 512 + 32;
    for at in (entries_start..entries_start + 30 * 416 - 1).step_by(333) {
        let mut bytes = whole.clone();
        spoil(&mut bytes, at);
        let (_, mut replay) = Log::open(holding(&bytes), "log", skipping(9)).unwrap();
        let found = collect(&mut replay).unwrap();
        let chunk = (at - entries_start) / 1024;
        let unknown = chunk * 1024..(chunk + 1) * 1024;
        let meets = |part: Range<usize>| part.start < unknown.end && unknown.start < part.end;
        let lost_head = (0..30).find(|entry| meets(entry * 416..entry * 416 + 16));
        let is_lost = |entry: usize| {
            meets(entry * 416..(entry + 1) * 416) || lost_head.is_some_and(|head| head <= entry)
        };
        let expected: Vec<Kept> = (0..31)
            .filter(|entry| *entry == 30 || !is_lost(*entry))
            .map(|entry| entries[entry].clone())
            .collect();
        assert_eq!(numbers(&found), numbers(&expected), "{at}");
        assert!(found == expected, "{at}");
        let lost: u64 = replay.lost().iter().map(|l| l.last - l.first + 1).sum();
        assert_eq!(lost as usize, 31 - found.len());
    }
}

fn numbers(entries: &[Kept]) -> Vec<u64> {
    entries.iter().map(|entry| entry.number).collect()
}

/// Groups without checks, as they were written once.
#[test]
fn a_log_of_version_1_is_read() {
    let (disk, entries) = written(9, &[600, 100]);
    let mut bytes = content(&disk, SEGMENT);
    bytes[8] = 1;
    let hash = xxhash_rust::xxh3::xxh3_64(&bytes[..32]);
    bytes[32..40].copy_from_slice(&hash.to_le_bytes());
    let salt = u64::from_le_bytes(bytes[24..32].try_into().unwrap());
    for (start, end) in [(512, 512 + 48 + 600), (1536, 1536 + 48 + 100)] {
        bytes[start + 8..start + 12].copy_from_slice(b"PGRP");
        bytes[end..end + 8].fill(0);
        let hash = xxhash_rust::xxh3::xxh3_64_with_seed(&bytes[start + 8..end], salt);
        bytes[start..start + 8].copy_from_slice(&hash.to_le_bytes());
    }
    assert_eq!(reopen(&holding(&bytes), steps(9)).unwrap().1, entries);
    bytes[600] ^= 1;
    assert_skipped_one(&bytes, &entries);
}

fn assert_skipped_one(bytes: &[u8], entries: &[Kept]) {
    let (_, mut replay) = Log::open(holding(bytes), "log", skipping(9)).unwrap();
    assert_eq!(collect(&mut replay).unwrap(), entries[1..]);
    assert_eq!((replay.lost()[0].first, replay.lost()[0].last), (1, 1));
}

fn assert_skipped(bytes: &[u8], entries: &[Kept], group: usize) {
    let (log, mut replay) = Log::open(holding(bytes), "log", skipping(9)).unwrap();
    let found = collect(&mut replay).unwrap();
    let mut rest = entries.to_vec();
    let gone = rest.remove(group).number;
    assert_eq!(found, rest);
    assert_eq!(log.last(), 3);
    let lost = replay.lost();
    assert_eq!((lost.len(), lost[0].first, lost[0].last), (1, gone, gone));
}

#[test]
fn a_truncated_file_holds_a_prefix() {
    let (disk, entries) = written(9, &[600, 100, 700]);
    let whole = content(&disk, SEGMENT);
    for len in 512..whole.len() {
        let (log, found) = reopen(&holding(&whole[..len]), steps(9)).unwrap();
        assert_eq!(found, entries[..found.len()], "{len}");
        assert_eq!(log.last(), found.len() as u64);
    }
}

/// One write of many sectors, any of which may be missing.
#[test]
fn a_last_group_torn_in_any_way_is_cut() {
    let (disk, entries) = written(9, &[100, 100, 5_000]);
    let whole = content(&disk, SEGMENT);
    let mut dice = Dice(77);
    for round in 0..60 {
        let mut bytes = whole.clone();
        let mut gone = 0;
        for sector in bytes[1536..1536 + 5_120].chunks_mut(512) {
            if dice.below(2) == 0 && sector.iter().any(|byte| *byte != 0) {
                sector.fill(0);
                gone += 1;
            }
        }
        let header_is_there = bytes[1536..1568] == whole[1536..1568];
        let (_, mut replay) = Log::open(holding(&bytes), "log", steps(9)).unwrap();
        let found = collect(&mut replay).unwrap();
        let expected = if gone == 0 { 3 } else { 2 };
        assert_eq!(found, entries[..expected], "round {round}");
        let is_torn = gone > 0 && header_is_there;
        assert_eq!(replay.torn(), is_torn.then_some((SEGMENT, 1536)));
    }
}

#[test]
fn the_log_goes_on_after_a_torn_tail() {
    let (disk, entries) = written(9, &[100, 100, 5_000]);
    let mut bytes = content(&disk, SEGMENT);
    spoil(&mut bytes, 2_000);
    let disk = holding(&bytes);
    let (mut log, found) = reopen(&disk, steps(9)).unwrap();
    assert_eq!(found, entries[..2]);
    let third = append(&mut log, 50);
    assert_eq!(third.number, 3);
    log.commit();
    log.write_waiting();
    drop(log);
    let (_, found) = reopen(&disk, steps(10)).unwrap();
    assert_eq!(found[..2], entries[..2]);
    assert_eq!(found[2..], [third]);
}

#[test]
fn damage_in_an_earlier_segment_is_an_error() {
    let (disk, entries) = written(9, &[6_000, 6_000, 6_000, 6_000, 6_000]);
    let names = disk.list("log").unwrap();
    assert_eq!(names.len(), 3, "{names:?}");
    let mut bytes = content(&disk, SEGMENT);
    spoil(&mut bytes, 7_000); // the second group, the last of its segment
    put(&disk, SEGMENT, &bytes);
    let text = reopen(&disk, steps(9)).err().unwrap().to_string();
    assert!(
        text.starts_with(&format!("read {SEGMENT}: damaged at offset 6656:")),
        "{text}"
    );
    let (_, mut replay) = Log::open(Arc::clone(&disk), "log", skipping(9)).unwrap();
    let found = collect(&mut replay).unwrap();
    assert_eq!(
        found.iter().map(|entry| entry.number).collect::<Vec<_>>(),
        [1, 3, 4, 5]
    );
    assert_eq!(found[1..], entries[2..]);
}

#[test]
fn a_missing_segment_is_an_error() {
    let (disk, _) = written(9, &[6_000, 6_000, 6_000, 6_000, 6_000]);
    disk.remove_file("log/00000000000000000003.log").unwrap();
    let text = reopen(&disk, steps(9)).err().unwrap().to_string();
    assert!(
        text.contains(SEGMENT) && text.contains("entry 3 is missing"),
        "{text}"
    );
    let (_, mut replay) = Log::open(disk, "log", skipping(9)).unwrap();
    assert_eq!(collect(&mut replay).unwrap().len(), 3);
    assert_eq!((replay.lost()[0].first, replay.lost()[0].last), (3, 4));
}

#[test]
fn a_damaged_header_of_the_last_segment_costs_that_segment() {
    let (disk, entries) = written(9, &[6_000, 6_000, 6_000]);
    let path = "log/00000000000000000003.log";
    let mut bytes = content(&disk, path);
    (bytes[20], bytes[276]) = (bytes[20] ^ 1, bytes[276] ^ 1);
    put(&disk, path, &bytes);
    let text = reopen(&disk, steps(9)).err().unwrap().to_string();
    assert!(text.contains(path) && text.contains("header"), "{text}");
    let (log, mut replay) = Log::open(disk, "log", skipping(9)).unwrap();
    assert_eq!(collect(&mut replay).unwrap(), entries[..2]);
    assert_eq!(replay.lost()[0].first, 3);
    assert!(log.last() >= 3, "no number is used twice");
}

#[test]
fn a_version_of_the_future_is_refused() {
    let (disk, _) = written(9, &[10]);
    let mut bytes = content(&disk, SEGMENT);
    bytes[8] = 3;
    let hash = xxhash_rust::xxh3::xxh3_64(&bytes[..32]);
    bytes[32..40].copy_from_slice(&hash.to_le_bytes());
    let text = reopen(&holding(&bytes), skipping(9))
        .err()
        .unwrap()
        .to_string();
    assert!(text.contains(SEGMENT) && text.contains("version"), "{text}");
}

/// A payload that looks like a group of this very place is not taken for one.
#[test]
fn a_payload_cannot_pretend_to_be_a_group() {
    let (other, _) = written(10, &[10, 10, 10, 10]);
    let forged = &content(&other, SEGMENT)[1536..2560]; // entries 3 and 4, another salt
    let (disk, entries) = written(9, &[10]);
    let (mut log, _) = reopen(&disk, steps(9)).unwrap();
    let mut payload = vec![0; 512 - 48];
    payload.extend_from_slice(forged);
    log.append(1, 1, &[&payload]);
    log.commit();
    log.write_waiting();
    drop(log);
    let path = "log/00000000000000000002.log";
    let mut bytes = content(&disk, path);
    spoil(&mut bytes, 600);
    put(&disk, path, &bytes);
    let (log, found) = reopen(&disk, steps(9)).unwrap();
    assert_eq!((found, log.last()), (entries, 1));
}
