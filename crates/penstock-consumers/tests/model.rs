//! Whatever happens to a consumer, its ledger has what loops over maps give: figures, pending
//! messages, queue, ranges, the bytes that receivers get, and the count of what is to come. And
//! the same state comes out of any snapshot with the changes since, and some of those before.
#![allow(clippy::unwrap_used)]

mod support;

use penstock_blocks::Filter;
use penstock_consumers::{AckPolicy, Ledger, Settled};
use proptest::collection::vec;
use proptest::prelude::*;
use support::bench::{Bench, FILTERS, HEADERS, Limits, SUBJECTS, filter_of, flat};
use support::model::Wanted;

#[derive(Clone, Debug)]
enum Operation {
    Publish(Vec<(usize, usize, usize)>, bool),
    Deliver {
        wanted: Vec<Wanted>,
        limits: Limits,
        header: bool,
        gated: bool,
        asked: bool,
    },
    Ack(usize, usize),
    AckRun(Vec<(usize, usize, usize)>),
    Nak(usize, usize),
    Requeue(usize),
    Wait(usize, i64, bool),
    GiveUp(usize),
    Expire(Vec<i64>, u64),
    Remove(usize, bool),
    RemoveBelow(usize, bool),
    RemovedMissing,
    Purge(usize),
    PurgedMissing,
    Count(bool),
    Configure(usize, bool),
    /// The index is asked, and the ledger does not hear of it.
    Ask,
    Peek,
    AtEnd(usize, bool),
    Snapshot,
    Take,
    Cool,
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let place = || 0..60usize;
    let message = (0..SUBJECTS.len(), 0..HEADERS.len(), 0..40usize);
    let bytes = || prop_oneof![3 => Just(0u64), 1 => 1..400u64];
    let wanted = vec((0..4usize, 1..6u64, bytes()), 1..4);
    let limits = (0..8usize, 0..4u64, bytes());
    prop_oneof![
        6 => (vec(message, 1..8), any::<bool>()).prop_map(|(all, counted)| Publish(all, counted)),
        8 => (wanted, limits, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
            |(wanted, limits, header, gated, asked)| Deliver { wanted, limits, header, gated, asked }
        ),
        4 => (place(), place()).prop_map(|(at, consumer)| Ack(at, consumer)),
        3 => vec((place(), place(), 0..8usize), 1..6).prop_map(AckRun),
        3 => (place(), place()).prop_map(|(at, consumer)| Nak(at, consumer)),
        1 => place().prop_map(Requeue),
        1 => (place(), 0..100i64, any::<bool>()).prop_map(|(at, ns, out)| Wait(at, ns, out)),
        1 => place().prop_map(GiveUp),
        2 => (vec(1..90i64, 1..4), 0..4u64).prop_map(|(waits, max)| Expire(waits, max)),
        2 => (place(), any::<bool>()).prop_map(|(at, told)| Remove(at, told)),
        1 => (place(), any::<bool>()).prop_map(|(at, told)| RemoveBelow(at, told)),
        1 => Just(RemovedMissing),
        1 => place().prop_map(Purge),
        1 => Just(PurgedMissing),
        2 => any::<bool>().prop_map(Count),
        1 => (0..FILTERS.len(), any::<bool>()).prop_map(|(at, only)| Configure(at, only)),
        1 => Just(Ask),
        1 => Just(Peek),
        2 => (0..8usize, any::<bool>()).prop_map(|(limit, asked)| AtEnd(limit, asked)),
        2 => Just(Snapshot),
        3 => Just(Take),
        1 => Just(Cool),
    ]
}

