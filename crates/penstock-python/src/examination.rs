//! Looking at a store without touching it: an overlay to open it on, and what is damaged in it.

use crate::store::{Store, failed};
use penstock_blocks::{FlawKind, IndexCondition, Options, Recovery, Store as Blocks};
use penstock_disk::{Disk, OverlayDisk, RealDisk};
use pyo3::prelude::*;
use std::sync::Arc;

type Range = (u64, u64);
/// Condition of the index, where it is flawed, lost sequences, those known before; the block whose
/// end was cut, its length then and the bytes that went; blocks under another's name and their own;
/// files that nothing can be read from.
type Opening = (
    u8,
    Vec<u64>,
    Vec<Range>,
    Vec<Range>,
    (u32, u64, u64),
    Vec<(u32, u32)>,
    Vec<String>,
);
/// Kind, block, offset, bytes, lost sequences.
type Flaw = (u8, u32, u64, u64, Vec<Range>);
/// Block, first and last sequence, records, bytes.
type Summary = (u32, u64, u64, u64, u64);

/// The files below a root, to be read; what is written stays in memory.
#[pyclass(frozen)]
pub struct Overlay {
    disk: Arc<OverlayDisk>,
}

#[pymethods]
impl Overlay {
    #[new]
    fn new(root: &str) -> Overlay {
        Overlay {
            disk: Arc::new(OverlayDisk::new(root)),
        }
    }
}

/// The overlay's disk, or the real one.
pub fn disk_of(root: &str, overlay: Option<&Overlay>) -> Arc<dyn Disk> {
    match overlay {
        Some(overlay) => Arc::clone(&overlay.disk) as _,
        None => Arc::new(RealDisk::new(root)),
    }
}

/// As `Store.open`, with everything that the opening found.
#[pyfunction]
#[pyo3(signature = (root, directory, name, replayable_from, overlay = None, is_all_logged = false))]
pub fn open_examined(
    root: &str,
    directory: &str,
    name: &str,
    replayable_from: Option<u64>,
    overlay: Option<&Overlay>,
    is_all_logged: bool,
) -> PyResult<(Store, Option<u64>, Opening)> {
    let options = Options {
        replayable_from,
        is_all_logged,
        ..Options::default()
    };
    let disk = disk_of(root, overlay);
    let (store, found) = Blocks::open(disk, directory, name, options).map_err(failed)?;
    Ok((Store { store }, found.mark, opening(found)))
}

fn opening(found: Recovery) -> Opening {
    let condition = match found.index {
        IndexCondition::New => 0,
        IndexCondition::Used => 1,
        IndexCondition::Partial => 2,
        IndexCondition::Missing => 3,
        IndexCondition::Damaged => 4,
        IndexCondition::Foreign => 5,
        IndexCondition::Stale => 6,
    };
    (
        condition,
        found.index_flaws,
        found.lost,
        found.lost_before,
        (found.tail.0, found.tail.1, found.tail_bytes),
        found.moved,
        found.unreadable,
    )
}

/// The flaws of the first block from a number on, and the number to go on from.
#[pyfunction]
pub fn examine(
    py: Python<'_>,
    store: &mut Store,
    number: u32,
) -> PyResult<(Vec<Flaw>, Option<u32>)> {
    let blocks = &mut store.store;
    let (flaws, next) = py.detach(|| blocks.examine(number)).map_err(failed)?;
    let rows = flaws.into_iter().map(|flaw| {
        let kind = match flaw.kind {
            FlawKind::Record => 1,
            FlawKind::Length => 2,
            FlawKind::Lengths => 3,
            FlawKind::Note => 4,
            FlawKind::Count => 5,
        };
        (kind, flaw.number, flaw.offset, flaw.bytes, flaw.lost)
    });
    Ok((rows.collect(), next))
}

/// The blocks of a store, in their order.
#[pyfunction]
pub fn block_summaries(store: &Store) -> Vec<Summary> {
    let rows = store.store.summaries().into_iter();
    rows.map(|row| (row.number, row.first, row.last, row.records, row.bytes))
        .collect()
}
