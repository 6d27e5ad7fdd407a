//! The message ids of a while.

use penstock_blocks::RecentIds as Ids;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

#[pyclass]
#[derive(Default)]
pub struct RecentIds {
    ids: Ids,
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
        let (sequences, rest) = sequences.as_chunks();
        let (times_ns, rest_of_times) = times_ns.as_chunks();
        let (ends, rest_of_ends) = ends.as_chunks();
        let is_even = rest.is_empty() && rest_of_times.is_empty() && rest_of_ends.is_empty();
        if !is_even || sequences.len() != ends.len() || times_ns.len() != ends.len() {
            return Err(PyValueError::new_err(
                "a column must have as many sequences as times and ends of values",
            ));
        }
        let mut start = 0;
        let ids = ends.iter().map(|end| {
            let end = u32::from_le_bytes(*end) as usize;
            values.get(std::mem::replace(&mut start, end)..end)
        });
        let Some(ids) = ids.collect::<Option<Vec<&[u8]>>>() else {
            return Err(PyValueError::new_err("a value ends outside of the column"));
        };
        let times_ns = times_ns.iter().map(|time| i64::from_le_bytes(*time));
        let sequences = sequences.iter().map(|number| u64::from_le_bytes(*number));
        let rows = ids.into_iter().zip(sequences).zip(times_ns);
        let rows = rows.map(|((id, sequence), time_ns)| (id, sequence, time_ns));
        self.ids.remember_all(rows.filter(|row| !row.0.is_empty()));
        Ok(())
    }

    /// The sequence and the id noted last.
    fn newest<'py>(&self, py: Python<'py>) -> Option<(u64, Bound<'py, PyBytes>)> {
        let (id, sequence) = self.ids.newest()?;
        Some((sequence, PyBytes::new(py, &id)))
    }
}
