//! The files of the log: `<first entry>.log`, and at most one `spare`.
//!
//! A segment whose entries are no longer needed becomes the spare, and the spare becomes the next
//! segment: overwriting a file is faster to sync than growing one, because no metadata changes.
//! Where nothing is left to overwrite, a small write takes zeros for its successors with it.

use crate::format::{SECTOR_BYTES, SEGMENT_HEADER_BYTES, segment_header};
use penstock_disk::{Disk, File};
use std::io;

const SPARE: &str = "spare";
const SUFFIX: &str = ".log";
const SMALL_GROUP_BYTES: u64 = 64 * 1024; // above, zeros cost as much as they save
static ZEROS: [u8; 1 << 20] = [0; 1 << 20];

pub(crate) struct Segment {
    file: Box<dyn File>,
    pub salt: u64,
    offset: u64,
    /// The length of the file: what lies between can be overwritten.
    allocated: u64,
}

impl Segment {
    /// A segment without entries; it and its name are durable on return.
    pub fn create(disk: &dyn Disk, directory: &str, first: u64, salt: u64) -> io::Result<Segment> {
        let spare = format!("{directory}/{SPARE}");
        let path = path_of(directory, first);
        let file = disk.open(&spare, true)?;
        file.write_at(0, &segment_header(first, salt))?;
        file.sync()?;
        disk.rename(&spare, &path)?;
        disk.sync_directory(directory)?;
        let file = disk.open(&path, false)?; // so that its errors have its name
        let allocated = file.len()?;
        Ok(Segment {
            file,
            salt,
            offset: SEGMENT_HEADER_BYTES as u64,
            allocated,
        })
    }

    /// Whether a group belongs here; the first one always does.
    pub fn takes(&self, group_bytes: usize, segment_bytes_max: u64) -> bool {
        let end = self.offset + (group_bytes as u64).next_multiple_of(SECTOR_BYTES);
        self.offset == SEGMENT_HEADER_BYTES as u64 || end <= segment_bytes_max
    }

    /// Writes a group and syncs; it is durable on return.
    pub fn write(
        &mut self,
        group: &[u8],
        extend_bytes: u64,
        segment_bytes_max: u64,
    ) -> io::Result<()> {
        let bytes = group.len() as u64;
        self.file.write_at(self.offset, group)?;
        self.offset += bytes;
        if self.offset > self.allocated && extend_bytes > 0 && bytes <= SMALL_GROUP_BYTES {
            let end = segment_bytes_max.min(self.offset + extend_bytes);
            self.write_zeros(end)?;
        }
        self.allocated = self.allocated.max(self.offset);
        self.file.sync()
    }

    #[allow(clippy::cast_possible_truncation)] // at most as much as there are zeros
    fn write_zeros(&mut self, end: u64) -> io::Result<()> {
        let mut at = self.offset;
        while at < end {
            let count = (end - at).min(ZEROS.len() as u64);
            self.file.write_at(at, &ZEROS[..count as usize])?;
            at += count;
        }
        self.allocated = self.allocated.max(at);
        Ok(())
    }
}

pub(crate) fn path_of(directory: &str, first: u64) -> String {
    format!("{directory}/{first:020}{SUFFIX}")
}

/// The first entries of all segments, in order.
pub(crate) fn list(disk: &dyn Disk, directory: &str) -> io::Result<Vec<u64>> {
    let names = disk.list(directory)?;
    let numbers = names.iter().filter_map(|name| name.strip_suffix(SUFFIX));
    let mut firsts: Vec<u64> = numbers.filter_map(|text| text.parse().ok()).collect();
    firsts.sort_unstable();
    Ok(firsts)
}

/// Takes a segment out of the log, durably: the next removal or reuse must not overtake this one.
pub(crate) fn retire(
    disk: &dyn Disk,
    directory: &str,
    first: u64,
    segment_bytes_max: u64,
) -> io::Result<()> {
    let path = path_of(directory, first);
    let spare = format!("{directory}/{SPARE}");
    let fits = disk.open(&path, false)?.len()? <= segment_bytes_max;
    if fits && !disk.exists(&spare) {
        disk.rename(&path, &spare)?;
    } else {
        disk.remove_file(&path)?;
    }
    disk.sync_directory(directory)
}
