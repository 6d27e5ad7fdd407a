//! Whatever happens to a store, it knows the lifetimes of exactly the messages that it has, and
//! names the same ones as over that a look at all of them would.
#![allow(clippy::unwrap_used)]

mod support;

use penstock_blocks::{LastOf, Limits, Options, Store};
use penstock_disk::{Disk, SimulatedDisk};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use support::{Entry, Model, SUBJECTS};

const SECOND_NS: i64 = 1_000_000_000;
const TTLS: [(&str, i64); 9] = [
    ("", 0),
    ("A: b", 0),
    ("Nats-TTL: 1", 1),
    ("A: b\r\nNats-TTL: 2s", 2),
    ("Nats-TTL: 3", 3),
    ("Nats-TTL: 0", 0),
    ("Nats-TTL: nonsense", 0),
    ("Nats-TTL: 9223372036", 0), // it would end after the end of time
    ("Nats-TTL: never", i64::MAX),
];

#[derive(Clone, Debug)]
enum Operation {
    Append {
        subjects: Vec<usize>,
        ttl: usize,
    },
    Remove {
        place: u64,
    },
    RemoveBelow {
        place: u64,
    },
    TruncateAfter {
        place: u64,
    },
    Enforce {
        messages: u64,
        per_subject: u64,
    },
    Over {
        after: i64,
        age: Option<i64>,
        max: usize,
    },
    Wait {
        time: i64,
    },
    Checkpoint,
    Cool,
    Close,
    Kill,
    WatchAgain,
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let subjects = proptest::collection::vec(0..SUBJECTS.len(), 1..8);
    let age = prop_oneof![Just(None), (0..4 * SECOND_NS).prop_map(Some)];
    prop_oneof![
        8 => (subjects, 0..TTLS.len()).prop_map(|(subjects, ttl)| Append { subjects, ttl }),
        2 => (0..1000u64).prop_map(|place| Remove { place }),
        1 => (0..1000u64).prop_map(|place| RemoveBelow { place }),
        1 => (500..1000u64).prop_map(|place| TruncateAfter { place }),
        1 => (0..30u64, 0..3u64)
            .prop_map(|(messages, per_subject)| Enforce { messages, per_subject }),
        4 => (0..4 * SECOND_NS, age, 1..20usize)
            .prop_map(|(after, age, max)| Over { after, age, max }),
        4 => (0..2 * SECOND_NS).prop_map(|time| Wait { time }),
        1 => Just(Checkpoint),
        1 => Just(Cool),
        1 => Just(Close),
        1 => Just(Kill),
        1 => Just(WatchAgain),
    ]
}

struct Bench {
    disk: Option<Arc<SimulatedDisk>>,
    options: Options,
    store: Store,
    model: Model,
    ends: BTreeMap<u64, i64>,
    time_ns: i64,
}

impl Bench {
    fn new(disk: Option<Arc<SimulatedDisk>>, options: Options) -> Bench {
        Bench {
            store: open(disk.as_ref(), &options),
            model: Model {
                in_memory: disk.is_none(),
                ..Model::default()
            },
            disk,
            options,
            ends: BTreeMap::new(),
            time_ns: 1_700_000_000 * SECOND_NS,
        }
    }

    fn at(&self, place: u64) -> u64 {
        let (first, last) = (self.model.first(), self.model.last);
        first + (last + 1).saturating_sub(first) * place / 1000
    }

    fn append(&mut self, subjects: &[usize], ttl: usize) {
        for (number, subject) in subjects.iter().enumerate() {
            self.time_ns += 10;
            let (lines, seconds) = TTLS[(ttl + number) % TTLS.len()];
            let headers = match lines {
                "" => String::new(),
                lines => format!("NATS/1.0\r\n{lines}\r\n\r\n"),
            };
            let entry = Entry {
                timestamp_ns: self.time_ns,
                subject: SUBJECTS[*subject].as_bytes().to_vec(),
                headers: headers.into_bytes(),
                message: b"message".to_vec(),
            };
            let sequence = self.model.last + 1;
            self.model.append(&mut self.store, sequence, entry);
            match seconds {
                0 => self.ends.remove(&sequence),
                i64::MAX => self.ends.insert(sequence, i64::MAX),
                _ => self
                    .ends
                    .insert(sequence, self.time_ns + seconds * SECOND_NS),
            };
        }
    }

