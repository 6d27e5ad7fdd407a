//! The checks of a group: one for each KiB of its entries, so that damage has a place.
//!
//! The group's hash covers its header and the checks, the checks cover the entries. Where only one
//! bit is wrong, in the header, in a check or in any KiB, the bit that makes the hash fit again is
//! found by trying: sixty-four bits do not fit by chance. Where more is wrong, the KiB is known, and
//! with it the entries that are not to be believed.

use crate::format::{GROUP_HEADER_BYTES, GroupHeader};
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64_with_seed;

pub(crate) const CHECK_BYTES: usize = 8;
const CHUNK_BYTES: usize = 1024; // trying all bits of one takes a millisecond
const MENDED_CHUNKS_MAX: usize = 64; // bits do not flip in so many; something else is wrong then

/// The space that the checks of so many bytes of entries take.
pub(crate) fn checks_bytes(entries_bytes: u64) -> u64 {
    entries_bytes.div_ceil(CHUNK_BYTES as u64) * CHECK_BYTES as u64
}

/// Puts the checks behind the entries, which are behind room for the header.
pub(crate) fn push_checks(buffer: &mut Vec<u8>, salt: u64) {
    let end = buffer.len();
    for start in (GROUP_HEADER_BYTES..end).step_by(CHUNK_BYTES) {
        let check = xxh3_64_with_seed(&buffer[start..end.min(start + CHUNK_BYTES)], salt);
        buffer.extend_from_slice(&check.to_le_bytes());
    }
}

/// The hash of a group: over its header, but for the hash itself, and the checks.
pub(crate) fn hash_of(header: &[u8], checks: &[u8], salt: u64) -> u64 {
    let mut covered = [0; GROUP_HEADER_BYTES];
    covered[..24].copy_from_slice(&header[8..GROUP_HEADER_BYTES]);
    covered[24..].copy_from_slice(&xxh3_64_with_seed(checks, salt).to_le_bytes());
    xxh3_64_with_seed(&covered, salt)
}

/// The headers that may have stood where these bytes are: as they are, then with one bit turned.
pub(crate) fn possible_headers(bytes: &[u8], first: u64) -> Vec<GroupHeader> {
    let mut header = bytes[..GROUP_HEADER_BYTES].to_vec();
    let mut possible = Vec::from_iter(GroupHeader::parse(&header));
    for bit in 64..GROUP_HEADER_BYTES * 8 {
        turn(&mut header, bit);
        possible.extend(GroupHeader::parse(&header));
        turn(&mut header, bit);
    }
    possible.retain(|header| header.first == first && header.has_checks);
    possible
}

/// Mends what can be mended of a group (header, entries and checks) that does not verify. Returns
/// where in it bytes are left that nobody knows. None, and nothing is changed, if not even header
/// and checks are certain.
#[allow(clippy::cast_possible_truncation)] // the group is in memory
pub(crate) fn mend(header: &GroupHeader, group: &mut [u8], salt: u64) -> Option<Vec<Range<usize>>> {
    let entries_end = GROUP_HEADER_BYTES + header.length as usize;
    let entries = &group[GROUP_HEADER_BYTES..entries_end];
    let mut checks = group[entries_end..].to_vec();
    let mut bad = bad_chunks(entries, &checks, salt);
    if !is_nearly(hash_of(&header.bytes(), &checks, salt), header.hash) {
        // A check may be what is wrong; then its KiB is right.
        let [chunk] = bad[..] else { return None };
        let place = chunk * CHECK_BYTES..(chunk + 1) * CHECK_BYTES;
        checks[place].copy_from_slice(&check_of(entries, chunk, salt).to_le_bytes());
        if hash_of(&header.bytes(), &checks, salt) != header.hash {
            return None;
        }
        bad.clear();
    }
    let mut head = header.bytes();
    let hash = hash_of(&head, &checks, salt);
    head[..8].copy_from_slice(&hash.to_le_bytes());
    group[..GROUP_HEADER_BYTES].copy_from_slice(&head);
    group[entries_end..].copy_from_slice(&checks);
    let entries = &mut group[GROUP_HEADER_BYTES..entries_end];
    if bad.len() <= MENDED_CHUNKS_MAX {
        bad.retain(|chunk| !mend_chunk(entries, *chunk, &checks, salt));
    }
    let place = |chunk: usize| {
        let range = chunk_range(entries, chunk);
        GROUP_HEADER_BYTES + range.start..GROUP_HEADER_BYTES + range.end
    };
    Some(bad.into_iter().map(place).collect())
}

/// Whether all entries are what was written.
pub(crate) fn entries_verify(entries: &[u8], checks: &[u8], salt: u64) -> bool {
    let mut expected = checks.chunks_exact(CHECK_BYTES);
    let mut found = entries.chunks(CHUNK_BYTES);
    found.all(|chunk| {
        let check = xxh3_64_with_seed(chunk, salt).to_le_bytes();
        expected.next() == Some(&check[..])
    })
}

fn bad_chunks(entries: &[u8], checks: &[u8], salt: u64) -> Vec<usize> {
    let chunks = 0..checks.len() / CHECK_BYTES;
    let is_bad = |chunk: &usize| !fits(entries, *chunk, checks, salt);
    chunks.filter(is_bad).collect()
}

fn mend_chunk(entries: &mut [u8], chunk: usize, checks: &[u8], salt: u64) -> bool {
    let range = chunk_range(entries, chunk);
    for bit in range.start * 8..range.end * 8 {
        turn(entries, bit);
        if fits(entries, chunk, checks, salt) {
            return true;
        }
        turn(entries, bit);
    }
    false
}

fn fits(entries: &[u8], chunk: usize, checks: &[u8], salt: u64) -> bool {
    let expected = &checks[chunk * CHECK_BYTES..(chunk + 1) * CHECK_BYTES];
    check_of(entries, chunk, salt).to_le_bytes() == expected
}

fn check_of(entries: &[u8], chunk: usize, salt: u64) -> u64 {
    xxh3_64_with_seed(&entries[chunk_range(entries, chunk)], salt)
}

fn chunk_range(entries: &[u8], chunk: usize) -> Range<usize> {
    chunk * CHUNK_BYTES..entries.len().min((chunk + 1) * CHUNK_BYTES)
}

/// The same, or one bit of the one that was written down is wrong.
fn is_nearly(found: u64, written: u64) -> bool {
    (found ^ written).count_ones() <= 1
}

fn turn(bytes: &mut [u8], bit: usize) {
    bytes[bit / 8] ^= 1 << (bit % 8);
}
