//! Power cuts at any moment, from a seed. With a log, the checkpoint and what the log replays give
//! exactly the state before the cut; without one, what was synced is there and what was removed
//! before a sync does not come back.
#![allow(clippy::unwrap_used)]

mod support;

use penstock_blocks::{Checkpoint, Limits, Options, Store};
use penstock_disk::SimulatedDisk;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use support::{Entry, Model, PATTERNS, SUBJECTS};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % bound
    }
}

#[derive(Clone, Debug)]
enum Logged {
    Append(u64, Entry),
    Remove(u64, bool),
    RemoveBelow(u64),
    Enforce(Limits),
    TruncateAfter(u64),
}

fn entry(random: &mut Random, time_ns: i64) -> Entry {
    let subject = SUBJECTS[random.below(SUBJECTS.len() as u64) as usize];
    Entry {
        timestamp_ns: time_ns,
        subject: subject.as_bytes().to_vec(),
        headers: if random.below(4) == 0 {
            b"NATS/1.0\r\n\r\n".to_vec()
        } else {
            Vec::new()
        },
        message: vec![b'a' + random.below(26) as u8; random.below(120) as usize],
    }
}

fn choose(random: &mut Random, model: &Model, time_ns: i64) -> Logged {
    let span = (model.last + 1).saturating_sub(model.first()).max(1);
    let somewhere = model.first() + random.below(span);
    match random.below(40) {
        0 => Logged::RemoveBelow(model.first() + random.below(span / 3 + 1)),
        1 => Logged::TruncateAfter(model.last - random.below(span / 4 + 1).min(model.last)),
        2..=4 => Logged::Enforce(Limits {
            messages: 10 + random.below(100),
            bytes: 2000 + random.below(20_000),
            messages_per_subject: 3 + random.below(20),
        }),
        5..=14 => Logged::Remove(somewhere, random.below(2) == 0),
        _ => Logged::Append(model.last + 1, entry(random, time_ns)),
    }
}

fn apply(store: &mut Store, logged: &Logged, mark: u64) {
    match logged {
        Logged::Append(sequence, entry) => {
            if *sequence > store.state().unwrap().last_sequence {
                Model::default().append(store, *sequence, entry.clone());
            }
        }
        Logged::Remove(sequence, erase) => drop(store.remove(*sequence, *erase).unwrap()),
        Logged::RemoveBelow(sequence) => drop(store.remove_below(*sequence).unwrap()),
        Logged::Enforce(limits) => {
            store.enforce(limits).unwrap();
            store.enforce(&Limits::default()).unwrap();
        }
        Logged::TruncateAfter(sequence) => store.truncate_after(*sequence, mark).unwrap(),
    }
}

fn apply_to_model(model: &mut Model, logged: &Logged) {
    match logged {
        Logged::Append(sequence, entry) => {
            model.messages.insert(*sequence, entry.clone());
            model.last = *sequence;
        }
        Logged::Remove(sequence, _) => drop(model.messages.remove(sequence)),
        Logged::RemoveBelow(sequence) => {
            model.messages = model.messages.split_off(sequence);
        }
        Logged::Enforce(limits) => model.enforce(limits),
        Logged::TruncateAfter(sequence) => {
            model.messages.split_off(&(sequence + 1));
            model.last = model.last.min(*sequence);
        }
    }
}

fn small(replayable_from: Option<u64>, random: &mut Random) -> Options {
    Options {
        block_bytes_max: 400 + random.below(1500) as usize,
        cache_bytes_max: random.below(5000) as usize,
        replayable_from,
        ..Options::default()
    }
}

/// A checkpoint that is written by somebody else while the store is used.
#[derive(Default)]
struct Underway(Option<Checkpoint>);

impl Underway {
    /// Begins one, or takes the next step of the one that was begun; a crash may come in between.
    fn go_on(&mut self, store: &mut Store, mark: u64, random: &mut Random) {
        match &mut self.0 {
            None => self.0 = store.begin_checkpoint(mark, random.below(4) == 0).unwrap(),
            Some(checkpoint) => {
                checkpoint.write();
                if random.below(2) == 0 {
                    self.end(store);
                }
            }
        }
    }

    fn end(&mut self, store: &mut Store) {
        if let Some(mut checkpoint) = self.0.take() {
            checkpoint.write();
            store.end_checkpoint(&checkpoint).unwrap();
        }
    }
}

fn with_a_log(seed: u64) {
    let mut random = Random(seed);
    let disk = Arc::new(SimulatedDisk::new(seed));
    let options = small(Some(1), &mut random);
    let mut log: Vec<Logged> = Vec::new();
    let mut model = Model::default();
    let mut cut_at = 0; // what a log may have cut: everything before a checkpoint that has ended
    for life in 0..4 {
        let options = Options {
            is_all_logged: cut_at == 0,
            ..options.clone()
        };
        let (mut store, report) =
            Store::open(Arc::clone(&disk) as _, "streams/s", "s", options).unwrap();
        assert!(
            report.mark.unwrap_or(0) >= cut_at,
            "seed {seed}: {report:?}"
        );
        let mark = report.mark.unwrap_or(0) as usize;
        assert!(
            report.lost.is_empty(),
            "seed {seed} life {life}: {report:?}"
        );
        for (number, logged) in log.iter().enumerate().skip(mark) {
            apply(&mut store, logged, number as u64 + 1);
        }
        model.check(&mut store);
        for pattern in PATTERNS {
            model.check_queries(&mut store, &[pattern], model.first() + model.last / 2);
        }
        let mut underway = Underway::default();
        for _ in 0..random.below(120) {
            let logged = choose(&mut random, &model, log.len() as i64);
            if matches!(logged, Logged::TruncateAfter(_)) {
                underway.end(&mut store);
            }
            apply(&mut store, &logged, log.len() as u64 + 1);
            apply_to_model(&mut model, &logged);
            log.push(logged);
            match random.below(12) {
                0..3 => store.write_out().unwrap(),
                3 => {
                    underway.end(&mut store);
                    store
                        .checkpoint(log.len() as u64, random.below(4) == 0)
                        .unwrap();
                    cut_at = log.len() as u64;
                }
                4 => underway.go_on(&mut store, log.len() as u64, &mut random),
                5 => store.cool(),
                _ => {}
            }
        }
        model.check(&mut store);
        if random.below(4) > 0 {
            disk.crash();
        } // else a kill: what was not synced can be read by the next one
    }
}

