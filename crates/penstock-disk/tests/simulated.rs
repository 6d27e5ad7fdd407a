//! The simulated disk keeps its promises and no others: synced content and synced names survive a
//! power cut, everything else may or may not.

#![allow(clippy::unwrap_used)]

use penstock_disk::{Disk, File, Operation, SimulatedDisk};
use std::collections::BTreeSet;
use std::io::ErrorKind;

fn read(disk: &SimulatedDisk, path: &str) -> Option<Vec<u8>> {
    let file = disk.open(path, false).ok()?;
    let mut content = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
    let count = file.read_at(0, &mut content).unwrap();
    assert_eq!(count, content.len());
    Some(content)
}

fn durable_file(disk: &SimulatedDisk, path: &str, content: &[u8]) -> Box<dyn File> {
    let file = disk.open(path, true).unwrap();
    file.write_at(0, content).unwrap();
    file.sync().unwrap();
    disk.sync_directory("").unwrap();
    file
}

#[test]
fn what_was_synced_survives() {
    for seed in 0..50 {
        let disk = SimulatedDisk::new(seed);
        durable_file(&disk, "one", b"first");
        disk.crash();
        assert_eq!(read(&disk, "one").unwrap(), b"first");
    }
}

#[test]
fn what_was_not_synced_may_be_kept_lost_or_torn() {
    let mut outcomes = BTreeSet::new();
    for seed in 0..200 {
        let disk = SimulatedDisk::new(seed);
        let file = durable_file(&disk, "one", &[1; 1024]);
        file.write_at(0, &[2; 1024]).unwrap();
        disk.crash();
        let content = read(&disk, "one").unwrap();
        let sectors: Vec<u8> = content.chunks(512).map(|sector| sector[0]).collect();
        assert!(
            content
                .chunks(512)
                .all(|s| s.iter().all(|byte| *byte == s[0]))
        );
        outcomes.insert(sectors);
    }
    let expected = [[1, 1], [1, 2], [2, 1], [2, 2]].map(Vec::from);
    assert_eq!(outcomes, BTreeSet::from(expected));
}

#[test]
fn a_name_needs_a_sync_of_its_directory() {
    let mut kept = 0;
    for seed in 0..100 {
        let disk = SimulatedDisk::new(seed);
        disk.create_directory("d").unwrap();
        disk.sync_directory("").unwrap();
        let file = disk.open("d/one", true).unwrap();
        file.write_at(0, b"synced").unwrap();
        file.sync().unwrap();
        disk.crash();
        match read(&disk, "d/one") {
            Some(content) => assert_eq!(content, b"synced"),
            None => kept += 1,
        }
    }
    assert!((20..80).contains(&kept), "{kept}");
}

#[test]
fn a_rename_is_atomic() {
    let mut outcomes = BTreeSet::new();
    for seed in 0..100 {
        let disk = SimulatedDisk::new(seed);
        durable_file(&disk, "old", b"old");
        durable_file(&disk, "new", b"new");
        disk.rename("new", "old").unwrap();
        disk.crash();
        outcomes.insert((read(&disk, "old"), read(&disk, "new")));
    }
    let before = (Some(b"old".to_vec()), Some(b"new".to_vec()));
    let after = (Some(b"new".to_vec()), None);
    assert_eq!(outcomes, BTreeSet::from([before, after]));
}

#[test]
fn a_renamed_tree_keeps_its_files_across_directories() {
    let disk = SimulatedDisk::new(1);
    disk.create_directory("a/x").unwrap();
    disk.create_directory("b").unwrap();
    let file = disk.open("a/x/one", true).unwrap();
    file.write_at(0, b"1").unwrap();
    file.sync().unwrap();
    for path in ["", "a", "a/x"] {
        disk.sync_directory(path).unwrap();
    }
    disk.rename("a/x", "b/y").unwrap();
    disk.sync_directory("b").unwrap();
    disk.crash();
    assert_eq!(read(&disk, "b/y/one").unwrap(), b"1");
    assert!(!disk.exists("a/x"));
    disk.remove_tree("b").unwrap();
    disk.sync_directory("").unwrap();
    disk.crash();
    assert_eq!(disk.list("").unwrap(), ["a"]);
}

#[test]
fn files_from_before_the_cut_are_dead() {
    let disk = SimulatedDisk::new(1);
    let file = durable_file(&disk, "one", b"1");
    disk.crash();
    assert!(file.write_at(0, b"2").is_err());
    assert!(file.sync().is_err());
    assert_eq!(read(&disk, "one").unwrap(), b"1");
}

#[test]
fn faults_begin_after_a_count_and_last_until_healed() {
    let disk = SimulatedDisk::new(3);
    let file = durable_file(&disk, "one", b"");
    disk.fail_after(Operation::Write, 1, ErrorKind::StorageFull);
    file.write_at(0, b"fits").unwrap();
    for _ in 0..2 {
        let error = file.write_at(4, b"does not").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert!(error.to_string().starts_with("write one: "), "{error}");
    }
    disk.heal();
    file.write_at(4, b"does").unwrap();
    assert_eq!(disk.count(Operation::Write), 5);
}

#[test]
fn a_failed_sync_forgets_what_it_could_not_write() {
    let mut lost = 0;
    for seed in 0..50 {
        let disk = SimulatedDisk::new(seed);
        let file = durable_file(&disk, "one", b"old");
        file.write_at(0, b"new").unwrap();
        disk.fail_after(Operation::Sync, 0, ErrorKind::Other);
        file.sync().unwrap_err();
        disk.heal();
        file.sync().unwrap();
        assert_eq!(read(&disk, "one").unwrap(), b"new");
        disk.crash();
        lost += u32::from(read(&disk, "one").unwrap() == b"old");
    }
    assert!(lost > 5, "{lost}");
}

#[test]
fn the_trace_tells_runs_apart() {
    let run = |content: &[u8]| {
        let disk = SimulatedDisk::new(1);
        durable_file(&disk, "one", content);
        disk.trace()
    };
    assert_eq!(run(b"a"), run(b"a"));
    assert_ne!(run(b"a"), run(b"b"));
}
