//! Replay: every entry of the log in order, and the search for its end when it is opened.
//!
//! A segment ends where the next one begins, by entry numbers; so only the end of the last segment
//! has to be found. There a group that is not whole is the torn tail, unless a whole group of the
//! same segment stands behind it: that one was written after the first was durable, so the first
//! was damaged later. Of a damaged group one wrong bit is mended; else the entries that have wrong
//! bytes are left out, and those behind one whose length is not certain.

use crate::format::{
    ENTRY_HEADER_BYTES, GROUP_HEADER_BYTES, GroupHeader, SECTOR_BYTES, SEGMENT_HEADER_BYTES,
    parse_entry,
};
use crate::log::Damage;
use crate::reader::{Found, Reader};
use penstock_disk::Disk;
use std::io;
use std::ops::Range;
use std::sync::Arc;

const GROUPS_START: u64 = SEGMENT_HEADER_BYTES as u64;

/// One entry of the log; the payload is valid until the next one is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    pub number: u64,
    pub stream: u64,
    pub kind: u8,
    pub payload: &'a [u8],
}

/// Entries that replay had to leave out (only with `Damage::Skip`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    pub path: String,
    /// Of the group that has them, or in whose place nothing can be read.
    pub offset: u64,
    pub first: u64,
    pub last: u64,
}

/// Where the last segment ends.
pub(crate) struct Tail {
    /// The number of the entry that comes next.
    pub next: u64,
    /// Path and offset of a group that was begun and is not whole.
    pub torn: Option<(String, u64)>,
    /// Path and offset behind the last whole group.
    pub end: Option<(String, u64)>,
    /// Path and offset of that group, if it was mended: it is right in the file, too, by then.
    pub mended: Option<(String, u64)>,
}

/// Reads every entry that was in the log when it was opened. To be finished before the first cut.
pub struct Replay {
    disk: Arc<dyn Disk>,
    directory: String,
    damage: Damage,
    /// First entries of the segments, then the first entry that is not to be replayed.
    bounds: Vec<u64>,
    index: usize,
    reader: Option<Reader>,
    offset: u64,
    expected: u64,
    /// What is left of the current group: entries, and the offset of the next.
    entries_left: u32,
    entry_offset: u64,
    group_start: u64,
    group_end: u64,
    /// Parts of it that are not what was written.
    unknown: Vec<Range<u64>>,
    lost: Vec<Lost>,
    mended: Vec<(String, u64)>,
    torn: Option<(String, u64)>,
    end: Option<(String, u64)>,
}

impl Replay {
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        directory: &str,
        damage: Damage,
        mut bounds: Vec<u64>,
        tail: Tail,
    ) -> Replay {
        bounds.push(tail.next);
        Replay {
            disk,
            directory: directory.to_owned(),
            damage,
            expected: bounds[0],
            bounds,
            index: 0,
            reader: None,
            offset: GROUPS_START,
            entries_left: 0,
            entry_offset: 0,
            group_start: 0,
            group_end: 0,
            unknown: Vec::new(),
            lost: Vec::new(),
            mended: Vec::from_iter(tail.mended),
            torn: tail.torn,
            end: tail.end,
        }
    }

    /// The next entry, or None after the last.
    #[allow(clippy::should_implement_trait)] // an iterator cannot lend its payload
    pub fn next(&mut self) -> io::Result<Option<Entry<'_>>> {
        while self.entries_left == 0 || self.passes_over()? {
            if self.entries_left == 0 && !self.next_group()? {
                return Ok(None);
            }
        }
        let number = self.expected - u64::from(self.entries_left);
        let (at, end) = (self.entry_offset, self.group_end);
        let Some(reader) = &mut self.reader else {
            return Ok(None);
        };
        let (stream, kind, payload_bytes) = entry_at(reader, at, end)?;
        self.entries_left -= 1;
        self.entry_offset += (ENTRY_HEADER_BYTES + payload_bytes) as u64;
        let bytes = reader.bytes(at, ENTRY_HEADER_BYTES + payload_bytes)?;
        let payload = &bytes.unwrap_or_default()[ENTRY_HEADER_BYTES..];
        Ok(Some(Entry {
            number,
            stream,
            kind,
            payload,
        }))
    }

    /// Whether the next entry of the group, or all that is left of it, is not what was written.
    fn passes_over(&mut self) -> io::Result<bool> {
        let (at, end) = (self.entry_offset, self.group_end);
        let (Some(reader), false) = (&mut self.reader, self.unknown.is_empty()) else {
            return Ok(false);
        };
        let number = self.expected - u64::from(self.entries_left);
        let meets = |start: u64, end: u64| {
            let mut parts = self.unknown.iter();
            parts.any(|part| part.start < end && start < part.end)
        };
        let head_end = at + ENTRY_HEADER_BYTES as u64;
        let mut passed = self.entries_left;
        if !meets(at, head_end) {
            let payload_bytes = entry_at(reader, at, end)?.2 as u64;
            if !meets(head_end, head_end + payload_bytes) {
                return Ok(false);
            }
            self.entry_offset = head_end + payload_bytes;
            passed = 1;
        }
        self.entries_left -= passed;
        self.lost.push(Lost {
            path: reader.path.clone(),
            offset: self.group_start,
            first: number,
            last: number + u64::from(passed) - 1,
        });
        Ok(true)
    }

    /// What was left out so far.
    #[must_use]
    pub fn lost(&self) -> &[Lost] {
        &self.lost
    }

    /// Paths and offsets of groups that had a wrong bit, which is right again.
    #[must_use]
    pub fn mended(&self) -> &[(String, u64)] {
        &self.mended
    }

    /// Path and offset of the torn group that was cut from the end, if one was.
    #[must_use]
    pub fn torn(&self) -> Option<(&str, u64)> {
        let torn = self.torn.as_ref();
        torn.map(|(path, offset)| (path.as_str(), *offset))
    }

    /// Path and offset where the log ended when it was opened, if it had a segment that could be
    /// read.
    #[must_use]
    pub fn end(&self) -> Option<(&str, u64)> {
        let end = self.end.as_ref();
        end.map(|(path, offset)| (path.as_str(), *offset))
    }

    fn next_group(&mut self) -> io::Result<bool> {
        while self.index + 1 < self.bounds.len() {
            let stop = self.bounds[self.index + 1];
            if self.expected >= stop {
                self.index += 1;
                self.reader = None;
                continue;
            }
            let (expected, offset) = (self.expected, self.offset);
            let reader = match &mut self.reader {
                Some(reader) => reader,
                None => {
                    self.offset = GROUPS_START;
                    let first = self.bounds[self.index];
                    let opened = Reader::open(&*self.disk, &self.directory, first)?;
                    self.reader = Some(opened);
                    continue;
                }
            };
            let found = reader.damaged_group(offset, expected)?;
            let is_known = |found: &Found| found.is_whole() || self.damage == Damage::Skip;
            match found.filter(|found| found.header.next() <= stop && is_known(found)) {
                Some(found) => {
                    self.enter(found);
                    return Ok(true);
                }
                None => self.skip(stop)?,
            }
        }
        Ok(false)
    }

    fn enter(&mut self, found: Found) {
        let header = found.header;
        if let Some(reader) = self.reader.as_ref().filter(|_| found.is_mended) {
            self.mended.push((reader.path.clone(), self.offset));
        }
        self.unknown = found.unknown;
        self.group_start = self.offset;
        self.entries_left = header.count;
        self.entry_offset = self.offset + GROUP_HEADER_BYTES as u64;
        self.group_end = self.entry_offset + header.length;
        self.offset += header.sectors_bytes();
        self.expected = header.next();
    }

    /// Damage at the current offset: goes on behind it if that was asked for.
    fn skip(&mut self, stop: u64) -> io::Result<()> {
        let Some(reader) = &mut self.reader else {
            return Ok(());
        };
        if self.damage == Damage::Refuse {
            let text = format!("entry {} is missing or damaged", self.expected);
            return Err(damaged(&reader.path, self.offset, &text));
        }
        let found = reader.search(self.offset + SECTOR_BYTES, self.expected + 1)?;
        let (offset, next) = found
            .filter(|(_, first)| *first < stop)
            .unwrap_or((reader.len, stop));
        self.lost.push(Lost {
            path: reader.path.clone(),
            offset: self.offset,
            first: self.expected,
            last: next - 1,
        });
        self.offset = offset;
        self.expected = next;
        Ok(())
    }
}

