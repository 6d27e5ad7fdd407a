//! Entries that are to be forgotten: after a cut, and the overwriting of what it set aside, no file
//! of the log has a byte of them, whatever happened in between; and nothing else is lost.

#![allow(clippy::unwrap_used)]

mod rig;

use penstock_disk::{Disk, Operation, SimulatedDisk};
use penstock_log::Log;
use rig::{append, reopen, steps};
use std::io::ErrorKind;
use std::sync::Arc;

const OPERATIONS: [Operation; 6] = [
    Operation::Open,
    Operation::Write,
    Operation::Sync,
    Operation::Rename,
    Operation::Remove,
    Operation::SyncDirectory,
];
const SECRET: &[u8] = b"nobody may read this";

fn disks(seed: u64) -> (Arc<SimulatedDisk>, Arc<dyn Disk>) {
    let simulated = Arc::new(SimulatedDisk::new(seed));
    let disk: Arc<dyn Disk> = Arc::clone(&simulated) as Arc<dyn Disk>;
    (simulated, disk)
}

fn write_all(log: &mut Log) {
    log.commit();
    for _ in 0..30 {
        log.write_waiting();
    }
}

/// Names of files that have the secret.
fn holders(disk: &Arc<dyn Disk>) -> Vec<String> {
    let mut names = disk.list("log").unwrap();
    names.retain(|name| {
        let file = disk.open(&format!("log/{name}"), false).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_at(0, &mut bytes).unwrap();
        bytes.windows(SECRET.len()).any(|window| window == SECRET)
    });
    names
}

fn forget_and_cut(log: &mut Log) {
    log.forget();
    write_all(log);
    log.cut(log.last());
    write_all(log);
}

#[test]
fn an_idle_log_forgets_its_only_segment() {
    let (_, disk) = disks(1);
    let (mut log, _) = reopen(&disk, steps(1)).unwrap();
    log.append(1, 3, &[SECRET]);
    write_all(&mut log);
    assert_eq!(holders(&disk), ["00000000000000000001.log"]);
    forget_and_cut(&mut log);
    assert_eq!((log.oldest(), log.segments()), (2, 1));
    assert!(log.has_remains().unwrap());
    log.remains().overwrite().unwrap();
    assert!(!log.has_remains().unwrap());
    assert!(holders(&disk).is_empty());
    assert_eq!(append(&mut log, 10).number, 2);
    write_all(&mut log);
    drop(log);
    assert_eq!(reopen(&disk, steps(1)).unwrap().1.len(), 1);
}

#[test]
fn entries_after_the_mark_are_in_another_segment() {
    let (_, disk) = disks(1);
    let (mut log, _) = reopen(&disk, steps(1)).unwrap();
    log.append(1, 3, &[SECRET]);
    log.forget();
    let mark = log.last();
    let mut kept = Vec::new();
    for _ in 0..3 {
        kept.push(append(&mut log, 100));
        log.commit(); // while the one before still waits
    }
    write_all(&mut log);
    assert_eq!((log.oldest(), log.segments()), (1, 2));
    log.cut(mark);
    write_all(&mut log);
    log.remains().overwrite().unwrap();
    assert!(holders(&disk).is_empty());
    drop(log);
    assert_eq!(reopen(&disk, steps(1)).unwrap().1, kept);
}

/// It may be in the spare, or behind the end of a segment that was made of one.
#[test]
fn what_was_cut_long_ago_is_forgotten_too() {
    for (more, reopens) in (0..6).flat_map(|more| [(more, false), (more, true)]) {
        let (_, disk) = disks(1);
        let (mut log, _) = reopen(&disk, steps(1)).unwrap();
        append(&mut log, 12_000);
        log.append(1, 3, &[SECRET]);
        write_all(&mut log);
        for _ in 0..more {
            append(&mut log, 5_000);
            write_all(&mut log);
            log.cut(log.last());
            write_all(&mut log);
        }
        if reopens {
            drop(log);
            log = reopen(&disk, steps(1)).unwrap().0;
        }
        assert!(!holders(&disk).is_empty(), "{more} more");
        forget_and_cut(&mut log);
        log.remains().overwrite().unwrap();
        assert!(
            holders(&disk).is_empty(),
            "{more} more: {:?}",
            holders(&disk)
        );
    }
}

#[test]
fn what_a_crash_left_is_overwritten_after_it() {
    for seed in 0..200 {
        let (simulated, disk) = disks(seed);
        let (mut log, _) = reopen(&disk, steps(1)).unwrap();
        log.append(1, 3, &[SECRET]);
        write_all(&mut log);
        simulated.fail_after(
            OPERATIONS[seed as usize % 6],
            seed / 6 % 5,
            ErrorKind::Other,
        );
        forget_and_cut(&mut log);
        drop(log.remains().overwrite());
        drop(log);
        simulated.heal();
        simulated.crash();
        let (mut log, _) = reopen(&disk, steps(1)).unwrap();
        assert!(holders(&disk).is_empty() || log.oldest() == 1 || log.has_remains().unwrap());
        forget_and_cut(&mut log);
        log.remains().overwrite().unwrap();
        assert!(
            holders(&disk).is_empty(),
            "seed {seed}: {:?}",
            holders(&disk)
        );
        assert_eq!(append(&mut log, 1).number, 2, "seed {seed}");
    }
}

#[test]
fn a_thread_overwrites_beside_the_writer() {
    let (_, disk) = disks(1);
    let mut options = steps(1);
    options.threaded = true;
    let (mut log, _) = reopen(&disk, options).unwrap();
    for _ in 0..20 {
        log.append(1, 3, &[SECRET]);
        log.forget();
        let mark = log.last();
        log.wait_durable(mark).unwrap();
        append(&mut log, 100);
        log.commit();
        log.cut(mark);
        log.remains().overwrite().unwrap();
        assert!(holders(&disk).is_empty());
        assert!(log.oldest() > mark);
    }
}
