//! The trie and the router against a list that is searched from end to end, under any order of
//! changes; and the grammar of subjects against its definition.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod naive;

use naive::{pattern, pattern_matches, subject};
use penstock_subjects::{
    Group, Listener, Matches, Router, Trie, is_valid_literal, is_valid_pattern,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// One listener of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    pattern: String,
    queue: Option<String>,
    listener: Listener,
}

#[derive(Default)]
struct Naive {
    entries: Vec<Entry>,
}

impl Naive {
    fn remove(&mut self, entry: &Entry) -> bool {
        let found = self.entries.iter().position(|other| other == entry);
        found.map(|index| self.entries.remove(index)).is_some()
    }

    fn find(&self, subject: &str) -> Matches {
        let mut matches = Matches::default();
        for entry in &self.entries {
            if !pattern_matches(&entry.pattern, subject) {
                continue;
            }
            match (entry.listener, &entry.queue) {
                (Listener::Target(number), _) => matches.targets.push(number),
                (Listener::Plain(number), None) => matches.plain.push(number),
                (Listener::Plain(number), Some(name)) => {
                    let name: Box<[u8]> = name.as_bytes().into();
                    match matches.groups.iter_mut().find(|group| group.name == name) {
                        Some(group) => group.members.push(number),
                        None => matches.groups.push(Group {
                            name,
                            members: vec![number],
                        }),
                    }
                }
            }
        }
        sorted(matches)
    }
}

impl Naive {
    /// The plain listeners, or those of a group, under exactly this pattern.
    fn members(&self, pattern: &str, queue: Option<&str>) -> Vec<u32> {
        let same = |entry: &&Entry| entry.pattern == pattern && entry.queue.as_deref() == queue;
        let entries = self.entries.iter().filter(same);
        let mut numbers: Vec<u32> = entries
            .filter_map(|entry| match entry.listener {
                Listener::Plain(number) => Some(number),
                Listener::Target(_) => None,
            })
            .collect();
        numbers.sort_unstable();
        numbers
    }
}

/// What `find_below` says of a prefix.
fn find_below(trie: &Trie, prefix: &str, tokens: usize) -> Option<Matches> {
    let mut matches = Matches::default();
    trie.find_below(prefix.as_bytes(), tokens, &mut matches)
        .then(|| sorted(matches))
}

/// The order of listeners is nobody's promise.
fn sorted(mut matches: Matches) -> Matches {
    matches.plain.sort_unstable();
    matches.targets.sort_unstable();
    for group in &mut matches.groups {
        group.members.sort_unstable();
    }
    matches
        .groups
        .sort_unstable_by(|one, other| one.name.cmp(&other.name));
    matches
}

fn entry() -> impl Strategy<Value = Entry> {
    let queue = proptest::option::weighted(0.4, "[pq]");
    (pattern(), queue, 0..4u32, any::<bool>()).prop_map(|(pattern, queue, number, target)| Entry {
        pattern,
        listener: if target && queue.is_none() {
            Listener::Target(number)
        } else {
            Listener::Plain(number)
        },
        queue,
    })
}

#[derive(Clone, Debug)]
enum Action {
    Insert(Entry),
    /// Removes one of those that are there, by position, or tries one that may not be.
    RemoveKnown(usize),
    RemoveAny(Entry),
    Find(String),
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        3 => entry().prop_map(Action::Insert),
        2 => any::<usize>().prop_map(Action::RemoveKnown),
        1 => entry().prop_map(Action::RemoveAny),
        4 => subject().prop_map(Action::Find),
    ]
}

fn find(trie: &Trie, subject: &str) -> Matches {
    let mut matches = Matches::default();
    trie.find(subject.as_bytes(), &mut matches);
    sorted(matches)
}