    /// What is over at a time, the slow way.
    fn expected_over(&self, now_ns: i64, cut_ns: Option<i64>) -> Vec<u64> {
        let is_over = |(sequence, entry): &(&u64, &Entry)| match self.ends.get(sequence) {
            Some(&i64::MAX) => false,
            end_ns => {
                let is_old = cut_ns.is_some_and(|cut_ns| entry.timestamp_ns < cut_ns);
                is_old || end_ns.is_some_and(|end_ns| *end_ns <= now_ns)
            }
        };
        let over = self.model.messages.iter().filter(is_over);
        over.map(|(sequence, _)| *sequence).collect()
    }

    fn over(&mut self, after_ns: i64, age_ns: Option<i64>, max: usize) {
        let now_ns = self.time_ns + after_ns;
        let cut_ns = age_ns.map(|age_ns| now_ns - age_ns);
        let expected = self.expected_over(now_ns, cut_ns);
        let mut rounds = 0;
        let mut gone = Vec::new();
        loop {
            let over = self.store.over(now_ns, cut_ns, max).unwrap();
            assert!(over.sequences.is_sorted() && over.sequences.len() <= max);
            assert!(!over.sequences.is_empty() || !over.is_cut, "no progress");
            self.check_lasts(&over.sequences);
            self.store.remove_all(&over.sequences, false).unwrap();
            for sequence in &over.sequences {
                assert!(self.model.messages.remove(sequence).is_some());
            }
            gone.extend(over.sequences);
            self.check();
            rounds += 1;
            if !over.is_cut {
                break;
            }
        }
        gone.sort_unstable();
        assert_eq!(gone, expected, "after {rounds} rounds");
    }

    fn check_lasts(&mut self, sequences: &[u64]) {
        let mut expected = BTreeMap::new();
        for (subject, count) in subject_counts(&self.model) {
            let of_subject = |s: &&u64| self.model.messages[*s].subject == subject;
            let named: Vec<&u64> = sequences.iter().filter(of_subject).collect();
            if named.len() == count {
                let last = **named.last().unwrap();
                expected.insert(last, self.model.messages[&last].clone());
            }
        }
        let expected: Vec<LastOf> = expected
            .into_iter()
            .map(|(sequence, entry)| LastOf {
                sequence,
                subject: entry.subject,
                headers: entry.headers,
            })
            .collect();
        assert_eq!(self.store.lasts(sequences).unwrap(), expected);
    }

    fn check(&mut self) {
        self.ends
            .retain(|sequence, _| self.model.messages.contains_key(sequence));
        let lifetimes = self.store.lifetimes().unwrap();
        let rows: Vec<(u64, i64)> = lifetimes.rows().collect();
        let expected: Vec<(u64, i64)> = self.ends.iter().map(|(s, e)| (*s, *e)).collect();
        assert_eq!(rows, expected);
        let ends = self.ends.values().filter(|end_ns| **end_ns != i64::MAX);
        assert_eq!(lifetimes.next_end_ns(), ends.clone().min().copied());
        assert_eq!(lifetimes.endless(), self.ends.len() - ends.count());
    }

    fn reopen(&mut self, clean: bool) {
        if self.disk.is_none() {
            return;
        }
        if clean {
            self.store.checkpoint(0, true).unwrap();
        } else {
            self.store.write_out().unwrap();
        }
        self.store = open(self.disk.as_ref(), &self.options);
    }

