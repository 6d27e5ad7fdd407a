//! The columns of Arrow: numbers, texts, and which of their values are there.

/// Which rows have a value: a bit for each. Empty while all of them have one, or none.
#[derive(Clone, Debug, Default)]
pub struct Validity {
    bits: Vec<u8>,
    rows: usize,
    valid: usize,
}

impl Validity {
    fn push(&mut self, is_valid: bool) {
        if self.rows.is_multiple_of(8) {
            self.bits.push(0);
        }
        if is_valid && let Some(last) = self.bits.last_mut() {
            *last |= 1 << (self.rows % 8);
            self.valid += 1;
        }
        self.rows += 1;
    }
}

/// A column ready for Arrow: validity, how many values are null, and its buffers.
#[derive(Clone, Debug)]
pub struct Column {
    pub validity: Vec<u8>,
    pub nulls: usize,
    pub buffers: Vec<Vec<u8>>,
}

/// Numbers of 64 bits.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    values: Vec<u8>,
    validity: Validity,
}

impl Numbers {
    pub fn reserve(&mut self, rows: usize) {
        self.values.reserve(rows * size_of::<i64>());
    }

    #[inline]
    pub fn push(&mut self, number: i64) {
        self.values.extend_from_slice(&number.to_le_bytes());
    }

    /// For columns in which a value may be missing; then every value goes this way.
    #[inline]
    pub fn push_some(&mut self, number: Option<i64>) {
        self.push(number.unwrap_or(0));
        self.validity.push(number.is_some());
    }

    #[must_use]
    pub fn finish(self) -> Column {
        finished(self.validity, vec![self.values])
    }
}

/// Texts or bytes: where each ends, and all of them in a row.
#[derive(Clone, Debug)]
pub struct Texts {
    offsets: Vec<u8>,
    bytes: Vec<u8>,
    validity: Validity,
}

impl Default for Texts {
    fn default() -> Texts {
        Texts {
            offsets: vec![0; 4],
            bytes: Vec::new(),
            validity: Validity::default(),
        }
    }
}

impl Texts {
    pub fn reserve(&mut self, rows: usize, bytes: usize) {
        self.offsets.reserve(rows * size_of::<u32>());
        self.bytes.reserve(bytes);
    }

    /// Whatever it is. Positions have 31 bits: callers end a batch long before.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.offsets
            .extend_from_slice(&(self.bytes.len() as u32).to_le_bytes());
    }

    /// What must be UTF-8, and is made so if it is not.
    #[inline]
    pub fn push_text(&mut self, bytes: &[u8]) {
        match std::str::from_utf8(bytes) {
            Ok(_) => self.push(bytes),
            Err(_) => self.push(String::from_utf8_lossy(bytes).as_bytes()),
        }
    }

    /// For columns in which a value may be missing; then every value goes this way.
    #[inline]
    pub fn push_some(&mut self, bytes: Option<&[u8]>) {
        self.push_text(bytes.unwrap_or_default());
        self.validity.push(bytes.is_some());
    }

    #[must_use]
    pub fn finish(self) -> Column {
        finished(self.validity, vec![self.offsets, self.bytes])
    }
}

/// Lists: where each ends among the values of another column.
#[derive(Clone, Debug)]
pub struct Lists {
    offsets: Vec<u8>,
    values: u32,
}

impl Default for Lists {
    fn default() -> Lists {
        Lists {
            offsets: vec![0; 4],
            values: 0,
        }
    }
}

impl Lists {
    #[inline]
    pub fn push(&mut self, values: usize) {
        self.values += values as u32;
        self.offsets.extend_from_slice(&self.values.to_le_bytes());
    }

    #[must_use]
    pub fn finish(self) -> Column {
        finished(Validity::default(), vec![self.offsets])
    }
}

fn finished(validity: Validity, buffers: Vec<Vec<u8>>) -> Column {
    Column {
        nulls: validity.rows - validity.valid,
        validity: validity.bits,
        buffers,
    }
}
