//! Subjects that share a prefix are routed as one where it does not matter what follows. Whoever
//! listens, each subscriber gets exactly the messages its pattern matches, and a target its run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod rig;

use penstock_turn::Hub;
use proptest::collection::vec;
use proptest::prelude::*;
use rig::{bounds, drain, feed, switches};

fn matches(pattern: &str, subject: &str) -> bool {
    let (pattern, subject): (Vec<&str>, Vec<&str>) =
        (pattern.split('.').collect(), subject.split('.').collect());
    if subject.contains(&"") {
        return false;
    }
    for (index, token) in pattern.iter().enumerate() {
        match (*token, subject.get(index)) {
            (_, None) => return false,
            (">", Some(_)) => return true,
            ("*", Some(_)) => {}
            (literal, Some(other)) if literal == *other => {}
            _ => return false,
        }
    }
    pattern.len() == subject.len()
}

/// Mostly what acknowledgements look like: a common beginning and numbers behind it.
fn subject() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "k\\.[ab]\\.c(\\.[0-3]){2}",
        2 => "k\\.[ab]\\.c(\\.[0-3]){0,3}",
        1 => "[ak](\\.[abc0*]){0,3}",
        1 => "k\\.a\\.c\\.\\.1|k\\.a\\.c\\.1\\.|\\.k\\.a",
    ]
}

fn pattern() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "k\\.[ab*]\\.[c*](\\.\\*){2}",
        2 => "k\\.[ab*]\\.c(\\.[0-3*]){1,2}",
        1 => "k\\.>|>|k\\.a\\.>|\\*\\.\\*\\.c\\.>",
        1 => "[ak](\\.[abc0*]){0,3}",
    ]
}

proptest! {
    #[test]
    fn everybody_gets_what_the_pattern_matches(
        patterns in vec(pattern(), 0..8),
        target in pattern(),
        turns in vec((vec(subject(), 1..40), vec(subject(), 0..10)), 1..3),
    ) {
        let mut hub = Hub::new(bounds(), 1);
        hub.add_account();
        let publishers = [hub.open(switches()), hub.open(switches())];
        let clients: Vec<_> = patterns.iter().map(|pattern| {
            let id = hub.open(switches());
            assert!(hub.subscribe(id, pattern.as_bytes(), None, b"1"));
            (id, pattern)
        }).collect();
        assert!(hub.add_target(0, target.as_bytes(), 5));
        for (first, second) in &turns {
            hub.begin_turn(1);
            for (id, subjects) in publishers.iter().zip([first, second]) {
                let lines = subjects.iter().map(|subject| format!("PUB {subject} 0\r\n\r\n"));
                feed(&mut hub, *id, lines.collect::<String>().as_bytes());
            }
            let group = hub.next_group(0).unwrap();
            hub.fan_out(group.start, group.end);
            let subjects: Vec<&String> = first.iter().chain(second).collect();
            prop_assert_eq!(group.end, subjects.len());
            for (id, pattern) in &clients {
                let own = subjects.iter().filter(|subject| matches(pattern, subject));
                let expected: String = own.map(|s| format!("MSG {s} 1 0\r\n\r\n")).collect();
                let found = String::from_utf8(drain(&mut hub, *id)).unwrap();
                prop_assert_eq!(found, expected, "{}", pattern);
            }
            let is_picked = |at: &usize| matches(&target, subjects[*at]);
            let expected: Vec<usize> = (0..subjects.len()).filter(is_picked).collect();
            let run = group.runs.first().map_or(0..0, |run| run.start..run.end);
            let picked: Vec<usize> = run.filter_map(|position| hub.picked(position)).collect();
            prop_assert_eq!(picked, expected);
        }
    }
}
