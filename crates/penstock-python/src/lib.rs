//! The one door between Python and the kernel. It translates and decides nothing: only integers,
//! ranges and whole buffers cross here, and everything it exports is described in
//! `src/penstock/kernel/_native.pyi`.

mod checkpoint;
mod columns;
mod consumers;
mod copies;
mod entries;
mod examination;
mod foreign;
mod hub;
mod lifetime;
mod log;
mod publishes;
mod recent_ids;
mod requests;
mod s2;
mod store;
mod subjects;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<hub::Hub>()?;
    module.add_class::<store::Store>()?;
    module.add_class::<checkpoint::Checkpoint>()?;
    module.add_class::<copies::Copies>()?;
    module.add_class::<columns::Answers>()?;
    module.add_class::<columns::BlockRows>()?;
    module.add_class::<columns::Memory>()?;
    module.add_class::<recent_ids::RecentIds>()?;
    module.add_class::<log::Log>()?;
    module.add_class::<log::Remains>()?;
    module.add_class::<log::StoreLock>()?;
    module.add_class::<examination::Overlay>()?;
    module.add_class::<subjects::SubjectIndex>()?;
    module.add_class::<consumers::Ledger>()?;
    module.add_class::<consumers::FilterIndex>()?;
    module.add_class::<s2::S2Reader>()?;
    module.add_class::<entries::EntryDecoder>()?;
    module.add_class::<foreign::ForeignBlocks>()?;
    module.add_class::<publishes::Publishes>()?;
    module.add_class::<publishes::PublishSubjects>()?;
    module.add_class::<publishes::PublishAcks>()?;
    module.add_function(wrap_pyfunction!(subjects::is_valid_pattern, module)?)?;
    module.add_function(wrap_pyfunction!(subjects::is_valid_literal, module)?)?;
    module.add_function(wrap_pyfunction!(examination::open_examined, module)?)?;
    module.add_function(wrap_pyfunction!(examination::examine, module)?)?;
    module.add_function(wrap_pyfunction!(examination::block_summaries, module)?)?;
    module.add_function(wrap_pyfunction!(entries::encode_entry, module)?)?;
    module.add_function(wrap_pyfunction!(lifetime::parse_lifetime, module)?)?;
    module.add_function(wrap_pyfunction!(log::encode_message, module)?)?;
    module.add_function(wrap_pyfunction!(requests::alike, module)?)?;
    module.add_function(wrap_pyfunction!(requests::send_singles, module)?)?;
    module.add_function(wrap_pyfunction!(requests::send_page, module)?)?;
    module.add_function(wrap_pyfunction!(s2::s2_start, module)?)?;
    module.add_function(wrap_pyfunction!(s2::s2_chunk, module)?)?;
    Ok(())
}
