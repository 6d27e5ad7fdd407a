//! Whatever happens to a file, opening succeeds, what is not damaged is there, what is damaged is
//! told, nothing wrong is served and nothing removed returns.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use penstock_blocks::{Error, IndexCondition, Options, Recovery, Store};
use penstock_disk::{Disk, SimulatedDisk};
use std::collections::BTreeSet;
use std::sync::Arc;
use support::{Entry, Model, SUBJECTS, header_rows, header_value};

/// Every bit and every length in a release build; a selection where that would take minutes.
const STEP: usize = if cfg!(debug_assertions) { 19 } else { 1 };

const FILES: [&str; 6] = [
    "index",
    "msgs/1.blk",
    "msgs/2.blk",
    "msgs/3.blk",
    "msgs/4.blk",
    "msgs/5.blk",
];

fn options() -> Options {
    Options {
        block_bytes_max: 900,
        ..Options::default()
    }
}

fn open(disk: &Arc<SimulatedDisk>, name: &str) -> (Store, Recovery) {
    Store::open(
        Arc::clone(disk) as _,
        &format!("streams/{name}"),
        name,
        options(),
    )
    .unwrap()
}

fn read(disk: &SimulatedDisk, file: &str) -> Option<Vec<u8>> {
    let file = disk.open(&format!("streams/s/{file}"), false).ok()?;
    let mut content = vec![0; file.len().unwrap() as usize];
    file.read_at(0, &mut content).unwrap();
    Some(content)
}

fn write(disk: &SimulatedDisk, file: &str, content: &[u8]) {
    let file = disk.open(&format!("streams/s/{file}"), true).unwrap();
    file.truncate(0).unwrap();
    file.write_at(0, content).unwrap();
}

fn copy(disk: &SimulatedDisk) -> Arc<SimulatedDisk> {
    let copy = SimulatedDisk::new(7);
    copy.create_directory("streams/s/msgs").unwrap();
    for file in FILES {
        if let Some(content) = read(disk, file) {
            write(&copy, file, &content);
        }
    }
    Arc::new(copy)
}

/// Four blocks with removed, erased and living messages; closed in order, or killed after a sync.
fn filled(closed: bool) -> (Arc<SimulatedDisk>, Model) {
    let disk = Arc::new(SimulatedDisk::new(1));
    let (mut store, _) = open(&disk, "s");
    let mut model = Model::default();
    for number in 1..=36 {
        let entry = Entry {
            timestamp_ns: 1_700_000_000_000_000_000 + number,
            subject: SUBJECTS[number as usize % SUBJECTS.len()]
                .as_bytes()
                .to_vec(),
            headers: if number % 5 == 0 {
                b"NATS/1.0\r\nK: v\r\n\r\n".to_vec()
            } else {
                vec![]
            },
            message: format!("message number {number} {}", "x".repeat(number as usize)).into(),
        };
        model.append(&mut store, number as u64, entry);
        if number % 7 == 0 {
            let removed = number as u64 - 3;
            store.remove(removed, number % 2 == 0).unwrap();
            model.messages.remove(&removed);
            store.write_out().unwrap();
        }
    }
    store.remove_below(3).unwrap();
    model.messages.remove(&1);
    model.messages.remove(&2);
    if closed {
        store.checkpoint(5, true).unwrap();
    } else {
        store.checkpoint(5, false).unwrap();
        store.sync().unwrap();
        disk.remove_file("streams/s/index").unwrap();
    }
    model.check(&mut store);
    assert!(read(&disk, "msgs/4.blk").is_some() && read(&disk, "msgs/6.blk").is_none());
    (disk, model)
}

/// The last block of a store without an index: nothing says how long it was.
fn is_last(disk: &SimulatedDisk, file: &str) -> bool {
    let next = FILES.iter().skip_while(|known| **known != file).nth(1);
    next.is_none_or(|next| read(disk, next).is_none())
}

/// Opens, reads everything and compares; answers with the sequences that are lost.
fn survivors(disk: &Arc<SimulatedDisk>, model: &Model, told: &str) -> (BTreeSet<u64>, Recovery) {
    survivors_and(disk, model, told, false)
}

