//! The bytes of the log, all numbers little endian.
//!
//! Segment: one sector of header, then groups, each starting at a sector of its own, so that a
//! write never touches a sector with durable bytes. Behind the last group anything may follow
//! (zeros, or the content of the segment that was recycled): it has another salt.
//! Header: `magic 8 | version u32 | 0 u32 | first entry u64 | salt u64 | hash u64`, and the same
//! again in the middle of the sector, because without it nothing behind it can be verified.
//! Group: `hash u64 | magic u32 | entries u32 | first entry u64 | length u64 | entries`
//! Entry: `payload length << 8 | kind, as u64 | stream u64 | payload`
//! The hash is XXH3-64 with the segment's salt as seed. The salt is secret, so no payload can
//! pretend to be a group.

use std::io;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

pub(crate) const SECTOR_BYTES: u64 = 512; // the unit that a disk writes whole or not at all
pub(crate) const GROUP_HEADER_BYTES: usize = 32;
pub(crate) const ENTRY_HEADER_BYTES: usize = 16;
pub(crate) const SEGMENT_HEADER_BYTES: usize = SECTOR_BYTES as usize;
const SEGMENT_MAGIC: &[u8; 8] = b"PENSTLOG";
const GROUP_MAGIC: &[u8; 4] = b"PGRP";
const VERSION: u32 = 1;
const HEADER_COPY_AT: usize = SEGMENT_HEADER_BYTES / 2;

pub(crate) struct GroupHeader {
    hash: u64,
    pub count: u32,
    pub first: u64,
    /// Of the entries, without header and padding.
    pub length: u64,
}

impl GroupHeader {
    pub fn parse(bytes: &[u8]) -> Option<GroupHeader> {
        let is_group = bytes.get(8..12)? == GROUP_MAGIC;
        is_group.then_some(GroupHeader {
            hash: number(bytes, 0)?,
            count: u32::from_le_bytes(*bytes.get(12..)?.first_chunk()?),
            first: number(bytes, 16)?,
            length: number(bytes, 24)?,
        })
    }

    /// Whether `group` (header and entries) is what was written.
    pub fn verifies(&self, group: &[u8], salt: u64) -> bool {
        self.count > 0 && self.hash == xxh3_64_with_seed(&group[8..], salt)
    }

    /// The first entry of the group that follows.
    pub fn next(&self) -> u64 {
        self.first.saturating_add(u64::from(self.count))
    }

    /// The space that the group takes in its segment.
    pub fn sectors_bytes(&self) -> u64 {
        (GROUP_HEADER_BYTES as u64 + self.length).next_multiple_of(SECTOR_BYTES)
    }
}

/// Completes a buffer of entries behind room for the header: fills the header and the sector.
#[allow(clippy::cast_possible_truncation)] // a sector is small
pub(crate) fn seal_group(buffer: &mut Vec<u8>, first: u64, count: u32, salt: u64) {
    let length = (buffer.len() - GROUP_HEADER_BYTES) as u64;
    buffer[8..12].copy_from_slice(GROUP_MAGIC);
    buffer[12..16].copy_from_slice(&count.to_le_bytes());
    buffer[16..24].copy_from_slice(&first.to_le_bytes());
    buffer[24..32].copy_from_slice(&length.to_le_bytes());
    let hash = xxh3_64_with_seed(&buffer[8..], salt);
    buffer[..8].copy_from_slice(&hash.to_le_bytes());
    buffer.resize(buffer.len().next_multiple_of(SECTOR_BYTES as usize), 0);
}

pub(crate) fn push_entry(buffer: &mut Vec<u8>, stream: u64, kind: u8, parts: &[&[u8]]) {
    let length: u64 = parts.iter().map(|part| part.len() as u64).sum();
    let mut header = [0; ENTRY_HEADER_BYTES];
    header[..8].copy_from_slice(&(length << 8 | u64::from(kind)).to_le_bytes());
    header[8..].copy_from_slice(&stream.to_le_bytes());
    buffer.extend_from_slice(&header);
    for part in parts {
        buffer.extend_from_slice(part);
    }
}

/// Stream, kind and payload length of the entry that starts with `bytes`.
#[allow(clippy::cast_possible_truncation)] // the low byte is the kind; lengths fit into memory
pub(crate) fn parse_entry(bytes: &[u8]) -> Option<(u64, u8, usize)> {
    let length_and_kind = number(bytes, 0)?;
    let length = (length_and_kind >> 8) as usize;
    let is_whole = bytes.len() - ENTRY_HEADER_BYTES.min(bytes.len()) >= length;
    is_whole.then_some((number(bytes, 8)?, length_and_kind as u8, length))
}

pub(crate) fn segment_header(first: u64, salt: u64) -> [u8; SEGMENT_HEADER_BYTES] {
    let mut header = [0; SEGMENT_HEADER_BYTES];
    header[..8].copy_from_slice(SEGMENT_MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[16..24].copy_from_slice(&first.to_le_bytes());
    header[24..32].copy_from_slice(&salt.to_le_bytes());
    let hash = xxh3_64(&header[..32]);
    header[32..40].copy_from_slice(&hash.to_le_bytes());
    header.copy_within(..40, HEADER_COPY_AT);
    header
}

/// The salt of a segment, or None if the header is damaged. A version of the future is an error.
pub(crate) fn parse_segment_header(sector: &[u8], first: u64) -> io::Result<Option<u64>> {
    let copy = sector.get(HEADER_COPY_AT..).unwrap_or_default();
    match parse_header(sector, first)? {
        None => parse_header(copy, first),
        salt => Ok(salt),
    }
}

fn parse_header(header: &[u8], first: u64) -> io::Result<Option<u64>> {
    let (Some(body), Some(hash)) = (header.get(..32), number(header, 32)) else {
        return Ok(None);
    };
    if !body.starts_with(SEGMENT_MAGIC) || xxh3_64(body) != hash {
        return Ok(None);
    }
    if body[8..12] != VERSION.to_le_bytes() {
        let text = format!("format version {:?}, known is {VERSION}", &body[8..12]);
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    Ok(number(body, 24).filter(|_| number(body, 16) == Some(first)))
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
