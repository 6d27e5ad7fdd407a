//! Entries of an archive: five variable-length numbers, a name, headers and a payload.
//!
//! Lengths are bounded before anybody waits for what they promise.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

const NAME_BYTES_MAX: u64 = 65_535; // of a record's subject
const NUMBERS: usize = 5;

/// Name, time, sequence, headers, payload.
type Row<'py> = (
    Bound<'py, PyBytes>,
    i64,
    u64,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
);

#[pyfunction]
pub fn encode_entry<'py>(
    py: Python<'py>,
    name: &[u8],
    time_ns: i64,
    sequence: u64,
    headers: &[u8],
    payload: &[u8],
) -> Bound<'py, PyBytes> {
    let mut entry = Vec::with_capacity(50 + name.len() + headers.len() + payload.len());
    let zigzag = (time_ns << 1) ^ (time_ns >> 63);
    put(&mut entry, name.len() as u64);
    put(&mut entry, zigzag.cast_unsigned());
    put(&mut entry, sequence);
    put(&mut entry, headers.len() as u64);
    put(&mut entry, payload.len() as u64);
    entry.extend_from_slice(name);
    entry.extend_from_slice(headers);
    entry.extend_from_slice(payload);
    PyBytes::new(py, &entry)
}

fn put(entry: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        entry.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    entry.push(value as u8);
}

/// Entries as they arrive.
#[pyclass]
pub struct EntryDecoder {
    waiting: Vec<u8>,
    taken: usize,
    bytes_max: u64,
}

#[pymethods]
impl EntryDecoder {
    /// No entry may have more bytes of headers and payload.
    #[new]
    fn new(bytes_max: u64) -> EntryDecoder {
        EntryDecoder {
            waiting: Vec::new(),
            taken: 0,
            bytes_max,
        }
    }

    fn feed(&mut self, data: &[u8]) {
        self.waiting.drain(..self.taken);
        self.taken = 0;
        self.waiting.extend_from_slice(data);
    }

    /// Some of the entries that are complete; none if more has to come.
    fn take<'py>(&mut self, py: Python<'py>, count_max: usize) -> PyResult<Vec<Row<'py>>> {
        let mut rows = Vec::new();
        while rows.len() < count_max
            && let Some((numbers, start)) = self.numbers()?
        {
            let [name, zigzag, sequence, headers, payload] = numbers;
            let body = headers
                .checked_add(payload)
                .filter(|body| *body <= self.bytes_max);
            let Some(body) = body.filter(|_| name <= NAME_BYTES_MAX) else {
                return Err(PyValueError::new_err("an entry is too large"));
            };
            let Some(bytes) = self.waiting[start..].get(..(name + body) as usize) else {
                break;
            };
            let (name, body) = bytes.split_at(name as usize);
            let (headers, payload) = body.split_at(headers as usize);
            rows.push((
                PyBytes::new(py, name),
                (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed(),
                sequence,
                PyBytes::new(py, headers),
                PyBytes::new(py, payload),
            ));
            self.taken = start + bytes.len();
        }
        Ok(rows)
    }

    /// True if nothing of an unfinished entry is left over.
    fn is_whole(&self) -> bool {
        self.taken == self.waiting.len()
    }
}

impl EntryDecoder {
    /// The numbers of the next entry, and where its name begins.
    fn numbers(&self) -> PyResult<Option<([u64; NUMBERS], usize)>> {
        let (mut numbers, mut at) = ([0; NUMBERS], self.taken);
        for number in &mut numbers {
            let mut shift = 0;
            loop {
                let Some(byte) = self.waiting.get(at) else {
                    return Ok(None);
                };
                at += 1;
                if shift == 63 && *byte > 1 {
                    return Err(PyValueError::new_err("invalid archive stream"));
                }
                *number |= u64::from(byte & 0x7f) << shift;
                if *byte < 0x80 {
                    break;
                }
                shift += 7;
            }
        }
        Ok(Some((numbers, at)))
    }
}