/// Where the note of a removal may be gone too, `returns` lets the message be there again.
fn survivors_and(
    disk: &Arc<SimulatedDisk>,
    model: &Model,
    told: &str,
    returns: bool,
) -> (BTreeSet<u64>, Recovery) {
    let mut returned = 0;
    let (mut store, report) = open(disk, "s");
    let rows = header_rows(&mut store, "K", 0, usize::MAX);
    let mut expected_rows = Vec::new();
    let mut missing = BTreeSet::new();
    for sequence in 0..=model.last + 2 {
        let loaded = match store.load(sequence) {
            Ok(loaded) => loaded.map(|message| Entry {
                timestamp_ns: message.timestamp_ns,
                subject: message.subject.to_vec(),
                headers: message.headers.to_vec(),
                message: message.message.to_vec(),
            }),
            Err(Error::Damaged { .. }) => None,
            Err(error) => panic!("{told}: {error}"),
        };
        if let Some(entry) = &loaded
            && let Some(value) = header_value(&entry.headers, "K")
        {
            expected_rows.push((sequence, entry.timestamp_ns, value));
        }
        match (loaded, model.messages.get(&sequence)) {
            (Some(_), None) if returns => returned += 1,
            (Some(loaded), expected) => assert_eq!(Some(&loaded), expected, "{sequence}: {told}"),
            (None, Some(_)) => drop(missing.insert(sequence)),
            (None, None) => {}
        }
    }
    assert_eq!(rows, expected_rows, "{told}");
    assert_eq!(header_rows(&mut store, "K", 0, 1), expected_rows, "{told}");
    let (lost, _) = store.lost();
    let lost: BTreeSet<u64> = lost
        .iter()
        .flat_map(|(first, last)| *first..=*last)
        .collect();
    let untold: Vec<_> = missing.difference(&lost).collect();
    assert!(
        untold.is_empty() || report.tail_bytes > 0,
        "{untold:?} not told: {told} {report:?}"
    );
    let living = lost
        .iter()
        .filter(|s| model.messages.contains_key(s) && !missing.contains(s));
    assert_eq!(living.count(), 0, "told lost and there: {told}");
    let count = model.messages.len() - missing.len() + returned;
    assert_eq!(
        store.state().unwrap().messages,
        count as u64,
        "{told} {report:?}"
    );
    (missing, report)
}

#[test]
fn a_flipped_bit_costs_at_most_the_record_it_is_in() {
    for closed in [true, false] {
        let (disk, model) = filled(closed);
        for file in FILES {
            let Some(content) = read(&disk, file) else {
                continue;
            };
            for bit in (0..content.len() * 8).step_by(STEP) {
                let copy = copy(&disk);
                let mut flipped = content.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                write(&copy, file, &flipped);
                let told = format!("bit {bit} of {file}, closed: {closed}");
                let (missing, report) = survivors(&copy, &model, &told);
                let most = usize::from(file != "index");
                assert!(missing.len() <= most, "{missing:?}: {told} {report:?}");
            }
        }
    }
}

#[test]
fn a_file_cut_anywhere_costs_what_was_behind_the_cut() {
    for closed in [true, false] {
        let (disk, model) = filled(closed);
        for file in FILES {
            let Some(content) = read(&disk, file) else {
                continue;
            };
            if !closed && is_last(&disk, file) {
                continue;
            }
            let mut fewest = 0;
            for length in (0..content.len()).rev().step_by(STEP / 5 + 1) {
                let copy = copy(&disk);
                write(&copy, file, &content[..length]);
                let told = format!("{file} cut to {length}, closed: {closed}");
                let (missing, report) = survivors_and(&copy, &model, &told, !closed);
                assert!(missing.len() >= fewest, "{told} {report:?}");
                fewest = missing.len();
                assert!(file != "index" || missing.is_empty(), "{told}");
            }
        }
    }
}

#[test]
fn a_torn_tail_is_cut_back_to_the_last_whole_record() {
    let (disk, model) = filled(false);
    let file = FILES
        .into_iter()
        .rfind(|file| read(&disk, file).is_some())
        .unwrap();
    let content = read(&disk, file).unwrap();
    for length in 0..content.len() {
        let copy = copy(&disk);
        write(&copy, file, &content[..length]);
        let (mut store, report) = open(&copy, "s");
        let whole = read(&copy, file).unwrap().len();
        assert_eq!(whole as u64 + report.tail_bytes, length as u64);
        assert!(report.lost.is_empty(), "{report:?}");
        let state = store.state().unwrap();
        for sequence in state.first_sequence..=state.last_sequence {
            let there = store.load(sequence).unwrap().is_some();
            assert!(
                there || !model.messages.contains_key(&sequence),
                "{sequence}"
            );
        }
    }
}

#[test]
fn a_missing_block_is_told() {
    for closed in [true, false] {
        let (disk, model) = filled(closed);
        for file in &FILES[1..] {
            let copy = copy(&disk);
            if copy.remove_file(&format!("streams/s/{file}")).is_err()
                || !closed && is_last(&disk, file)
            {
                continue;
            }
            let told = format!("no {file}, closed: {closed}");
            let (missing, report) = survivors_and(&copy, &model, &told, !closed);
            assert_eq!(missing.is_empty(), report.lost.is_empty(), "{told}");
            assert!(!missing.is_empty() || *file > "msgs/3.blk", "{told}");
        }
    }
}

#[test]
fn misplaced_blocks_are_put_back() {
    for closed in [true, false] {
        let (disk, model) = filled(closed);
        let exchanges: [(&str, &str); 4] = [("2", "9"), ("2", "3"), ("1", "4"), ("4", "7")];
        for (from, to) in exchanges {
            let copy = copy(&disk);
            let (from, to) = (format!("msgs/{from}.blk"), format!("msgs/{to}.blk"));
            let (first, second) = (read(&copy, &from).unwrap(), read(&copy, &to));
            write(&copy, &to, &first);
            match second {
                Some(second) => write(&copy, &from, &second),
                None => copy.remove_file(&format!("streams/s/{from}")).unwrap(),
            }
            let (missing, report) = survivors(&copy, &model, &format!("{from} is {to}"));
            assert!(
                missing.is_empty() && !report.moved.is_empty(),
                "{from} is {to}: {report:?}"
            );
        }
    }
}

