//! Groups and runs: how Python walks the vector.
//!
//! A group is a stretch of the vector that can be handled without Python looking at its frames
//! (publishes of connections in the bulk lane), or one that it must look at (everything else:
//! SUB, UNSUB and CONNECT change routes and rights, so they are barriers). A run is the part of a
//! bulk group that goes to one target of the server itself, in order of arrival.

use crate::hub::Hub;
use crate::rows::Rows;
use ahash::AHashMap;
use penstock_subjects::Matches;
use penstock_wire::Verb;
use std::sync::Arc;

const UNRESOLVED: u32 = u32::MAX;
const ROUTES_WEIGHT_MAX: usize = 1 << 20; // listeners kept at a time: 4 MB of numbers

/// The routes of this turn's frames. Frames with the same subject in a row share an answer.
#[derive(Default)]
pub(crate) struct Routes {
    of_entry: Vec<u32>,
    answers: Vec<Arc<Matches>>,
    pub picked: Vec<u32>,
}

impl Routes {
    pub fn clear(&mut self) {
        self.of_entry.clear();
        self.answers.clear();
        self.picked.clear();
    }

    pub fn answer(&self, index: usize) -> Option<(u32, &Arc<Matches>)> {
        let number = *self.of_entry.get(index)?;
        Some((number, self.answers.get(number as usize)?))
    }
}

/// Frames `picked[start..end]` go to `target`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub target: u32,
    pub start: usize,
    pub end: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The whole group may go through `fan_out`; otherwise Python looks at each frame.
    pub bulk: bool,
    pub start: usize,
    pub end: usize,
    pub runs: Vec<Run>,
}

impl Hub {
    /// The group that begins at `from`, or none at the end of the vector. The routes of the group
    /// before are forgotten.
    pub fn next_group(&mut self, from: usize) -> Option<Group> {
        self.routes.clear();
        let count = self.vector.entries.len();
        let start = (from..count).find(|index| !self.is_passed_over(*index))?;
        let bulk = self.is_bulk(start);
        let mut end = start + 1;
        while end < count && (self.is_bulk(end) == bulk || self.is_passed_over(end)) {
            end += 1;
        }
        let mut runs = Vec::new();
        if bulk {
            end = self.resolve(start, end);
            runs = self.pick_runs(start, end);
        }
        Some(Group {
            bulk,
            start,
            end,
            runs,
        })
    }

    /// Finds the routes of a stretch of publishes, and the runs in it.
    pub fn runs(&mut self, start: usize, end: usize) -> Vec<Run> {
        let end = end.min(self.vector.entries.len());
        let end = self.resolve(start, end);
        self.pick_runs(start, end)
    }

    /// True for frames of connections that are gone, and for frames that were taken back.
    #[must_use]
    pub fn is_passed_over(&self, index: usize) -> bool {
        self.vector.entries.get(index).is_none_or(|entry| {
            entry.frame.verb == Verb::Skipped || self.connections[entry.slot as usize].is_none()
        })
    }

    fn is_bulk(&self, index: usize) -> bool {
        let entry = &self.vector.entries[index];
        let Some(connection) = &self.connections[entry.slot as usize] else {
            return false;
        };
        connection.switches.bulk
            && match entry.frame.verb {
                Verb::Publish => true,
                Verb::PublishWithHeaders => connection.switches.headers,
                _ => false,
            }
    }

    /// Finds the routes of the publishes in a stretch of the vector, or of its beginning if the
    /// answers become too many to keep; returns where it ended.
    #[allow(clippy::cast_possible_truncation)] // answers are fewer than frames
    pub(crate) fn resolve(&mut self, start: usize, end: usize) -> usize {
        let routes = &mut self.routes;
        routes
            .of_entry
            .resize(self.vector.entries.len(), UNRESOLVED);
        let bytes = self.vector.bytes();
        let mut last: Option<(u32, &[u8], u32)> = None;
        let mut rows = Rows::default();
        let mut weight = 0;
        for index in start..end {
            let entry = &self.vector.entries[index];
            let Some(connection) = &self.connections[entry.slot as usize] else {
                continue;
            };
            if !entry.frame.is_publish() {
                continue;
            }
            let account = connection.switches.account;
            let subject = entry.frame.subject.of(bytes);
            if let Some((last_account, last_subject, number)) = last
                && last_account == account
                && last_subject == subject
            {
                routes.of_entry[index] = number;
                continue;
            }
            if let Some(number) = rows.find(account, subject) {
                routes.of_entry[index] = number;
                last = Some((account, subject, number));
                continue;
            }
            let Some(router) = self.accounts.get_mut(account as usize) else {
                continue;
            };
            if weight > ROUTES_WEIGHT_MAX {
                return index;
            }
            let number = routes.answers.len() as u32;
            let row = rows.begin(router, account, entry.slot, subject, number);
            let answer = row.unwrap_or_else(|| router.find(subject));
            weight += answer.weight() + 1;
            routes.answers.push(answer);
            routes.of_entry[index] = number;
            last = Some((account, subject, number));
        }
        end
    }

    /// Stable partition of a group by target.
    #[allow(clippy::cast_possible_truncation)] // frames of a turn are far fewer than 4 G
    pub(crate) fn pick_runs(&mut self, start: usize, end: usize) -> Vec<Run> {
        let mut order: Vec<u32> = Vec::new();
        let mut frames: AHashMap<u32, Vec<u32>> = AHashMap::default();
        for index in start..end {
            let Some((_, matches)) = self.routes.answer(index) else {
                continue;
            };
            for target in &matches.targets {
                let list = frames.entry(*target).or_insert_with(|| {
                    order.push(*target);
                    Vec::new()
                });
                list.push(index as u32);
            }
        }
        let picked = &mut self.routes.picked;
        let mut runs = Vec::with_capacity(order.len());
        for target in order {
            let from = picked.len();
            picked.extend_from_slice(&frames[&target]);
            runs.push(Run {
                target,
                start: from,
                end: picked.len(),
            });
        }
        runs
    }

    /// The vector's index of a picked frame.
    #[must_use]
    pub fn picked(&self, position: usize) -> Option<usize> {
        self.routes
            .picked
            .get(position)
            .map(|index| *index as usize)
    }
}
