//! Power cuts, dying processes and failing disks, from seeds: after each of them the log replays
//! a prefix without gaps that holds, byte for byte, every entry that was ever announced.
//! `PENSTOCK_SEEDS` walks further than the usual hundred.

#![allow(clippy::unwrap_used, clippy::panic)]

mod rig;

use penstock_disk::{Disk, Operation, SimulatedDisk};
use penstock_log::Log;
use rig::{Dice, Kept, Lie, LyingDisk, append, reopen, steps};
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

struct Walk {
    simulated: Arc<SimulatedDisk>,
    disk: Arc<dyn Disk>,
    dice: Dice,
    seed: u64,
    /// Everything appended in this history of the log, by number.
    model: Vec<Kept>,
    announced: u64,
    cut: u64,
}

impl Walk {
    fn new(seed: u64, lie: Lie) -> Walk {
        let simulated = Arc::new(SimulatedDisk::new(seed));
        let inner: Arc<dyn Disk> = Arc::clone(&simulated) as Arc<dyn Disk>;
        Walk {
            simulated,
            disk: Arc::new(LyingDisk { inner, lie }),
            dice: Dice(seed.wrapping_mul(0x9E37_79B9) | 1),
            seed,
            model: Vec::new(),
            announced: 0,
            cut: 0,
        }
    }

    /// Opens the log and checks it against the model.
    fn check(&mut self) -> Result<Log, String> {
        let opened = reopen(&self.disk, steps(self.seed));
        let (log, entries) = opened.map_err(|error| error.to_string())?;
        let first = entries.first().map_or(log.last() + 1, |entry| entry.number);
        if first > self.cut + 1 {
            return Err(format!("starts with {first}, cut was {}", self.cut));
        }
        if log.last() < self.announced {
            let text = format!("{} announced, {} found", self.announced, log.last());
            return Err(text);
        }
        let known = self.model.get(first as usize - 1..log.last() as usize);
        if known != Some(&entries[..]) {
            return Err(format!("other entries than appended from {first}"));
        }
        self.model.truncate(log.last() as usize);
        self.announced = log.durable();
        Ok(log)
    }

    /// One process: random work until it is over, perhaps because of a fault.
    fn live(&mut self, log: &mut Log) {
        for _ in 0..self.dice.below(80) {
            match self.dice.below(14) {
                0..=4 => {
                    for _ in 0..self.dice.below(5) {
                        let bytes = [0, 7, 300, 2_000, 20_000][self.dice.below(5) as usize];
                        self.model.push(append(log, bytes));
                    }
                }
                5..=7 => log.commit(),
                8..=9 => {
                    log.write_waiting();
                    self.announced = log.acknowledge();
                }
                10 => {
                    let entry = self.dice.below(self.announced + 1);
                    self.cut = self.cut.max(entry);
                    log.cut(entry);
                }
                12 => log.forget(),
                13 => drop(log.remains().overwrite()),
                _ if self.dice.below(6) == 0 => {
                    let operation = OPERATIONS[self.dice.below(6) as usize];
                    let count = self.dice.below(4);
                    self.simulated
                        .fail_after(operation, count, ErrorKind::Other);
                }
                _ => {}
            }
        }
        self.announced = log.acknowledge();
    }

    fn run(mut self) -> Result<u64, String> {
        for _ in 0..12 {
            let mut log = self.check()?;
            self.live(&mut log);
            drop(log);
            self.simulated.heal();
            if self.dice.below(4) > 0 {
                self.simulated.crash();
            }
            // Opening may fail half-way, and the power with it.
            if self.dice.below(3) == 0 {
                let operation = OPERATIONS[self.dice.below(6) as usize];
                let count = self.dice.below(3);
                self.simulated
                    .fail_after(operation, count, ErrorKind::Other);
                drop(reopen(&self.disk, steps(self.seed)));
                self.simulated.heal();
                self.simulated.crash();
            }
        }
        self.check()?;
        Ok(self.simulated.trace())
    }
}

#[test]
fn announced_entries_survive_everything() {
    let seeds = std::env::var("PENSTOCK_SEEDS").map_or(100, |text| text.parse().unwrap());
    for seed in 1..=seeds {
        if let Err(text) = Walk::new(seed, Lie::Nothing).run() {
            panic!("seed {seed}: {text}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let traces: Vec<_> = (1..=20)
        .map(|seed| Walk::new(seed, Lie::Nothing).run())
        .collect();
    let again: Vec<_> = (1..=20)
        .map(|seed| Walk::new(seed, Lie::Nothing).run())
        .collect();
    assert_eq!(traces, again);
    assert_ne!(traces[0], traces[1]);
}

#[test]
fn without_sync_the_walk_finds_loss() {
    let failed = (1..=40).filter(|seed| Walk::new(*seed, Lie::Sync).run().is_err());
    assert!(failed.count() > 30);
}

#[test]
fn without_sync_of_the_directory_the_walk_finds_loss() {
    let failed = (1..=40).filter(|seed| Walk::new(*seed, Lie::SyncDirectory).run().is_err());
    assert!(failed.count() > 30);
}

/// The same promise with the writer in its thread, the power cut at any moment.
#[test]
fn announced_entries_survive_with_a_thread() {
    for seed in 1..=60 {
        let simulated = Arc::new(SimulatedDisk::new(seed));
        let disk: Arc<dyn Disk> = Arc::clone(&simulated) as Arc<dyn Disk>;
        let mut options = steps(seed);
        options.threaded = true;
        let mut model = Vec::new();
        for life in 0..4 {
            let (mut log, entries) = reopen(&disk, options).unwrap();
            assert_eq!(entries, model[..entries.len()], "seed {seed} life {life}");
            model.truncate(entries.len());
            for round in 0..50 {
                model.push(append(&mut log, 200));
                if round % 3 == 0 {
                    log.commit();
                }
            }
            let announced = log.acknowledge();
            simulated.crash();
            drop(log);
            let (log, _) = reopen(&disk, steps(seed)).unwrap();
            assert!(log.last() >= announced, "seed {seed} life {life}");
        }
    }
}
