//! Fan-out: whatever is shared, batched or rendered once, each subscriber gets the bytes that
//! rendering every message for it alone would give. One subscription for each connection here, so
//! that its bytes are exactly known; several of them, queue groups and the rest are compared in
//! `tests/properties` with a model in Python.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod rig;

use penstock_turn::{ConnectionId, Hub, Switches};
use proptest::collection::vec;
use proptest::prelude::*;
use rig::{bounds, deliver_all, drain, feed, switches};

#[derive(Clone, Debug)]
struct Listener {
    subject: &'static str,
    sid: String,
    headers: bool,
    /// Ends after so many; 0 for never.
    maximum: u64,
}

#[derive(Clone, Debug)]
struct Publish {
    publisher: usize,
    subject: &'static str,
    reply: &'static str,
    headers: Option<usize>,
    body: usize,
}

fn listener() -> impl Strategy<Value = Listener> {
    let sid = prop_oneof![3 => "[12]", 1 => "[0-9]{1,3}"];
    let subject = prop_oneof![4 => Just("a"), 1 => Just("b")];
    let maximum = prop_oneof![9 => Just(0u64), 1 => 1u64..5];
    (subject, sid, any::<bool>(), maximum).prop_map(|(subject, sid, headers, maximum)| Listener {
        subject,
        sid,
        headers,
        maximum,
    })
}

/// Maxima for some, or for nobody: a single one of them keeps a run from being shared.
fn listeners() -> impl Strategy<Value = Vec<Listener>> {
    (vec(listener(), 0..40), any::<bool>()).prop_map(|(mut listeners, maxima)| {
        for listener in listeners.iter_mut().filter(|_| !maxima) {
            listener.maximum = 0;
        }
        listeners
    })
}

/// What one turn brings; the same message again and again is what runs are made of.
fn turn() -> impl Strategy<Value = Vec<Publish>> {
    let times = prop_oneof![2 => Just(1usize), 1 => 2usize..40];
    let stretch = (publish(), times).prop_map(|(publish, times)| match publish.body {
        0..50 => vec![publish; times],
        _ => vec![publish; times.min(4)],
    });
    vec(stretch, 0..6).prop_map(|stretches| stretches.concat())
}

fn publish() -> impl Strategy<Value = Publish> {
    let subject = prop_oneof![6 => Just("a"), 1 => Just("b")];
    let body = prop_oneof![6 => 0usize..50, 2 => 4_000usize..9_000, 2 => 32_700usize..33_000];
    let reply = prop_oneof![Just(""), Just("r.1")];
    let headers = proptest::option::of(0usize..30);
    (0usize..2, subject, reply, headers, body).prop_map(
        |(publisher, subject, reply, headers, body)| Publish {
            publisher,
            subject,
            reply,
            headers,
            body,
        },
    )
}

fn filler(seed: usize, bytes: usize) -> Vec<u8> {
    let text = (seed..).flat_map(|number| format!("{number:x},").into_bytes());
    text.take(bytes).collect()
}

impl Publish {
    fn payload(&self, index: usize) -> Vec<u8> {
        let headers = filler(index * 7, self.headers.unwrap_or(0));
        [headers, filler(index * 1000, self.body)].concat()
    }

    fn wire(&self, index: usize) -> Vec<u8> {
        let payload = self.payload(index);
        let (subject, reply, total) = (self.subject, self.reply, payload.len());
        let head = match self.headers {
            Some(bytes) => format!("HPUB {subject} {reply} {bytes} {total}\r\n"),
            None => format!("PUB {subject} {reply} {total}\r\n"),
        };
        [head.as_bytes(), &payload, b"\r\n"].concat()
    }

