//! Reads a segment: verified groups, from one window over the file.

use crate::format::{
    GROUP_HEADER_BYTES, GroupHeader, SECTOR_BYTES, SEGMENT_HEADER_BYTES, parse_segment_header,
};
use crate::segment::path_of;
use penstock_disk::{Disk, File};
use std::io;

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

    /// A part of the file, None if it ends before. The slice is what the window holds.
    #[allow(clippy::cast_possible_truncation)] // differences inside the window
    pub fn bytes(&mut self, offset: u64, count: usize) -> io::Result<Option<&[u8]>> {
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
        Ok(self.window[..self.window_len].get(at..at + count))
    }

    /// The group at an offset with its bytes, header included, if it is whole.
    #[allow(clippy::cast_possible_truncation)] // bounded by the file's length before
    pub fn group(&mut self, offset: u64) -> io::Result<Option<(GroupHeader, &[u8])>> {
        let Some(salt) = self.salt else {
            return Ok(None);
        };
        let header = self.bytes(offset, GROUP_HEADER_BYTES)?;
        let Some(header) = header.and_then(GroupHeader::parse) else {
            return Ok(None);
        };
        if header.length > self.len.saturating_sub(offset) {
            return Ok(None);
        }
        let bytes = self.bytes(offset, GROUP_HEADER_BYTES + header.length as usize)?;
        Ok(bytes
            .filter(|bytes| header.verifies(bytes, salt))
            .map(|bytes| (header, bytes)))
    }

    /// The next whole group behind a damaged one, and its offset. Groups below `first` are what a
    /// recycled file held before.
    pub fn search(&mut self, from: u64, first: u64) -> io::Result<Option<(u64, u64)>> {
        let mut offset = from;
        while let Some(bytes) = self.bytes(offset, GROUP_HEADER_BYTES)? {
            let header = GroupHeader::parse(bytes);
            if header.is_some_and(|header| header.first >= first)
                && let Some((header, _)) = self.group(offset)?
            {
                return Ok(Some((offset, header.first)));
            }
            offset += SECTOR_BYTES;
        }
        Ok(None)
    }
}
