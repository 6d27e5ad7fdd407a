//! Bytes to frames. A line is found with memchr, its arguments are split on blanks, and every
//! number is checked; a payload must be followed by CRLF.
//!
//! Bytes that cannot become a verb are refused as soon as they are seen, not when their line
//! ends: a TLS hello on a plain port must not wait for a newline that never comes.

use crate::frame::{Fault, Frame, Span, Verb};
use crate::number::parse_size;
use memchr::memchr;

/// The bounds of the decoder.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest argument part of a line, without its verb.
    pub control_line_bytes_max: usize,
    /// Largest payload, headers included.
    pub payload_bytes_max: usize,
}

/// What the front of a buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A frame and how many bytes it took.
    Frame(Frame, usize),
    /// Not yet a frame; it cannot be complete before this many bytes are there.
    Incomplete(usize),
    /// Never a frame.
    Fault(Fault),
}

/// What may follow a verb on its line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Argument {
    /// A blank, then arguments.
    Required,
    /// The rest of the line, blanks before it or not.
    Rest,
    /// Whatever follows is passed over.
    Ignored,
}

/// The verbs, with what may follow each, as the reference has it.
const VERBS: [(&[u8], Verb, Argument); 10] = [
    (b"pub", Verb::Publish, Argument::Required),
    (b"hpub", Verb::PublishWithHeaders, Argument::Required),
    (b"sub", Verb::Subscribe, Argument::Required),
    (b"unsub", Verb::Unsubscribe, Argument::Required),
    (b"ping", Verb::Ping, Argument::Ignored),
    (b"pong", Verb::Pong, Argument::Ignored),
    (b"connect", Verb::Connect, Argument::Rest),
    (b"info", Verb::Info, Argument::Rest),
    (b"-err", Verb::Err, Argument::Required),
    (b"+ok", Verb::Ok, Argument::Ignored),
];

const ARGUMENTS_MAX: usize = 5;

/// The frame at the front of `buffer`, which must hold less than 4 GiB.
#[must_use]
pub fn decode(buffer: &[u8], limits: &Limits) -> Step {
    let (verb, verb_bytes, argument) = match find_verb(buffer) {
        Ok(found) => found,
        Err(step) => return step,
    };
    let mut start = verb_bytes;
    if argument == Argument::Required {
        match buffer.get(start) {
            None => return Step::Incomplete(start + 1),
            Some(byte) if !is_blank(*byte) => return Step::Fault(Fault::UnknownOperation),
            Some(_) => {}
        }
    }
    if argument != Argument::Ignored {
        while buffer.get(start).copied().is_some_and(is_blank) {
            start += 1;
        }
        if start - verb_bytes > limits.control_line_bytes_max + 1 {
            return Step::Fault(Fault::ControlLineTooLong);
        }
    }
    let window_end = buffer.len().min(start + limits.control_line_bytes_max + 2);
    let Some(line_bytes) = memchr(b'\n', &buffer[start..window_end]) else {
        if buffer.len() - start > limits.control_line_bytes_max + 1 {
            return Step::Fault(Fault::ControlLineTooLong);
        }
        return Step::Incomplete(buffer.len() + 1);
    };
    let next = start + line_bytes + 1;
    let mut end = start + line_bytes;
    if end > start && buffer[end - 1] == b'\r' {
        end -= 1;
    }
    if end - start > limits.control_line_bytes_max {
        return Step::Fault(Fault::ControlLineTooLong);
    }
    match verb {
        Verb::Publish | Verb::PublishWithHeaders => publish(buffer, verb, start, end, next, limits),
        Verb::Subscribe => subscribe(buffer, start, end, next),
        Verb::Unsubscribe => unsubscribe(buffer, start, end, next),
        Verb::Connect | Verb::Info | Verb::Err => {
            let mut frame = Frame::bare(verb);
            frame.payload = span(start, end);
            Step::Frame(frame, next)
        }
        _ => Step::Frame(Frame::bare(verb), next),
    }
}

fn find_verb(buffer: &[u8]) -> Result<(Verb, usize, Argument), Step> {
    let mut incomplete = buffer.is_empty();
    for (name, verb, argument) in VERBS {
        let seen = name.len().min(buffer.len());
        if buffer[..seen].eq_ignore_ascii_case(&name[..seen]) {
            if seen == name.len() {
                return Ok((verb, seen, argument));
            }
            incomplete = true;
        }
    }
    Err(if incomplete {
        Step::Incomplete(buffer.len() + 1)
    } else {
        Step::Fault(Fault::UnknownOperation)
    })
}