    /// The rules for one delivery, spelled out.
    fn delivery(&self, index: usize, listener: &Listener) -> Vec<u8> {
        let payload = self.payload(index);
        let header_bytes = self.headers.unwrap_or(0);
        let mut words = vec![self.subject.to_string(), listener.sid.clone()];
        if !self.reply.is_empty() {
            words.push(self.reply.to_string());
        }
        let (verb, body) = if header_bytes > 0 && listener.headers {
            words.push(header_bytes.to_string());
            ("HMSG", &payload[..])
        } else {
            ("MSG", &payload[header_bytes..])
        };
        words.push(body.len().to_string());
        let head = format!("{verb} {}\r\n", words.join(" "));
        [head.as_bytes(), body, b"\r\n"].concat()
    }
}

fn open_listeners(hub: &mut Hub, listeners: &[Listener]) -> Vec<ConnectionId> {
    let open = |listener: &Listener| {
        let id = hub.open(Switches {
            headers: listener.headers,
            ..switches()
        });
        assert!(hub.subscribe(
            id,
            listener.subject.as_bytes(),
            None,
            listener.sid.as_bytes()
        ));
        if listener.maximum > 0 {
            assert!(hub.unsubscribe(id, listener.sid.as_bytes(), listener.maximum));
        }
        id
    };
    listeners.iter().map(open).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn shared_bytes_equal_those_rendered_alone(
        listeners in listeners(), turns in vec(turn(), 1..3)
    ) {
        let mut hub = Hub::new(bounds(), 1);
        hub.add_account();
        let publishers = [hub.open(switches()), hub.open(switches())];
        let ids = open_listeners(&mut hub, &listeners);
        let mut index = 0;
        let mut meant: Vec<(u64, Vec<u8>)> = vec![(0, Vec::new()); listeners.len()];
        for mut turn in turns {
            turn.sort_by_key(|publish| publish.publisher); // one segment for each publisher
            let mut wires = [Vec::new(), Vec::new()];
            for publish in &turn {
                wires[publish.publisher].extend(publish.wire(index));
                for (listener, (count, bytes)) in listeners.iter().zip(&mut meant) {
                    let over = listener.maximum > 0 && *count == listener.maximum;
                    if listener.subject == publish.subject && !over {
                        *count += 1;
                        bytes.extend(publish.delivery(index, listener));
                    }
                }
                index += 1;
            }
            hub.begin_turn(1);
            for (publisher, wire) in publishers.iter().zip(&wires) {
                feed(&mut hub, *publisher, wire);
            }
            deliver_all(&mut hub);
        }
        for ((id, listener), (count, bytes)) in ids.iter().zip(&listeners).zip(&meant) {
            let (traffic, pending, subscriptions) = hub.traffic(*id).unwrap();
            prop_assert_eq!(traffic.messages_out, *count);
            prop_assert_eq!(pending, bytes.len());
            let over = listener.maximum > 0 && *count == listener.maximum;
            prop_assert_eq!(subscriptions, usize::from(!over));
            prop_assert!(drain(&mut hub, *id) == *bytes, "{:?} got other bytes", listener);
        }
    }
}

/// The bytes a client received are the same whether its messages were rendered in bulk or one by
/// one, and so are its counters.
#[test]
fn counters_do_not_depend_on_the_lane() {
    let bytes_out = |queue: Option<&[u8]>| {
        let mut hub = Hub::new(bounds(), 1);
        hub.add_account();
        let publisher = hub.open(switches());
        let id = hub.open(Switches {
            headers: false,
            ..switches()
        });
        assert!(hub.subscribe(id, b"a", queue, b"1"));
        hub.begin_turn(1);
        feed(
            &mut hub,
            publisher,
            b"HPUB a 12 17\r\nNATS/1.0\r\n\r\nhello\r\n",
        );
        deliver_all(&mut hub);
        assert_eq!(drain(&mut hub, id), b"MSG a 1 5\r\nhello\r\n");
        hub.traffic(id).unwrap().0.bytes_out
    };
    assert_eq!(bytes_out(None), bytes_out(Some(b"group")));
}
