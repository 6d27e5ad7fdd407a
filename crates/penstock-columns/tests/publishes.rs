//! Rows to frames, and answers to counts, byte for byte.
#![allow(clippy::unwrap_used)] // a test may

use penstock_columns::acks::{Acks, Taken};
use penstock_columns::given::{Ranges, Texts, Validity};
use penstock_columns::publishes::{Columns, Frame, Maps, Reason, Refused, Subjects, render};

fn offsets(ends: &[i32]) -> Vec<u8> {
    ends.iter().flat_map(|end| end.to_le_bytes()).collect()
}

fn texts(values: &[Option<&str>]) -> Texts<Vec<u8>> {
    let (mut ends, mut bytes, mut bits) = (vec![0], Vec::new(), vec![0u8; values.len() / 8 + 1]);
    for (index, value) in values.iter().enumerate() {
        if let Some(text) = value {
            bytes.extend_from_slice(text.as_bytes());
            bits[index / 8] |= 1 << (index % 8);
        }
        ends.push(i32::try_from(bytes.len()).unwrap());
    }
    Texts::new(Some(bits), offsets(&ends), bytes, 0, values.len()).unwrap()
}

fn columns(subjects: &[Option<&str>], payloads: &[Option<&str>]) -> Columns<Vec<u8>> {
    Columns {
        subjects: Some(texts(subjects)),
        payloads: Some(texts(payloads)),
        ids: None,
        lines: Vec::new(),
        headers: None,
    }
}

const FRAME: Frame<'static> = Frame {
    subject: b"",
    reply: b"",
    lines: b"",
    name: b"N",
    stem: b"",
    number: 7,
    bytes_max: 1000,
};

fn subjects() -> Subjects {
    Subjects::new(&[b"a.>".to_vec()], &[b"a.reserved.>".to_vec()])
}

