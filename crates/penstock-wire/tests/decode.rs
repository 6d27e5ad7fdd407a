//! The decoder's promises, on generated input: where the bytes are cut changes nothing, what it
//! says of a prefix stays true of every longer one, `Incomplete` tells the truth, and what was
//! written by the rules of the protocol comes back as it was meant.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod drive;

use drive::{Seen, decode_pieces, decode_whole};
use penstock_wire::{Fault, Limits, Message, Step, Verb, decode, render};
use proptest::collection::vec;
use proptest::prelude::*;

const LIMITS: Limits = Limits {
    control_line_bytes_max: 48,
    payload_bytes_max: 64,
};

fn word() -> impl Strategy<Value = Vec<u8>> {
    "[!-~]{1,6}".prop_map(String::into_bytes)
}

fn blanks() -> impl Strategy<Value = Vec<u8>> {
    "[ \t]{1,3}".prop_map(String::into_bytes)
}

fn line_end() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![Just(b"\r\n".to_vec()), Just(b"\n".to_vec())]
}

fn verb(name: &'static str) -> impl Strategy<Value = Vec<u8>> {
    vec(any::<bool>(), name.len()).prop_map(move |upper| {
        let letters = name.bytes().zip(upper);
        letters
            .map(|(byte, up)| if up { byte.to_ascii_uppercase() } else { byte })
            .collect()
    })
}

fn line(name: &'static str, words: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let gaps = vec(blanks(), words.len());
    (verb(name), gaps, line_end()).prop_map(move |(mut bytes, gaps, end)| {
        for (gap, word) in gaps.iter().zip(&words) {
            bytes.extend_from_slice(gap);
            bytes.extend_from_slice(word);
        }
        bytes.extend_from_slice(&end);
        bytes
    })
}

fn seen(verb: Verb, subject: &[u8], reply: &[u8], payload: &[u8], header_bytes: usize) -> Seen {
    Seen {
        verb,
        header_bytes: u32::try_from(header_bytes).unwrap(),
        subject: subject.to_vec(),
        reply: reply.to_vec(),
        payload: payload.to_vec(),
    }
}

fn number(value: usize, digits_min: usize) -> Vec<u8> {
    format!("{value:0digits_min$}").into_bytes()
}

fn publish() -> impl Strategy<Value = (Vec<u8>, Seen)> {
    let parts = (
        word(),
        proptest::option::of(word()),
        proptest::option::of(vec(any::<u8>(), 0..20)),
        vec(any::<u8>(), 0..40),
        1usize..5,
    );
    parts.prop_flat_map(|(subject, reply, headers, body, digits)| {
        let header_bytes = headers.as_ref().map_or(0, Vec::len);
        let payload = [headers.clone().unwrap_or_default(), body].concat();
        let mut words = vec![subject.clone()];
        words.extend(reply.clone());
        words.extend(headers.as_ref().map(|_| number(header_bytes, 1)));
        words.push(number(payload.len(), digits));
        let (name, verb) = match headers {
            Some(_) => ("hpub", Verb::PublishWithHeaders),
            None => ("pub", Verb::Publish),
        };
        let reply = reply.unwrap_or_default();
        let frame = seen(verb, &subject, &reply, &payload, header_bytes);
        line(name, words)
            .prop_map(move |head| ([&head[..], &payload, b"\r\n"].concat(), frame.clone()))
    })
}

fn subscribe() -> impl Strategy<Value = (Vec<u8>, Seen)> {
    (word(), proptest::option::of(word()), word()).prop_flat_map(|(subject, queue, sid)| {
        let mut words = vec![subject.clone()];
        words.extend(queue.clone());
        words.push(sid.clone());
        let queue = queue.unwrap_or_default();
        let frame = seen(Verb::Subscribe, &subject, &queue, &sid, 0);
        line("sub", words).prop_map(move |bytes| (bytes, frame.clone()))
    })
}

fn unsubscribe() -> impl Strategy<Value = (Vec<u8>, Seen)> {
    (word(), proptest::option::of(word())).prop_flat_map(|(sid, maximum)| {
        let mut words = vec![sid.clone()];
        words.extend(maximum.clone());
        let frame = seen(
            Verb::Unsubscribe,
            b"",
            &maximum.unwrap_or_default(),
            &sid,
            0,
        );
        line("unsub", words).prop_map(move |bytes| (bytes, frame.clone()))
    })
}

fn bare() -> impl Strategy<Value = (Vec<u8>, Seen)> {
    let verbs = vec![
        ("ping", Verb::Ping),
        ("pong", Verb::Pong),
        ("+ok", Verb::Ok),
    ];
    (proptest::sample::select(verbs), "[ -~]{0,8}").prop_flat_map(|((name, verb), junk)| {
        line(name, Vec::new()).prop_map(move |bytes| {
            let whole = [&bytes[..name.len()], junk.as_bytes(), &bytes[name.len()..]].concat();
            (whole, seen(verb, b"", b"", b"", 0))
        })
    })
}

