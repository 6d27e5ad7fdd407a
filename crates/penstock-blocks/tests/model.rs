//! Any sequence of operations on a store gives what the same operations on a map give, in memory
//! and in files, with the store closed, killed and opened again in between.
#![allow(clippy::unwrap_used)]

mod support;

use penstock_blocks::{Checkpoint, IndexCondition, Limits, Options, Store};
use penstock_disk::{Disk, SimulatedDisk};
use proptest::prelude::*;
use std::sync::Arc;
use support::{Entry, Model, PATTERNS, SUBJECTS};

#[derive(Clone, Debug)]
enum Operation {
    Append {
        subjects: Vec<usize>,
        gap: u64,
        size: usize,
        headers: usize,
    },
    Remove {
        place: u64,
        erase: bool,
    },
    RemoveAll {
        places: Vec<u64>,
    },
    RemoveBelow {
        place: u64,
        beyond: u64,
    },
    TruncateAfter {
        place: u64,
    },
    Enforce {
        messages: u64,
        bytes: u64,
        per_subject: u64,
    },
    Expire {
        place: u64,
    },
    WriteOut,
    Sync,
    Checkpoint,
    BeginCheckpoint,
    EndCheckpoint,
    Cool,
    Close,
    Kill,
    Query {
        pattern: usize,
        other: usize,
        place: u64,
    },
    Headers {
        place: u64,
        bytes_max: usize,
        cool: bool,
    },
}

const HEADERS: [&str; 8] = [
    "",
    "",
    "",
    "NATS/1.0\r\nA: b\r\n\r\n",
    "NATS/1.0\r\nId:  one \r\n\r\n",
    "NATS/1.0\r\nA:b\r\nId: two\r\nId: three\r\n\r\n",
    "NATS/1.0\r\nNot-Id: x\r\nId:\r\n\r\n",
    "NATS/1.0\r\nId: the end is missing",
];

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let subjects = proptest::collection::vec(0..SUBJECTS.len(), 1..12);
    prop_oneof![
        10 => (subjects, prop_oneof![9 => Just(0u64), 1 => 1..5u64], 0..90usize, 0..HEADERS.len())
            .prop_map(|(subjects, gap, size, headers)| Append { subjects, gap, size, headers }),
        4 => (0..1000u64, any::<bool>()).prop_map(|(place, erase)| Remove { place, erase }),
        2 => proptest::collection::vec(0..1000u64, 0..20).prop_map(|places| RemoveAll { places }),
        1 => (0..600u64, prop_oneof![9 => Just(0u64), 1 => 1..9u64])
            .prop_map(|(place, beyond)| RemoveBelow { place, beyond }),
        1 => (700..1000u64).prop_map(|place| TruncateAfter { place }),
        2 => (0..60u64, 0..5000u64, 0..4u64)
            .prop_map(|(messages, bytes, per_subject)| Enforce { messages, bytes, per_subject }),
        1 => (0..400u64).prop_map(|place| Expire { place }),
        2 => Just(WriteOut),
        1 => Just(Sync),
        1 => Just(Checkpoint),
        1 => Just(BeginCheckpoint),
        2 => Just(EndCheckpoint),
        1 => Just(Cool),
        2 => Just(Close),
        2 => Just(Kill),
        8 => (0..PATTERNS.len(), 0..PATTERNS.len(), 0..1100u64)
            .prop_map(|(pattern, other, place)| Query { pattern, other, place }),
        3 => (0..1100u64, prop_oneof![Just(0usize), 1..300usize, Just(usize::MAX)], any::<bool>())
            .prop_map(|(place, bytes_max, cool)| Headers { place, bytes_max, cool }),
    ]
}

struct Bench {
    disk: Option<Arc<SimulatedDisk>>,
    options: Options,
    store: Store,
    model: Model,
    time_ns: i64,
    underway: Option<Checkpoint>,
}

