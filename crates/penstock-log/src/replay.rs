//! Replay: every entry of the log in order, and the search for its end when it is opened.
//!
//! A segment ends where the next one begins, by entry numbers; so only the end of the last segment
//! has to be found. There a group that is not whole is the torn tail, unless a whole group of the
//! same segment stands behind it: that one was written after the first was durable, so the first
//! was damaged later.

use crate::format::{
    ENTRY_HEADER_BYTES, GROUP_HEADER_BYTES, GroupHeader, SECTOR_BYTES, SEGMENT_HEADER_BYTES,
    parse_entry,
};
use crate::log::Damage;
use crate::reader::Reader;
use penstock_disk::Disk;
use std::io;
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
    group_end: u64,
    lost: Vec<Lost>,
    torn: Option<(String, u64)>,
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
            group_end: 0,
            lost: Vec::new(),
            torn: tail.torn,
        }
    }

    /// The next entry, or None after the last.
    #[allow(clippy::should_implement_trait)] // an iterator cannot lend its payload
    pub fn next(&mut self) -> io::Result<Option<Entry<'_>>> {
        while self.entries_left == 0 {
            if !self.next_group()? {
                return Ok(None);
            }
        }
        let number = self.expected - u64::from(self.entries_left);
        let (at, end) = (self.entry_offset, self.group_end);
        let Some(reader) = &mut self.reader else {
            return Ok(None);
        };
        let broken = damaged(&reader.path, at, "an entry does not fit into its group");
        let Some(bytes) = reader.bytes(at, length(end - at))? else {
            return Err(broken);
        };
        let Some((stream, kind, payload_bytes)) = parse_entry(bytes) else {
            return Err(broken);
        };
        self.entries_left -= 1;
        self.entry_offset += (ENTRY_HEADER_BYTES + payload_bytes) as u64;
        let payload = &bytes[ENTRY_HEADER_BYTES..ENTRY_HEADER_BYTES + payload_bytes];
        Ok(Some(Entry {
            number,
            stream,
            kind,
            payload,
        }))
    }

    /// What was left out so far.
    #[must_use]
    pub fn lost(&self) -> &[Lost] {
        &self.lost
    }

    /// Path and offset of the torn group that was cut from the end, if one was.
    #[must_use]
    pub fn torn(&self) -> Option<(&str, u64)> {
        let torn = self.torn.as_ref();
        torn.map(|(path, offset)| (path.as_str(), *offset))
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
            let header = reader.group(offset)?.map(|(header, _)| header);
            match header.filter(|header| header.first == expected && header.next() <= stop) {
                Some(header) => {
                    self.enter(&header);
                    return Ok(true);
                }
                None => self.skip(stop)?,
            }
        }
        Ok(false)
    }

    fn enter(&mut self, header: &GroupHeader) {
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
        return Ok(Tail { next, torn: None });
    }
    let mut last = None;
    loop {
        let group = reader.group(offset)?.map(|(header, _)| header);
        if let Some(header) = group.filter(|header| header.first == next) {
            last = Some((offset, header.sectors_bytes()));
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
    if let Some((start, bytes)) = last {
        let bytes = length(bytes.min(reader.len - start));
        let group = reader.bytes(start, bytes)?.map(<[u8]>::to_vec);
        reader.file.write_at(start, &group.unwrap_or_default())?;
        reader.file.sync()?;
    }
    let header = reader.bytes(offset, GROUP_HEADER_BYTES)?;
    let begun = header.and_then(GroupHeader::parse);
    let torn = begun.filter(|header| header.first == next);
    let torn = torn.map(|_| (reader.path.clone(), offset));
    Ok(Tail { next, torn })
}

fn damaged(path: &str, offset: u64, text: &str) -> io::Error {
    let text = format!("read {path}: damaged at offset {offset}: {text}");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[allow(clippy::cast_possible_truncation)] // the length of something in memory
fn length(bytes: u64) -> usize {
    bytes as usize
}
