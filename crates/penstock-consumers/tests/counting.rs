//! The count of what is to come, where counting is too slow to be done again and again.
#![allow(clippy::unwrap_used)]

mod support;

use penstock_blocks::{Filter, Options, Store};
use penstock_consumers::{AckPolicy, Ledger, Request, Stop, Terms};
use support::{ACK_SUBJECT, append, drain, hub, open};

const MESSAGES: u64 = 100_000;

#[test]
fn removals_make_the_told_count_too_high_and_never_lose_a_message() {
    let mut store = Store::in_memory("S", Options::default());
    for sequence in 1..=MESSAGES {
        let subject = if sequence % 2 == 0 { "a.x" } else { "b.x" };
        append(&mut store, sequence, 1, subject, 1);
    }
    let mut hub = hub(1 << 30);
    let client = open(&mut hub, true);
    hub.subscribe(client, b"in", None, b"1");
    let filter = Filter::new(&["a.*"]);
    let mut ledger = Ledger::new(AckPolicy::None, ACK_SUBJECT.as_bytes(), filter, true);
    ledger.start(1, &[]);
    let mut left = MESSAGES / 2;
    let mut deliver = |ledger: &mut Ledger, store: &mut Store, messages_max: u64| {
        let request = Request {
            inbox: b"in",
            messages_max,
            bytes_max: 0,
        };
        let terms = Terms::default();
        let told = ledger.deliver(&mut hub, store, &[request], &terms).unwrap();
        let text = String::from_utf8(drain(&mut hub, client)).unwrap();
        let replies = text.lines().filter(|line| line.starts_with("MSG "));
        let pending =
            replies.map(|line| line.split(' ').nth(3).unwrap().rsplit('.').next().unwrap());
        let pending: Vec<u64> = pending.map(|number| number.parse().unwrap()).collect();
        (told.stop, pending)
    };
    assert_eq!(
        deliver(&mut ledger, &mut store, 1),
        (Stop::Done, vec![left - 1])
    );
    left -= 1;
    for sequence in 1000..1100 {
        store.remove(sequence, false).unwrap(); // half of them are meant
    }
    assert_eq!(
        deliver(&mut ledger, &mut store, 1),
        (Stop::Done, vec![left - 1]),
        "too high"
    );
    left -= 51;
    assert_eq!(ledger.num_pending(&mut store, None).unwrap(), left);
    assert_eq!(
        deliver(&mut ledger, &mut store, 1),
        (Stop::Done, vec![left - 1]),
        "known again"
    );
    left -= 1;
    store.remove(5001, false).unwrap();
    store.remove(5002, false).unwrap();
    append(&mut store, MESSAGES + 1, 1, "a.x", 1);
    let (stop, pending) = deliver(&mut ledger, &mut store, u64::MAX);
    assert_eq!((stop, pending.len() as u64), (Stop::End, left));
    assert_eq!(pending.last(), Some(&1), "one too high to the end");
    assert_eq!(ledger.num_pending(&mut store, None).unwrap(), 0);
    assert_eq!(deliver(&mut ledger, &mut store, 1), (Stop::End, vec![]));
}
