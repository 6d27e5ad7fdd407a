//! Who listens: the answer for one subject.

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
    pub(crate) fn add_group(&mut self, group: &Group) {
        match self
            .groups
            .iter_mut()
            .find(|other| other.name == group.name)
        {
            Some(other) => other.members.extend_from_slice(&group.members),
            None => self.groups.push(group.clone()),
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.groups.is_empty() && self.targets.is_empty()
    }
}
