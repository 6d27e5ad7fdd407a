//! A trie of subject tokens. Nodes live in a slab and name each other by number, so there is no
//! recursion: a hostile subject of two thousand tokens costs a loop, not a stack.
//!
//! Invariant: a node without listeners and without children is removed with its last listener.

use crate::matches::{Group, Listener, Matches};
use crate::subject::tokens;
use ahash::AHashMap;

const ROOT: usize = 0;

#[derive(Default)]
struct Node {
    literal: AHashMap<Box<[u8]>, usize>,
    star: Option<usize>,
    tail: Option<usize>,
    plain: Vec<u32>,
    targets: Vec<u32>,
    groups: Vec<Group>,
}

impl Node {
    fn is_empty(&self) -> bool {
        self.plain.is_empty()
            && self.targets.is_empty()
            && self.groups.is_empty()
            && self.literal.is_empty()
            && self.star.is_none()
            && self.tail.is_none()
    }

    fn child(&self, token: &[u8]) -> Option<usize> {
        match token {
            b"*" => self.star,
            b">" => self.tail,
            _ => self.literal.get(token).copied(),
        }
    }

    fn collect(&self, into: &mut Matches) {
        into.plain.extend_from_slice(&self.plain);
        into.targets.extend_from_slice(&self.targets);
        for group in &self.groups {
            into.add_group(group);
        }
    }
}

/// Patterns and their listeners.
pub struct Trie {
    nodes: Vec<Node>,
    free: Vec<usize>,
    len: usize,
}

impl Default for Trie {
    fn default() -> Self {
        Trie {
            nodes: vec![Node::default()],
            free: Vec::new(),
            len: 0,
        }
    }
}

impl Trie {
    /// How many listeners there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a listener; the pattern must be valid. A queue group only takes plain listeners.
    pub fn insert(&mut self, pattern: &[u8], queue: Option<&[u8]>, listener: Listener) {
        let mut at = ROOT;
        for token in tokens(pattern) {
            at = match self.nodes[at].child(token) {
                Some(child) => child,
                None => self.grow(at, token),
            };
        }
        let node = &mut self.nodes[at];
        match (listener, queue) {
            (Listener::Target(number), _) => node.targets.push(number),
            (Listener::Plain(number), None) => node.plain.push(number),
            (Listener::Plain(number), Some(name)) => {
                match node.groups.iter_mut().find(|group| *group.name == *name) {
                    Some(group) => group.members.push(number),
                    None => node.groups.push(Group {
                        name: name.into(),
                        members: vec![number],
                    }),
                }
            }
        }
        self.len += 1;
    }

    /// Removes a listener; true if it was there.
    pub fn remove(&mut self, pattern: &[u8], queue: Option<&[u8]>, listener: Listener) -> bool {
        let mut path = vec![(ROOT, &b""[..])];
        let mut at = ROOT;
        for token in tokens(pattern) {
            let Some(child) = self.nodes[at].child(token) else {
                return false;
            };
            at = child;
            path.push((at, token));
        }
        let node = &mut self.nodes[at];
        let removed = match (listener, queue) {
            (Listener::Target(number), _) => take(&mut node.targets, number),
            (Listener::Plain(number), None) => take(&mut node.plain, number),
            (Listener::Plain(number), Some(name)) => {
                let group = node.groups.iter_mut().find(|group| *group.name == *name);
                let taken = group.is_some_and(|group| take(&mut group.members, number));
                node.groups.retain(|group| !group.members.is_empty());
                taken
            }
        };
        if removed {
            self.len -= 1;
            self.prune(&path);
        }
        removed
    }

    /// Everybody who listens to the literal `subject`. Nobody listens to one with an empty token.
    pub fn find(&self, subject: &[u8], into: &mut Matches) {
        if tokens(subject).any(<[u8]>::is_empty) {
            return;
        }
        // (node, offset of the next token); an offset past the end means no token is left.
        let mut open = vec![(ROOT, 0usize)];
        while let Some((at, offset)) = open.pop() {
            let node = &self.nodes[at];
            let Some(rest) = subject.get(offset..) else {
                node.collect(into);
                continue;
            };
            if let Some(tail) = node.tail {
                self.nodes[tail].collect(into);
            }
            let token_bytes = rest
                .iter()
                .position(|byte| *byte == b'.')
                .unwrap_or(rest.len());
            let next = offset + token_bytes + 1;
            if let Some(star) = node.star {
                open.push((star, next));
            }
            if let Some(child) = node.literal.get(&rest[..token_bytes]) {
                open.push((*child, next));
            }
        }
    }

    fn grow(&mut self, parent: usize, token: &[u8]) -> usize {
        let child = self.free.pop().unwrap_or_else(|| {
            self.nodes.push(Node::default());
            self.nodes.len() - 1
        });
        let node = &mut self.nodes[parent];
        match token {
            b"*" => node.star = Some(child),
            b">" => node.tail = Some(child),
            _ => {
                node.literal.insert(token.into(), child);
            }
        }
        child
    }

    fn prune(&mut self, path: &[(usize, &[u8])]) {
        for pair in path.windows(2).rev() {
            let (parent, (child, token)) = (pair[0].0, pair[1]);
            if !self.nodes[child].is_empty() {
                return;
            }
            let node = &mut self.nodes[parent];
            match token {
                b"*" => node.star = None,
                b">" => node.tail = None,
                _ => {
                    node.literal.remove(token);
                    if node.literal.is_empty() {
                        node.literal = AHashMap::default();
                    }
                }
            }
            self.nodes[child] = Node::default();
            self.free.push(child);
        }
    }
}

fn take(list: &mut Vec<u32>, number: u32) -> bool {
    match list.iter().position(|other| *other == number) {
        Some(index) => {
            list.swap_remove(index);
            true
        }
        None => false,
    }
}
