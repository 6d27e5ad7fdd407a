//! Rows to publishes: the frames (HPUB) of a stretch of rows, rendered into one buffer.
//!
//! What the headers mean is Python's: here a row gets the lines that all of them have, one line
//! with its number, a line for each column that has a value, and the names and values of its
//! map. Nothing from a row may become protocol: a subject must be one that can be published to
//! and that the stream listens to, a header must not hold a line break, a message must not be
//! larger than the server takes. The first row that is none of that ends the rendering.

use crate::given::{Ranges, Texts};
use penstock_subjects::{Listener, Router, is_valid_literal};

/// Why a row cannot be published. The numbers are shared with Python (`kernel/publishes.py`).
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    NoSubject = 1,
    BadSubject = 2,
    ForeignSubject = 3,
    ReservedSubject = 4,
    BadHeader = 5,
    TooLarge = 6,
}

/// A row that cannot be published.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    pub row: usize,
    pub reason: Reason,
}

/// The subjects rows may have: those of the stream, without the reserved ones.
#[derive(Default)]
pub struct Subjects {
    router: Router,
    last: Vec<u8>,
}

impl Subjects {
    #[must_use]
    pub fn new(allowed: &[Vec<u8>], reserved: &[Vec<u8>]) -> Subjects {
        let mut router = Router::default();
        for pattern in allowed {
            router.insert(pattern, None, Listener::Plain(0));
        }
        for pattern in reserved {
            router.insert(pattern, None, Listener::Target(0));
        }
        Subjects {
            router,
            last: Vec::new(),
        }
    }

    fn check(&mut self, subject: &[u8]) -> Result<(), Reason> {
        if !subject.is_empty() && subject == self.last {
            return Ok(());
        }
        if !is_valid_literal(subject) {
            return Err(Reason::BadSubject);
        }
        let found = self.router.find(subject);
        if !found.targets.is_empty() {
            return Err(Reason::ReservedSubject);
        }
        if found.plain.is_empty() {
            return Err(Reason::ForeignSubject);
        }
        self.last.clear();
        self.last.extend_from_slice(subject);
        Ok(())
    }
}

/// A column of maps: for each row a range of entries, each a name and one or several values.
pub struct Maps<B> {
    pub entries: Ranges<B>,
    pub names: Texts<B>,
    /// For each entry a range of values; without it, each has the value in its place.
    pub lists: Option<Ranges<B>>,
    pub values: Texts<B>,
}

/// The columns of one Arrow batch.
pub struct Columns<B> {
    pub subjects: Option<Texts<B>>,
    pub payloads: Option<Texts<B>>,
    /// Instead of the line with the number, where a row has one.
    pub ids: Option<Texts<B>>,
    /// A header's name for each column.
    pub lines: Vec<(Vec<u8>, Texts<B>)>,
    pub headers: Option<Maps<B>>,
}

/// What the rows of a stretch have in common.
pub struct Frame<'a> {
    /// Of rows without one of their own; empty if there is none.
    pub subject: &'a [u8],
    /// The reply subject without the row's number; empty if nobody wants an answer.
    pub reply: &'a [u8],
    /// Whole header lines, each with its line break.
    pub lines: &'a [u8],
    /// The header with the row's number, and what stands before the number.
    pub name: &'a [u8],
    pub stem: &'a [u8],
    /// Of the first row.
    pub number: u64,
    /// Of one message, headers and payload together.
    pub bytes_max: usize,
}

/// Appends the frames of rows `first..last`, until there are `stop` bytes; returns the row that
/// would be next.
pub fn render<B: AsRef<[u8]>>(
    columns: &Columns<B>,
    (first, last, stop): (usize, usize, usize),
    frame: &Frame<'_>,
    subjects: &mut Subjects,
    out: &mut Vec<u8>,
) -> Result<usize, Refused> {
    let mut headers = Vec::with_capacity(256);
    let mut digits = itoa::Buffer::new();
    for row in first..last {
        if out.len() >= stop {
            return Ok(row);
        }
        let refused = |reason| Refused { row, reason };
        let own = columns.subjects.as_ref().and_then(|texts| texts.get(row));
        let subject = own.unwrap_or(frame.subject);
        if subject.is_empty() {
            return Err(refused(Reason::NoSubject));
        }
        subjects.check(subject).map_err(refused)?;
        let number = digits
            .format(frame.number + (row - first) as u64)
            .as_bytes();
        headers.clear();
        push_headers(columns, row, frame, number, &mut headers).map_err(refused)?;
        let payload = columns.payloads.as_ref().and_then(|texts| texts.get(row));
        let payload = payload.unwrap_or_default();
        if headers.len() + payload.len() > frame.bytes_max {
            return Err(refused(Reason::TooLarge));
        }
        out.extend_from_slice(b"HPUB ");
        out.extend_from_slice(subject);
        if !frame.reply.is_empty() {
            out.push(b' ');
            out.extend_from_slice(frame.reply);
            out.extend_from_slice(number);
        }
        for size in [headers.len(), headers.len() + payload.len()] {
            out.push(b' ');
            out.extend_from_slice(itoa::Buffer::new().format(size).as_bytes());
        }
        for part in [b"\r\n".as_slice(), &headers, payload, b"\r\n"] {
            out.extend_from_slice(part);
        }
    }
    Ok(last)
}

fn push_headers<B: AsRef<[u8]>>(
    columns: &Columns<B>,
    row: usize,
    frame: &Frame<'_>,
    number: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Reason> {
    out.extend_from_slice(b"NATS/1.0\r\n");
    out.extend_from_slice(frame.lines);
    match columns.ids.as_ref().and_then(|texts| texts.get(row)) {
        Some(id) => push_line(out, frame.name, id)?,
        None => {
            out.extend_from_slice(frame.name);
            out.extend_from_slice(b": ");
            out.extend_from_slice(frame.stem);
            out.extend_from_slice(number);
            out.extend_from_slice(b"\r\n");
        }
    }
    for (name, texts) in &columns.lines {
        if let Some(value) = texts.get(row) {
            push_line(out, name, value)?;
        }
    }
    if let Some(maps) = &columns.headers
        && let Some((first, last)) = maps.entries.get(row)
    {
        for entry in first..last {
            push_entry(maps, entry, out)?;
        }
    }
    out.extend_from_slice(b"\r\n");
    Ok(())
}

fn push_entry<B: AsRef<[u8]>>(
    maps: &Maps<B>,
    entry: usize,
    out: &mut Vec<u8>,
) -> Result<(), Reason> {
    let name = maps.names.get(entry).unwrap_or_default();
    if name.is_empty() || name.iter().any(|byte| *byte <= b' ' || *byte == b':') {
        return Err(Reason::BadHeader);
    }
    let (first, last) = match &maps.lists {
        None => (entry, entry + 1),
        Some(lists) => lists.get(entry).unwrap_or_default(),
    };
    for index in first..last {
        push_line(out, name, maps.values.get(index).unwrap_or_default())?;
    }
    Ok(())
}

fn push_line(out: &mut Vec<u8>, name: &[u8], value: &[u8]) -> Result<(), Reason> {
    if memchr::memchr2(b'\r', b'\n', value).is_some() {
        return Err(Reason::BadHeader);
    }
    for part in [name, b": ", value, b"\r\n"] {
        out.extend_from_slice(part);
    }
    Ok(())
}