impl Bench {
    fn new(disk: Option<Arc<SimulatedDisk>>, options: Options) -> Bench {
        let store = open(&disk, &options);
        let model = Model {
            in_memory: disk.is_none(),
            ..Model::default()
        };
        Bench {
            disk,
            options,
            store,
            model,
            time_ns: 1_000,
            underway: None,
        }
    }

    /// A sequence somewhere between the first and a little beyond the last.
    fn at(&self, place: u64) -> u64 {
        let (first, last) = (self.model.first(), self.model.last);
        first + (last + 1).saturating_sub(first) * place / 1000
    }

    fn append(&mut self, subjects: &[usize], gap: u64, size: usize, headers: usize) {
        for (number, subject) in subjects.iter().enumerate() {
            self.time_ns += 10;
            let headers = HEADERS[(headers + number) % HEADERS.len()];
            let entry = Entry {
                timestamp_ns: self.time_ns,
                subject: SUBJECTS[*subject].as_bytes().to_vec(),
                headers: headers.as_bytes().to_vec(),
                message: vec![b'm'; size],
            };
            let gap = if number == 0 { gap } else { 0 };
            self.model
                .append(&mut self.store, self.model.last + 1 + gap, entry);
        }
    }

    fn remove(&mut self, sequence: u64, erase: bool) {
        let expected = self
            .model
            .messages
            .remove(&sequence)
            .map(|e| self.model.bytes_of(&e));
        assert_eq!(self.store.remove(sequence, erase).unwrap(), expected);
    }

    fn remove_all(&mut self, places: &[u64]) {
        let sequences: Vec<u64> = places.iter().map(|place| self.at(*place)).collect();
        let before = (self.model.messages.len() as u64, self.model.bytes());
        sequences
            .iter()
            .for_each(|sequence| drop(self.model.messages.remove(sequence)));
        let gone = self.store.remove_all(&sequences, false).unwrap();
        assert_eq!(before.0 - gone.messages, self.model.messages.len() as u64);
        assert_eq!(before.1 - gone.bytes, self.model.bytes());
    }

    fn expire(&mut self, place: u64) {
        let cut = 1_000 + (self.time_ns - 1_000) * place as i64 / 1_000;
        let before = self.model.messages.len();
        while self
            .model
            .messages
            .first_key_value()
            .is_some_and(|(_, e)| e.timestamp_ns < cut)
        {
            self.model.messages.pop_first();
        }
        let expired = self.store.expire(cut, u64::MAX).unwrap();
        assert_eq!(expired as usize, before - self.model.messages.len());
    }

    fn end_checkpoint(&mut self) {
        if let Some(mut checkpoint) = self.underway.take() {
            checkpoint.write();
            self.store.end_checkpoint(&checkpoint).unwrap();
        }
    }

    fn look_at_headers(&mut self, from: u64, bytes_max: usize, cool: bool) {
        if cool && self.disk.is_some() {
            self.store.write_out().unwrap();
            self.store.cool(); // so that the blocks are read from their files
        }
        self.model.check_headers(&mut self.store, from, bytes_max);
    }

    fn reopen(&mut self, clean: bool) {
        self.underway = None; // it was not written any more
        let Some(disk) = self.disk.clone() else {
            return;
        };
        if clean {
            self.store.checkpoint(0, true).unwrap();
        } else {
            self.store.write_out().unwrap();
        }
        let disk: Arc<dyn Disk> = disk;
        let (store, report) = Store::open(disk, "streams/s", "s", self.options.clone()).unwrap();
        assert_eq!(report.lost, vec![], "lost after clean={clean}: {report:?}");
        assert_eq!(
            (report.lost_bytes, report.tail_bytes, report.cut_bytes),
            (0, 0, 0)
        );
        let used = matches!(report.index, IndexCondition::Used | IndexCondition::New);
        assert!(used || !clean, "{report:?}");
        self.store = store;
    }

