//! The bytes of the log, all numbers little endian.
//!
//! Segment: one sector of header, then groups, each starting at a sector of its own, so that a
//! write never touches a sector with durable bytes. Behind the last group anything may follow
//! (zeros, or the content of the segment that was recycled): it has another salt.
//! Header: `magic 8 | version u32 | 0 u32 | first entry u64 | salt u64 | hash u64`, and the same
//! again in the middle of the sector, because without it nothing behind it can be verified.
//! Group: `hash u64 | magic u32 | entries u32 | first entry u64 | length u64 | entries | checks`
//! Entry: `payload length << 8 | kind, as u64 | stream u64 | payload`
//! Checks: a u64 for each KiB of entries (`checks.rs`); the hash covers the header and the checks.
//! Hashes are XXH3-64 with the segment's salt as seed. The salt is secret, so no payload can
//! pretend to be a group. Version 1 had groups without checks, whose hash covers the entries: they
//! are read, and have another magic.

use crate::checks::{checks_bytes, entries_verify, hash_of, push_checks};
use std::io;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

pub(crate) const SECTOR_BYTES: u64 = 512; // the unit that a disk writes whole or not at all
pub(crate) const GROUP_HEADER_BYTES: usize = 32;
pub(crate) const ENTRY_HEADER_BYTES: usize = 16;
pub(crate) const SEGMENT_HEADER_BYTES: usize = SECTOR_BYTES as usize;
const SEGMENT_MAGIC: &[u8; 8] = b"PENSTLOG";
const GROUP_MAGIC: &[u8; 4] = b"PGR2";
const GROUP_MAGIC_1: &[u8; 4] = b"PGRP";
const VERSIONS: [u32; 2] = [1, 2]; // the last is written
const HEADER_COPY_AT: usize = SEGMENT_HEADER_BYTES / 2;

pub(crate) struct GroupHeader {
    pub hash: u64,
    pub count: u32,
    pub first: u64,
    /// Of the entries, without header, checks and padding.
    pub length: u64,
    /// False for one of version 1.
    pub has_checks: bool,
}

impl GroupHeader {
    pub fn parse(bytes: &[u8]) -> Option<GroupHeader> {
        let magic = bytes.get(8..12)?;
        let has_checks = magic == GROUP_MAGIC;
        let is_group = has_checks || magic == GROUP_MAGIC_1;
        is_group.then_some(GroupHeader {
            hash: number(bytes, 0)?,
            count: u32::from_le_bytes(*bytes.get(12..)?.first_chunk()?),
            first: number(bytes, 16)?,
            length: number(bytes, 24)?,
            has_checks,
        })
    }

    /// As it is written, with checks.
    pub fn bytes(&self) -> [u8; GROUP_HEADER_BYTES] {
        let mut bytes = [0; GROUP_HEADER_BYTES];
        bytes[..8].copy_from_slice(&self.hash.to_le_bytes());
        bytes[8..12].copy_from_slice(GROUP_MAGIC);
        bytes[12..16].copy_from_slice(&self.count.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first.to_le_bytes());
        bytes[24..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    /// Whether `group` (header, entries and checks) is what was written.
    #[allow(clippy::cast_possible_truncation)] // the group is in memory
    pub fn verifies(&self, group: &[u8], salt: u64) -> bool {
        if !self.has_checks {
            return self.count > 0 && self.hash == xxh3_64_with_seed(&group[8..], salt);
        }
        let (head, behind) = group.split_at(GROUP_HEADER_BYTES);
        let (entries, checks) = behind.split_at(self.length as usize);
        let is_head = self.count > 0 && self.hash == hash_of(head, checks, salt);
        is_head && entries_verify(entries, checks, salt)
    }

    /// The first entry of the group that follows.
    pub fn next(&self) -> u64 {
        self.first.saturating_add(u64::from(self.count))
    }

    /// Header, entries and checks.
    pub fn bytes_all(&self) -> u64 {
        let checks = if self.has_checks {
            checks_bytes(self.length)
        } else {
            0
        };
        (GROUP_HEADER_BYTES as u64)
            .saturating_add(self.length)
            .saturating_add(checks)
    }

    /// The space that the group takes in its segment.
    pub fn sectors_bytes(&self) -> u64 {
        self.bytes_all().next_multiple_of(SECTOR_BYTES)
    }
}

/// The space that a buffer of entries behind room for the header will take.
pub(crate) fn sealed_bytes(buffer: &[u8]) -> u64 {
    let entries = (buffer.len() - GROUP_HEADER_BYTES) as u64;
    (buffer.len() as u64 + checks_bytes(entries)).next_multiple_of(SECTOR_BYTES)
}

/// Completes a buffer of entries behind room for the header: checks, header, and the sector.
#[allow(clippy::cast_possible_truncation)] // a sector is small
pub(crate) fn seal_group(buffer: &mut Vec<u8>, first: u64, count: u32, salt: u64) {
    let entries_end = buffer.len();
    push_checks(buffer, salt);
    let (head, checks) = buffer.split_at_mut(entries_end);
    let mut header = GroupHeader {
        hash: 0,
        count,
        first,
        length: (entries_end - GROUP_HEADER_BYTES) as u64,
        has_checks: true,
    };
    header.hash = hash_of(&header.bytes(), checks, salt);
    head[..GROUP_HEADER_BYTES].copy_from_slice(&header.bytes());
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
    header[8..12].copy_from_slice(&VERSIONS[VERSIONS.len() - 1].to_le_bytes());
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
    if !VERSIONS
        .iter()
        .any(|known| body[8..12] == known.to_le_bytes())
    {
        let text = format!("format version {:?}, known are {VERSIONS:?}", &body[8..12]);
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    Ok(number(body, 24).filter(|_| number(body, 16) == Some(first)))
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
