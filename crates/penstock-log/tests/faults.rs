//! A disk that fails: the first failure is final and told with operation and path; what was not
//! durable is never announced; opening again goes on from what is there.

#![allow(clippy::unwrap_used)]

mod rig;

use penstock_disk::{Disk, Operation, SimulatedDisk};
use penstock_log::Log;
use rig::{append, reopen, steps};
use std::io::ErrorKind;
use std::sync::Arc;

fn disks(seed: u64) -> (Arc<SimulatedDisk>, Arc<dyn Disk>) {
    let simulated = Arc::new(SimulatedDisk::new(seed));
    let disk: Arc<dyn Disk> = Arc::clone(&simulated) as Arc<dyn Disk>;
    (simulated, disk)
}

fn commit_one(log: &mut Log, payload_bytes: usize) -> u64 {
    let entry = append(log, payload_bytes).number;
    log.commit();
    entry
}

#[test]
fn a_failed_write_or_sync_is_final() {
    for threaded in [false, true] {
        for (operation, words) in [(Operation::Write, "write"), (Operation::Sync, "sync")] {
            for kind in [ErrorKind::StorageFull, ErrorKind::Other] {
                let (simulated, disk) = disks(5);
                let mut options = steps(5);
                options.threaded = threaded;
                let (mut log, _) = reopen(&disk, options).unwrap();
                let first = commit_one(&mut log, 100);
                log.wait_durable(first).unwrap();
                simulated.fail_after(operation, 0, kind);
                let second = commit_one(&mut log, 100);
                let error = log.wait_durable(second).unwrap_err().to_string();
                let path = format!("{words} log/00000000000000000001.log: ");
                assert!(error.starts_with(&path), "{error}");
                simulated.heal();
                let third = commit_one(&mut log, 100);
                assert_eq!(third, 3);
                assert!(log.wait_durable(third).is_err());
                assert_eq!(log.acknowledge(), first);
                assert_eq!(log.failure().unwrap(), error);
                assert_eq!(log.pending_bytes(), 0);
            }
        }
    }
}

#[test]
fn a_segment_that_cannot_be_created_is_a_failure() {
    let operations = [Operation::Open, Operation::Rename, Operation::SyncDirectory];
    for operation in operations {
        let (simulated, disk) = disks(6);
        let (mut log, _) = reopen(&disk, steps(6)).unwrap();
        let first = commit_one(&mut log, 10_000);
        log.wait_durable(first).unwrap();
        simulated.fail_after(operation, 0, ErrorKind::StorageFull);
        let second = commit_one(&mut log, 10_000);
        assert!(log.wait_durable(second).is_err());
        assert!(log.failure().unwrap().contains("log"));
        drop(log);
        simulated.heal();
        let (mut log, entries) = reopen(&disk, steps(6)).unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!(commit_one(&mut log, 10_000), 2);
        log.wait_durable(2).unwrap();
    }
}

/// The process lives on after a failed sync and reads its own page cache: what it takes for
/// durable when it opens again must survive the next power cut.
#[test]
fn what_a_failed_sync_left_readable_is_made_durable() {
    for seed in 0..50 {
        let (simulated, disk) = disks(seed);
        let (mut log, _) = reopen(&disk, steps(seed)).unwrap();
        commit_one(&mut log, 3_000);
        simulated.fail_after(Operation::Sync, 0, ErrorKind::Other);
        log.write_waiting();
        assert!(log.failure().is_some());
        drop(log);
        simulated.heal();
        let (mut log, entries) = reopen(&disk, steps(seed)).unwrap();
        assert_eq!((entries.len(), log.durable()), (1, 1));
        let second = commit_one(&mut log, 10);
        log.wait_durable(second).unwrap();
        drop(log);
        simulated.crash();
        let (_, entries) = reopen(&disk, steps(seed)).unwrap();
        assert_eq!(entries.len(), 2, "seed {seed}");
    }
}

#[test]
fn a_failure_makes_the_descriptor_readable() {
    let (simulated, disk) = disks(7);
    let (mut log, _) = reopen(&disk, steps(7)).unwrap();
    simulated.fail_after(Operation::Sync, 0, ErrorKind::Other);
    commit_one(&mut log, 10);
    assert!(!rig::is_readable(&log));
    log.write_waiting();
    assert!(rig::is_readable(&log));
    assert_eq!(log.acknowledge(), 0);
    assert!(!rig::is_readable(&log));
}

#[test]
fn an_entry_that_is_not_committed_is_not_waited_for() {
    let (_, disk) = disks(8);
    let (mut log, _) = reopen(&disk, steps(8)).unwrap();
    let entry = append(&mut log, 10).number;
    let error = log.wait_durable(entry).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

/// They only save work to come: a disk that has no space for them has it for the group.
#[test]
fn zeros_that_do_not_fit_are_no_failure() {
    let (simulated, disk) = disks(9);
    let (mut log, _) = reopen(&disk, steps(9)).unwrap();
    simulated.fail_after(Operation::Write, 1, ErrorKind::StorageFull);
    let first = commit_one(&mut log, 100);
    assert_eq!(log.wait_durable(first).unwrap(), first);
    simulated.heal();
    let second = commit_one(&mut log, 100);
    log.wait_durable(second).unwrap();
    drop(log);
    simulated.crash();
    assert_eq!(reopen(&disk, steps(9)).unwrap().1.len(), 2);
}
