//! Rows that are published: the columns of an Arrow batch in, frames out; and their answers.

use penstock_columns::acks::Acks;
use penstock_columns::given::{Ranges, Texts, Validity};
use penstock_columns::publishes::{Columns, Frame, Maps, Subjects, render};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

/// Validity, offsets, bytes; the place of the first value, and how many there are.
type Column = (
    Option<PyBackedBytes>,
    PyBackedBytes,
    PyBackedBytes,
    usize,
    usize,
);
/// The same without bytes; then how many values the lists are of.
type Lists = (Option<PyBackedBytes>, PyBackedBytes, usize, usize, usize);
type Headers = (Lists, Column, Option<Lists>, Column);
type Taken<'py> = (
    u64,
    u64,
    Vec<(u64, Bound<'py, PyBytes>)>,
    u64,
    Vec<Bound<'py, PyBytes>>,
);

fn malformed() -> PyErr {
    PyValueError::new_err("the buffers are no Arrow column of texts with offsets of 32 bits")
}

fn texts(column: Column) -> PyResult<Texts<PyBackedBytes>> {
    let (validity, offsets, bytes, start, count) = column;
    Texts::new(validity, offsets, bytes, start, count).ok_or_else(malformed)
}

fn ranges(lists: Lists) -> PyResult<Ranges<PyBackedBytes>> {
    let (validity, offsets, start, count, values) = lists;
    let validity = Validity::new(validity, start, count).ok_or_else(malformed)?;
    Ranges::new(validity, offsets, start, count, values).ok_or_else(malformed)
}

/// The columns of one Arrow batch.
#[pyclass]
pub struct Publishes {
    columns: Columns<PyBackedBytes>,
    rows: usize,
}

#[pymethods]
impl Publishes {
    #[new]
    fn new(
        rows: usize,
        subjects: Option<Column>,
        payloads: Option<Column>,
        ids: Option<Column>,
        lines: Vec<(Vec<u8>, Column)>,
        headers: Option<Headers>,
    ) -> PyResult<Publishes> {
        let headers = match headers {
            None => None,
            Some((entries, names, lists, values)) => Some(Maps {
                entries: ranges(entries)?,
                names: texts(names)?,
                lists: lists.map(ranges).transpose()?,
                values: texts(values)?,
            }),
        };
        let columns = Columns {
            subjects: subjects.map(texts).transpose()?,
            payloads: payloads.map(texts).transpose()?,
            ids: ids.map(texts).transpose()?,
            lines: lines
                .into_iter()
                .map(|(name, column)| Ok((name, texts(column)?)))
                .collect::<PyResult<_>>()?,
            headers,
        };
        Ok(Publishes { columns, rows })
    }

    /// The frames of rows from `first` on, at most so many rows and about so many bytes; the row
    /// behind them; and, if it stopped at a row that cannot be published, why.
    #[allow(clippy::too_many_arguments)] // one call for a whole stretch
    fn render<'py>(
        &self,
        py: Python<'py>,
        subjects: &mut PublishSubjects,
        bounds: (usize, usize, usize),
        subject: &[u8],
        reply: &[u8],
        lines: &[u8],
        name: &[u8],
        stem: &[u8],
        number: u64,
        message_bytes_max: usize,
    ) -> (Bound<'py, PyBytes>, usize, u8) {
        let (first, rows_max, stop) = bounds;
        let frame = Frame {
            subject,
            reply,
            lines,
            name,
            stem,
            number,
            bytes_max: message_bytes_max,
        };
        let last = first.saturating_add(rows_max).min(self.rows);
        let mut out = Vec::new();
        let done = py.detach(|| {
            render(
                &self.columns,
                (first, last, stop),
                &frame,
                &mut subjects.subjects,
                &mut out,
            )
        });
        match done {
            Ok(next) => (PyBytes::new(py, &out), next, 0),
            Err(refused) => (PyBytes::new(py, &[]), refused.row, refused.reason as u8),
        }
    }
}

/// The subjects that rows may have.
#[pyclass]
pub struct PublishSubjects {
    subjects: Subjects,
}

#[pymethods]
impl PublishSubjects {
    #[new]
    fn new(allowed: Vec<Vec<u8>>, reserved: Vec<Vec<u8>>) -> PublishSubjects {
        PublishSubjects {
            subjects: Subjects::new(&allowed, &reserved),
        }
    }
}

/// The answers to what one connection published.
#[pyclass]
pub struct PublishAcks {
    acks: Acks,
}

#[pymethods]
impl PublishAcks {
    #[new]
    fn new(reply: &[u8], stream: &[u8], first: u64) -> PublishAcks {
        PublishAcks {
            acks: Acks::new(reply, stream, first),
        }
    }

    fn expect(&mut self, rows: u64) {
        self.acks.expect(rows);
    }

    fn settle(&mut self, row: u64) -> bool {
        self.acks.settle(row)
    }

    /// The first row without an answer.
    #[getter]
    fn first(&self) -> u64 {
        self.acks.first()
    }

    /// What came in: rows stored, duplicates among them, other answers, pings, complaints.
    fn take<'py>(&mut self, py: Python<'py>, data: &[u8]) -> PyResult<Taken<'py>> {
        let taken = self
            .acks
            .take(data)
            .map_err(|_| PyValueError::new_err("the server sent what is no answer to a publish"))?;
        let others = taken.others.iter();
        Ok((
            taken.stored,
            taken.duplicates,
            others
                .map(|(row, answer)| (*row, PyBytes::new(py, answer)))
                .collect(),
            taken.pings,
            taken
                .errors
                .iter()
                .map(|error| PyBytes::new(py, error))
                .collect(),
        ))
    }
}
