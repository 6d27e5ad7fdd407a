//! Bytes to deliveries: what a server sends to a client, as far as somebody who reads many messages
//! of one subscription needs it. Everything that is no delivery is a line, and left to others.

use crate::frame::Span;
use crate::number::parse_size;
use memchr::memchr;

const LINE_BYTES_MAX: usize = 64 << 10; // INFO of a large cluster is the longest
const ARGUMENTS_MAX: usize = 5; // subject, sid, reply, header size, size

/// What the front of a buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// A message to a subscription, and how many bytes it took.
    Message(Delivery, usize),
    /// Something else, of so many bytes.
    Line(usize),
    /// Neither yet.
    Incomplete,
    /// Never either.
    Fault,
}

/// A message, as ranges into the buffer it was found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub subject: Span,
    pub headers: Span,
    pub payload: Span,
}

/// What is at the front of `buffer`, which must hold less than 4 GiB.
#[must_use]
pub fn sent(buffer: &[u8]) -> Sent {
    let window = &buffer[..buffer.len().min(LINE_BYTES_MAX)];
    let Some(line_end) = memchr(b'\n', window) else {
        return match buffer.len() < LINE_BYTES_MAX {
            true => Sent::Incomplete,
            false => Sent::Fault,
        };
    };
    let next = line_end + 1;
    let (verb_bytes, with_headers) = match buffer.first_chunk::<4>() {
        Some(b"MSG ") => (4, false),
        Some(b"HMSG") => (5, true),
        _ => return Sent::Line(next),
    };
    let Some(found) = arguments(buffer, verb_bytes, line_end, with_headers) else {
        return Sent::Fault;
    };
    let (subject, header_bytes, bytes) = found;
    let (body, end) = (next + header_bytes as usize, next + bytes as usize);
    if buffer.len() < end + 2 {
        return Sent::Incomplete;
    }
    if header_bytes > bytes || &buffer[end..end + 2] != b"\r\n" {
        return Sent::Fault;
    }
    let delivery = Delivery {
        subject,
        headers: span(next, body),
        payload: span(body, end),
    };
    Sent::Message(delivery, end + 2)
}

/// The subject, bytes of headers and bytes of everything.
fn arguments(
    buffer: &[u8],
    start: usize,
    end: usize,
    with_headers: bool,
) -> Option<(Span, u32, u32)> {
    let mut words = [Span::default(); ARGUMENTS_MAX];
    let (mut count, mut at) = (0, start);
    while at < end {
        let word = at;
        while at < end && !buffer[at].is_ascii_whitespace() {
            at += 1;
        }
        if at > word {
            *words.get_mut(count)? = span(word, at);
            count += 1;
        }
        at += 1;
    }
    let numbers = if with_headers { 2 } else { 1 };
    if count != numbers + 2 && count != numbers + 3 {
        return None;
    }
    let bytes = parse_size(words[count - 1].of(buffer))?;
    let header_bytes = match with_headers {
        true => parse_size(words[count - 2].of(buffer))?,
        false => 0,
    };
    Some((words[0], header_bytes, bytes))
}

#[allow(clippy::cast_possible_truncation)] // buffers are below 4 GiB: see `sent`
fn span(start: usize, end: usize) -> Span {
    Span {
        start: start as u32,
        end: end as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Found<'a> = (&'a [u8], &'a [u8], &'a [u8], usize);

    fn message(buffer: &[u8]) -> Option<Found<'_>> {
        match sent(buffer) {
            Sent::Message(found, taken) => Some((
                found.subject.of(buffer),
                found.headers.of(buffer),
                found.payload.of(buffer),
                taken,
            )),
            _ => None,
        }
    }

    #[test]
    fn messages_with_and_without_headers_and_replies() {
        let bytes = b"MSG a.b 7 5\r\nhello\r\nPING\r\n";
        assert_eq!(
            message(bytes),
            Some((&b"a.b"[..], &b""[..], &b"hello"[..], 20))
        );
        let bytes = b"MSG a.b 7 r.1 0\r\n\r\n";
        assert_eq!(message(bytes), Some((&b"a.b"[..], &b""[..], &b""[..], 19)));
        let bytes = b"HMSG a 12 12 14\r\nNATS/1.0\r\n\r\nhi\r\n";
        let headers = &b"NATS/1.0\r\n\r\n"[..];
        assert_eq!(message(bytes), Some((&b"a"[..], headers, &b"hi"[..], 33)));
    }

    #[test]
    fn every_beginning_of_a_message_is_incomplete() {
        let bytes = b"HMSG a 12 r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n";
        for end in 0..bytes.len() {
            assert_eq!(sent(&bytes[..end]), Sent::Incomplete, "{end}");
        }
    }

    #[test]
    fn the_rest_is_lines_or_faults() {
        assert_eq!(sent(b"PING\r\nPONG\r\n"), Sent::Line(6));
        assert_eq!(sent(b"INFO {\"a\":1}\r\n"), Sent::Line(14));
        assert_eq!(sent(b"-ERR 'x'\r\n"), Sent::Line(10));
        for wrong in [
            &b"MSG a 7\r\n"[..],
            b"MSG a 7 b c 1\r\nh\r\n",
            b"MSG a 7 2\r\nhello\r\n",
            b"HMSG a 7 9 2\r\nhi\r\n\r\n\r\n\r\n\r\n",
            b"MSG a 7 -1\r\n\r\n",
        ] {
            assert_eq!(sent(wrong), Sent::Fault, "{wrong:?}");
        }
        assert_eq!(sent(&[b'x'; LINE_BYTES_MAX]), Sent::Fault);
    }
}