impl Bench {
    fn run(&mut self, operation: Operation) {
        self.now_ns += 5;
        match operation {
            Operation::Publish(messages, counted) => self.publish(&messages, counted),
            Operation::Deliver {
                wanted,
                limits,
                header,
                gated,
                asked,
            } => {
                self.hub.set_gate(u64::from(gated));
                let header = if header { "Nats-Pin-Id: p\r\n" } else { "" };
                self.deliver(&wanted, limits, header, asked);
            }
            Operation::AckRun(acks) => self.ack_run(&acks),
            Operation::Remove(at, told) => self.remove(self.at(at), told),
            Operation::RemoveBelow(at, told) => self.remove_below(self.at(at), told),
            Operation::Purge(at) => self.purge(self.at(at)),
            Operation::Configure(at, headers_only) => {
                let (filters, filter) = filter_of(at);
                self.set_filters(&filters);
                self.ledger.configure(filter, headers_only);
                (self.model.filters, self.model.headers_only) = (filters, headers_only);
            }
            Operation::Count(asked) => {
                let arrived = asked.then(|| self.index.arrived(3));
                let count = self.ledger.num_pending(&mut self.store, arrived).unwrap();
                let is_there = |sequence: &&u64| self.stream.messages.contains_key(sequence);
                let listed = self.model.listed.iter().filter(is_there).count() as u64;
                assert_eq!(count, self.model.behind_cursor(&self.stream) + listed);
            }
            Operation::Ask => drop(self.index.arrived(3)),
            Operation::Peek => self.peek(),
            Operation::AtEnd(limit, asked) => self.at_end(limit, asked),
            Operation::Snapshot => {
                let snapshot = self.ledger.snapshot();
                self.snapshots.push((snapshot, self.changes.len()));
            }
            Operation::Take => self.take(),
            Operation::Cool => {
                self.store.write_out().unwrap();
                self.store.cool();
            }
            other => self.step(other),
        }
        self.check();
    }

    /// Operations on the ledger alone.
    fn step(&mut self, operation: Operation) {
        let (ledger, model) = (&mut self.ledger, &mut self.model);
        let at = |place: usize| place as u64 * (self.stream.last + 3) / 60;
        match operation {
            Operation::Ack(place, consumer) => {
                let mut ranges = Vec::new();
                let settled = ledger.ack(at(place), consumer as u64, &mut ranges);
                let expected = model.ack(at(place), consumer as u64);
                assert_eq!(settled == Settled::NotReached, expected.is_none());
                assert_eq!(flat(&ranges), expected.unwrap_or_default());
            }
            Operation::Nak(place, consumer) => {
                let (sequence, consumer) = (at(place), consumer as u64 / 2);
                assert_eq!(
                    ledger.nak(sequence, consumer),
                    model.nak(sequence, consumer)
                );
            }
            Operation::Requeue(place) => {
                assert_eq!(ledger.requeue(at(place)), model.requeue(at(place)));
            }
            Operation::Wait(place, ns, unqueue) => {
                let since_ns = self.now_ns - ns;
                let found = match unqueue {
                    true => ledger.delay(at(place), since_ns),
                    false => ledger.progress(at(place), since_ns),
                };
                assert_eq!(found, model.wait_since(at(place), since_ns, unqueue));
            }
            Operation::GiveUp(place) => {
                assert_eq!(ledger.give_up(at(place)), model.give_up(at(place)));
            }
            Operation::Expire(waits, max) => {
                let expired = ledger.expire(self.now_ns, &waits, max);
                let expected = model.expire(self.now_ns, &waits, max);
                assert_eq!((expired.queued, expired.given_up), expected);
                let deadlines = model.deadlines(&waits);
                let deadline = deadlines.iter().map(|(_, deadline)| *deadline).min();
                assert_eq!(expired.deadline_ns, deadline);
                assert_eq!(ledger.next_deadline(&waits), deadline);
            }
            Operation::RemovedMissing => {
                let found = ledger.removed_missing(&mut self.store).unwrap();
                let gone = |sequence| !self.stream.messages.contains_key(&sequence);
                assert_eq!(found, model.removed(gone));
            }
            Operation::PurgedMissing => {
                let first = self.store.state().unwrap().first_sequence;
                let found = ledger.purged_missing(&mut self.store, first).unwrap();
                let gone = |sequence| !self.stream.messages.contains_key(&sequence);
                assert_eq!(found, model.purged_missing(first, gone));
            }
            other => unreachable!("{other:?}"),
        }
    }

    fn remove(&mut self, sequence: u64, told: bool) {
        self.store.remove(sequence, false).unwrap();
        self.stream.messages.remove(&sequence);
        if told {
            let found = self.ledger.removed((sequence, sequence));
            assert_eq!(found, self.model.removed(|gone| gone == sequence));
        }
    }

