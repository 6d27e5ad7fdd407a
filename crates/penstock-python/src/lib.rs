//! The one door between Python and the kernel. It translates and decides nothing: only integers,
//! ranges and whole buffers cross here, and everything it exports is described in
//! `src/penstock/kernel/_native.pyi`.

mod entries;
mod foreign;
mod hub;
mod log;
mod recent_ids;
mod s2;
mod store;
mod subjects;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<hub::Hub>()?;
    module.add_class::<store::Store>()?;
    module.add_class::<store::Checkpoint>()?;
    module.add_class::<recent_ids::RecentIds>()?;
    module.add_class::<log::Log>()?;
    module.add_class::<log::StoreLock>()?;
    module.add_class::<subjects::SubjectIndex>()?;
    module.add_class::<s2::S2Reader>()?;
    module.add_class::<entries::EntryDecoder>()?;
    module.add_class::<foreign::ForeignBlocks>()?;
    module.add_function(wrap_pyfunction!(subjects::is_valid_pattern, module)?)?;
    module.add_function(wrap_pyfunction!(subjects::is_valid_literal, module)?)?;
    module.add_function(wrap_pyfunction!(entries::encode_entry, module)?)?;
    module.add_function(wrap_pyfunction!(s2::s2_start, module)?)?;
    module.add_function(wrap_pyfunction!(s2::s2_chunk, module)?)?;
    Ok(())
}
