//! Numbers as few bytes: seven bits in each, the lowest first, the eighth says that more follow.
//! Sequences and times are written as their distance from the last one.

/// Writes numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writer {
    pub bytes: Vec<u8>,
    sequence: u64,
    time_ns: i64,
}

impl Writer {
    #[allow(clippy::cast_possible_truncation)] // seven bits at a time
    pub fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn distance(&mut self, distance: i64) {
        self.number(((distance << 1) ^ (distance >> 63)).cast_unsigned());
    }

    pub fn sequence(&mut self, sequence: u64) {
        self.distance(sequence.wrapping_sub(self.sequence).cast_signed());
        self.sequence = sequence;
    }

    pub fn time(&mut self, time_ns: i64) {
        self.distance(time_ns.wrapping_sub(self.time_ns));
        self.time_ns = time_ns;
    }
}

const NUMBER_MAX: u64 = u64::MAX >> 2; // no sequence and no count is larger, and sums do not overflow

/// Reads them back; `None` where there is none, or one that cannot be true.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    sequence: u64,
    time_ns: i64,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader {
            rest: bytes,
            sequence: 0,
            time_ns: 0,
        }
    }

    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn number(&mut self) -> Option<u64> {
        self.raw().filter(|value| *value <= NUMBER_MAX)
    }

    fn raw(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            if shift == 63 && *byte > 1 {
                return None;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Some(value);
            }
            shift += 7;
        }
    }

    /// A number that is not zero.
    pub fn positive(&mut self) -> Option<u64> {
        self.number().filter(|value| *value > 0)
    }

    /// How many things follow, each of so many bytes at least.
    pub fn count(&mut self, bytes_min: usize) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.rest.len() / bytes_min).then_some(count)
    }

    fn distance(&mut self) -> Option<i64> {
        let value = self.raw()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    pub fn sequence(&mut self) -> Option<u64> {
        let distance = self.distance()?.cast_unsigned();
        self.sequence = self.sequence.wrapping_add(distance);
        Some(self.sequence).filter(|sequence| *sequence <= NUMBER_MAX)
    }

    pub fn time(&mut self) -> Option<i64> {
        self.time_ns = self.time_ns.wrapping_add(self.distance()?);
        Some(self.time_ns)
    }
}
