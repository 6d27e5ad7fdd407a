//! Messages as rows: each goes to the end of every column.

use crate::column::{Column, Lists, Numbers, Texts};
use crate::header_lines::header_lines;
use penstock_wire::lifetime::{self, Lifetime};

const TTL_NEVER: i64 = -1;
const MARKER: &[u8] = b"Nats-Marker-Reason";
const TOTAL: (&[u8], &[u8]) = (b"{\"val\":\"", b"\"}"); // what surrounds the value of a counter

/// A stored message. `headers` begin with their status line.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    pub sequence: u64,
    pub time_ns: i64,
    pub subject: &'a [u8],
    pub headers: &'a [u8],
    pub payload: &'a [u8],
}

/// What is wanted of messages.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The columns, a bit for each in the order of `Rows::finish`; the last is for headers.
    pub columns: u32,
    /// The messages are totals of counters.
    pub counters: bool,
}

impl Kind {
    const fn wants(self, column: u32) -> bool {
        self.columns >> column & 1 != 0
    }
}

const SUBJECT: u32 = 0;
const SEQUENCE: u32 = 1;
const TIME: u32 = 2;
const PAYLOAD: u32 = 3;
const LIFETIME: u32 = 4;
const MARKER_REASON: u32 = 5;
const VALUE: u32 = 6;
const HEADERS: u32 = 7;

#[derive(Debug)]
pub struct Rows {
    kind: Kind,
    rows: usize,
    bytes: usize,
    subjects: Texts,
    sequences: Numbers,
    times: Numbers,
    payloads: Texts,
    lifetimes: Numbers,
    markers: Texts,
    totals: Texts,
    headers: Headers,
}

/// A map for each row: names, and a list of values for each name.
#[derive(Debug, Default)]
struct Headers {
    maps: Lists,
    names: Texts,
    lists: Lists,
    values: Texts,
}

impl Rows {
    #[must_use]
    pub fn new(kind: Kind) -> Rows {
        Rows {
            kind,
            rows: 0,
            bytes: 0,
            subjects: Texts::default(),
            sequences: Numbers::default(),
            times: Numbers::default(),
            payloads: Texts::default(),
            lifetimes: Numbers::default(),
            markers: Texts::default(),
            totals: Texts::default(),
            headers: Headers::default(),
        }
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Of the messages, wanted or not.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Room for so many more of so many bytes, of which payloads are mostly made.
    pub fn reserve(&mut self, rows: usize, bytes: usize) {
        for (column, numbers) in [(SEQUENCE, &mut self.sequences), (TIME, &mut self.times)] {
            if self.kind.wants(column) {
                numbers.reserve(rows);
            }
        }
        if self.kind.wants(PAYLOAD) {
            self.payloads.reserve(rows, bytes);
        }
        if self.kind.wants(SUBJECT) {
            self.subjects.reserve(rows, bytes / 8);
        }
    }

    pub fn push(&mut self, row: &Row<'_>) {
        let kind = self.kind;
        self.rows += 1;
        self.bytes += row.subject.len() + row.headers.len() + row.payload.len();
        if kind.wants(SUBJECT) {
            self.subjects.push_text(row.subject);
        }
        if kind.wants(SEQUENCE) {
            self.sequences.push(row.sequence.cast_signed());
        }
        if kind.wants(TIME) {
            self.times.push(row.time_ns.div_euclid(1000));
        }
        if kind.wants(PAYLOAD) {
            self.payloads.push(row.payload);
        }
        if kind.wants(LIFETIME) {
            let lifetime = lifetime::find(row.headers);
            self.lifetimes.push_some(lifetime.and_then(seconds_of));
        }
        if kind.wants(MARKER_REASON) {
            let marker = header_lines(row.headers).find(|(name, _)| *name == MARKER);
            self.markers.push_some(marker.map(|(_, reason)| reason));
        }
        if kind.wants(VALUE) {
            let total = kind.counters.then(|| total_of(row.payload));
            self.totals.push_some(total.flatten());
        }
        if kind.wants(HEADERS) {
            self.headers.push(row.headers);
        }
    }

    /// The columns in the order of their names: subject, seq, timestamp, data, ttl, marker_reason,
    /// counter_value; then, if they are wanted, maps, names, lists and values of headers. What is
    /// not wanted is empty.
    #[must_use]
    pub fn finish(self) -> Vec<Column> {
        let mut columns = vec![
            self.subjects.finish(),
            self.sequences.finish(),
            self.times.finish(),
            self.payloads.finish(),
            self.lifetimes.finish(),
            self.markers.finish(),
            self.totals.finish(),
        ];
        if self.kind.wants(HEADERS) {
            let headers = self.headers;
            columns.extend([
                headers.maps.finish(),
                headers.names.finish(),
                headers.lists.finish(),
                headers.values.finish(),
            ]);
        }
        columns
    }
}

impl Headers {
    /// Equal names come together; the order of their values is kept, that of names is not.
    fn push(&mut self, headers: &[u8]) {
        let mut lines: Vec<(&[u8], &[u8])> = header_lines(headers).collect();
        lines.sort_by_key(|(name, _)| *name);
        let mut names = 0;
        for group in lines.chunk_by(|a, b| a.0 == b.0) {
            self.names.push_text(group[0].0);
            group
                .iter()
                .for_each(|(_, value)| self.values.push_text(value));
            self.lists.push(group.len());
            names += 1;
        }
        self.maps.push(names);
    }
}

fn seconds_of(lifetime: Lifetime) -> Option<i64> {
    match lifetime {
        Lifetime::Endless => Some(TTL_NEVER),
        Lifetime::Seconds(0) => None,
        Lifetime::Seconds(seconds) => i64::try_from(seconds).ok(),
    }
}

/// The digits in `{"val":"17"}`, which is how every server writes it.
fn total_of(payload: &[u8]) -> Option<&[u8]> {
    let text = payload.strip_prefix(TOTAL.0)?.strip_suffix(TOTAL.1)?;
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    is_number.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(headers: &'static [u8], payload: &'static [u8]) -> Row<'static> {
        Row {
            sequence: 7,
            time_ns: -1,
            subject: b"a.\xff",
            headers,
            payload,
        }
    }

