//! Block files of the reference, as snapshots of its versions before 2.15 carry them.

use penstock_blocks::{Options, Recovery, Store};
use penstock_disk::RealDisk;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

type Row<'py> = (
    u64,
    i64,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
);

#[pyclass]
pub struct ForeignBlocks {
    store: Store,
}

#[pymethods]
impl ForeignBlocks {
    /// Opens the blocks below a directory; `ValueError` if any record in them is damaged.
    /// Reads all of them, which may take its time: other threads go on meanwhile.
    #[new]
    fn new(py: Python<'_>, root: &str, directory: &str, name: &str) -> PyResult<ForeignBlocks> {
        let options = Options {
            foreign: true,
            ..Options::default()
        };
        let disk = Arc::new(RealDisk::new(root));
        let (store, recovery) = py
            .detach(|| Store::open(disk, directory, name, options))
            .map_err(|error| PyOSError::new_err(error.to_string()))?;
        if is_damaged(&recovery) {
            return Err(PyValueError::new_err("a message block is damaged"));
        }
        Ok(ForeignBlocks { store })
    }

    /// The last sequence, and the time of the last change.
    fn last(&mut self) -> PyResult<(u64, i64)> {
        let state = self.store.state().map_err(damaged)?;
        Ok((state.last_sequence, state.last_timestamp_ns))
    }

    /// Messages from a sequence on, until they have so many bytes.
    fn messages<'py>(
        &mut self,
        py: Python<'py>,
        sequence: u64,
        bytes_max: usize,
    ) -> PyResult<Vec<Row<'py>>> {
        let (mut rows, mut bytes, mut from) = (Vec::new(), 0, sequence);
        while bytes < bytes_max
            && let Some(next) = self.store.first_at_or_after(from).map_err(damaged)?
        {
            let Some(found) = self.store.load(next).map_err(damaged)? else {
                return Err(PyValueError::new_err("a message is missing"));
            };
            bytes += found.subject.len() + found.headers.len() + found.message.len() + 30;
            rows.push((
                found.sequence,
                found.timestamp_ns,
                PyBytes::new(py, found.subject),
                PyBytes::new(py, found.headers),
                PyBytes::new(py, found.message),
            ));
            from = next + 1;
        }
        Ok(rows)
    }
}

fn is_damaged(recovery: &Recovery) -> bool {
    !recovery.lost.is_empty()
        || recovery.lost_bytes > 0
        || recovery.tail_bytes > 0
        || !recovery.moved.is_empty()
        || !recovery.unreadable.is_empty()
        || !recovery.suspicious.is_empty()
}

fn damaged(error: penstock_blocks::Error) -> PyErr {
    match error {
        penstock_blocks::Error::Disk(error) => PyOSError::new_err(error.to_string()),
        _ => PyValueError::new_err("a message block is damaged"),
    }
}
