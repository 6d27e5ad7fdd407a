//! The message ids of a while.

use penstock_blocks::{PackedColumn, RecentIds as Ids};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

#[pyclass]
#[derive(Default)]
pub struct RecentIds {
    pub ids: Ids,
}

#[pymethods]
impl RecentIds {
    #[new]
    fn new() -> RecentIds {
        RecentIds::default()
    }

    fn __len__(&self) -> usize {
        self.ids.len()
    }

    /// The sequence of a message with this id that is not older than a time.
    fn find(&mut self, id: &[u8], since_ns: i64) -> Option<u64> {
        self.ids.find(id, since_ns)
    }

    /// True if none of these came since a time, and none is among them twice.
    fn are_new(&mut self, ids: Vec<Bound<'_, PyBytes>>, since_ns: i64) -> bool {
        let ids: Vec<&[u8]> = ids.iter().map(|id| id.as_bytes()).collect();
        self.ids.are_new(&ids, since_ns)
    }

    /// Notes ids of messages with rising sequences and one time; empty ones are none.
    fn remember(&mut self, ids: Vec<Bound<'_, PyBytes>>, first: u64, time_ns: i64) {
        for (sequence, id) in (first..).zip(&ids) {
            if !id.as_bytes().is_empty() {
                self.ids.remember(id.as_bytes(), sequence, time_ns);
            }
        }
    }

    /// Notes ids as `Store.header_values` has them.
    fn remember_column(
        &mut self,
        sequences: &[u8],
        times_ns: &[u8],
        ends: &[u8],
        values: &[u8],
    ) -> PyResult<()> {
        let Some(column) = PackedColumn::new(sequences, times_ns, ends, values) else {
            return Err(PyValueError::new_err(
                "the parts of a column do not fit together",
            ));
        };
        self.ids
            .remember_all(column.rows().filter(|row| !row.0.is_empty()));
        Ok(())
    }

    /// The sequence and the id noted last.
    fn newest<'py>(&self, py: Python<'py>) -> Option<(u64, Bound<'py, PyBytes>)> {
        let (id, sequence) = self.ids.newest()?;
        Some((sequence, PyBytes::new(py, &id)))
    }
}
