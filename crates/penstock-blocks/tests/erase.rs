//! Erased messages: once their removal was told, no file has a byte of them after a while, also if
//! the power was cut or the process killed meanwhile, and whatever became of the index.
#![allow(clippy::unwrap_used)]

use penstock_blocks::{Content, Options, Store};
use penstock_disk::{Disk, SimulatedDisk};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

fn options(replayable_from: Option<u64>) -> Options {
    Options {
        block_bytes_max: 1200,
        cache_bytes_max: 2000,
        replayable_from,
        ..Options::default()
    }
}

fn open(disk: &Arc<SimulatedDisk>) -> Store {
    let (store, report) =
        Store::open(Arc::clone(disk) as _, "streams/s", "s", options(None)).unwrap();
    assert!(report.lost.is_empty(), "{report:?}");
    store
}

/// What tells one message from all others; long enough not to come by chance.
fn marker(number: u64) -> String {
    format!("<the secret number {number}>")
}

fn append(store: &mut Store, number: u64) -> u64 {
    let sequence = store.last_sequence() + 1;
    let (message, headers) = (marker(number), marker(number << 20));
    let headers = format!("NATS/1.0\r\nSecret: {headers}\r\n\r\n");
    let content = Content {
        sequence,
        timestamp_ns: number as i64,
        subject: b"a.b",
        headers: headers.as_bytes(),
        message: message.as_bytes(),
    };
    store.append(&content).unwrap();
    sequence
}

/// Everything that is in files.
fn bytes(disk: &Arc<SimulatedDisk>) -> String {
    let mut all = Vec::new();
    for directory in ["streams/s", "streams/s/msgs"] {
        for name in disk.list(directory).unwrap() {
            if let Ok(file) = disk.open(&format!("{directory}/{name}"), false) {
                let mut content = vec![0; file.len().unwrap() as usize];
                file.read_at(0, &mut content).unwrap();
                all.extend(content);
            }
        }
    }
    String::from_utf8_lossy(&all).into_owned()
}

fn holds(disk: &Arc<SimulatedDisk>, number: u64) -> bool {
    let bytes = bytes(disk);
    bytes.contains(&marker(number)) || bytes.contains(&marker(number << 20))
}

fn filled(disk: &Arc<SimulatedDisk>) -> Store {
    let mut store = open(disk);
    for number in 1..=40 {
        append(&mut store, number);
    }
    store.sync().unwrap();
    store
}

#[test]
fn an_opening_goes_on_with_what_was_not_overwritten() {
    for (sequence, with_index) in [1, 20, 40]
        .into_iter()
        .flat_map(|s| [(s, false), (s, true)])
    {
        let disk = Arc::new(SimulatedDisk::new(1));
        let mut store = filled(&disk);
        if with_index {
            store.checkpoint(0, true).unwrap();
        }
        store.remove(sequence, true).unwrap();
        store.write_out().unwrap();
        drop(store); // killed
        assert!(holds(&disk, sequence));
        let mut store = open(&disk);
        assert_eq!(store.state().unwrap().messages, 39);
        assert!(store.has_erasures(), "{sequence}");
        store.checkpoint(0, false).unwrap();
        assert!(!store.has_erasures() && !store.has_overwritten());
        assert!(!holds(&disk, sequence), "{sequence}");
        drop(store);
        disk.crash();
        let mut store = open(&disk);
        assert!(!holds(&disk, sequence) && !store.has_erasures());
        assert_eq!(store.state().unwrap().messages, 39);
        assert_eq!(bytes(&disk).matches("<the secret").count(), 78);
    }
}

/// Wherever a stream is cut, also behind a message that has no record any more.
#[test]
fn a_cut_behind_an_erased_message_counts_those_before_it() {
    for (erased, cut) in (1..=40).flat_map(|erased| [(erased, erased), (erased, erased - 1)]) {
        let disk = Arc::new(SimulatedDisk::new(1));
        let mut store = filled(&disk);
        store.remove(erased, true).unwrap();
        store.checkpoint(0, false).unwrap();
        store.truncate_after(cut, 0).unwrap();
        for from in 1..=cut {
            let alive = (from..=cut).filter(|sequence| *sequence != erased).count();
            let counted = store.alive_from(from).unwrap();
            assert_eq!(
                counted, alive as u64,
                "from {from} of {cut}, without {erased}"
            );
        }
        append(&mut store, 41);
        assert_eq!(store.alive_from(1).unwrap(), erased);
    }
}

#[test]
fn with_the_index_gone_old_erasures_are_not_done_again() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let mut store = filled(&disk);
    for sequence in [3, 4, 17] {
        store.remove(sequence, true).unwrap();
    }
    store.checkpoint(0, true).unwrap();
    store.remove(30, true).unwrap();
    store.write_out().unwrap();
    drop(store);
    disk.remove_file("streams/s/index").unwrap();
    let mut store = open(&disk);
    assert!(store.has_erasures());
    store.checkpoint(0, false).unwrap();
    assert!([3, 4, 17, 30].iter().all(|number| !holds(&disk, *number)));
    disk.remove_file("streams/s/index").unwrap();
    drop(store);
    let mut store = open(&disk);
    assert!(!store.has_erasures());
    assert_eq!(store.state().unwrap().messages, 36);
}

