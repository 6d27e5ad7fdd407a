//! Stored messages as columns: their buffers go to Python whole, one for each part of an Arrow array,
//! and stay where they are: Arrow reads the memory that was filled here.

use penstock_columns::{Answers as Bytes, BlockRows as Blocks, Column, Kind, Rows, Taken};
use penstock_disk::{Disk, RealDisk};
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ffi::c_int;
use std::path::PathBuf;

/// How many values are null, which are not (empty: all), and the buffers.
type Buffers = (usize, Memory, Vec<Memory>);
/// Status, its words, how many messages are left, the first sequence that came, the last one.
type Outcome<'py> = (u32, Bound<'py, PyBytes>, u64, u64, u64);

/// Messages to inboxes that begin alike, taken out of the bytes of its connection.
#[pyclass]
pub struct Answers {
    answers: Bytes,
}

#[pymethods]
impl Answers {
    #[new]
    fn new(prefix: &[u8], columns: u32, counters: bool) -> Answers {
        let kind = Kind { columns, counters };
        Answers {
            answers: Bytes::new(prefix, kind),
        }
    }

    fn begin(&mut self, inbox: &[u8], up_to: u64, excluded: Vec<Vec<u8>>) {
        self.answers.begin(inbox, up_to, &excluded);
    }

    fn reset(&mut self) {
        self.answers.reset();
    }

    /// Answers with the bytes that are somebody else's.
    fn feed<'py>(&mut self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let (mut others, answers) = (Vec::new(), &mut self.answers);
        let fed = py.detach(|| answers.feed(data, &mut others));
        let malformed = |_| PyValueError::new_err("what came is no answer to a direct get");
        fed.map_err(malformed)?;
        Ok(PyBytes::new(py, &others))
    }

    fn outcome<'py>(&self, py: Python<'py>) -> Outcome<'py> {
        let outcome = self.answers.outcome();
        let words = PyBytes::new(py, &outcome.words);
        (
            outcome.code,
            words,
            outcome.pending,
            outcome.first,
            outcome.last,
        )
    }

    fn is_over(&self) -> bool {
        self.answers.outcome().code != 0
    }

    fn __len__(&self) -> usize {
        self.answers.rows().len()
    }

    fn row_bytes(&self) -> usize {
        self.answers.rows().bytes()
    }

    fn take(&mut self) -> Vec<Buffers> {
        buffers(self.answers.take())
    }
}

/// Messages of a range of sequences, taken out of block files.
#[pyclass]
pub struct BlockRows {
    blocks: Blocks,
    disk: RealDisk,
    /// Of the block that is being read; its memory serves for the next one as well.
    data: Vec<u8>,
}

#[pymethods]
impl BlockRows {
    #[new]
    fn new(
        directory: PathBuf,
        stream: &str,
        columns: u32,
        counters: bool,
        patterns: Vec<Vec<u8>>,
        range: (u64, u64),
        removed: Vec<(u64, u64)>,
    ) -> BlockRows {
        let kind = Kind { columns, counters };
        BlockRows {
            blocks: Blocks::new(stream, kind, &patterns, range, removed),
            disk: RealDisk::new(directory),
            data: Vec::new(),
        }
    }

    /// Reads the next block, and looks where its messages are.
    fn begin(&mut self, py: Python<'_>, number: u32) -> PyResult<()> {
        py.detach(|| {
            let file = self.disk.open(&format!("{number}.blk"), false)?;
            self.data.resize(usize::try_from(file.len()?)?, 0);
            let read = file.read_at(0, &mut self.data)?;
            self.data.truncate(read);
            self.blocks.begin(&self.data, number);
            Ok(())
        })
    }

    /// Takes more of its messages; what came of it.
    fn fill(&mut self, py: Python<'_>, rows_max: usize, bytes_max: usize) -> u8 {
        match py.detach(|| self.blocks.fill(&self.data, rows_max, bytes_max)) {
            Taken::Full => 0,
            Taken::More => 1,
            Taken::Complete => 2,
            Taken::Missing => 3,
        }
    }

    /// The first sequence that is still to be read.
    fn next_sequence(&self) -> u64 {
        self.blocks.next()
    }

    fn __len__(&self) -> usize {
        self.blocks.rows().len()
    }

    fn take(&mut self) -> Vec<Buffers> {
        buffers(self.blocks.take())
    }
}

fn buffers(rows: Rows) -> Vec<Buffers> {
    let columns = rows.finish().into_iter();
    let translated = columns.map(|column: Column| {
        let validity = match column.nulls {
            0 => Vec::new(),
            _ => column.validity,
        };
        let parts = column.buffers.into_iter().map(Memory);
        (column.nulls, Memory(validity), parts.collect())
    });
    translated.collect()
}

/// Bytes that Python may read where they are.
#[pyclass(frozen)]
pub struct Memory(Vec<u8>);

#[pymethods]
impl Memory {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[allow(unsafe_code)] // Python's buffer protocol; the bytes never move or change
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let bytes = &slf.get().0;
        let (start, length) = (bytes.as_ptr(), bytes.len());
        // SAFETY: `view` is Python's, and keeps a reference to the object that owns the bytes.
        let filled = unsafe {
            ffi::PyBuffer_FillInfo(
                view,
                slf.as_ptr(),
                start.cast_mut().cast(),
                length.cast_signed(),
                1,
                flags,
            )
        };
        match filled {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}
