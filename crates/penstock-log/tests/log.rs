//! The log in good weather: numbers, groups, announcements, segments, and a real disk.

#![allow(clippy::unwrap_used)]

mod rig;

use penstock_disk::{Disk, Operation, RealDisk, SimulatedDisk};
use penstock_log::{Log, Options};
use rig::{append, is_readable, reopen, steps};
use std::sync::Arc;

fn disks() -> (Arc<SimulatedDisk>, Arc<dyn Disk>) {
    let simulated = Arc::new(SimulatedDisk::new(1));
    let disk: Arc<dyn Disk> = Arc::clone(&simulated) as Arc<dyn Disk>;
    (simulated, disk)
}

#[test]
fn waiting_commits_share_one_write_and_one_sync() {
    let (simulated, disk) = disks();
    let options = Options {
        extend_bytes: 0,
        segment_bytes_max: 1 << 20,
        ..steps(1)
    };
    let (mut log, _) = reopen(&disk, options).unwrap();
    let mut entries = Vec::new();
    let before = (
        simulated.count(Operation::Write),
        simulated.count(Operation::Sync),
    );
    for payload_bytes in [10, 20_000, 30, 0, 40_000] {
        entries.push(append(&mut log, payload_bytes));
        log.commit();
    }
    assert_eq!(log.pending_bytes(), 60_040 + 5 * 16);
    assert!(!is_readable(&log));
    log.write_waiting();
    assert!(is_readable(&log));
    assert_eq!(log.acknowledge(), 5);
    assert!(!is_readable(&log));
    assert_eq!(log.pending_bytes(), 0);
    let after = (
        simulated.count(Operation::Write),
        simulated.count(Operation::Sync),
    );
    assert_eq!(after, (before.0 + 1, before.1 + 1));
    drop(log);
    assert_eq!(reopen(&disk, options).unwrap().1, entries);
}

#[test]
fn an_empty_commit_does_nothing() {
    let (simulated, disk) = disks();
    let (mut log, _) = reopen(&disk, steps(1)).unwrap();
    let before = simulated.count(Operation::Write);
    log.commit();
    log.write_waiting();
    assert_eq!(simulated.count(Operation::Write), before);
    assert!(!is_readable(&log));
}

#[test]
fn what_is_appended_and_not_committed_is_not_written() {
    let (_, disk) = disks();
    let options = Options {
        threaded: true,
        ..steps(1)
    };
    let (mut log, _) = reopen(&disk, options).unwrap();
    let kept = append(&mut log, 10);
    log.commit();
    append(&mut log, 10);
    drop(log);
    assert_eq!(reopen(&disk, options).unwrap().1, [kept]);
}

#[test]
fn numbers_start_where_they_are_told_to() {
    let (_, disk) = disks();
    let options = Options {
        entry_first: 500,
        ..steps(1)
    };
    let (mut log, entries) = reopen(&disk, options).unwrap();
    assert!(entries.is_empty());
    assert_eq!((log.durable(), append(&mut log, 1).number), (499, 500));
}

#[test]
fn opening_often_leaves_no_empty_segments() {
    let (_, disk) = disks();
    for _ in 0..5 {
        reopen(&disk, steps(1)).unwrap();
    }
    assert_eq!(disk.list("log").unwrap(), ["00000000000000000001.log"]);
}

#[test]
fn segments_rotate_are_cut_and_recycled() {
    let (simulated, disk) = disks();
    let (mut log, _) = reopen(&disk, steps(1)).unwrap();
    let mut entries = Vec::new();
    for _ in 0..10 {
        entries.push(append(&mut log, 6_000));
        log.commit();
        log.write_waiting();
    }
    assert_eq!(log.segments(), 5);
    log.cut(3); // entry 4 shares a segment with 3
    for _ in 0..3 {
        log.write_waiting();
    }
    assert_eq!(log.segments(), 4);
    let first = "00000000000000000003.log";
    assert_eq!(disk.list("log").unwrap()[0], first);
    assert!(disk.exists("log/spare"));
    entries.push(append(&mut log, 6_000));
    log.commit();
    log.write_waiting();
    assert!(!disk.exists("log/spare"));
    drop(log);
    simulated.crash();
    let (mut log, found) = reopen(&disk, steps(2)).unwrap();
    assert_eq!(found, entries[2..]);
    log.cut(u64::MAX);
    for _ in 0..10 {
        log.write_waiting();
    }
    assert_eq!(log.segments(), 1);
    assert_eq!(
        disk.list("log").unwrap(),
        ["00000000000000000012.log", "spare"]
    );
}

#[test]
fn a_group_larger_than_a_segment_has_one_of_its_own() {
    let (_, disk) = disks();
    let (mut log, _) = reopen(&disk, steps(1)).unwrap();
    let mut entries = Vec::new();
    for payload_bytes in [10, 3_000_000, 10] {
        entries.push(append(&mut log, payload_bytes));
        log.commit();
        log.write_waiting();
    }
    assert_eq!(log.segments(), 3);
    drop(log);
    let (mut log, found) = reopen(&disk, steps(1)).unwrap();
    assert_eq!(found, entries);
    log.cut(3);
    for _ in 0..4 {
        log.write_waiting();
    }
    let spare = disk.open("log/spare", false).unwrap();
    assert!(
        spare.len().unwrap() <= 16 * 1024,
        "the large one is removed"
    );
}

#[test]
fn a_real_disk_keeps_entries_over_lives() {
    let name = format!("penstock-log-{}", std::process::id());
    let root = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&root).unwrap();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(&root));
    let options = Options {
        segment_bytes_max: 64 * 1024,
        extend_bytes: 8 * 1024,
        ..Options::default()
    };
    let mut entries = Vec::new();
    for life in 0..3 {
        let (mut log, mut found): (Log, _) = reopen(&disk, options).unwrap();
        assert_eq!(found, entries[entries.len() - found.len()..]);
        assert!(life == 0 || !found.is_empty());
        found.clear();
        for round in 0..100 {
            for _ in 0..5 {
                entries.push(append(&mut log, 300));
            }
            log.commit();
            if round % 20 == 0 {
                log.wait_durable(log.last()).unwrap();
                assert!(is_readable(&log));
                let durable = log.acknowledge();
                assert_eq!(durable, log.last());
                log.cut(durable - 100.min(durable));
            }
        }
    }
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn the_spare_is_given_up_and_none_is_kept_until_it_may_be() {
    let (_, disk) = disks();
    let (mut log, _) = reopen(&disk, steps(1)).unwrap();
    let fill = |log: &mut penstock_log::Log| {
        for _ in 0..4 {
            append(log, 12_000);
            log.commit();
            log.write_waiting();
        }
        log.cut(log.durable());
        for _ in 0..6 {
            log.write_waiting();
        }
        disk.exists("log/spare")
    };
    assert!(fill(&mut log));
    log.keep_spare(false);
    log.write_waiting();
    assert!(!fill(&mut log));
    assert_eq!(log.segments(), 1);
    log.keep_spare(true);
    assert!(fill(&mut log));
}
