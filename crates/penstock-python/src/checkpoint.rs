//! What a checkpoint writes, for another thread.

use penstock_blocks::Checkpoint as Noted;
use pyo3::prelude::*;

/// The state of a store on its way to the disk.
#[pyclass]
pub struct Checkpoint {
    pub(crate) noted: Noted,
}

#[pymethods]
impl Checkpoint {
    /// Syncs files and puts the index in its place; what went wrong is told by `error`.
    fn write(&mut self, py: Python<'_>) {
        py.detach(|| self.noted.write());
    }

    /// Why it failed; empty if it did not.
    #[getter]
    fn error(&self) -> String {
        self.noted
            .error()
            .map_or_else(String::new, ToString::to_string)
    }

    /// True if a sync failed: the store takes nothing more.
    #[getter]
    fn lost(&self) -> bool {
        self.noted.is_lost()
    }
}