fn rendered(columns: &Columns<Vec<u8>>, frame: &Frame<'_>, rows: usize) -> Result<String, Refused> {
    let mut out = Vec::new();
    render(
        columns,
        (0, rows, usize::MAX),
        frame,
        &mut subjects(),
        &mut out,
    )?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn a_row_is_a_publish_with_its_number() {
    let rows = columns(&[Some("a.b"), None], &[Some("one"), None]);
    let frame = Frame {
        subject: b"a.rest",
        reply: b"in.",
        lines: b"L: 1\r\n",
        stem: b"q/",
        ..FRAME
    };
    let expected = "HPUB a.b in.7 26 29\r\nNATS/1.0\r\nL: 1\r\nN: q/7\r\n\r\none\r\n\
                    HPUB a.rest in.8 26 26\r\nNATS/1.0\r\nL: 1\r\nN: q/8\r\n\r\n\r\n";
    assert_eq!(rendered(&rows, &frame, 2).unwrap(), expected);
}

#[test]
fn columns_are_headers_where_they_have_a_value() {
    let mut rows = columns(&[Some("a.b"), Some("a.b")], &[Some("x"), Some("y")]);
    rows.ids = Some(texts(&[Some("mine"), None]));
    rows.lines = vec![(b"T".to_vec(), texts(&[None, Some("9s")]))];
    let all = rendered(&rows, &FRAME, 2).unwrap();
    assert!(all.contains("N: mine\r\n\r\nx\r\n"));
    assert!(all.contains("N: 8\r\nT: 9s\r\n\r\ny\r\n"));
}

#[test]
fn a_map_gives_every_value_of_every_name() {
    let mut rows = columns(&[Some("a.b"), Some("a.b")], &[None, None]);
    let bits = || Validity::new(None, 0, 2).unwrap();
    rows.headers = Some(Maps {
        entries: Ranges::new(bits(), offsets(&[0, 2, 2]), 0, 2, 2).unwrap(),
        names: texts(&[Some("K"), Some("L")]),
        lists: Some(Ranges::new(bits(), offsets(&[0, 2, 3]), 0, 2, 3).unwrap()),
        values: texts(&[Some("1"), Some("2"), Some("3")]),
    });
    let all = rendered(&rows, &FRAME, 2).unwrap();
    assert!(all.contains("N: 7\r\nK: 1\r\nK: 2\r\nL: 3\r\n\r\n"));
    assert!(all.ends_with("N: 8\r\n\r\n\r\n"));
}

#[test]
fn what_could_become_protocol_is_refused_with_its_row() {
    let cases = [
        (None, Reason::NoSubject),
        (Some("a.b c"), Reason::BadSubject),
        (Some("a.b\r\nPUB x 0"), Reason::BadSubject),
        (Some("a.*"), Reason::BadSubject),
        (Some("b"), Reason::ForeignSubject),
        (Some("a.reserved.1"), Reason::ReservedSubject),
    ];
    for (subject, reason) in cases {
        let rows = columns(&[Some("a.b"), subject], &[None, None]);
        assert_eq!(rendered(&rows, &FRAME, 2), Err(Refused { row: 1, reason }));
    }
    let mut rows = columns(&[Some("a.b")], &[None]);
    rows.ids = Some(texts(&[Some("x\r\nA: b")]));
    let reason = Reason::BadHeader;
    assert_eq!(rendered(&rows, &FRAME, 1), Err(Refused { row: 0, reason }));
    let rows = columns(&[Some("a.b")], &[Some(&"x".repeat(1000))]);
    let reason = Reason::TooLarge;
    assert_eq!(rendered(&rows, &FRAME, 1), Err(Refused { row: 0, reason }));
}

#[test]
fn a_stretch_ends_when_there_are_enough_bytes() {
    let rows = columns(&[Some("a.b"); 3], &[Some("x"); 3]);
    let mut out = Vec::new();
    let next = render(&rows, (0, 3, 1), &FRAME, &mut subjects(), &mut out);
    assert_eq!(next, Ok(1));
}

#[test]
fn offsets_that_do_not_rise_are_no_column() {
    assert!(Texts::new(None, offsets(&[0, 3, 2]), b"abc".to_vec(), 0, 2).is_none());
    assert!(Texts::new(None, offsets(&[0, 4]), b"abc".to_vec(), 0, 1).is_none());
    assert!(Texts::new(None, offsets(&[0]), b"abc".to_vec(), 0, 1).is_none());
    assert!(Texts::new(Some(Vec::new()), offsets(&[0, 3]), b"abc".to_vec(), 0, 1).is_none());
}

fn ack(number: u64, text: &str) -> String {
    format!("MSG in.{number} 1 {}\r\n{text}\r\n", text.len())
}

#[test]
fn answers_are_counted_each_once_in_any_order_and_any_pieces() {
    let mut acks = Acks::new(b"in.", b"\"S\"", 0);
    acks.expect(4);
    let plain = r#"{"stream":"S", "seq":1}"#;
    let double = r#"{"stream":"S","seq":1,"duplicate":true}"#;
    let input = [ack(2, plain), ack(0, double), ack(0, plain), ack(1, plain)].concat();
    let (mut stored, mut duplicates) = (0, 0);
    for byte in input.as_bytes() {
        let taken = acks.take(&[*byte]).unwrap();
        stored += taken.stored;
        duplicates += taken.duplicates;
    }
    assert_eq!((stored, duplicates, acks.first()), (3, 1, 3));
}

#[test]
fn everything_else_is_handed_out() {
    let mut acks = Acks::new(b"in.", b"\"S\"", 5);
    acks.expect(3);
    let error = r#"{"error":{"code":400},"stream":"S","seq":0}"#;
    let other = r#"{"stream":"T","seq":1}"#;
    let none = "HMSG in.7 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n";
    let input = [
        &ack(5, error),
        &ack(6, other),
        none,
        "PING\r\n",
        "-ERR 'No'\r\n",
    ]
    .concat();
    let others = vec![
        (5, error.as_bytes().to_vec()),
        (6, other.as_bytes().to_vec()),
        (7, b"NATS/1.0 503\r\n\r\n".to_vec()),
    ];
    let expected = Taken {
        others,
        pings: 1,
        errors: vec![b"'No'".to_vec()],
        ..Taken::default()
    };
    assert_eq!(acks.take(input.as_bytes()), Ok(expected));
    assert_eq!(acks.first(), 5);
}

#[test]
fn answers_to_what_was_not_sent_are_an_error() {
    let mut acks = Acks::new(b"in.", b"\"S\"", 0);
    acks.expect(1);
    assert!(acks.take(ack(1, "{}").as_bytes()).is_err());
    assert!(
        Acks::new(b"in.", b"", 0)
            .take(b"MSG elsewhere 1 0\r\n\r\n")
            .is_err()
    );
    assert!(Acks::new(b"in.", b"", 0).take(b"HELLO\r\n").is_err());
}