    fn apply(&mut self, operation: &Operation) {
        use Operation::*;
        match operation {
            Append {
                subjects,
                gap,
                size,
                headers,
            } => self.append(subjects, *gap, *size, *headers),
            Remove { place, erase } => self.remove(self.at(*place), *erase),
            RemoveAll { places } => self.remove_all(places),
            RemoveBelow { place, beyond } => {
                let sequence = if *beyond > 0 {
                    self.model.last + beyond
                } else {
                    self.at(*place)
                };
                self.store.remove_below(sequence).unwrap();
                self.model.messages = self.model.messages.split_off(&sequence);
                self.model.last = self.model.last.max(sequence.saturating_sub(1));
            }
            TruncateAfter { place } => {
                let sequence = self.at(*place);
                self.end_checkpoint();
                if sequence < self.model.last {
                    self.store.truncate_after(sequence, 0).unwrap();
                    self.model.messages.split_off(&(sequence + 1));
                    self.model.last = sequence;
                }
            }
            Enforce {
                messages,
                bytes,
                per_subject,
            } => {
                let (messages, bytes) = (*messages, *bytes);
                let limits = Limits {
                    messages,
                    bytes,
                    messages_per_subject: *per_subject,
                };
                self.store.enforce(&limits).unwrap();
                self.store.enforce(&Limits::default()).unwrap();
                self.model.enforce(&limits);
            }
            Expire { place } => self.expire(*place),
            Query {
                pattern,
                other,
                place,
            } => {
                let at = self.at(*place);
                self.model
                    .check_queries(&mut self.store, &[PATTERNS[*pattern]], at);
                let both = [PATTERNS[*pattern], PATTERNS[*other]];
                self.model.check_queries(&mut self.store, &both, at);
                self.model
                    .check_time(&mut self.store, 1_000 + 10 * at as i64);
            }
            Headers {
                place,
                bytes_max,
                cool,
            } => self.look_at_headers(self.at(*place), *bytes_max, *cool),
            other => self.apply_to_files(other),
        }
    }

    fn apply_to_files(&mut self, operation: &Operation) {
        match operation {
            Operation::WriteOut => self.store.write_out().unwrap(),
            Operation::Sync => self.store.sync().unwrap(),
            Operation::Checkpoint => {
                self.end_checkpoint();
                self.store.checkpoint(0, false).unwrap();
            }
            Operation::BeginCheckpoint if self.underway.is_none() => {
                self.underway = self.store.begin_checkpoint(0, false).unwrap();
            }
            Operation::EndCheckpoint => self.end_checkpoint(),
            Operation::BeginCheckpoint => {}
            Operation::Cool => self.store.cool(),
            Operation::Close => self.reopen(true),
            _ => self.reopen(false),
        }
    }
}

fn open(disk: &Option<Arc<SimulatedDisk>>, options: &Options) -> Store {
    match disk.clone() {
        None => Store::in_memory("s", options.clone()),
        Some(disk) => {
            Store::open(disk, "streams/s", "s", options.clone())
                .unwrap()
                .0
        }
    }
}

fn run(operations: &[Operation], block: usize, cache: usize, in_files: bool) {
    let options = Options {
        block_bytes_max: block,
        cache_bytes_max: cache,
        ..Options::default()
    };
    let disk = in_files.then(|| Arc::new(SimulatedDisk::new(1)));
    let mut bench = Bench::new(disk, options);
    for operation in operations {
        bench.apply(operation);
        bench.model.check(&mut bench.store);
    }
    for pattern in PATTERNS {
        let at = bench.at(500);
        bench.model.check_queries(&mut bench.store, &[pattern], at);
    }
    bench.reopen(false);
    bench.model.check_headers(&mut bench.store, 0, usize::MAX);
    bench.model.check(&mut bench.store);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_file_store_is_a_map(
        operations in proptest::collection::vec(operation(), 1..80),
        block in 200..3000usize,
        cache in prop_oneof![Just(0usize), 500..20_000usize],
    ) {
        run(&operations, block, cache, true);
    }

    #[test]
    fn a_memory_store_is_a_map(
        operations in proptest::collection::vec(operation(), 1..80),
        block in 200..3000usize,
    ) {
        run(&operations, block, 0, false);
    }
}
