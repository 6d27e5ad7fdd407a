//! The files of the log: `<first entry>.log`, at most one `spare`, and `*.aside`, to be overwritten.
//!
//! A segment whose entries are no longer needed becomes the spare, and the spare becomes the next
//! segment: overwriting a file is faster to sync than growing one, because no metadata changes.
//! Where nothing is left to overwrite, a small write takes zeros for its successors with it. The
//! segment that an opening begins is a new file: nobody knows what is in the spare, and before the
//! first entry a segment cannot be set aside. Where space is short there are no spares, and no
//! zeros that do not fit.

use crate::format::{SEGMENT_HEADER_BYTES, segment_header};
use penstock_disk::{Disk, File};
use std::io;

const SPARE: &str = "spare";
const UNFINISHED: &str = "unfinished";
const SUFFIX: &str = ".log";
const ASIDE: &str = ".aside";
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
    pub fn create(
        disk: &dyn Disk,
        directory: &str,
        first: u64,
        salt: u64,
        recycles: bool,
    ) -> io::Result<Segment> {
        let spare = Some(format!("{directory}/{SPARE}"));
        let spare = spare.filter(|spare| recycles && disk.exists(spare));
        let is_new = spare.is_none();
        let source = spare.unwrap_or_else(|| format!("{directory}/{UNFINISHED}"));
        let path = path_of(directory, first);
        let file = disk.open(&source, true)?;
        if is_new {
            file.truncate(0)?;
        }
        file.write_at(0, &segment_header(first, salt))?;
        file.sync()?;
        disk.rename(&source, &path)?;
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
    pub fn takes(&self, group_bytes: u64, segment_bytes_max: u64) -> bool {
        let end = self.offset + group_bytes;
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
            match write_zeros(&*self.file, self.offset, end) {
                Err(error) if error.kind() == io::ErrorKind::StorageFull => {}
                other => {
                    other?;
                    self.allocated = self.allocated.max(end);
                }
            }
        }
        self.allocated = self.allocated.max(self.offset);
        self.file.sync()
    }
}

#[allow(clippy::cast_possible_truncation)] // at most as much as there are zeros
pub(crate) fn write_zeros(file: &dyn File, start: u64, end: u64) -> io::Result<()> {
    let mut at = start;
    while at < end {
        let count = (end - at).min(ZEROS.len() as u64);
        file.write_at(at, &ZEROS[..count as usize])?;
        at += count;
    }
    Ok(())
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
    keeps_spare: bool,
) -> io::Result<()> {
    let path = path_of(directory, first);
    let spare = format!("{directory}/{SPARE}");
    let fits = disk.open(&path, false)?.len()? <= segment_bytes_max;
    if keeps_spare && fits && !disk.exists(&spare) {
        disk.rename(&path, &spare)?;
    } else {
        disk.remove_file(&path)?;
    }
    disk.sync_directory(directory)
}

/// Takes a segment out of the log, durably, to be overwritten.
pub(crate) fn retire_aside(disk: &dyn Disk, directory: &str, first: u64) -> io::Result<()> {
    let path = path_of(directory, first);
    disk.rename(&path, &format!("{path}{ASIDE}"))?;
    disk.sync_directory(directory)
}

/// The same for the spare, if there is one; `number` tells it from others.
pub(crate) fn spare_aside(disk: &dyn Disk, directory: &str, number: u64) -> io::Result<()> {
    let spare = format!("{directory}/{SPARE}");
    if disk.exists(&spare) {
        disk.rename(&spare, &format!("{spare}.{number}{ASIDE}"))?;
        disk.sync_directory(directory)?;
    }
    Ok(())
}

/// The paths of what was set aside.
pub(crate) fn set_aside(disk: &dyn Disk, directory: &str) -> io::Result<Vec<String>> {
    let names = disk.list(directory)?.into_iter();
    let aside = names.filter(|name| name.ends_with(ASIDE));
    Ok(aside.map(|name| format!("{directory}/{name}")).collect())
}

/// Gives the space of the spare back, if there is one.
pub(crate) fn remove_spare(disk: &dyn Disk, directory: &str) -> io::Result<()> {
    let spare = format!("{directory}/{SPARE}");
    match disk.exists(&spare) {
        true => disk.remove_file(&spare),
        false => Ok(()),
    }
}
