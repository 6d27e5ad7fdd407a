//! The names of the simulated disk: a tree of directories, each with the entries that can be seen
//! and those that are durable.
//!
//! A change (create, rename, remove) is a set of assignments made together or not at all. It waits
//! until one of its directories is synced; a power cut keeps some of the waiting changes and
//! loses others.

use crate::content::Content;
use crate::random::Random;
use std::collections::BTreeMap;

pub(crate) const ROOT: u64 = 0;

type Entries = BTreeMap<String, u64>;

pub(crate) enum Node {
    Directory { live: Entries, durable: Entries },
    File(Content),
}

/// What `name` in `directory` means from now on; None for nothing.
struct Assignment {
    directory: u64,
    name: String,
    node: Option<u64>,
}

pub(crate) struct Names {
    nodes: Vec<Node>,
    pending: Vec<Vec<Assignment>>,
}

impl Names {
    pub fn new() -> Names {
        Names {
            nodes: vec![empty_directory()],
            pending: Vec::new(),
        }
    }

    pub fn find(&self, path: &str) -> Option<u64> {
        let mut node = ROOT;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            node = *self.entries(node)?.get(name)?;
        }
        Some(node)
    }

    /// The directory that holds `path`, and the last name of it.
    pub fn locate<'a>(&self, path: &'a str) -> Option<(u64, &'a str)> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let directory = self.find(parent)?;
        self.entries(directory)?;
        Some((directory, name))
    }

    pub fn entries(&self, node: u64) -> Option<&Entries> {
        match self.nodes.get(index(node))? {
            Node::Directory { live, .. } => Some(live),
            Node::File(_) => None,
        }
    }

    pub fn content(&mut self, node: u64) -> Option<&mut Content> {
        match self.nodes.get_mut(index(node))? {
            Node::Directory { .. } => None,
            Node::File(content) => Some(content),
        }
    }

    pub fn create(&mut self, directory: u64, name: &str, is_directory: bool) -> u64 {
        let node = self.nodes.len() as u64;
        self.nodes.push(if is_directory {
            empty_directory()
        } else {
            Node::File(Content::default())
        });
        self.change(vec![assign(directory, name, Some(node))]);
        node
    }

    pub fn remove(&mut self, directory: u64, name: &str) {
        self.change(vec![assign(directory, name, None)]);
    }

    pub fn rename(&mut self, from: (u64, &str), to: (u64, &str), node: u64) {
        let away = assign(from.0, from.1, None);
        self.change(vec![away, assign(to.0, to.1, Some(node))]);
    }

    pub fn remove_tree(&mut self, directory: u64, name: &str) {
        let node = self.entries(directory).and_then(|e| e.get(name)).copied();
        let inside = node.and_then(|node| self.entries(node)).cloned();
        for child in inside.unwrap_or_default().keys() {
            self.remove_tree(node.unwrap_or(ROOT), child);
        }
        self.remove(directory, name);
    }

    /// Makes the changes of a directory durable, and with them those of every directory that a
    /// rename tied to it.
    pub fn sync(&mut self, directory: u64) {
        let mut together = vec![directory];
        let mut known = 0;
        while known < together.len() {
            known = together.len();
            for change in &self.pending {
                if change.iter().any(|part| together.contains(&part.directory)) {
                    let others = change.iter().map(|part| part.directory);
                    let new: Vec<u64> = others.filter(|other| !together.contains(other)).collect();
                    together.extend(new);
                }
            }
        }
        for change in std::mem::take(&mut self.pending) {
            if change.iter().any(|part| together.contains(&part.directory)) {
                self.settle(change);
            } else {
                self.pending.push(change);
            }
        }
    }

    pub fn crash(&mut self, random: &mut Random) {
        for change in std::mem::take(&mut self.pending) {
            if random.below(2) == 0 {
                self.settle(change);
            }
        }
        for node in &mut self.nodes {
            match node {
                Node::Directory { live, durable } => live.clone_from(durable),
                Node::File(content) => content.crash(random),
            }
        }
    }

    fn change(&mut self, change: Vec<Assignment>) {
        for part in &change {
            if let Some(Node::Directory { live, .. }) = self.nodes.get_mut(index(part.directory)) {
                put(live, part);
            }
        }
        self.pending.push(change);
    }

    fn settle(&mut self, change: Vec<Assignment>) {
        for part in change {
            if let Some(Node::Directory { durable, .. }) = self.nodes.get_mut(index(part.directory))
            {
                put(durable, &part);
            }
        }
    }
}

fn put(entries: &mut Entries, part: &Assignment) {
    match part.node {
        Some(node) => entries.insert(part.name.clone(), node),
        None => entries.remove(&part.name),
    };
}

fn assign(directory: u64, name: &str, node: Option<u64>) -> Assignment {
    Assignment {
        directory,
        name: name.to_owned(),
        node,
    }
}

fn empty_directory() -> Node {
    Node::Directory {
        live: Entries::new(),
        durable: Entries::new(),
    }
}

#[allow(clippy::cast_possible_truncation)] // nodes are numbered by their place in a vector
fn index(node: u64) -> usize {
    node as usize
}