    fn apply(&mut self, operation: &Operation) {
        use Operation::*;
        match operation {
            Append { subjects, ttl } => self.append(subjects, *ttl),
            Remove { place } => {
                let sequence = self.at(*place);
                self.store.remove(sequence, false).unwrap();
                self.model.messages.remove(&sequence);
            }
            RemoveBelow { place } => {
                let sequence = self.at(*place);
                self.store.remove_below(sequence).unwrap();
                self.model.messages = self.model.messages.split_off(&sequence);
                self.model.last = self.model.last.max(sequence.saturating_sub(1));
            }
            TruncateAfter { place } => {
                let sequence = self.at(*place);
                if sequence < self.model.last {
                    self.store.truncate_after(sequence, 0).unwrap();
                    self.model.messages.split_off(&(sequence + 1));
                    self.model.last = sequence;
                }
            }
            Enforce {
                messages,
                per_subject,
            } => {
                let limits = Limits {
                    messages: *messages,
                    bytes: 0,
                    messages_per_subject: *per_subject,
                };
                self.store.enforce(&limits).unwrap();
                self.store.enforce(&Limits::default()).unwrap();
                self.model.enforce(&limits);
            }
            Over { after, age, max } => self.over(*after, *age, *max),
            Wait { time } => self.time_ns += time,
            Checkpoint => self.store.checkpoint(0, false).unwrap(),
            Cool => self.store.cool(),
            Close => self.reopen(true),
            Kill => self.reopen(false),
            WatchAgain => {
                self.store.watch_lifetimes(false).unwrap();
                assert!(self.store.lifetimes().is_none());
                self.store.watch_lifetimes(true).unwrap();
            }
        }
    }
}

fn subject_counts(model: &Model) -> BTreeMap<Vec<u8>, usize> {
    let mut counts = BTreeMap::new();
    for entry in model.messages.values() {
        *counts.entry(entry.subject.clone()).or_default() += 1;
    }
    counts
}

fn open(disk: Option<&Arc<SimulatedDisk>>, options: &Options) -> Store {
    let mut store = match disk.cloned() {
        None => Store::in_memory("s", options.clone()),
        Some(disk) => {
            Store::open(disk, "streams/s", "s", options.clone())
                .unwrap()
                .0
        }
    };
    store.watch_lifetimes(true).unwrap();
    store
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
        bench.check();
    }
    bench.reopen(false);
    bench.check();
    bench.model.check(&mut bench.store);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn files_know_their_lifetimes(
        operations in proptest::collection::vec(operation(), 1..60),
        block in 200..3000usize,
        cache in prop_oneof![Just(0usize), 500..20_000usize],
    ) {
        run(&operations, block, cache, true);
    }

    #[test]
    fn memory_knows_its_lifetimes(
        operations in proptest::collection::vec(operation(), 1..60),
        block in 200..3000usize,
    ) {
        run(&operations, block, 0, false);
    }
}

/// A record that no longer verifies has no lifetime either: nobody waits for it for ever.
#[test]
fn what_is_lost_is_not_over_again_and_again() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let options = Options {
        block_bytes_max: 400,
        ..Options::default()
    };
    let mut bench = Bench::new(Some(disk.clone()), options);
    bench.append(&[0; 20], 2);
    bench.store.checkpoint(0, true).unwrap();
    bench.store.cool();
    let file = disk.open("streams/s/msgs/2.blk", false).unwrap();
    file.write_at(25, b"damage").unwrap();
    let now_ns = bench.time_ns + 9 * SECOND_NS;
    for _ in 0..20 {
        let over = bench.store.over(now_ns, None, 3).unwrap();
        bench.store.remove_all(&over.sequences, false).unwrap();
        if over.sequences.is_empty() {
            break;
        }
    }
    let lifetimes = bench.store.lifetimes().unwrap();
    assert_eq!(lifetimes.next_end_ns(), None);
    assert!(!bench.store.lost().0.is_empty());
}
