//! The s2 stream format of snapshots: chunks of a type, a length, a checksum and a block.
//!
//! The reader is fed what arrives and gives one block at a time, so that a small archive of huge
//! content never is in memory at once.

use minlz::crc::crc;
use minlz::s2::{decode_into, decode_len, encode};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

const BLOCK_BYTES_MAX: usize = 4 << 20; // of the format
const ENCODED_BYTES_MAX: usize = BLOCK_BYTES_MAX + BLOCK_BYTES_MAX / 6 + 64;
const HEAD_BYTES: usize = 4;
const CHECKSUM_BYTES: usize = 4;
const COMPRESSED: u8 = 0x00;
const PLAIN: u8 = 0x01;
const SKIPPABLE: std::ops::RangeInclusive<u8> = 0x80..=0xfe;
const IDENTIFIER: u8 = 0xff;
const NAMES: [&[u8]; 2] = [b"S2sTwO", b"sNaPpY"];

/// What a stream begins with.
const START: &[u8] = b"\xff\x06\x00\x00S2sTwO";

fn corrupt(what: &str) -> PyErr {
    PyValueError::new_err(format!("s2: corrupt input: {what}"))
}

/// The bytes a stream begins with.
#[pyfunction]
pub fn s2_start(py: Python<'_>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, START)
}

/// One chunk with this content, which may have up to 4 MiB.
#[pyfunction]
pub fn s2_chunk<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    if data.is_empty() || data.len() > BLOCK_BYTES_MAX {
        return Err(PyValueError::new_err("a block has 1 byte to 4 MiB"));
    }
    let encoded = encode(data);
    let (kind, body) = if encoded.len() < data.len() {
        (COMPRESSED, encoded.as_slice())
    } else {
        (PLAIN, data)
    };
    let length = (body.len() + CHECKSUM_BYTES) as u32;
    let mut chunk = Vec::with_capacity(HEAD_BYTES + CHECKSUM_BYTES + body.len());
    chunk.push(kind);
    chunk.extend_from_slice(&length.to_le_bytes()[..3]);
    chunk.extend_from_slice(&crc(data).to_le_bytes());
    chunk.extend_from_slice(body);
    Ok(PyBytes::new(py, &chunk))
}

/// A stream as it arrives, and its blocks as they become whole.
#[pyclass]
#[derive(Default)]
pub struct S2Reader {
    waiting: Vec<u8>,
    /// Of `waiting`, how much was taken.
    taken: usize,
    /// Of a chunk that is skipped, how much is still to come.
    skipping: usize,
    identified: bool,
}

#[pymethods]
impl S2Reader {
    #[new]
    fn new() -> S2Reader {
        S2Reader::default()
    }

    fn feed(&mut self, data: &[u8]) {
        self.waiting.drain(..self.taken);
        self.taken = 0;
        self.waiting.extend_from_slice(data);
    }

    /// The next block, if all of it is there; `ValueError` if there can be none.
    fn next_block<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        loop {
            let skipped = self.skipping.min(self.waiting.len() - self.taken);
            self.taken += skipped;
            self.skipping -= skipped;
            let rest = &self.waiting[self.taken..];
            let Some((head, rest)) = rest.split_first_chunk::<HEAD_BYTES>() else {
                return Ok(None);
            };
            let [kind, low, middle, high] = *head;
            let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
            if !self.identified && kind != IDENTIFIER {
                return Err(corrupt("it does not begin as a stream"));
            }
            if SKIPPABLE.contains(&kind) {
                self.taken += HEAD_BYTES;
                self.skipping = length;
                continue;
            }
            if !is_possible(kind, length) {
                return Err(corrupt("no such chunk"));
            }
            let Some(body) = rest.get(..length) else {
                return Ok(None);
            };
            let block = match kind {
                IDENTIFIER if NAMES.contains(&body) => None,
                IDENTIFIER => return Err(corrupt("another format")),
                _ => Some(decoded(kind, body)?),
            };
            self.identified = true;
            self.taken += HEAD_BYTES + length;
            match block {
                Some(block) if !block.is_empty() => return Ok(Some(PyBytes::new(py, &block))),
                _ => {}
            }
        }
    }

    /// True if the stream may end here.
    fn is_whole(&self) -> bool {
        self.identified && self.skipping == 0 && self.taken == self.waiting.len()
    }
}

fn is_possible(kind: u8, length: usize) -> bool {
    match kind {
        IDENTIFIER => length == NAMES[0].len(),
        COMPRESSED => (CHECKSUM_BYTES + 1..=CHECKSUM_BYTES + ENCODED_BYTES_MAX).contains(&length),
        PLAIN => (CHECKSUM_BYTES..=CHECKSUM_BYTES + BLOCK_BYTES_MAX).contains(&length),
        _ => false,
    }
}

fn decoded(kind: u8, body: &[u8]) -> PyResult<Vec<u8>> {
    let Some((checksum, content)) = body.split_first_chunk::<CHECKSUM_BYTES>() else {
        return Err(corrupt("a short chunk"));
    };
    let block = if kind == PLAIN {
        content.to_vec()
    } else {
        let (length, _) = decode_len(content).map_err(|_| corrupt("a block without length"))?;
        if length > BLOCK_BYTES_MAX {
            return Err(corrupt("a block that is too long"));
        }
        let mut block = vec![0; length];
        let written = decode_into(&mut block, content).map_err(|_| corrupt("a damaged block"))?;
        block.truncate(written);
        block
    };
    if crc(&block) != u32::from_le_bytes(*checksum) {
        return Err(corrupt("a checksum does not match"));
    }
    Ok(block)
}
