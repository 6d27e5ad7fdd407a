//! Reads a segment: verified groups, from one window over the file.
//!
//! What is mended is mended in the window, so it lasts as long as the group is read.

use crate::checks::{mend, possible_headers};
use crate::format::{
    GROUP_HEADER_BYTES, GroupHeader, SECTOR_BYTES, SEGMENT_HEADER_BYTES, parse_segment_header,
};
use crate::segment::path_of;
use penstock_disk::{Disk, File};
use std::io;
use std::ops::Range;

const WINDOW_BYTES: usize = 1 << 20; // large enough that reading ahead costs few calls

pub(crate) struct Reader {
    pub path: String,
    pub file: Box<dyn File>,
    pub len: u64,
    /// None if the header is damaged: then nothing in the segment can be verified.
    pub salt: Option<u64>,
    window: Vec<u8>,
    window_start: u64,
    window_len: usize,
}

/// A group that is there, perhaps with holes.
pub(crate) struct Found {
    pub header: GroupHeader,
    /// Parts of the file that are not what was written.
    pub unknown: Vec<Range<u64>>,
    /// Whether something in it was wrong.
    pub is_mended: bool,
}

impl Found {
    fn whole(header: GroupHeader) -> Found {
        Found {
            header,
            unknown: Vec::new(),
            is_mended: false,
        }
    }

    pub fn is_whole(&self) -> bool {
        self.unknown.is_empty()
    }
}

impl Reader {
    pub fn open(disk: &dyn Disk, directory: &str, first: u64) -> io::Result<Reader> {
        let path = path_of(directory, first);
        let file = disk.open(&path, false)?;
        let len = file.len()?;
        let mut reader = Reader {
            path,
            file,
            len,
            salt: None,
            window: Vec::new(),
            window_start: 0,
            window_len: 0,
        };
        if let Some(header) = reader.bytes(0, SEGMENT_HEADER_BYTES)? {
            let salt = parse_segment_header(header, first);
            reader.salt = salt.map_err(|error| {
                let text = format!("read {}: {error}", reader.path);
                io::Error::new(error.kind(), text)
            })?;
        }
        Ok(reader)
    }

    /// A part of the file, None if it ends before.
    pub fn bytes(&mut self, offset: u64, count: usize) -> io::Result<Option<&[u8]>> {
        let place = self.load(offset, count)?;
        Ok(place.map(|place| &self.window[place]))
    }

    /// Where in the window a part of the file is, None if it ends before.
    #[allow(clippy::cast_possible_truncation)] // differences inside the window
    fn load(&mut self, offset: u64, count: usize) -> io::Result<Option<Range<usize>>> {
        if offset.saturating_add(count as u64) > self.len {
            return Ok(None);
        }
        let window_end = self.window_start + self.window_len as u64;
        if offset < self.window_start || offset + count as u64 > window_end {
            let wanted = count.max(WINDOW_BYTES.min((self.len - offset) as usize));
            if self.window.len() < wanted {
                self.window = vec![0; wanted];
            }
            self.window_start = offset;
            self.window_len = 0;
            self.window_len = self.file.read_at(offset, &mut self.window)?;
        }
        let at = (offset - self.window_start) as usize;
        Ok((at + count <= self.window_len).then_some(at..at + count))
    }

    /// The header of the group at an offset, if it is whole.
    pub fn group(&mut self, offset: u64) -> io::Result<Option<GroupHeader>> {
        let Some(salt) = self.salt else {
            return Ok(None);
        };
        let header = self.bytes(offset, GROUP_HEADER_BYTES)?;
        let Some(header) = header.and_then(GroupHeader::parse) else {
            return Ok(None);
        };
        let bytes = self.load_group(offset, &header)?;
        let is_whole = bytes.is_some_and(|place| header.verifies(&self.window[place], salt));
        Ok(is_whole.then_some(header))
    }

    /// The group that begins with an entry, whole, mended, or as much of it as is certain.
    pub fn damaged_group(&mut self, offset: u64, first: u64) -> io::Result<Option<Found>> {
        if let Some(header) = self.group(offset)?.filter(|header| header.first == first) {
            return Ok(Some(Found::whole(header)));
        }
        let (Some(salt), Some(bytes)) = (self.salt, self.bytes(offset, GROUP_HEADER_BYTES)?) else {
            return Ok(None);
        };
        for header in possible_headers(bytes, first) {
            if let Some(place) = self.load_group(offset, &header)?
                && header.count > 0
                && let Some(unknown) = mend(&header, &mut self.window[place], salt)
            {
                let unknown = unknown.iter().map(|part| absolute(offset, part));
                return Ok(Some(Found {
                    header,
                    unknown: unknown.collect(),
                    is_mended: true,
                }));
            }
        }
        Ok(None)
    }

    #[allow(clippy::cast_possible_truncation)] // bounded by the file's length before
    fn load_group(
        &mut self,
        offset: u64,
        header: &GroupHeader,
    ) -> io::Result<Option<Range<usize>>> {
        match header.bytes_all() <= self.len.saturating_sub(offset) {
            true => self.load(offset, header.bytes_all() as usize),
            false => Ok(None),
        }
    }

    /// The next whole group behind a damaged one, and its offset. Groups below `first` are what a
    /// recycled file held before.
    pub fn search(&mut self, from: u64, first: u64) -> io::Result<Option<(u64, u64)>> {
        let mut offset = from;
        while let Some(bytes) = self.bytes(offset, GROUP_HEADER_BYTES)? {
            let header = GroupHeader::parse(bytes);
            if header.is_some_and(|header| header.first >= first)
                && let Some(header) = self.group(offset)?
            {
                return Ok(Some((offset, header.first)));
            }
            offset += SECTOR_BYTES;
        }
        Ok(None)
    }
}

fn absolute(offset: u64, part: &Range<usize>) -> Range<u64> {
    offset + part.start as u64..offset + part.end as u64
}
