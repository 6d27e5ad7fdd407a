//! Which consumers of a stream a message concerns, and how many messages each has had so far.
//!
//! Strategy: frames with the same subject in a row are looked up once; consumers without filters
//! are not looked up at all but share one count. Only those that wait are told of.

use crate::count::Arrived;
use ahash::AHashMap;
use penstock_blocks::Copies;
use penstock_subjects::{Listener, Matches, Router};
use penstock_turn::Hub;

const EVERYTHING: &[u8] = b">";

#[derive(Default)]
struct Consumer {
    /// Empty for everything.
    filters: Vec<Vec<u8>>,
    waits: bool,
    /// Another one whenever `total` begins anew.
    epoch: u64,
    total: u64,
    /// A message for it, and how many came before that one.
    first: u64,
    before: u64,
    /// The last lookup that found it, and the last run it was told of.
    lookup: u64,
    run: u64,
}

/// Consumers by a number of the caller's.
#[derive(Default)]
pub struct FilterIndex {
    router: Router,
    consumers: AHashMap<u32, Consumer>,
    /// Consumers without filters that wait, in the order they began to.
    unfiltered: Vec<u32>,
    /// Messages so far, and the last one's sequence; 0 before the first.
    total: u64,
    last: u64,
    epochs: u64,
    /// Numbers the lookups and the runs.
    lookups: u64,
    runs: u64,
}

impl FilterIndex {
    /// Adds a consumer, or changes its filters.
    pub fn set(&mut self, number: u32, filters: &[Vec<u8>]) {
        let waits = self.remove(number);
        let everything = filters.iter().any(|filter| filter == EVERYTHING);
        let filters = if everything { &[] } else { filters };
        for filter in filters {
            self.router.insert(filter, None, Listener::Plain(number));
        }
        self.epochs += 1;
        let consumer = Consumer {
            filters: filters.to_vec(),
            epoch: self.epochs,
            ..Consumer::default()
        };
        self.consumers.insert(number, consumer);
        self.wait(number, waits);
    }

    /// Forgets a consumer; true if it was waiting.
    pub fn remove(&mut self, number: u32) -> bool {
        let Some(consumer) = self.consumers.remove(&number) else {
            return false;
        };
        for filter in &consumer.filters {
            self.router.remove(filter, None, Listener::Plain(number));
        }
        self.unfiltered.retain(|other| *other != number);
        consumer.waits
    }

    /// Whether a consumer is to be told of messages.
    pub fn wait(&mut self, number: u32, waits: bool) {
        let Some(consumer) = self.consumers.get_mut(&number) else {
            return;
        };
        if std::mem::replace(&mut consumer.waits, waits) != waits && consumer.filters.is_empty() {
            if waits {
                self.unfiltered.push(number);
            } else {
                self.unfiltered.retain(|other| *other != number);
            }
        }
    }

    /// Counts the frames `picked[start..end]`, whose sequences are those from `first` on; who
    /// waits for one of them.
    pub fn count_run(&mut self, hub: &Hub, start: usize, end: usize, first: u64) -> Vec<u32> {
        let subjects = hub.run(start, end).map(|(subject, _, _)| subject);
        self.count(subjects, first)
    }

    /// Counts one message.
    pub fn count_message(&mut self, subject: &[u8], sequence: u64) -> Vec<u32> {
        self.count(std::iter::once(subject), sequence)
    }

    /// Counts copies, whose sequences may have gaps; who waits for one of them.
    pub fn count_copies(&mut self, copies: &Copies) -> Vec<u32> {
        let mut woken = Vec::new();
        let mut row: Vec<&[u8]> = Vec::new();
        let mut first = 0;
        for message in copies.messages() {
            if !row.is_empty() && message.sequence != first + row.len() as u64 {
                woken.extend(self.count(row.drain(..), first));
            }
            if row.is_empty() {
                first = message.sequence;
            }
            row.push(message.subject);
        }
        if !row.is_empty() {
            woken.extend(self.count(row.into_iter(), first));
        }
        woken
    }

    fn count<'a>(&mut self, subjects: impl Iterator<Item = &'a [u8]>, first: u64) -> Vec<u32> {
        self.runs += 1;
        if self.last != 0 && first != self.last + 1 {
            self.lose_count();
        }
        let mut woken = self.unfiltered.clone();
        let mut row: Option<(&[u8], u64, u64)> = None;
        let mut sequence = first;
        for subject in subjects {
            match &mut row {
                Some((known, _, count)) if *known == subject => *count += 1,
                _ => {
                    self.count_row(row.replace((subject, sequence, 1)), &mut woken);
                }
            }
            sequence += 1;
        }
        self.count_row(row, &mut woken);
        self.total += sequence - first;
        self.last = sequence - 1;
        woken
    }

    /// Messages in a row with the same subject: that, the first sequence, how many.
    fn count_row(&mut self, row: Option<(&[u8], u64, u64)>, woken: &mut Vec<u32>) {
        let Some((subject, sequence, count)) = row.filter(|_| !self.router.is_empty()) else {
            return;
        };
        self.lookups += 1;
        let matches = self.router.find(subject);
        self.add(&matches, sequence, count, woken);
    }

    fn add(&mut self, matches: &Matches, sequence: u64, count: u64, woken: &mut Vec<u32>) {
        for number in &matches.plain {
            let Some(consumer) = self.consumers.get_mut(number) else {
                continue;
            };
            if std::mem::replace(&mut consumer.lookup, self.lookups) == self.lookups {
                continue; // two of its filters match
            }
            if consumer.first == 0 {
                (consumer.first, consumer.before) = (sequence, consumer.total);
            }
            consumer.total += count;
            if consumer.waits && std::mem::replace(&mut consumer.run, self.runs) != self.runs {
                woken.push(*number);
            }
        }
    }

    /// Some messages were not counted: what is known is no use any more.
    fn lose_count(&mut self) {
        for consumer in self.consumers.values_mut() {
            self.epochs += 1;
            (consumer.epoch, consumer.first, consumer.total) = (self.epochs, 0, 0);
        }
    }

    /// What a ledger needs to know. Asking again begins a new search for the next message.
    pub fn arrived(&mut self, number: u32) -> Arrived {
        let (last, all) = (self.last, self.total);
        let Some(consumer) = self.consumers.get_mut(&number) else {
            return Arrived::default();
        };
        let is_filtered = !consumer.filters.is_empty();
        Arrived {
            epoch: consumer.epoch,
            total: if is_filtered { consumer.total } else { all },
            last,
            first: std::mem::take(&mut consumer.first),
            before: consumer.before,
        }
    }
}
