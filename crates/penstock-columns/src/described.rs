//! What a server appends to the headers of a message that it answers a direct get with: stream,
//! subject, sequence, time, and in a batch how many are left and what came before.
//!
//! It stands behind the message's own headers, so it is read from the end: a publisher who writes
//! the same names is not believed.

use crate::moment::moment_ns;
use crate::rows::Row;
use memchr::memrchr;

const NAMES: [&[u8]; 7] = [
    b"Nats-Stream: ",
    b"Nats-Subject: ",
    b"Nats-Sequence: ",
    b"Nats-Time-Stamp: ",
    b"Nats-Num-Pending: ",
    b"Nats-Last-Sequence: ",
    b"Nats-UpTo-Sequence: ",
];
const SUBJECT: usize = 1;
const SEQUENCE: usize = 2;
const TIME: usize = 3;
const PENDING: usize = 4;
const STATUS_LINE: &[u8] = b"NATS/1.0";

/// A message of a batch, or what ends one.
#[derive(Clone, Copy, Debug)]
pub enum Described<'a> {
    Message(Row<'a>),
    /// The code, its words, and how many messages are left.
    Status(u32, &'a [u8], u64),
}

/// None if it is neither.
#[must_use]
pub fn described<'a>(headers: &'a [u8], payload: &'a [u8]) -> Option<Described<'a>> {
    let (own, values) = appended(headers)?;
    let Some(sequence) = values[SEQUENCE] else {
        let (code, words) = status(headers)?;
        let pending = values[PENDING].and_then(number).unwrap_or(0);
        return Some(Described::Status(code, words, pending));
    };
    Some(Described::Message(Row {
        sequence: number(sequence)?,
        time_ns: moment_ns(values[TIME]?)?,
        subject: values[SUBJECT]?,
        headers: own,
        payload,
    }))
}

type Values<'a> = [Option<&'a [u8]>; NAMES.len()];

/// The headers that the message has itself, none if that is only the status line, and the values
/// of what was appended.
fn appended(headers: &[u8]) -> Option<(&[u8], Values<'_>)> {
    let mut rest = headers.strip_suffix(b"\r\n")?;
    let mut values: Values<'_> = [None; NAMES.len()];
    while let Some(whole) = rest.strip_suffix(b"\r\n") {
        let start = memrchr(b'\n', whole).map_or(0, |end| end + 1);
        let line = &whole[start..];
        let found = NAMES.iter().position(|name| line.starts_with(name));
        let Some(place) = found.filter(|place| values[*place].is_none()) else {
            break;
        };
        values[place] = Some(&line[NAMES[place].len()..]);
        rest = &rest[..start];
    }
    let is_bare = rest.strip_suffix(b"\r\n") == Some(STATUS_LINE);
    Some((if is_bare { &[] } else { rest }, values))
}

fn status(headers: &[u8]) -> Option<(u32, &[u8])> {
    let rest = headers.strip_prefix(STATUS_LINE)?.strip_prefix(b" ")?;
    let line = rest.split(|byte| *byte == b'\r').next()?;
    let (code, words) = line.split_at(line.len().min(3));
    Some((u32::try_from(number(code)?).ok()?, words.trim_ascii()))
}

fn number(digits: &[u8]) -> Option<u64> {
    let whole = (!digits.is_empty()).then_some(0u64);
    digits.iter().fold(whole, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number?.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: &str = "Nats-Stream: S\r\nNats-Subject: a.b\r\nNats-Sequence: 17\r\n\
        Nats-Time-Stamp: 1970-01-01T00:00:01Z\r\nNats-Num-Pending: 4\r\nNats-Last-Sequence: 12\r\n\r\n";

    fn row(headers: &str) -> Option<(u64, i64, Vec<u8>, Vec<u8>)> {
        match described(headers.as_bytes(), b"x")? {
            Described::Message(row) => Some((
                row.sequence,
                row.time_ns,
                row.subject.to_vec(),
                row.headers.to_vec(),
            )),
            Described::Status(..) => None,
        }
    }

    #[test]
    fn a_message_with_and_without_headers_of_its_own() {
        let place = (17, 1_000_000_000, b"a.b".to_vec());
        let bare = format!("NATS/1.0\r\n{PLACE}");
        assert_eq!(
            row(&bare),
            Some((place.0, place.1, place.2.clone(), vec![]))
        );
        let own = "NATS/1.0 404 x\r\nA: b\r\nNats-Sequence: 99\r\n";
        let found = row(&format!("{own}{PLACE}"));
        assert_eq!(
            found,
            Some((place.0, place.1, place.2, own.as_bytes().to_vec()))
        );
    }

    #[test]
    fn what_ends_a_batch() {
        let end = b"NATS/1.0 204 EOB\r\nNats-Num-Pending: 4\r\nNats-Last-Sequence: 12\r\n\r\n";
        assert!(matches!(
            described(end, b""),
            Some(Described::Status(204, b"EOB", 4))
        ));
        let none = b"NATS/1.0 404 Message Not Found\r\n\r\n";
        let found = described(none, b"");
        assert!(matches!(
            found,
            Some(Described::Status(404, b"Message Not Found", 0))
        ));
        let nobody = b"NATS/1.0 503\r\n\r\n";
        assert!(matches!(
            described(nobody, b""),
            Some(Described::Status(503, b"", 0))
        ));
        assert!(described(b"NATS/1.0\r\n\r\n", b"").is_none());
        assert!(described(b"", b"").is_none());
    }
}
