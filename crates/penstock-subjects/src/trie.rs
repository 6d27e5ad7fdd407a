//! A trie of subject tokens. Nodes live in a slab and name each other by number, so there is no
//! recursion: a hostile subject of two thousand tokens costs a loop, not a stack.
//!
//! Invariant: a node without listeners and without children is removed with its last listener.

use crate::matches::{Listener, Matches};
use crate::members::Members;
use crate::subject::tokens;
use ahash::AHashMap;

const ROOT: usize = 0;

/// Most nodes have one plain listener and nothing else; the rest lives outside of them.
#[derive(Default)]
struct Node {
    literal: AHashMap<Box<[u8]>, usize>,
    star: Option<usize>,
    tail: Option<usize>,
    plain: Members,
    rare: Option<Box<Rare>>,
}

#[derive(Default)]
struct Rare {
    targets: Members,
    groups: AHashMap<Box<[u8]>, Members>,
}

impl Rare {
    fn is_empty(&self) -> bool {
        self.targets.is_empty() && self.groups.is_empty()
    }

    fn take(&mut self, queue: Option<&[u8]>, number: u32) -> bool {
        let Some(name) = queue else {
            return self.targets.take(number);
        };
        let Some(group) = self.groups.get_mut(name) else {
            return false;
        };
        let taken = group.take(number);
        if group.is_empty() {
            self.groups.remove(name);
        }
        taken
    }
}

impl Node {
    fn is_empty(&self) -> bool {
        self.plain.is_empty()
            && self.rare.is_none()
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
        into.plain.extend_from_slice(self.plain.as_slice());
        if let Some(rare) = &self.rare {
            into.targets.extend_from_slice(rare.targets.as_slice());
            let groups = rare.groups.iter();
            into.add_groups(groups.map(|(name, members)| (&**name, members.as_slice())));
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
            (Listener::Plain(number), None) => node.plain.push(number),
            (Listener::Target(number), _) => {
                node.rare.get_or_insert_default().targets.push(number);
            }
            (Listener::Plain(number), Some(name)) => {
                let groups = &mut node.rare.get_or_insert_default().groups;
                groups.entry(name.into()).or_default().push(number);
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
        let removed = match (listener, queue, &mut node.rare) {
            (Listener::Plain(number), None, _) => node.plain.take(number),
            (Listener::Plain(number), Some(_), Some(rare)) => rare.take(queue, number),
            (Listener::Target(number), _, Some(rare)) => rare.take(None, number),
            _ => false,
        };
        if node.rare.as_ref().is_some_and(|rare| rare.is_empty()) {
            node.rare = None;
        }
        if removed {
            self.len -= 1;
            if self.len == 0 {
                *self = Trie::default(); // gives the memory back
            } else {
                self.prune(&path);
            }
        }
        removed
    }

    /// Everybody who listens to the literal `subject`. Nobody listens to one with an empty token.
    pub fn find(&self, subject: &[u8], into: &mut Matches) {
        self.walk(subject, into, |node, into| {
            node.collect(into);
            true
        });
    }

    /// Everybody who listens to `prefix` and so many tokens more, whatever they are. False if it
    /// matters what they are, because somebody listens to one literally.
    pub fn find_below(&self, prefix: &[u8], tokens: usize, into: &mut Matches) -> bool {
        self.walk(prefix, into, |node, into| {
            let mut node = node;
            for _ in 0..tokens {
                if !node.literal.is_empty() {
                    return false;
                }
                if let Some(tail) = node.tail {
                    self.nodes[tail].collect(into);
                }
                let Some(star) = node.star else {
                    return true;
                };
                node = &self.nodes[star];
            }
            node.collect(into);
            true
        })
    }

    /// The numbers under exactly this pattern: the plain ones, or those of a queue group.
    #[must_use]
    pub fn members(&self, pattern: &[u8], queue: Option<&[u8]>) -> &[u32] {
        let Some(node) = self.node(pattern) else {
            return &[];
        };
        let Some(name) = queue else {
            return node.plain.as_slice();
        };
        let group = node.rare.as_ref().and_then(|rare| rare.groups.get(name));
        group.map_or(&[], Members::as_slice)
    }

    /// True if a target listens to exactly this pattern.
    #[must_use]
    pub fn has_target(&self, pattern: &[u8]) -> bool {
        let rare = self.node(pattern).and_then(|node| node.rare.as_ref());
        rare.is_some_and(|rare| !rare.targets.is_empty())
    }

    fn node(&self, pattern: &[u8]) -> Option<&Node> {
        let at = tokens(pattern).try_fold(ROOT, |at, token| self.nodes[at].child(token))?;
        Some(&self.nodes[at])
    }

    /// Walks every path of patterns that match `subject`, with `at_end` for the nodes at the end
    /// of one; false as soon as that says so, or if the subject has an empty token.
    fn walk(
        &self,
        subject: &[u8],
        into: &mut Matches,
        at_end: impl Fn(&Node, &mut Matches) -> bool,
    ) -> bool {
        if tokens(subject).any(<[u8]>::is_empty) {
            return false;
        }
        // (node, offset of the next token); an offset past the end means no token is left.
        let mut open = vec![(ROOT, 0usize)];
        while let Some((at, offset)) = open.pop() {
            let node = &self.nodes[at];
            let Some(rest) = subject.get(offset..) else {
                if !at_end(node, into) {
                    return false;
                }
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
        true
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