fn remove(trie: &mut Trie, router: &mut Router, entry: &Entry) -> (bool, bool) {
    let queue = entry.queue.as_deref().map(str::as_bytes);
    let pattern = entry.pattern.as_bytes();
    let from_trie = trie.remove(pattern, queue, entry.listener);
    (from_trie, router.remove(pattern, queue, entry.listener))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// After each change, hot subjects are asked for again, so that a remembered answer that
    /// should have aged shows.
    #[test]
    fn trie_and_router_equal_a_list(
        actions in vec(action(), 0..80), hot in vec(subject(), 1..4)
    ) {
        let (mut trie, mut router, mut naive) = (Trie::default(), Router::default(), Naive::default());
        for action in actions {
            match action {
                Action::Insert(entry) => {
                    let queue = entry.queue.as_deref().map(str::as_bytes);
                    trie.insert(entry.pattern.as_bytes(), queue, entry.listener);
                    router.insert(entry.pattern.as_bytes(), queue, entry.listener);
                    naive.entries.push(entry);
                }
                Action::RemoveKnown(index) if !naive.entries.is_empty() => {
                    let entry = naive.entries.remove(index % naive.entries.len());
                    prop_assert_eq!(remove(&mut trie, &mut router, &entry), (true, true));
                }
                Action::RemoveKnown(_) => {}
                Action::RemoveAny(entry) => {
                    let there = naive.remove(&entry);
                    prop_assert_eq!(remove(&mut trie, &mut router, &entry), (there, there));
                }
                Action::Find(subject) => prop_assert_eq!(find(&trie, &subject), naive.find(&subject)),
            }
            prop_assert_eq!((trie.len(), router.len()), (naive.entries.len(), naive.entries.len()));
            for subject in &hot {
                let answer = router.find(subject.as_bytes());
                prop_assert_eq!(sorted(answer.as_ref().clone()), naive.find(subject), "{}", subject);
                prop_assert_eq!(find(&trie, subject), naive.find(subject), "{}", subject);
                for tokens in ["a", "b", "other", "a.b", "other.a", "b.b.a", "*.other.a"] {
                    let longer = format!("{subject}.{tokens}");
                    let count = tokens.split('.').count();
                    if let Some(below) = find_below(&trie, subject, count) {
                        prop_assert_eq!(&below, &naive.find(&longer), "{}", longer);
                    }
                }
                let is_target = |entry: &Entry| {
                    entry.pattern == *subject && matches!(entry.listener, Listener::Target(_))
                };
                let has_target = naive.entries.iter().any(is_target);
                prop_assert_eq!(trie.has_target(subject.as_bytes()), has_target, "{}", subject);
                for queue in [None, Some("p")] {
                    let members = trie.members(subject.as_bytes(), queue.map(str::as_bytes));
                    let mut members = members.to_vec();
                    members.sort_unstable();
                    prop_assert_eq!(members, naive.members(subject, queue), "{}", subject);
                }
            }
        }
    }

    #[test]
    fn nothing_is_left_when_everybody_left(entries in vec(entry(), 0..40), subject in subject()) {
        let (mut trie, mut router) = (Trie::default(), Router::default());
        for entry in &entries {
            let queue = entry.queue.as_deref().map(str::as_bytes);
            trie.insert(entry.pattern.as_bytes(), queue, entry.listener);
            router.insert(entry.pattern.as_bytes(), queue, entry.listener);
        }
        for entry in entries.iter().rev() {
            prop_assert_eq!(remove(&mut trie, &mut router, entry), (true, true));
        }
        prop_assert!(trie.is_empty() && router.is_empty());
        prop_assert!(find(&trie, &subject).is_empty());
        prop_assert!(router.find(subject.as_bytes()).is_empty());
    }

    #[test]
    fn one_pattern_matches_as_defined(pattern in pattern(), subject in subject()) {
        let mut trie = Trie::default();
        trie.insert(pattern.as_bytes(), None, Listener::Plain(7));
        let heard = find(&trie, &subject).plain == [7];
        prop_assert_eq!(heard, pattern_matches(&pattern, &subject));
    }

    #[test]
    fn validity_is_as_defined(text in "[ab.*> \t\r\n\u{c}\u{fc}\u{0}]{0,8}") {
        let tokens: Vec<&str> = text.split('.').collect();
        let spaces = [' ', '\t', '\r', '\n'];
        let sound = tokens.iter().all(|token| !token.is_empty() && !token.contains(spaces));
        let tail_last = tokens.iter().rev().skip(1).all(|token| *token != ">");
        let wild = tokens.iter().any(|token| *token == "*" || *token == ">");
        prop_assert_eq!(is_valid_pattern(text.as_bytes()), sound && tail_last);
        prop_assert_eq!(is_valid_literal(text.as_bytes()), sound && tail_last && !wild);
    }
}

#[test]
fn a_subject_of_many_tokens_costs_no_stack() {
    let mut trie = Trie::default();
    let deep = vec!["a"; 100_000].join(".");
    trie.insert(deep.as_bytes(), None, Listener::Plain(1));
    trie.insert(b"a.>", None, Listener::Plain(2));
    assert_eq!(find(&trie, &deep).plain, [1, 2]);
    assert!(trie.remove(deep.as_bytes(), None, Listener::Plain(1)));
    assert_eq!(find(&trie, &deep).plain, [2]);
}