fn argument() -> impl Strategy<Value = (Vec<u8>, Seen)> {
    let verbs = vec![
        ("connect", Verb::Connect),
        ("info", Verb::Info),
        ("-err", Verb::Err),
    ];
    let text = "[!-~][ -~]{0,30}";
    (proptest::sample::select(verbs), text).prop_flat_map(|((name, verb), text)| {
        let text = text.into_bytes();
        let frame = seen(verb, b"", b"", &text, 0);
        line(name, vec![text]).prop_map(move |bytes| (bytes, frame.clone()))
    })
}

fn frame() -> impl Strategy<Value = (Vec<u8>, Seen)> {
    prop_oneof![
        4 => publish(),
        2 => subscribe(),
        2 => unsubscribe(),
        1 => bare(),
        1 => argument(),
    ]
}

/// Valid frames, then any bytes, or any bytes alone: what a peer may send.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let noise = prop_oneof![
        Just(Vec::new()),
        vec(any::<u8>(), 0..20),
        "(?i)(pub|hpub|sub|unsub|ping|connect|-err) [ \ta.0-9]{0,60}\r?\n?[a-z]{0,9}(\r\n)?"
            .prop_map(String::into_bytes),
    ];
    (vec(frame(), 0..6), noise).prop_map(|(frames, noise)| {
        let mut bytes: Vec<u8> = frames.into_iter().flat_map(|(bytes, _)| bytes).collect();
        bytes.extend_from_slice(&noise);
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cuts_change_nothing(bytes in stream(), cuts in vec(1usize..40, 1..8)) {
        prop_assert_eq!(decode_pieces(&bytes, &cuts, &LIMITS), decode_whole(&bytes, &LIMITS));
        prop_assert_eq!(decode_pieces(&bytes, &[1], &LIMITS), decode_whole(&bytes, &LIMITS));
    }

    #[test]
    fn what_is_written_by_the_rules_is_read_as_meant(frames in vec(frame(), 1..8)) {
        let bytes: Vec<u8> = frames.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        let meant: Vec<Seen> = frames.into_iter().map(|(_, seen)| seen).collect();
        let outcome = decode_whole(&bytes, &LIMITS);
        prop_assert_eq!(outcome.fault, None);
        prop_assert_eq!(outcome.left, 0);
        prop_assert_eq!(outcome.frames, meant);
    }

    /// A verdict on a prefix holds for every longer one; nothing is complete before it was
    /// said to be possible.
    #[test]
    fn verdicts_are_final_and_waits_are_truthful(bytes in stream()) {
        let mut verdict = None;
        let mut wanted = 0;
        for length in 0..=bytes.len() {
            let step = decode(&bytes[..length], &LIMITS);
            match (verdict, step) {
                (Some(before), now) => prop_assert_eq!(before, now, "at {}", length),
                (None, Step::Incomplete(more)) => {
                    prop_assert!(more > length);
                    prop_assert!(more >= wanted, "{} after {}", more, wanted);
                    wanted = more;
                }
                (None, Step::Frame(_, taken)) => {
                    prop_assert_eq!(taken, length, "a frame was seen late or early");
                    prop_assert!(taken >= wanted, "{} bytes, {} were wanted", taken, wanted);
                    verdict = Some(step);
                }
                (None, Step::Fault(_)) => verdict = Some(step),
            }
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in vec(any::<u8>(), 0..200), cut in 1usize..20) {
        decode_pieces(&bytes, &[cut], &LIMITS);
    }

    #[test]
    fn a_delivery_says_what_the_message_was(
        subject in word(), sid in word(), reply in proptest::option::of(word()),
        headers in vec(any::<u8>(), 0..20), body in vec(any::<u8>(), 0..40), digits in 0u8..6,
    ) {
        let reply = reply.unwrap_or_default();
        let whole = [&headers[..], &body, b"\r\n"].concat();
        let message = Message { subject: &subject, reply: &reply, header_bytes: headers.len(),
            body: &whole, header_digits: 0, size_digits: digits };
        let payload = [&headers[..], &body].concat();
        let digits = usize::from(digits).max(payload.len().to_string().len());
        prop_assert_eq!(read_delivery(&message, &sid), (subject.clone(), sid.clone(),
            reply.clone(), headers.clone(), payload, digits));
        let digits = body.len().to_string().len();
        prop_assert_eq!(read_delivery(&message.without_headers(), &sid), (subject.clone(),
            sid.clone(), reply.clone(), Vec::new(), body.clone(), digits));
    }

    /// Sizes: one to nine ASCII digits and nothing else, against the obvious definition.
    #[test]
    fn a_size_is_digits_only(text in prop_oneof![
        "[0-9]{0,11}", "[-+_ 0-9]{0,5}", "[0-9٣１a-fx.]{0,5}"
    ]) {
        let bytes = text.as_bytes();
        let digits = (1..=9).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_digit);
        let meant = digits.then(|| text.parse::<u32>().unwrap());
        prop_assert_eq!(penstock_wire::number::parse_size(bytes), meant);
    }
}

type Delivery = (Vec<u8>, Vec<u8>, Vec<u8>, Vec<u8>, Vec<u8>, usize);

/// Reads MSG and HMSG as a client would: subject, sid, reply, headers, payload, digits of
/// the size.
fn read_delivery(message: &Message<'_>, sid: &[u8]) -> Delivery {
    let mut out = Vec::new();
    render(&mut out, message, sid);
    let line_bytes = out.windows(2).position(|pair| pair == b"\r\n").unwrap();
    let words: Vec<&[u8]> = out[..line_bytes].split(|byte| *byte == b' ').collect();
    let size = |word: &[u8]| std::str::from_utf8(word).unwrap().parse::<usize>().unwrap();
    let with_headers = words[0] == b"HMSG";
    assert!(with_headers || words[0] == b"MSG");
    let numbers = if with_headers { 2 } else { 1 };
    let body = &out[line_bytes + 2..];
    assert_eq!(body.len(), size(words[words.len() - 1]) + 2);
    assert!(body.ends_with(b"\r\n"));
    let header_bytes = if with_headers {
        size(words[words.len() - 2])
    } else {
        0
    };
    let reply = match words.len() - numbers {
        3 => Vec::new(),
        4 => words[3].to_vec(),
        other => panic!("{other} words"),
    };
    let payload = body[..body.len() - 2].to_vec();
    let headers = payload[..header_bytes].to_vec();
    let digits = words[words.len() - 1].len();
    (
        words[1].to_vec(),
        words[2].to_vec(),
        reply,
        headers,
        payload,
        digits,
    )
}

#[test]
fn limits_hold_at_their_edges() {
    let long = |bytes: usize| [b"SUB ", &vec![b'a'; bytes - 2][..], b" 1\r\n"].concat();
    assert!(matches!(decode(&long(48), &LIMITS), Step::Frame(..)));
    assert_eq!(
        decode(&long(49), &LIMITS),
        Step::Fault(Fault::ControlLineTooLong)
    );
    let payload = |bytes: usize| format!("PUB a {bytes}\r\n{}\r\n", "x".repeat(bytes));
    assert!(matches!(
        decode(payload(64).as_bytes(), &LIMITS),
        Step::Frame(..)
    ));
    let fault = Step::Fault(Fault::PayloadTooLarge);
    assert_eq!(decode(payload(65).as_bytes(), &LIMITS), fault);
    assert_eq!(decode(b"PUB a 999999999\r\n", &LIMITS), fault);
    let bad = Step::Fault(Fault::BadArguments);
    assert_eq!(decode(b"PUB a 1000000000\r\n", &LIMITS), bad);
    assert_eq!(decode(b"HPUB a 5 4\r\n", &LIMITS), bad);
}

#[test]
fn a_payload_is_as_long_as_it_said() {
    let unknown = Step::Fault(Fault::UnknownOperation);
    for wrong in ["xy\r\n", "x\n\r\n", "x\r!", "x!"] {
        let bytes = format!("PUB a 1\r\n{wrong}");
        assert_eq!(decode(bytes.as_bytes(), &LIMITS), unknown, "{bytes:?}");
    }
    for short in ["", "x", "x\r"] {
        let bytes = format!("PUB a 1\r\n{short}");
        assert_eq!(
            decode(bytes.as_bytes(), &LIMITS),
            Step::Incomplete(12),
            "{bytes:?}"
        );
    }
}

/// A server that keeps what is no frame yet must never keep more than a line's worth of it, or a
/// client that never ends its line owns the memory of the server.
#[test]
fn a_line_that_never_ends_is_refused() {
    let fillers: [&[u8]; 3] = [b" ", b"\t", b"a"];
    for start in [
        "pub", "hpub", "sub", "unsub", "connect", "info", "-err", "ping", "pong", "+ok",
    ] {
        for filler in fillers {
            let endless = [start.as_bytes(), b" ", &filler.repeat(1000)].concat();
            let step = decode(&endless, &LIMITS);
            let fault = Step::Fault(Fault::ControlLineTooLong);
            assert_eq!(step, fault, "{start} and 1000 times {filler:?}");
        }
    }
}
