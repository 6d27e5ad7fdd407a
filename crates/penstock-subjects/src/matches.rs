//! Who listens: the answer for one subject.

use ahash::AHashMap;

/// How a listener takes part. The number inside is the caller's own; this crate only keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    /// Gets every message.
    Plain(u32),
    /// A part of the server itself, seen by Python as a run; it gets every message.
    Target(u32),
}

/// A queue group: one member gets each message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub name: Box<[u8]>,
    pub members: Vec<u32>,
}

/// Everybody who listens to one subject. A queue group is its name: members under different
/// patterns that match the same subject are one group, and one of them gets the message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    pub plain: Vec<u32>,
    pub groups: Vec<Group>,
    pub targets: Vec<u32>,
}

impl Matches {
    /// Adds groups with names of their own; members of a group that is there already join it.
    pub(crate) fn add_groups<'a>(&mut self, groups: impl Iterator<Item = (&'a [u8], &'a [u32])>) {
        let known: AHashMap<Box<[u8]>, usize> = self
            .groups
            .iter()
            .map(|group| group.name.clone())
            .zip(0..)
            .collect();
        for (name, members) in groups {
            match known.get(name) {
                Some(place) => self.groups[*place].members.extend_from_slice(members),
                None => self.groups.push(Group {
                    name: name.into(),
                    members: members.to_vec(),
                }),
            }
        }
    }

    /// How many listeners there are, a measure of the memory and the work an answer stands for.
    #[must_use]
    pub fn weight(&self) -> usize {
        let in_groups: usize = self
            .groups
            .iter()
            .map(|group| group.members.len() + 8)
            .sum();
        self.plain.len() + self.targets.len() + in_groups
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.groups.is_empty() && self.targets.is_empty()
    }
}
