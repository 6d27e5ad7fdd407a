//! Messages that were staged go into a store together, and come back from a log.
#![allow(clippy::unwrap_used)]

use penstock_blocks::{Content, Copies, Options, Store};

fn store() -> Store {
    let mut store = Store::in_memory("m", Options::default());
    for sequence in 1..=2 {
        let content = Content {
            sequence,
            timestamp_ns: 5,
            subject: b"a",
            headers: b"",
            message: b"before",
        };
        store.append(&content).unwrap();
    }
    store
}

fn staged(count: usize) -> Copies {
    let mut copies = Copies::default();
    for number in 0..count {
        let message = number.to_string();
        copies.stage(b"b", b"NATS/1.0\r\nA: b\r\n\r\n", message.as_bytes());
    }
    copies
}

fn held(store: &mut Store) -> Vec<(u64, i64, Vec<u8>)> {
    (1..=store.last_sequence())
        .filter_map(|sequence| {
            let found = store.load(sequence).unwrap()?;
            Some((found.sequence, found.timestamp_ns, found.message.to_vec()))
        })
        .collect()
}

#[test]
fn they_get_their_sequences_and_one_time() {
    let (mut store, mut copies) = (store(), staged(3));
    copies.number(3, 77);
    store.append_copies(&copies).unwrap();
    let expected = [
        (3, 77, b"0".to_vec()),
        (4, 77, b"1".to_vec()),
        (5, 77, b"2".to_vec()),
    ];
    assert_eq!(held(&mut store)[2..], expected);
    assert_eq!(copies.last().map(|last| (last.0, last.1)), Some((5, 77)));
}

#[test]
fn the_last_one_can_be_taken_away_and_staged_again() {
    let mut copies = staged(2);
    let (subject, headers, message) = copies.unstage().unwrap();
    assert_eq!((&subject[..], &message[..]), (&b"b"[..], &b"1"[..]));
    assert_eq!(copies.count(), 1);
    assert!(copies.unstage().is_none());
    copies.stage(b"c", &headers, b"other");
    copies.number(3, 7);
    let subjects: Vec<_> = copies.messages().map(|one| one.subject.to_vec()).collect();
    assert_eq!(subjects, [b"b", b"c"]);
}

#[test]
fn a_log_gives_them_back_once() {
    let mut copies = staged(3);
    copies.number(3, 77);
    let bytes = copies.bytes(2).to_vec();
    let mut store = store();
    for _ in 0..2 {
        assert_eq!(store.replay_copies(&bytes).unwrap(), None);
        assert_eq!(held(&mut store).len(), 5);
    }
}

#[test]
fn without_messages_there_is_nothing_to_take_away() {
    let mut copies = Copies::default();
    assert!(copies.unstage().is_none());
    copies.number(1, 1);
    assert_eq!((copies.count(), copies.messages().count()), (0, 0));
}