#[test]
fn a_checkpoint_and_the_log_give_the_state_before_the_power_cut() {
    let seeds = std::env::var("CRASH_SEEDS").map_or(300, |text| text.parse().unwrap());
    (0..seeds).for_each(with_a_log);
}

/// What must hold after the next cut: messages synced and not removed since; removals synced.
#[derive(Default)]
struct Promise {
    there: BTreeMap<u64, Entry>,
    gone: BTreeSet<u64>,
    last: u64,
}

impl Promise {
    fn check(
        &self,
        model: &Model,
        written: &BTreeMap<u64, Vec<Entry>>,
        lost: &[(u64, u64)],
        told: &str,
    ) {
        for (sequence, entry) in &self.there {
            assert_eq!(
                model.messages.get(sequence),
                Some(entry),
                "{sequence} lost, {told}"
            );
        }
        for sequence in &self.gone {
            assert!(
                !model.messages.contains_key(sequence),
                "{sequence} returned, {told}"
            );
        }
        for (sequence, entry) in &model.messages {
            assert!(
                written[sequence].contains(entry),
                "{sequence} is wrong, {told}"
            );
        }
        assert!(model.last >= self.last, "{told}");
        for range in lost {
            let lost = self.there.range(range.0..=range.1).next();
            assert!(lost.is_none(), "{lost:?} reported lost, {told}");
        }
    }
}

fn without_a_log(seed: u64) {
    let mut random = Random(seed);
    let disk = Arc::new(SimulatedDisk::new(seed));
    let options = small(None, &mut random);
    let mut promise = Promise::default();
    let mut written: BTreeMap<u64, Vec<Entry>> = BTreeMap::new();
    for life in 0..5 {
        let (mut store, report) =
            Store::open(Arc::clone(&disk) as _, "streams/s", "s", options.clone()).unwrap();
        let mut model = read_all(&mut store);
        let told = format!("seed {seed} life {life}: {report:?}");
        promise.check(&model, &written, &report.lost, &told);
        check_unless_lost(&model, &mut store, &report.lost);
        let mut underway = Underway::default();
        for _ in 0..random.below(120) {
            let mut logged = choose(&mut random, &model, life * 1000 + model.last as i64);
            if matches!(logged, Logged::TruncateAfter(_)) {
                logged = Logged::Remove(model.first(), true); // is only promised with a log
            }
            apply(&mut store, &logged, 0);
            let before: BTreeSet<u64> = model.messages.keys().copied().collect();
            apply_to_model(&mut model, &logged);
            if let Logged::Append(sequence, entry) = &logged {
                written.entry(*sequence).or_default().push(entry.clone());
            }
            let removed = before.iter().filter(|s| !model.messages.contains_key(s));
            removed.for_each(|sequence| drop(promise.there.remove(sequence)));
            let synced = match random.below(14) {
                0..3 => store.write_out().map(|()| false).unwrap(),
                3 => {
                    underway.end(&mut store);
                    store.checkpoint(0, random.below(4) == 0).unwrap();
                    true
                }
                4 => store.sync().map(|()| true).unwrap(),
                5 => {
                    underway.go_on(&mut store, 0, &mut random);
                    false
                }
                _ => false,
            };
            if synced && store.unwritten_bytes() == 0 {
                store.sync().unwrap();
                promise.there.clone_from(&model.messages);
                promise.gone = (1..=model.last)
                    .filter(|s| !model.messages.contains_key(s))
                    .collect();
                promise.last = model.last;
            }
        }
        disk.crash();
    }
}

fn read_all(store: &mut Store) -> Model {
    let state = store.state().unwrap();
    let mut model = Model {
        last: state.last_sequence,
        ..Model::default()
    };
    for sequence in state.first_sequence..=state.last_sequence {
        if let Ok(Some(message)) = store.load(sequence) {
            let entry = Entry {
                timestamp_ns: message.timestamp_ns,
                subject: message.subject.to_vec(),
                headers: message.headers.to_vec(),
                message: message.message.to_vec(),
            };
            model.messages.insert(sequence, entry);
        }
    }
    model
}

fn check_unless_lost(model: &Model, store: &mut Store, lost: &[(u64, u64)]) {
    if lost.is_empty() {
        model.check(store);
    }
    assert_eq!(store.state().unwrap().messages, model.messages.len() as u64);
    assert_eq!(store.state().unwrap().bytes, model.bytes());
    for pattern in PATTERNS {
        model.check_queries(store, &[pattern], model.first() + model.last / 2);
    }
}

#[test]
fn without_a_log_what_was_synced_survives_the_power_cut() {
    let seeds = std::env::var("CRASH_SEEDS").map_or(300, |text| text.parse().unwrap());
    (0..seeds).for_each(without_a_log);
}