/// Walks the last segment to its end, and makes its last group durable: it may have been written
/// by a process that died before the sync, or whose sync failed.
pub(crate) fn find_tail(
    disk: &dyn Disk,
    directory: &str,
    first: u64,
    damage: Damage,
) -> io::Result<Tail> {
    let mut reader = Reader::open(disk, directory, first)?;
    let (mut offset, mut next) = (GROUPS_START, first);
    if reader.salt.is_none() {
        if damage == Damage::Refuse {
            return Err(damaged(&reader.path, 0, "the header is damaged"));
        }
        // How many entries are lost cannot be known; no number may be used twice.
        next += reader.len / ENTRY_HEADER_BYTES as u64 + 1;
        return Ok(Tail {
            next,
            torn: None,
            end: None,
            mended: None,
        });
    }
    let mut last = None;
    loop {
        let group = reader.damaged_group(offset, next)?;
        if let Some(found) = group.filter(Found::is_whole) {
            let header = found.header;
            last = Some((offset, header.sectors_bytes(), found.is_mended));
            next = header.next();
            offset += header.sectors_bytes();
        } else if let Some(found) = reader.search(offset + SECTOR_BYTES, next + 1)? {
            if damage == Damage::Refuse {
                let text = format!("entry {next} is damaged, entry {} is whole", found.1);
                return Err(damaged(&reader.path, offset, &text));
            }
            (offset, next) = found;
        } else {
            break;
        }
    }
    if let Some((start, bytes, _)) = last {
        let bytes = length(bytes.min(reader.len - start));
        let group = reader.bytes(start, bytes)?.map(<[u8]>::to_vec);
        reader.file.write_at(start, &group.unwrap_or_default())?;
        reader.file.sync()?;
    }
    let header = reader.bytes(offset, GROUP_HEADER_BYTES)?;
    let begun = header.and_then(GroupHeader::parse);
    let torn = begun.filter(|header| header.first == next);
    let torn = torn.map(|_| (reader.path.clone(), offset));
    let mended = last.filter(|(.., is_mended)| *is_mended);
    let mended = mended.map(|(start, ..)| (reader.path.clone(), start));
    let end = Some((reader.path, offset));
    Ok(Tail {
        next,
        torn,
        end,
        mended,
    })
}

/// Stream, kind and payload length of the entry at an offset of a group that ends at another.
fn entry_at(reader: &mut Reader, at: u64, end: u64) -> io::Result<(u64, u8, usize)> {
    let bytes = reader.bytes(at, length(end - at))?;
    let entry = bytes.and_then(parse_entry);
    entry.ok_or_else(|| damaged(&reader.path, at, "an entry does not fit into its group"))
}

fn damaged(path: &str, offset: u64, text: &str) -> io::Error {
    let text = format!("read {path}: damaged at offset {offset}: {text}");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[allow(clippy::cast_possible_truncation)] // the length of something in memory
fn length(bytes: u64) -> usize {
    bytes as usize
}