    fn remove_below(&mut self, below: u64, told: bool) {
        let below = below.min(self.stream.last);
        self.store.remove_below(below).unwrap();
        self.stream
            .messages
            .retain(|sequence, _| *sequence >= below);
        if told {
            let found = self.ledger.removed((0, below.saturating_sub(1)));
            assert_eq!(found, self.model.removed(|gone| gone < below));
        }
    }

    fn purge(&mut self, below: u64) {
        let below = below.clamp(1, self.stream.last + 1);
        self.store.remove_below(below).unwrap();
        self.stream
            .messages
            .retain(|sequence, _| *sequence >= below);
        let dropped = self.ledger.purged(below);
        assert_eq!(dropped, self.model.purged(below));
    }

    /// It need not see that it is at the end, if it does not know exactly what is left.
    fn at_end(&mut self, limit: usize, asked: bool) {
        let arrived = asked.then(|| self.index.arrived(3));
        let found = self.ledger.is_at_end(&mut self.store, limit, arrived);
        let model = &mut self.model;
        let is_full = model.policy != AckPolicy::None && limit > 0 && model.pending.len() >= limit;
        let left = model.behind_cursor(&self.stream);
        if found.unwrap() {
            assert!(!is_full && left == 0 && model.queue.is_empty() && model.listed.is_empty());
            model.cursor = model.cursor.max(self.stream.last + 1);
        }
    }

    fn peek(&mut self) {
        let found = self.ledger.peek(&mut self.store).unwrap();
        let messages = &self.stream.messages;
        let is_there = |sequence: &&u64| messages.contains_key(sequence);
        let listed = self.model.listed.iter().find(is_there).copied();
        let first = listed.unwrap_or(u64::MAX);
        let dead: Vec<u64> = self
            .model
            .listed
            .iter()
            .copied()
            .filter(|s| *s < first)
            .collect();
        self.model.removed(|gone| dead.contains(&gone));
        let mut ahead = messages.range(self.model.cursor..);
        let ahead = ahead.find(|(_, message)| self.model.is_meant(message));
        let expected = listed.or(ahead.map(|(sequence, _)| *sequence));
        if found.is_some() || listed.is_some() {
            assert_eq!(
                found,
                expected.map(|sequence| (sequence, messages[&sequence].time_ns))
            );
        }
    }
}

proptest! {
    #[test]
    fn a_ledger_has_what_loops_over_maps_give(
        policy in prop_oneof![Just(AckPolicy::Explicit), Just(AckPolicy::All), Just(AckPolicy::None)],
        filter in 0..FILTERS.len(),
        listed in any::<bool>(),
        in_files in prop::bool::weighted(0.25),
        operations in vec(operation(), 1..60),
    ) {
        let mut bench = Bench::new(policy, filter, listed, in_files);
        for operation in operations {
            bench.run(operation);
        }
        bench.check_replay();
    }

    #[test]
    fn bytes_that_are_no_state_are_refused_and_change_nothing(
        bytes in vec(any::<u8>(), 0..60),
        cut in 0..200usize,
        flip in 0..200usize,
    ) {
        let mut ledger = Ledger::new(AckPolicy::Explicit, b"", Filter::everything(), true);
        let before = ledger.snapshot();
        if ledger.restore(&bytes).is_err() && ledger.apply(&bytes).is_err() {
            prop_assert_eq!(ledger.snapshot(), before);
        }
        let mut bench = Bench::new(AckPolicy::Explicit, 0, false, false);
        bench.deliver(&[(0, 3, 0)], (0, 0, 0), "", false);
        bench.ledger.nak(3, 2);
        for mut bytes in [bench.ledger.snapshot(), bench.ledger.take_changes()] {
            let place = flip % bytes.len();
            bytes[place] ^= 1 << (flip % 7);
            bytes.truncate(cut.max(1));
            let _ = bench.ledger.apply(&bytes);
            let _ = bench.ledger.restore(&bytes);
            bench.ledger.expire(i64::MAX, &[1], 0);
            bench.ledger.removed((0, u64::MAX >> 2));
        }
    }
}
