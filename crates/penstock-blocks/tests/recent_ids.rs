//! Ids and times in any order of questions give what a list of all of them gives.
#![allow(clippy::unwrap_used)]

use penstock_blocks::RecentIds;
use proptest::prelude::*;

const WHILE_NS: i64 = 50;

#[derive(Clone, Debug)]
enum Step {
    Remember { ids: Vec<u16>, at_once: bool },
    Ask { ids: Vec<u16> },
    Find { id: u16 },
    Wait { ns: i64 },
}

fn step() -> impl Strategy<Value = Step> {
    let few = || proptest::collection::vec(0..12u16, 0..6);
    let many = proptest::collection::vec(any::<u16>(), 0..400);
    prop_oneof![
        4 => (few(), any::<bool>()).prop_map(|(ids, at_once)| Step::Remember { ids, at_once }),
        1 => (many, any::<bool>()).prop_map(|(ids, at_once)| Step::Remember { ids, at_once }),
        3 => few().prop_map(|ids| Step::Ask { ids }),
        4 => (0..12u16).prop_map(|id| Step::Find { id }),
        3 => (0..30i64).prop_map(|ns| Step::Wait { ns }),
        1 => Just(Step::Wait { ns: WHILE_NS + 1 }),
    ]
}

/// Ids of many lengths, so that they lie across the end of a queue.
fn text(id: u16) -> Vec<u8> {
    format!("{id}-{}", "i".repeat(usize::from(id % 23))).into_bytes()
}

#[derive(Default)]
struct Both {
    ids: RecentIds,
    /// Id, sequence, time, in the order they came.
    all: Vec<(Vec<u8>, u64, i64)>,
    now_ns: i64,
}

impl Both {
    fn remember(&mut self, ids: &[u16], at_once: bool) {
        let first = self.all.len() as u64 + 1;
        let texts: Vec<Vec<u8>> = ids.iter().map(|id| text(*id)).collect();
        let rows = (first..)
            .zip(&texts)
            .map(|(n, id)| (&id[..], n, self.now_ns));
        if at_once {
            self.ids.remember_all(rows.clone());
        } else {
            rows.clone()
                .for_each(|(id, n, time_ns)| self.ids.remember(id, n, time_ns));
        }
        self.all
            .extend(rows.map(|(id, n, time_ns)| (id.to_vec(), n, time_ns)));
    }

    fn known(&self, id: &[u8]) -> Option<u64> {
        let since_ns = self.now_ns - WHILE_NS;
        let newest = self.all.iter().rev().find(|(known, ..)| known == id);
        newest
            .filter(|entry| entry.2 >= since_ns)
            .map(|entry| entry.1)
    }

    fn find(&mut self, id: u16) {
        let id = text(id);
        let found = self.ids.find(&id, self.now_ns - WHILE_NS);
        assert_eq!(found, self.known(&id), "{id:?}");
    }

    fn ask(&mut self, ids: &[u16]) {
        let texts: Vec<Vec<u8>> = ids.iter().map(|id| text(*id)).collect();
        let mut distinct = texts.clone();
        distinct.sort();
        distinct.dedup();
        let unknown = texts.iter().all(|id| self.known(id).is_none());
        let asked: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        let are_new = self.ids.are_new(&asked, self.now_ns - WHILE_NS);
        assert_eq!(
            are_new,
            unknown && distinct.len() == texts.len(),
            "{texts:?}"
        );
    }

    fn check(&self) {
        let newest = self.ids.newest();
        let last = self
            .all
            .last()
            .map(|(id, sequence, _)| (id.clone(), *sequence));
        assert!(newest == last || newest.is_none() && self.ids.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn recent_ids_are_a_list(steps in proptest::collection::vec(step(), 1..120)) {
        let mut both = Both::default();
        for step in &steps {
            match step {
                Step::Remember { ids, at_once } => both.remember(ids, *at_once),
                Step::Ask { ids } => both.ask(ids),
                Step::Find { id } => both.find(*id),
                Step::Wait { ns } => both.now_ns += ns,
            }
            both.check();
        }
    }
}

#[test]
fn what_is_old_is_let_go() {
    let mut ids = RecentIds::default();
    let mut bytes_max = 0;
    for number in 0..100_000u64 {
        let (id, now_ns) = (number.to_string(), number as i64);
        assert!(ids.are_new(&[id.as_bytes()], now_ns - 1000));
        ids.remember(id.as_bytes(), number, now_ns);
        bytes_max = bytes_max.max(ids.bytes());
    }
    assert_eq!(ids.len(), 1001);
    assert!(bytes_max < 1 << 17, "{bytes_max}");
    assert_eq!(ids.find(b"98999", 98_999), Some(98_999));
    assert_eq!(ids.find(b"98999", 99_000), None);
}

#[test]
fn the_memory_of_a_burst_comes_back() {
    let mut ids = RecentIds::default();
    for number in 0..200_000u64 {
        ids.remember(&number.to_le_bytes(), number, 0);
    }
    let burst = ids.bytes();
    ids.remember(b"the next", 200_000, 1);
    for _ in 0..100_000 {
        assert_eq!(ids.find(b"the next", 1), Some(200_000));
    }
    assert_eq!(ids.len(), 1);
    assert!(ids.bytes() < burst / 8, "{} of {burst}", ids.bytes());
    assert_eq!(ids.find(b"the next", 2), None);
    assert!(ids.is_empty());
}
