//! A store as simple as it can be: a map. What the real one answers is compared with it.

#![allow(dead_code)] // each test file uses its part

use penstock_blocks::{
    Content, Filter, Limits, Store, Visit, WalkEnd, file_bytes, matches, memory_bytes,
};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub timestamp_ns: i64,
    pub subject: Vec<u8>,
    pub headers: Vec<u8>,
    pub message: Vec<u8>,
}

#[derive(Clone, Debug, Default)]
pub struct Model {
    pub messages: BTreeMap<u64, Entry>,
    pub last: u64,
    pub last_timestamp_ns: i64,
    pub in_memory: bool,
}

/// Sequence, time and the value of a header.
pub type Row = (u64, i64, Vec<u8>);

/// The rows of a column, asked for in pieces of so many bytes.
pub fn header_rows(store: &mut Store, name: &str, from: u64, bytes_max: usize) -> Vec<Row> {
    let (mut rows, mut next) = (Vec::new(), Some(from));
    while let Some(from) = next {
        let (column, rest) = store
            .header_values(name.as_bytes(), from, bytes_max)
            .unwrap();
        let mut start = 0;
        for (row, end) in column.ends.iter().enumerate() {
            let value = &column.values[start..*end as usize];
            let (sequence, time_ns) = (column.sequences[row], column.timestamps_ns[row]);
            rows.push((sequence, time_ns, value.to_vec()));
            start = *end as usize;
        }
        assert_eq!((start, rest > next), (column.values.len(), rest.is_some()));
        next = rest;
    }
    rows
}

/// The value of the first header of a name, the slow way.
pub fn header_value(headers: &[u8], name: &str) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(headers).unwrap();
    let line = |line: &str| Some(line.strip_prefix(name)?.strip_prefix(':')?.to_owned());
    let value = text.split("\r\n").skip(1).find_map(line)?;
    Some(value.trim_start_matches(' ').as_bytes().to_vec())
}

pub const SUBJECTS: [&str; 9] = [
    "a",
    "a.b",
    "a.b.c",
    "a.c",
    "b.a.c",
    "orders.eu.new",
    "orders.us.new",
    "orders.us.paid",
    "x.y",
];
pub const PATTERNS: [&str; 10] = [
    ">",
    "a",
    "a.*",
    "a.>",
    "*",
    "*.*.*",
    "orders.*.new",
    "orders.us.>",
    "nothing.here",
    "*.a.>",
];

impl Model {
    pub fn append(&mut self, store: &mut Store, sequence: u64, entry: Entry) {
        let content = Content {
            sequence,
            timestamp_ns: entry.timestamp_ns,
            subject: &entry.subject,
            headers: &entry.headers,
            message: &entry.message,
        };
        store.append(&content).unwrap();
        self.last = sequence;
        self.last_timestamp_ns = entry.timestamp_ns;
        self.messages.insert(sequence, entry);
    }

    pub fn bytes_of(&self, entry: &Entry) -> u64 {
        let count = if self.in_memory {
            memory_bytes
        } else {
            file_bytes
        };
        count(
            entry.subject.len(),
            entry.headers.len(),
            entry.message.len(),
        ) as u64
    }

    pub fn bytes(&self) -> u64 {
        self.messages
            .values()
            .map(|entry| self.bytes_of(entry))
            .sum()
    }

    pub fn first(&self) -> u64 {
        self.messages
            .keys()
            .next()
            .copied()
            .unwrap_or(self.last + 1)
    }

    pub fn enforce(&mut self, limits: &Limits) {
        if limits.messages_per_subject > 0 {
            let mut seen: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
            let newest_first: Vec<u64> = self.messages.keys().rev().copied().collect();
            for sequence in newest_first {
                let count = seen
                    .entry(self.messages[&sequence].subject.clone())
                    .or_default();
                *count += 1;
                if *count > limits.messages_per_subject {
                    self.messages.remove(&sequence);
                }
            }
        }
        while limits.messages > 0 && self.messages.len() as u64 > limits.messages
            || limits.bytes > 0 && self.bytes() > limits.bytes
        {
            self.messages.pop_first();
        }
    }

