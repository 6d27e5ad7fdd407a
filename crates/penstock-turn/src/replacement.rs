//! Messages that leave a stream and others that take their place, as bytes for a log: one change,
//! of which a crash leaves all or nothing.
//!
//! Layout, little endian: whether the old ones are erased u8, how many ranges of sequences there
//! are u32, first and last of each u64, then the new ones as a run (`run_bytes`), if there are any.

const HEAD_BYTES: usize = 5;
const RANGE_BYTES: usize = 16;

/// Whether to erase, ranges of sequences, and the bytes of the run.
pub type Replacement<'a> = (bool, Vec<(u64, u64)>, &'a [u8]);

/// Appends what leaves; the sequences go up.
pub fn push_removed(out: &mut Vec<u8>, erase: bool, sequences: &[u64]) {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for sequence in sequences {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *sequence => *last = *sequence,
            _ => ranges.push((*sequence, *sequence)),
        }
    }
    out.push(u8::from(erase));
    #[allow(clippy::cast_possible_truncation)] // nobody removes four billion at once
    out.extend_from_slice(&(ranges.len() as u32).to_le_bytes());
    for (first, last) in ranges {
        out.extend_from_slice(&first.to_le_bytes());
        out.extend_from_slice(&last.to_le_bytes());
    }
}

/// None if these are not such bytes.
#[must_use]
pub fn read(bytes: &[u8]) -> Option<Replacement<'_>> {
    let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
    let count = u32::from_le_bytes(head[1..].try_into().ok()?) as usize;
    let (ranges, run) = rest.split_at_checked(count.checked_mul(RANGE_BYTES)?)?;
    let number = |bytes: &[u8]| bytes.try_into().ok().map(u64::from_le_bytes);
    let ranges = ranges
        .chunks_exact(RANGE_BYTES)
        .map(|range| Some((number(&range[..8])?, number(&range[8..])?)))
        .collect::<Option<_>>()?;
    Some((head[0] != 0, ranges, run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let mut bytes = Vec::new();
        push_removed(&mut bytes, true, &[1, 2, 3, 7, 9, 10]);
        bytes.extend_from_slice(b"run");
        let ranges = vec![(1, 3), (7, 7), (9, 10)];
        assert_eq!(read(&bytes), Some((true, ranges, &b"run"[..])));
        assert_eq!(read(&bytes[..20]), None);
        assert_eq!(read(b""), None);
    }
}