/// A log may tell of an erasure that the blocks know as a removal only.
#[test]
fn an_erasure_is_done_again_where_the_message_is_removed_already() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let mut store = filled(&disk);
    store.remove(7, false).unwrap();
    store.remove_below(3).unwrap();
    store.checkpoint(0, true).unwrap();
    for sequence in [2, 7, 7, 8, 1000] {
        store.replay_erasure(sequence).unwrap();
    }
    store.checkpoint(0, false).unwrap();
    assert!([2, 7, 8].iter().all(|number| !holds(&disk, *number)));
    assert!(holds(&disk, 9));
    assert_eq!(store.state().unwrap().messages, 36);
}

/// Its file would go, and its bytes would stay where they were on the disk.
#[test]
fn a_block_that_is_given_up_is_overwritten_before() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let mut store = filled(&disk);
    let number_of_blocks = disk.list("streams/s/msgs").unwrap().len();
    let first = disk.open("streams/s/msgs/1.blk", false).unwrap();
    for sequence in 1..=30 {
        store.remove(sequence, true).unwrap();
    }
    store.checkpoint(0, false).unwrap();
    assert!(disk.list("streams/s/msgs").unwrap().len() < number_of_blocks);
    assert!(!disk.exists("streams/s/msgs/1.blk"));
    let mut content = vec![0; first.len().unwrap() as usize];
    first.read_at(0, &mut content).unwrap();
    let content = String::from_utf8_lossy(&content).into_owned();
    assert!(!content.contains("<the secret"), "{content}");
}

struct Walk {
    disk: Arc<SimulatedDisk>,
    random: u64,
    number: u64,
    /// The number in each message, and those whose erasure is written and synced.
    numbers: BTreeMap<u64, u64>,
    erased: BTreeSet<u64>,
    promised: BTreeSet<u64>,
}

impl Walk {
    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % bound
    }

    fn step(&mut self, store: &mut Store) {
        match self.below(10) {
            0..=4 => {
                self.number += 1;
                let sequence = append(store, self.number);
                self.numbers.insert(sequence, self.number);
            }
            5..=7 => {
                let state = store.state().unwrap();
                let span = (state.last_sequence + 1).saturating_sub(state.first_sequence);
                let sequence = state.first_sequence + self.below(span.max(1));
                if store.remove(sequence, true).unwrap().is_some() {
                    self.erased.insert(self.numbers[&sequence]);
                }
            }
            8 => {
                let first = store.state().unwrap().first_sequence;
                store.remove_below(first + self.below(3)).unwrap();
            }
            _ => self.settle(store),
        }
    }

    fn settle(&mut self, store: &mut Store) {
        match self.below(4) {
            0 => store.write_out().unwrap(),
            1 => {
                store.sync().unwrap();
                self.promised.clone_from(&self.erased);
            }
            2 => {
                let mut noted = store.begin_checkpoint(0, false).unwrap().unwrap();
                self.promised.clone_from(&self.erased);
                noted.write();
                if self.below(2) == 0 {
                    store.end_checkpoint(&noted).unwrap();
                }
            }
            _ => {
                store.checkpoint(0, self.below(3) == 0).unwrap();
                self.promised.clone_from(&self.erased);
                self.check("after a checkpoint");
            }
        }
    }

    fn check(&self, when: &str) {
        let bytes = bytes(&self.disk);
        for number in &self.promised {
            let is_there =
                bytes.contains(&marker(*number)) || bytes.contains(&marker(number << 20));
            assert!(!is_there, "{number} is still there {when}");
        }
    }
}

fn walk(seed: u64) {
    let mut walk = Walk {
        disk: Arc::new(SimulatedDisk::new(seed)),
        random: seed.wrapping_mul(0x9e37_79b9) | 1,
        number: 0,
        numbers: BTreeMap::new(),
        erased: BTreeSet::new(),
        promised: BTreeSet::new(),
    };
    for life in 0..4 {
        let (mut store, _) =
            Store::open(Arc::clone(&walk.disk) as _, "streams/s", "s", options(None)).unwrap();
        store.checkpoint(0, false).unwrap();
        walk.check(&format!("at the start of life {life} of seed {seed}"));
        walk.erased.clone_from(&walk.promised); // the others may have come back
        for _ in 0..walk.below(80) {
            walk.step(&mut store);
        }
        drop(store);
        if walk.below(3) > 0 {
            walk.disk.crash();
        }
    }
}

#[test]
fn nothing_of_an_erased_message_survives_power_cuts() {
    let seeds = std::env::var("CRASH_SEEDS").map_or(150, |text| text.parse().unwrap());
    (1..=seeds).for_each(walk);
}
