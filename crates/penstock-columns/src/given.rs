//! Arrow's columns of texts and of lists, read in place: a bit for each value that is there, an
//! offset (32 bits, little-endian) for each value's start, and the bytes of all values in a row.
//!
//! Offsets are checked once, when a column comes in; afterwards every value is a plain slice.

/// The bits that say which values are there; without any, all are.
pub struct Validity<B> {
    bits: Option<B>,
    start: usize,
}

impl<B: AsRef<[u8]>> Validity<B> {
    /// `None` if there are too few bits for `start + count` values.
    pub fn new(bits: Option<B>, start: usize, count: usize) -> Option<Validity<B>> {
        if let Some(bits) = &bits
            && bits.as_ref().len() * 8 < start + count
        {
            return None;
        }
        Some(Validity { bits, start })
    }

    fn has(&self, index: usize) -> bool {
        let Some(bits) = &self.bits else { return true };
        let place = self.start + index;
        bits.as_ref()
            .get(place / 8)
            .is_some_and(|byte| byte >> (place % 8) & 1 == 1)
    }
}

/// Where each of a row of lists begins and ends.
pub struct Ranges<B> {
    validity: Validity<B>,
    offsets: B,
    start: usize,
}

impl<B: AsRef<[u8]>> Ranges<B> {
    /// `None` unless the offsets rise, for all `count` values, and stay within `limit`.
    pub fn new(
        validity: Validity<B>,
        offsets: B,
        start: usize,
        count: usize,
        limit: usize,
    ) -> Option<Ranges<B>> {
        let ranges = Ranges {
            validity,
            offsets,
            start,
        };
        let mut before = 0;
        for place in start..=start + count {
            let offset = ranges.offset(place)?;
            if offset < before {
                return None;
            }
            before = offset;
        }
        (before <= limit).then_some(ranges)
    }

    /// The values of a list, as a range; `None` where it is null.
    pub fn get(&self, index: usize) -> Option<(usize, usize)> {
        if !self.validity.has(index) {
            return None;
        }
        let place = self.start + index;
        Some((self.offset(place)?, self.offset(place + 1)?))
    }

    fn offset(&self, place: usize) -> Option<usize> {
        let bytes = self.offsets.as_ref().get(place * 4..place * 4 + 4)?;
        usize::try_from(i32::from_le_bytes(bytes.try_into().ok()?)).ok()
    }
}

/// A column of texts.
pub struct Texts<B> {
    ranges: Ranges<B>,
    bytes: B,
}

impl<B: AsRef<[u8]>> Texts<B> {
    pub fn new(
        validity: Option<B>,
        offsets: B,
        bytes: B,
        start: usize,
        count: usize,
    ) -> Option<Texts<B>> {
        let validity = Validity::new(validity, start, count)?;
        let limit = bytes.as_ref().len();
        let ranges = Ranges::new(validity, offsets, start, count, limit)?;
        Some(Texts { ranges, bytes })
    }

    /// `None` where it is null.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let (start, end) = self.ranges.get(index)?;
        self.bytes.as_ref().get(start..end)
    }
}