#[test]
fn foreign_and_stale_files_are_told_and_left_alone() {
    let (disk, model) = filled(true);
    let foreign = Arc::new(SimulatedDisk::new(3));
    let (mut store, _) = open(&foreign, "other");
    let mut other = Model::default();
    let entry = Entry {
        timestamp_ns: 1,
        subject: b"o".into(),
        headers: vec![],
        message: vec![],
    };
    other.append(&mut store, 1, entry);
    store.checkpoint(9, true).unwrap();
    let bytes = |file: &str| {
        let file = foreign
            .open(&format!("streams/other/{file}"), false)
            .unwrap();
        let mut content = vec![0; file.len().unwrap() as usize];
        file.read_at(0, &mut content).unwrap();
        content
    };

    let copy_with_index = copy(&disk);
    write(&copy_with_index, "index", &bytes("index"));
    let (missing, report) = survivors(&copy_with_index, &model, "a foreign index");
    assert!(missing.is_empty());
    assert_eq!((report.index, report.mark), (IndexCondition::Foreign, None));

    let copy_with_block = copy(&disk);
    write(&copy_with_block, "msgs/3.blk", &bytes("msgs/1.blk"));
    let (missing, report) = survivors(&copy_with_block, &model, "a foreign block");
    assert!(!missing.is_empty());
    assert_eq!(report.unreadable, ["streams/s/msgs/3.blk"]);
    assert_eq!(
        read(&copy_with_block, "msgs/3.blk").unwrap(),
        bytes("msgs/1.blk")
    );
    let (_, again) = survivors(&copy_with_block, &model, "a foreign block again");
    assert_eq!(again.lost, report.lost);
}

#[test]
fn an_older_index_does_not_bring_the_past_back() {
    let (disk, mut model) = filled(true);
    let old = read(&disk, "index").unwrap();
    let (mut store, _) = open(&disk, "s");
    for sequence in 3..20 {
        store.remove(sequence, sequence % 2 == 0).unwrap();
        model.messages.remove(&sequence);
    }
    let entry = model.messages[&30].clone();
    model.append(&mut store, 37, entry);
    store.checkpoint(6, true).unwrap();
    write(&disk, "index", &old);
    let copy = copy(&disk);
    let (missing, report) = survivors(&copy, &model, "an old index");
    assert!(missing.is_empty(), "{report:?}");

    // With a log that begins later than the old index, nothing may be cut.
    let options = Options {
        replayable_from: Some(7),
        ..options()
    };
    let (mut store, report) =
        Store::open(Arc::clone(&disk) as _, "streams/s", "s", options).unwrap();
    assert_eq!((report.index, report.mark), (IndexCondition::Stale, None));
    model.check(&mut store);
}

/// A flipped bit anywhere is told with the place where it is: by the opening (the index, the end of
/// the last block) or by the examination of the blocks. Looking on an overlay of it is the same.
#[test]
fn an_examination_finds_every_flipped_bit() {
    for closed in [true, false] {
        let (disk, model) = filled(closed);
        for file in FILES {
            let Some(content) = read(&disk, file) else {
                continue;
            };
            for bit in (0..content.len() * 8).step_by(STEP * 4 + 1) {
                let copy = copy(&disk);
                let (mut flipped, byte) = (content.clone(), bit as u64 / 8);
                flipped[bit / 8] ^= 1 << (bit % 8);
                write(&copy, file, &flipped);
                let told = format!("bit {bit} of {file}, closed: {closed}");
                let (mut store, report) = open(&copy, "s");
                let mut flaws = Vec::new();
                let mut next = Some(0);
                while let Some(number) = next {
                    let found = store.examine(number).unwrap();
                    flaws.extend(found.0);
                    next = found.1;
                }
                let is_cut = report.tail_bytes > 0 && byte >= report.tail.1;
                let is_told = flaws.iter().any(|flaw| {
                    let place = flaw.offset..flaw.offset + flaw.bytes;
                    file == format!("msgs/{}.blk", flaw.number) && place.contains(&byte)
                });
                let is_index = file == "index" && report.index_flaws.iter().any(|at| *at <= byte);
                assert!(
                    is_cut || is_told || is_index,
                    "{told}: {flaws:?} {report:?}"
                );
                let mut sequences: Vec<_> =
                    flaws.iter().flat_map(|flaw| flaw.lost.clone()).collect();
                sequences.sort_unstable();
                assert!(
                    is_cut || sequences == store.lost().0,
                    "{told}: {flaws:?} {report:?}"
                );
                let lost: u64 = store.lost().0.iter().map(|(a, b)| b - a + 1).sum();
                let missing = model.messages.len() as u64 - store.state().unwrap().messages;
                assert!(lost == missing || is_cut, "{told}: {flaws:?} {report:?}");
            }
        }
    }
}