    pub fn matching<'a>(&'a self, patterns: &'a [&str]) -> impl DoubleEndedIterator<Item = u64> {
        let means = |subject: &[u8]| {
            patterns.is_empty() || patterns.iter().any(|p| matches(p.as_bytes(), subject))
        };
        self.messages
            .iter()
            .filter(move |(_, e)| means(&e.subject))
            .map(|(sequence, _)| *sequence)
    }

    pub fn check(&self, store: &mut Store) {
        let state = store.state().unwrap();
        assert_eq!(state.messages, self.messages.len() as u64, "messages");
        assert_eq!(state.bytes, self.bytes(), "bytes");
        assert_eq!(state.first_sequence, self.first(), "first");
        assert_eq!(state.last_sequence, self.last, "last");
        let first_time = self
            .messages
            .values()
            .next()
            .map_or(0, |entry| entry.timestamp_ns);
        assert_eq!(state.first_timestamp_ns, first_time);
        let span = self.last + 1 - self.first();
        assert_eq!(state.deleted, span - state.messages, "deleted");
        let subjects: BTreeSet<&[u8]> = self.messages.values().map(|e| &e.subject[..]).collect();
        assert_eq!(state.subjects, subjects.len() as u64, "subjects");
        for sequence in self.first().saturating_sub(2)..=self.last + 1 {
            let loaded = store.load(sequence).unwrap().map(|message| Entry {
                timestamp_ns: message.timestamp_ns,
                subject: message.subject.to_vec(),
                headers: message.headers.to_vec(),
                message: message.message.to_vec(),
            });
            assert_eq!(
                loaded.as_ref(),
                self.messages.get(&sequence),
                "load {sequence}"
            );
        }
        let deleted: Vec<u64> = store
            .deleted()
            .unwrap()
            .into_iter()
            .flat_map(|(first, last)| first..=last)
            .collect();
        let end = if self.messages.is_empty() {
            0
        } else {
            self.last + 1
        };
        let span = self.first()..end;
        let gone: Vec<u64> = span.filter(|s| !self.messages.contains_key(s)).collect();
        assert_eq!(deleted, gone, "deleted list");
    }

    pub fn check_queries(&self, store: &mut Store, patterns: &[&str], at: u64) {
        let filter = Filter::new(patterns);
        let all: Vec<u64> = self.matching(patterns).collect();
        let next = all.iter().find(|s| **s >= at).copied();
        let last = all.iter().rev().find(|s| **s <= at).copied();
        assert_eq!(
            store.next_matching(&filter, at).unwrap(),
            next,
            "next {patterns:?} {at}"
        );
        assert_eq!(
            store.last_matching(&filter, at).unwrap(),
            last,
            "last {patterns:?} {at}"
        );
        let here = self.messages.range(at..).next().map(|(s, _)| *s);
        assert_eq!(
            store.first_at_or_after(at).unwrap(),
            here,
            "first at or after {at}"
        );
        let here = self.messages.range(..=at).next_back().map(|(s, _)| *s);
        assert_eq!(
            store.last_at_or_before(at).unwrap(),
            here,
            "last at or before {at}"
        );
        let pending = all.iter().filter(|s| **s >= at).count() as u64;
        assert_eq!(
            store.pending(&filter, at, false).unwrap(),
            pending,
            "pending {patterns:?} {at}"
        );

        self.check_subjects(store, &filter, &all, at);
        self.check_walk(store, &filter, &all, at);
    }

    #[allow(clippy::panic)] // of a test
    /// A walk to the end, however often it rests and whatever it is told on the way.
    fn check_walk(&self, store: &mut Store, filter: &Filter, all: &[u64], at: u64) {
        let (mut next, mut walked, mut shown) = (at, Vec::new(), 0u64);
        loop {
            let found = store.walk(filter, next, at % 20, |message| {
                let entry = &self.messages[&message.sequence];
                assert_eq!(message.timestamp_ns, entry.timestamp_ns);
                assert_eq!(message.subject, entry.subject);
                assert_eq!(message.headers, entry.headers);
                assert_eq!(message.message, entry.message);
                shown += 1;
                if shown % 5 == 4 {
                    return Visit::Refuse;
                }
                walked.push(message.sequence);
                if shown.is_multiple_of(3) {
                    Visit::TakeLast
                } else {
                    Visit::Take
                }
            });
            assert!(found.next >= next.max(self.first().min(next)), "never back");
            next = found.next;
            match found.end {
                WalkEnd::Over => break,
                WalkEnd::Stopped | WalkEnd::Paused => {}
                WalkEnd::Failed(error) => panic!("{error}"),
            }
        }
        let expected: Vec<u64> = all.iter().filter(|s| **s >= at).copied().collect();
        assert_eq!(walked, expected, "walk from {at}");
        assert_eq!(next, at.max(self.first()).max(self.last + 1));
        let count = store.count_matching(filter, at).unwrap();
        assert_eq!(count, expected.len() as u64, "count from {at}");
        let alive = self.messages.range(at..).count() as u64;
        assert_eq!(store.alive_from(at).unwrap(), alive, "alive from {at}");
        assert_eq!(store.has(at).unwrap(), self.messages.contains_key(&at));
    }

    fn check_subjects(&self, store: &mut Store, filter: &Filter, all: &[u64], at: u64) {
        let mut by_subject: BTreeMap<&[u8], Vec<u64>> = BTreeMap::new();
        for sequence in all {
            by_subject
                .entry(&self.messages[sequence].subject)
                .or_default()
                .push(*sequence);
        }
        let lasts = by_subject
            .values()
            .filter(|all| all.last() >= Some(&at))
            .count() as u64;
        assert_eq!(
            store.pending(filter, at, true).unwrap(),
            lasts,
            "last per subject {at}"
        );
        let last_up_to = |all: &Vec<u64>| all.iter().rev().find(|s| **s <= at).copied();
        let mut expected: Vec<u64> = by_subject.values().filter_map(last_up_to).collect();
        expected.sort_unstable();
        assert_eq!(
            store.last_by_subjects(filter, at).unwrap(),
            expected,
            "multi last {at}"
        );

        let mut visited = Vec::new();
        store.subjects(filter, |subject, count| {
            visited.push((subject.to_vec(), count))
        });
        let expected: Vec<(Vec<u8>, u64)> = by_subject
            .iter()
            .map(|(s, all)| (s.to_vec(), all.len() as u64))
            .collect();
        assert_eq!(visited, expected, "subjects");
        for (subject, all) in &by_subject {
            let state = store.subject_state(subject).unwrap().unwrap();
            assert_eq!(state.messages, all.len() as u64);
            assert_eq!(Some(&state.first), all.first());
            assert_eq!(Some(&state.last), all.last());
            assert_eq!(store.last_of_subject(subject).unwrap(), all.last().copied());
        }
    }

    pub fn check_headers(&self, store: &mut Store, from: u64, bytes_max: usize) {
        for name in ["Id", "A", "Nothing"] {
            let row = |(sequence, entry): (&u64, &Entry)| {
                let value = header_value(&entry.headers, name)?;
                Some((*sequence, entry.timestamp_ns, value))
            };
            let expected: Vec<Row> = self.messages.range(from..).filter_map(row).collect();
            let rows = header_rows(store, name, from, bytes_max);
            assert_eq!(rows, expected, "header {name} from {from}");
        }
    }

    pub fn check_time(&self, store: &mut Store, time_ns: i64) {
        let at = self
            .messages
            .iter()
            .find(|(_, e)| e.timestamp_ns >= time_ns)
            .map(|(s, _)| *s);
        assert_eq!(
            store.sequence_at_time(time_ns).unwrap(),
            at,
            "at time {time_ns}"
        );
    }
}
