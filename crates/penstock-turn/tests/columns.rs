//! Runs as columns: which messages need a look, and what their headers say, by example.
#![allow(clippy::unwrap_used)]

mod rig;

use penstock_turn::{ConnectionId, Hub, Lane, Marks};
use rig::{bounds, feed, switches};

const BOUND: usize = 100;
const MARKS: Marks<'static> = Marks {
    prefix: b"Nats-",
    harmless: b"Nats-Stream:Nats-Sequence:",
    column: b"Nats-Msg-Id",
    expected: b"Nats-Expected-Last-Subject-Sequence",
    header_bytes_max: BOUND,
    message_bytes_max: 2 * BOUND,
    lifetime_seconds: (1, 0),
};

/// A hub with one run, and its publisher.
fn hub_fed(data: &[u8]) -> (Hub, ConnectionId) {
    let mut hub = Hub::new(bounds(), 1);
    hub.add_account();
    assert!(hub.add_target(0, b"t", 7));
    let client = hub.open(switches());
    hub.begin_turn(1);
    assert_eq!(feed(&mut hub, client, data).0, data.len());
    let group = hub.next_group(0).unwrap();
    assert_eq!(group.runs.len(), 1);
    (hub, client)
}

/// A hub with one run: a message for each block of headers.
fn hub_with(blocks: &[&[u8]]) -> Hub {
    let mut data = Vec::new();
    for block in blocks {
        let (headers, all) = (block.len(), block.len() + 1);
        let head = match headers {
            0 => "PUB t 1\r\n".to_owned(),
            _ => format!("HPUB t {headers} {all}\r\n"),
        };
        data.extend_from_slice(head.as_bytes());
        data.extend_from_slice(block);
        data.extend_from_slice(b"x\r\n");
    }
    hub_fed(&data).0
}

fn lane_of(headers: &[u8]) -> Lane {
    let lanes = hub_with(&[headers]).lanes(0, 1, MARKS);
    assert_eq!(lanes.len(), 1);
    lanes[0].0
}

fn value_of(headers: &[u8]) -> Vec<u8> {
    let hub = hub_with(&[headers]);
    let column: Vec<&[u8]> = hub.header_column(0, 1, MARKS.column).collect();
    column[0].to_vec()
}

#[test]
fn stretches_of_one_lane_stay_together() {
    let id = b"NATS/1.0\r\nNats-Msg-Id: 1\r\n\r\n";
    let hub = hub_with(&[
        b"",
        b"",
        id,
        id,
        id,
        b"NATS/1.0\r\nNats-TTL: 1\r\n\r\n",
        b"NATS/1.0\r\nNats-Sequence: 1\r\nNats-Stream: S\r\n\r\n",
    ]);
    let lanes = hub.lanes(0, 7, MARKS);
    assert_eq!(
        lanes,
        [
            (Lane::Plain, 0, 2),
            (Lane::Column, 2, 5),
            (Lane::Careful, 5, 6),
            (Lane::Plain, 6, 7)
        ]
    );
    assert_eq!(hub.lanes(3, 4, MARKS), [(Lane::Column, 3, 4)]);
}

#[test]
fn an_expectation_alone_has_a_lane_of_its_own() {
    let expects = "Nats-Expected-Last-Subject-Sequence: 3";
    for (lines, lane) in [
        (expects.to_owned(), Lane::Expecting),
        (format!("A: b\r\n{expects}"), Lane::Expecting),
        (format!("{expects}\r\n{expects}"), Lane::Careful),
        (format!("{expects}-Subject: t"), Lane::Expecting), // a value that is no number
        (
            format!("Nats-Expected-Last-Subject-Sequence-Subject: t\r\n{expects}"),
            Lane::Careful,
        ),
        (format!("Nats-Msg-Id: 1\r\n{expects}"), Lane::Careful),
        (format!("{expects}\r\nNats-Msg-Id: 1"), Lane::Careful),
    ] {
        let headers = format!("NATS/1.0\r\n{lines}\r\n\r\n");
        assert_eq!(lane_of(headers.as_bytes()), lane, "{lines}");
    }
    let unnamed = Marks {
        expected: b"",
        ..MARKS
    };
    let nameless = b"NATS/1.0\r\n: 3\r\n\r\n";
    assert_eq!(hub_with(&[nameless]).lanes(0, 1, unnamed)[0].0, Lane::Plain);
}

#[test]
fn a_lifetime_within_bounds_needs_no_look() {
    let lane = |lines: &str, lifetime_seconds| {
        let headers = format!("NATS/1.0\r\n{lines}\r\n\r\n");
        let marks = Marks {
            lifetime_seconds,
            ..MARKS
        };
        hub_with(&[headers.as_bytes()]).lanes(0, 1, marks)[0].0
    };
    for value in ["2", "0", "0s", "never", "2s", "1m", "60"] {
        let line = format!("Nats-TTL: {value}");
        assert_eq!(lane(&line, (2, 60)), Lane::Plain, "{value}");
        assert_eq!(lane(&line, (1, 0)), Lane::Careful, "{value}");
        let with_id = format!("{line}\r\nNats-Msg-Id: 1");
        assert_eq!(lane(&with_id, (2, 60)), Lane::Column, "{value}");
        let with_other = format!("{line}\r\nNats-Rollup: sub");
        assert_eq!(lane(&with_other, (2, 60)), Lane::Careful, "{value}");
    }
    for value in ["1", "61", "x", "", "-1", "500ms", "2 "] {
        let line = format!("Nats-TTL: {value}");
        assert_eq!(lane(&line, (2, 60)), Lane::Careful, "{value}");
    }
}