fn publish(
    buffer: &[u8],
    verb: Verb,
    start: usize,
    end: usize,
    next: usize,
    limits: &Limits,
) -> Step {
    let with_headers = verb == Verb::PublishWithHeaders;
    // A carriage return inside a line could be taken for its end by whoever receives it.
    if memchr(b'\r', &buffer[start..end]).is_some() {
        return Step::Fault(Fault::BadArguments);
    }
    let (arguments, count) = split(buffer, start, end);
    let numbers = if with_headers { 2 } else { 1 };
    if count != numbers + 1 && count != numbers + 2 {
        return Step::Fault(Fault::BadArguments);
    }
    let Some(size) = parse_size(arguments[count - 1].of(buffer)) else {
        return Step::Fault(Fault::BadArguments);
    };
    let header_bytes = match with_headers.then(|| parse_size(arguments[count - 2].of(buffer))) {
        None => 0,
        Some(Some(bytes)) if bytes <= size => bytes,
        Some(_) => return Step::Fault(Fault::BadArguments),
    };
    if size as usize > limits.payload_bytes_max {
        return Step::Fault(Fault::PayloadTooLarge);
    }
    let body_end = next + size as usize;
    let closes = |offset: usize, byte: u8| buffer.get(body_end + offset).is_none_or(|b| *b == byte);
    if !closes(0, b'\r') || !closes(1, b'\n') {
        return Step::Fault(Fault::UnknownOperation);
    }
    if buffer.len() < body_end + 2 {
        return Step::Incomplete(body_end + 2);
    }
    let mut frame = Frame::bare(verb);
    frame.subject = arguments[0];
    if count == numbers + 2 {
        frame.reply = arguments[1];
    }
    frame.header_bytes = header_bytes;
    frame.size_digits = digits(arguments[count - 1]);
    frame.header_digits = if with_headers {
        digits(arguments[count - 2])
    } else {
        0
    };
    frame.payload = span(next, body_end);
    Step::Frame(frame, body_end + 2)
}

fn subscribe(buffer: &[u8], start: usize, end: usize, next: usize) -> Step {
    let (arguments, count) = split(buffer, start, end);
    let mut frame = Frame::bare(Verb::Subscribe);
    frame.subject = arguments[0];
    match count {
        2 => frame.payload = arguments[1],
        3 => {
            frame.reply = arguments[1];
            frame.payload = arguments[2];
        }
        _ => return Step::Fault(Fault::BadArguments),
    }
    Step::Frame(frame, next)
}

fn unsubscribe(buffer: &[u8], start: usize, end: usize, next: usize) -> Step {
    let (arguments, count) = split(buffer, start, end);
    let mut frame = Frame::bare(Verb::Unsubscribe);
    frame.payload = arguments[0];
    match count {
        1 => {}
        2 => frame.reply = arguments[1],
        _ => return Step::Fault(Fault::BadArguments),
    }
    Step::Frame(frame, next)
}

/// Arguments between blanks. A count of `ARGUMENTS_MAX` means that many or more.
fn split(buffer: &[u8], start: usize, end: usize) -> ([Span; ARGUMENTS_MAX], usize) {
    let mut arguments = [Span::default(); ARGUMENTS_MAX];
    let mut count = 0;
    let mut at = start;
    while count < ARGUMENTS_MAX {
        while at < end && is_blank_or_return(buffer[at]) {
            at += 1;
        }
        if at == end {
            break;
        }
        let word = at;
        while at < end && !is_blank_or_return(buffer[at]) {
            at += 1;
        }
        arguments[count] = span(word, at);
        count += 1;
    }
    (arguments, count)
}

#[allow(clippy::cast_possible_truncation)] // `parse_size` takes nine digits at the most
fn digits(number: Span) -> u8 {
    number.len() as u8
}

#[allow(clippy::cast_possible_truncation)] // buffers are below 4 GiB: see `decode`
fn span(start: usize, end: usize) -> Span {
    Span {
        start: start as u32,
        end: end as u32,
    }
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn is_blank_or_return(byte: u8) -> bool {
    is_blank(byte) || byte == b'\r'
}
