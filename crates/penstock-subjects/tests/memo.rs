//! The memo: whatever the order of questions and changes, an answer is never older than the last
//! change that concerned it; and what is remembered is really not looked up again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod naive;

use naive::{pattern, pattern_matches, subject};
use penstock_subjects::{Matches, Memo};
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;

#[derive(Clone, Debug)]
enum Action {
    /// The pattern's listeners change: everything it matches has a new answer.
    Change(String),
    Ask(String),
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        1 => pattern().prop_map(Action::Change),
        4 => subject().prop_map(Action::Ask),
    ]
}

fn answer(version: u32) -> impl FnOnce(&mut Matches) {
    move |matches| matches.plain.push(version)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn answers_are_never_stale(actions in vec(action(), 0..120)) {
        let mut memo = Memo::default();
        let mut changes: Vec<String> = Vec::new();
        for action in actions {
            match action {
                Action::Change(pattern) => {
                    memo.forget(pattern.as_bytes());
                    changes.push(pattern);
                }
                Action::Ask(subject) => {
                    let count = changes.iter().filter(|other| pattern_matches(other, &subject));
                    let version = u32::try_from(count.count()).unwrap();
                    let given = memo.get(subject.as_bytes(), answer(version));
                    prop_assert_eq!(&given.plain, &vec![version], "{}", subject);
                }
            }
        }
    }
}

/// How many times the memo looked a subject up in `times` questions.
fn lookups(memo: &mut Memo, subject: &[u8], times: usize) -> usize {
    let mut count = 0;
    for _ in 0..times {
        memo.get(subject, |_| count += 1);
    }
    count
}

#[test]
fn a_subject_is_remembered_at_its_second_sighting() {
    let mut memo = Memo::default();
    assert_eq!(lookups(&mut memo, b"orders.new", 10), 2);
    assert_eq!(lookups(&mut memo, b"orders.new", 10), 0);
}

#[test]
fn a_change_ages_its_family() {
    let mut memo = Memo::default();
    lookups(&mut memo, b"orders.new", 2);
    for pattern in [&b"orders.*"[..], b"*.new", b">"] {
        memo.forget(pattern);
        assert_eq!(lookups(&mut memo, b"orders.new", 5), 1);
    }
}

/// Families are few and told apart by a seeded hash: two first tokens share one now and then,
/// in one memo of 256. So this asks many memos, and lets a handful of them look again.
#[test]
fn a_change_leaves_other_families_alone() {
    let looked_again = (0..64).filter(|_| {
        let mut memo = Memo::default();
        lookups(&mut memo, b"orders.new", 2);
        memo.forget(b"_INBOX.1");
        lookups(&mut memo, b"orders.new", 5) > 0
    });
    assert!(looked_again.count() < 8);
}

#[test]
fn subjects_that_come_once_displace_nothing() {
    let mut memo = Memo::default();
    let kept = memo.get(b"hot", |_| {});
    memo.get(b"hot", |_| {});
    for number in 0..100_000 {
        memo.get(format!("_INBOX.{number}").as_bytes(), |_| {});
    }
    assert_eq!(lookups(&mut memo, b"hot", 3), 0);
    assert_eq!(
        Arc::strong_count(&kept),
        1,
        "an answer is remembered from the second time on"
    );
}

/// More subjects than places: whoever shares a place with another still gets its own answer.
#[test]
fn subjects_that_share_a_place_keep_their_own_answers() {
    let mut memo = Memo::default();
    for number in (0..40_000u32).flat_map(|number| [number, number, number / 2]) {
        let given = memo.get(format!("a.{number}").as_bytes(), answer(number));
        assert_eq!(given.plain, [number]);
    }
}