#[test]
fn headers_that_matter_need_a_look() {
    assert_eq!(lane_of(b"NATS/1.0\r\nA: b\r\n\r\n"), Lane::Plain);
    assert_eq!(lane_of(b"NATS/1.0\r\nnats-ttl: 1\r\n\r\n"), Lane::Plain);
    assert_eq!(
        lane_of(b"NATS/1.0\r\nA: b\r\nNats-Msg-Id:1\r\n\r\n"),
        Lane::Column
    );
    assert_eq!(
        lane_of(b"NATS/1.0\r\nNats-Msg-Id: 1\r\nNats-Msg-Id: 2\r\n\r\n"),
        Lane::Careful
    );
    assert_eq!(lane_of(b"NATS/1.0\r\n\r\nNats-TTL: 1\r\n"), Lane::Careful);
}

#[test]
fn a_line_feed_alone_ends_no_line() {
    assert_eq!(
        lane_of(b"NATS/1.0\r\nA: b\nNats-TTL: 1\r\n\r\n"),
        Lane::Plain
    );
    assert_eq!(lane_of(b"NATS/1.0\r\nA: b\rNats-TTL: 1\r\n"), Lane::Plain);
}

#[test]
fn a_status_or_anything_but_the_version_needs_a_look() {
    for headers in [
        &b"NATS/1.0 503\r\n\r\n"[..],
        b"NATS/1.0 503 Text\r\nA: b\r\n\r\n",
        b"NATS/1.0503\r\n\r\n",
        b"NATS/1.0\n\n",
        b"NATS/1.0\r",
        b"nats/1.0\r\n\r\n",
        b"x",
        b"\r\n",
    ] {
        assert_eq!(lane_of(headers), Lane::Careful, "{headers:?}");
    }
    assert_eq!(lane_of(b"NATS/1.0\r\n"), Lane::Plain);
}

#[test]
fn too_many_headers_need_a_look() {
    let with = |bytes: usize| {
        let mut headers = b"NATS/1.0\r\nA: ".to_vec();
        headers.resize(bytes - 4, b'b');
        headers.extend_from_slice(b"\r\n\r\n");
        headers
    };
    assert_eq!(lane_of(&with(BOUND)), Lane::Plain);
    assert_eq!(lane_of(&with(BOUND + 1)), Lane::Careful);
}

#[test]
fn a_large_message_needs_a_look_whatever_it_consists_of() {
    for (headers, payload) in [
        (0, 2 * BOUND),
        (BOUND, BOUND),
        (0, 2 * BOUND + 1),
        (20, 190),
    ] {
        let mut data = match headers {
            0 => format!("PUB t {payload}\r\n"),
            _ => format!("HPUB t {headers} {}\r\n", headers + payload),
        };
        if headers > 0 {
            let filler = "b".repeat(headers - 17);
            data += &format!("NATS/1.0\r\nA: {filler}\r\n\r\n");
        }
        data += &("x".repeat(payload) + "\r\n");
        let lane = hub_fed(data.as_bytes()).0.lanes(0, 1, MARKS)[0].0;
        let expected = if headers + payload > 2 * BOUND {
            Lane::Careful
        } else {
            Lane::Plain
        };
        assert_eq!(lane, expected, "{headers} + {payload}");
    }
}

#[test]
fn what_is_no_message_any_more_has_a_lane_of_its_own() {
    let (mut hub, client) = hub_fed(b"PUB t 1\r\nx\r\nPUB t 1\r\ny\r\nPUB t 1\r\nz\r\n");
    hub.hold_after(1);
    let lanes = hub.lanes(0, 3, MARKS);
    assert_eq!(lanes, [(Lane::Plain, 0, 2), (Lane::Gone, 2, 3)]);
    assert!(hub.close(client));
    assert_eq!(hub.lanes(0, 3, MARKS), [(Lane::Gone, 0, 3)]);
    assert_eq!(hub.lanes(2, 5, MARKS), [(Lane::Gone, 2, 5)]);
}

#[test]
fn a_value_loses_the_blanks_before_it_and_nothing_else() {
    for (headers, value) in [
        (&b"NATS/1.0\r\nNats-Msg-Id: a\r\n\r\n"[..], &b"a"[..]),
        (b"NATS/1.0\r\nNats-Msg-Id:a\r\n\r\n", b"a"),
        (b"NATS/1.0\r\nNats-Msg-Id:   a b \r\n\r\n", b"a b "),
        (b"NATS/1.0\r\nNats-Msg-Id:\ta\t\r\n\r\n", b"\ta\t"),
        (b"NATS/1.0\r\nNats-Msg-Id: a\nb\r\n\r\n", b"a\nb"),
        (b"NATS/1.0\r\nNats-Msg-Id: a\r\r\n\r\n", b"a\r"),
        (b"NATS/1.0\r\nNats-Msg-Id: a", b"a"),
        (b"NATS/1.0\r\nNats-Msg-Id: a\r", b"a\r"),
        (b"NATS/1.0\r\nNats-Msg-Id:", b""),
        (b"NATS/1.0\r\nNats-Msg-Id: a\r\nNats-Msg-Id: b\r\n", b"a"),
        (b"NATS/1.0\r\nNats-Msg-IdX: a\r\n\r\n", b""),
        (b"NATS/1.0\r\n Nats-Msg-Id: a\r\n\r\n", b""),
        (b"NATS/1.0\r\nA: b\nNats-Msg-Id: a\r\n\r\n", b""),
        (b"Nats-Msg-Id: a\r\n\r\n", b""),
    ] {
        assert_eq!(value_of(headers), value, "{headers:?}");
    }
}