    #[test]
    fn rows_become_buffers_of_arrow() {
        let mut rows = Rows::new(Kind {
            columns: 0xff,
            counters: true,
        });
        rows.push(&row(
            b"NATS/1.0\r\nB: 1\r\nA: 2\r\nB: 3\r\nNats-TTL: 5m\r\n\r\n",
            b"{\"val\":\"-12\"}",
        ));
        rows.push(&row(b"", b"x"));
        assert_eq!((rows.len(), rows.is_empty()), (2, false));
        let columns = rows.finish();
        assert_eq!(columns[0].buffers[0], [0, 0, 0, 0, 5, 0, 0, 0, 10, 0, 0, 0]);
        assert_eq!(columns[0].buffers[1], "a.\u{fffd}a.\u{fffd}".as_bytes());
        assert_eq!(
            columns[1].buffers[0],
            [7i64.to_le_bytes(), 7i64.to_le_bytes()].concat()
        );
        assert_eq!(columns[2].buffers[0][..8], (-1i64).to_le_bytes());
        assert_eq!(columns[4].validity, [1]);
        assert_eq!(columns[4].buffers[0][..8], 300i64.to_le_bytes());
        assert_eq!((columns[5].nulls, columns[6].nulls), (2, 1));
        assert_eq!(columns[6].buffers[1], b"-12");
        assert_eq!(columns[7].buffers[0], [0, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0]);
        assert_eq!(columns[8].buffers[1], b"ABNats-TTL");
        assert_eq!(columns[10].buffers[1], b"2135m");
    }

    #[test]
    fn a_total_is_an_integer_in_its_frame() {
        for (payload, expected) in [
            (&b"{\"val\":\"0\"}"[..], Some(&b"0"[..])),
            (b"{\"val\":\"\"}", None),
            (b"{\"val\":\"-\"}", None),
            (b"{\"val\":\"1.5\"}", None),
            (b"12", None),
        ] {
            assert_eq!(total_of(payload), expected);
        }
    }

    #[test]
    fn lifetimes_in_seconds() {
        assert_eq!(seconds_of(Lifetime::Endless), Some(-1));
        assert_eq!(seconds_of(Lifetime::Seconds(0)), None);
        assert_eq!(seconds_of(Lifetime::Seconds(9)), Some(9));
    }
}
