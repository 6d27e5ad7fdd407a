//! A run of publishes as bytes, for a log: written once when it arrives, read back at recovery.
//!
//! Layout, little endian: first sequence u64, time i64, then for each message the lengths of
//! subject u16, headers u32 and payload u32, and the three themselves. The log checks the bytes;
//! here a length that does not fit only ends the walk.

use crate::hub::Hub;

const HEAD_BYTES: usize = 16;
const LENGTHS_BYTES: usize = 10;

/// Subject, headers, payload.
pub type Parts<'a> = (&'a [u8], &'a [u8], &'a [u8]);

/// Appends the head of a run.
pub fn push_head(out: &mut Vec<u8>, first: u64, time_ns: i64) {
    out.extend_from_slice(&first.to_le_bytes());
    out.extend_from_slice(&time_ns.to_le_bytes());
}

/// Appends one message of a run.
#[allow(clippy::cast_possible_truncation)] // the decoder's limits are far below
pub fn push_message(out: &mut Vec<u8>, (subject, headers, payload): Parts<'_>) {
    out.extend_from_slice(&(subject.len() as u16).to_le_bytes());
    out.extend_from_slice(&(headers.len() as u32).to_le_bytes());
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    out.extend_from_slice(subject);
    out.extend_from_slice(headers);
    out.extend_from_slice(payload);
}

/// First sequence, time and the messages of a run; none if there is no head.
#[must_use]
pub fn read(bytes: &[u8]) -> Option<(u64, i64, impl Iterator<Item = Parts<'_>>)> {
    let first = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
    let time_ns = i64::from_le_bytes(bytes.get(8..HEAD_BYTES)?.try_into().ok()?);
    let mut rest = &bytes[HEAD_BYTES..];
    let messages = std::iter::from_fn(move || {
        let (message, after) = split_message(rest)?;
        rest = after;
        Some(message)
    });
    Some((first, time_ns, messages))
}

fn split_message(bytes: &[u8]) -> Option<(Parts<'_>, &[u8])> {
    let (lengths, rest) = bytes.split_at_checked(LENGTHS_BYTES)?;
    let subject = usize::from(u16::from_le_bytes(lengths[..2].try_into().ok()?));
    let headers = u32::from_le_bytes(lengths[2..6].try_into().ok()?) as usize;
    let payload = u32::from_le_bytes(lengths[6..].try_into().ok()?) as usize;
    let (subject, rest) = rest.split_at_checked(subject)?;
    let (headers, rest) = rest.split_at_checked(headers)?;
    let (payload, rest) = rest.split_at_checked(payload)?;
    Some(((subject, headers, payload), rest))
}

impl Hub {
    /// The messages of the run `picked[start..end]`.
    pub fn run(&self, start: usize, end: usize) -> impl Iterator<Item = Parts<'_>> + Clone {
        (start..end)
            .filter_map(|position| self.picked(position))
            .filter_map(|index| self.entry(index))
            .map(|(entry, bytes)| {
                let payload = entry.frame.payload.of(bytes);
                let (headers, payload) = payload
                    .split_at_checked(entry.frame.header_bytes as usize)
                    .unwrap_or((&[], payload));
                (entry.frame.subject.of(bytes), headers, payload)
            })
    }
}
