//! What a server sends to a consumer's inbox: messages, and statuses, which are headers alone.
//!
//! `next_frame` takes every HMSG for a fault, as the other modes never ask for one. Here a status is
//! something to be answered (flow control) or looked at (why a request ended).

use crate::Outcome;
use crate::frames::{Frame, next_frame};

#[derive(Debug, PartialEq)]
pub enum Incoming<'a> {
    Plain(Frame<'a>),
    Status {
        /// Code and text, as in `100 Idle Heartbeat`.
        words: &'a str,
        reply: &'a [u8],
    },
}

const VERSION: &str = "NATS/1.0 ";

fn number_of(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// `HMSG subject sid [reply] header-size size`, of which `words` is what follows the verb.
fn status<'a>(words: &'a [u8], rest: &'a [u8]) -> Outcome<Option<(Incoming<'a>, usize)>> {
    let words: Vec<&[u8]> = words.split(|byte| *byte == b' ').collect();
    let (reply, digits) = match words[..] {
        [_, _, _, digits] => (&b""[..], digits),
        [_, _, reply, _, digits] => (reply, digits),
        _ => return Err("the server sent a HMSG line with too few or too many words".into()),
    };
    let size = number_of(digits).ok_or("the server sent a HMSG line without a size")?;
    if rest.len() < size + 2 {
        return Ok(None);
    }
    let text = std::str::from_utf8(&rest[..size])?;
    let line = text
        .split("\r\n")
        .next()
        .and_then(|line| line.strip_prefix(VERSION));
    let words = line.ok_or_else(|| format!("the server sent headers without a status: {text}"))?;
    Ok(Some((Incoming::Status { words, reply }, size + 2)))
}

/// The first frame of `data` and its length, statuses included.
pub fn next_incoming(data: &[u8]) -> Outcome<Option<(Incoming<'_>, usize)>> {
    let Some(after_verb) = data.strip_prefix(b"HMSG ") else {
        let found = next_frame(data)?;
        return Ok(found.map(|(frame, length)| (Incoming::Plain(frame), length)));
    };
    let Some(line_end) = memchr::memchr(b'\n', after_verb) else {
        return Ok(None);
    };
    let (line, rest) = after_verb.split_at(line_end + 1);
    let line = line.strip_suffix(b"\r\n").unwrap_or(line);
    let head = data.len() - rest.len();
    Ok(status(line, rest)?.map(|(incoming, length)| (incoming, head + length)))
}

#[cfg(test)]
mod tests {
    use super::{Incoming, next_incoming};
    use crate::frames::Frame;

    #[test]
    fn statuses_and_other_frames() {
        let data =
            b"HMSG in 1 $JS.FC.S.C.x 34 34\r\nNATS/1.0 100 FlowControl Request\r\n\r\nPING\r\n";
        for cut in 0..data.len() - 6 {
            let found = next_incoming(&data[..cut]).expect("no fault");
            assert_eq!(found, None, "cut at {cut}");
        }
        let (status, length) = next_incoming(data).unwrap().unwrap();
        let words = "100 FlowControl Request";
        let reply = &b"$JS.FC.S.C.x"[..];
        assert_eq!(status, Incoming::Status { words, reply });
        let (ping, _) = next_incoming(&data[length..]).unwrap().unwrap();
        assert_eq!(ping, Incoming::Plain(Frame::Ping));
        let (status, _) = next_incoming(b"HMSG in 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n")
            .unwrap()
            .unwrap();
        let words = "503";
        assert_eq!(status, Incoming::Status { words, reply: b"" });
    }

    #[test]
    fn headers_of_a_message_are_not_a_status() {
        assert!(next_incoming(b"HMSG in 1 12 14\r\nNATS/1.0\r\n\r\nhi\r\n").is_err());
        assert!(next_incoming(b"HMSG in\r\n").is_err());
    }
}
