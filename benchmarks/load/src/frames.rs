//! The frames a server sends, one at a time, for everything but the hot path.
//!
//! `next_frame` looks at bytes and never waits: none means that the frame is not complete yet. The
//! hot path (`sequences`) compares whole headers and comes here only for what it does not know.

use crate::Outcome;

#[derive(Debug, PartialEq)]
pub enum Frame<'a> {
    Message {
        sid: &'a [u8],
        reply: &'a [u8],
        subject: &'a [u8],
        payload: &'a [u8],
    },
    Ping,
    Pong,
    /// INFO and +OK, which a load generator has no use for.
    Notice,
}

fn size_of(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// `MSG subject sid [reply] size`, of which `words` is what follows the verb.
fn message<'a>(words: &'a [u8], rest: &'a [u8]) -> Outcome<Option<(Frame<'a>, usize)>> {
    let words: Vec<&[u8]> = words.split(|byte| *byte == b' ').collect();
    let (subject, sid, reply, digits) = match words[..] {
        [subject, sid, digits] => (subject, sid, &b""[..], digits),
        [subject, sid, reply, digits] => (subject, sid, reply, digits),
        _ => return Err("the server sent a MSG line with too few or too many words".into()),
    };
    let size = size_of(digits).ok_or("the server sent a MSG line without a size")?;
    if rest.len() < size + 2 {
        return Ok(None);
    }
    let (payload, end) = (&rest[..size], &rest[size..size + 2]);
    if end != b"\r\n" {
        return Err("the server sent a payload that is longer than its size".into());
    }
    Ok(Some((
        Frame::Message {
            sid,
            reply,
            subject,
            payload,
        },
        size + 2,
    )))
}

/// `HMSG subject sid [reply] headers size`; the headers are left out.
fn message_with_headers<'a>(
    words: &'a [u8],
    rest: &'a [u8],
) -> Outcome<Option<(Frame<'a>, usize)>> {
    let mut words: Vec<&[u8]> = words.split(|byte| *byte == b' ').collect();
    let size = words.pop().and_then(size_of);
    let headers = words.pop().and_then(size_of);
    let (Some(size), Some(headers), [subject, sid, reply @ ..]) = (size, headers, &words[..])
    else {
        return Err("the server sent a HMSG line without its sizes".into());
    };
    if rest.len() < size + 2 {
        return Ok(None);
    }
    let payload = rest
        .get(headers..size)
        .filter(|_| rest[size..].starts_with(b"\r\n"));
    let frame = Frame::Message {
        sid,
        reply: reply.first().copied().unwrap_or_default(),
        subject,
        payload: payload.ok_or("the server sent a payload that is longer than its size")?,
    };
    Ok(Some((frame, size + 2)))
}

/// The first frame of `data` and its length; an error for -ERR and for whatever is not the protocol.
pub fn next_frame(data: &[u8]) -> Outcome<Option<(Frame<'_>, usize)>> {
    let Some(line_end) = memchr::memchr(b'\n', data) else {
        return Ok(None);
    };
    let (line, rest) = data.split_at(line_end + 1);
    let line = line.strip_suffix(b"\r\n").unwrap_or(line);
    if let Some(words) = line.strip_prefix(b"MSG ") {
        let found = message(words, rest)?;
        return Ok(found.map(|(frame, length)| (frame, line_end + 1 + length)));
    }
    if let Some(words) = line.strip_prefix(b"HMSG ") {
        let found = message_with_headers(words, rest)?;
        return Ok(found.map(|(frame, length)| (frame, line_end + 1 + length)));
    }
    let frame = match line {
        b"PING" => Frame::Ping,
        b"PONG" => Frame::Pong,
        b"+OK" => Frame::Notice,
        _ if line.starts_with(b"INFO ") => Frame::Notice,
        _ => return Err(format!("the server sent {}", String::from_utf8_lossy(line)).into()),
    };
    Ok(Some((frame, line_end + 1)))
}

#[cfg(test)]
mod tests {
    use super::{Frame, next_frame};

    #[test]
    fn a_frame_is_taken_only_when_it_is_complete() {
        let data = b"MSG a.b 1 re.ply 5\r\nhel\nor\r\nPING\r\n";
        for cut in 0..data.len() - 8 {
            assert_eq!(
                next_frame(&data[..cut]).expect("no fault"),
                None,
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn messages_with_and_without_reply() {
        let (frame, length) = next_frame(b"MSG a 1 r 2\r\nhi\r\nPING\r\n")
            .unwrap()
            .unwrap();
        assert_eq!(
            frame,
            Frame::Message {
                sid: b"1",
                reply: b"r",
                subject: b"a",
                payload: b"hi"
            }
        );
        assert_eq!(length, 17);
        let (frame, _) = next_frame(b"MSG a 1 0\r\n\r\n").unwrap().unwrap();
        assert_eq!(
            frame,
            Frame::Message {
                sid: b"1",
                reply: b"",
                subject: b"a",
                payload: b""
            }
        );
    }

    #[test]
    fn of_a_message_with_headers_the_payload() {
        let (frame, length) = next_frame(b"HMSG a 1 r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n")
            .unwrap()
            .unwrap();
        assert_eq!(
            frame,
            Frame::Message {
                sid: b"1",
                reply: b"r",
                subject: b"a",
                payload: b"hi"
            }
        );
        assert_eq!(length, 34);
        assert_eq!(
            next_frame(b"HMSG a 1 12 14\r\nNATS/1.0\r\n\r\n").unwrap(),
            None
        );
    }

    #[test]
    fn errors_and_nonsense_end_the_run() {
        assert!(next_frame(b"-ERR 'Slow Consumer'\r\n").is_err());
        assert!(next_frame(b"MSG a 1 2\r\nhello\r\n").is_err());
        assert!(next_frame(b"MSG a\r\n").is_err());
        assert!(next_frame(b"HMSG a 1 16\r\n").is_err());
        assert!(next_frame(b"HMSG a 1 9 5\r\nhello\r\n").is_err());
    }
}
