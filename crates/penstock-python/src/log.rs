//! The commit log of a server.

use crate::copies::Copies;
use crate::examination::{Overlay, disk_of};
use crate::hub::Hub;
use crate::store::Store;
use penstock_disk::{LockGuard, RealDisk};
use penstock_log::{Damage, Log as Entries, Options, Remains as Left, Replay};
use penstock_turn::{replacement, run_bytes};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use std::os::fd::AsRawFd;

/// A segment grows in so many steps.
const EXTENSIONS_PER_SEGMENT: u64 = 64;

/// Path, offset, first and last entry of what could not be read.
type Lost = (String, u64, u64, u64);

/// Stream, first and last sequence of what was missing before a run.
type Gap = (u64, u64, u64);

/// Number, stream, kind, payload.
type Replayed<'py> = (u64, u64, u8, Bound<'py, PyBytes>);

#[pyclass]
pub struct Log {
    log: Entries,
    replay: Option<Replay>,
    lost: Vec<Lost>,
    mended: Vec<(String, u64)>,
    torn: Option<(String, u64)>,
    end: Option<(String, u64)>,
    gaps: Vec<Gap>,
    scratch: Vec<u8>,
}

/// Files that the log has set aside, to be overwritten before they go.
#[pyclass]
pub struct Remains {
    remains: Left,
}

#[pymethods]
impl Remains {
    /// Waits for the log to be cut, and then for the disk; may be called from another thread.
    fn overwrite(&self, py: Python<'_>) -> PyResult<()> {
        Ok(py.detach(|| self.remains.overwrite())?)
    }
}

/// A lock on a store directory; it ends with the object.
#[pyclass]
pub struct StoreLock {
    _guard: LockGuard,
}

#[pymethods]
impl StoreLock {
    #[new]
    fn new(root: &str, path: &str) -> PyResult<StoreLock> {
        Ok(StoreLock {
            _guard: RealDisk::new(root).lock(path)?,
        })
    }
}

#[pymethods]
impl Log {
    #[new]
    #[pyo3(signature = (root, directory, salt, segment_bytes_max = 64 << 20, overlay = None))]
    fn new(
        root: &str,
        directory: &str,
        salt: u64,
        segment_bytes_max: u64,
        overlay: Option<&Overlay>,
    ) -> PyResult<Log> {
        let options = Options {
            segment_bytes_max,
            extend_bytes: segment_bytes_max / EXTENSIONS_PER_SEGMENT,
            salt,
            damage: Damage::Skip,
            ..Options::default()
        };
        let (log, replay) = Entries::open(disk_of(root, overlay), directory, options)?;
        Ok(Log {
            log,
            torn: owned(replay.torn()),
            end: owned(replay.end()),
            replay: Some(replay),
            lost: Vec::new(),
            mended: Vec::new(),
            gaps: Vec::new(),
            scratch: Vec::new(),
        })
    }

    /// The next entry of the past: number, stream, kind, payload; none after the last. Runs are
    /// stored on the way, where `stores` has a store for the stream and the entry up to which it
    /// is complete.
    fn next_replayed<'py>(
        &mut self,
        py: Python<'py>,
        run_kind: u8,
        stores: &Bound<'py, PyDict>,
    ) -> PyResult<Option<Replayed<'py>>> {
        let Some(replay) = &mut self.replay else {
            return Ok(None);
        };
        while let Some(entry) = replay.next()? {
            let known = match entry.kind == run_kind {
                true => stores.get_item(entry.stream)?,
                false => None,
            };
            let mut is_stored = false;
            if let Some(known) = known {
                let (store, mark): (Bound<'_, Store>, u64) = known.extract()?;
                is_stored = entry.number <= mark;
                // One that fails is the caller's, who can replay it again and hears why.
                if !is_stored && let Ok(gap) = store.borrow_mut().replay_run(entry.payload) {
                    is_stored = true;
                    let gaps = gap.map(|(first, last)| (entry.stream, first, last));
                    self.gaps.extend(gaps);
                }
            }
            if !is_stored {
                let payload = PyBytes::new(py, entry.payload);
                return Ok(Some((entry.number, entry.stream, entry.kind, payload)));
            }
        }
        let lost = replay.lost().iter();
        self.lost = lost
            .map(|lost| (lost.path.clone(), lost.offset, lost.first, lost.last))
            .collect();
        self.mended = replay.mended().to_vec();
        self.replay = None;
        Ok(None)
    }

    /// Damaged entries that were left out of the replay, once it is over.
    fn lost(&self) -> Vec<Lost> {
        self.lost.clone()
    }

    /// Paths and offsets of groups that had one wrong bit, which the replay has put right.
    fn mended(&self) -> Vec<(String, u64)> {
        self.mended.clone()
    }

    /// Path and offset of a group at the end that was begun and is not whole, if there is one.
    fn torn(&self) -> Option<(String, u64)> {
        self.torn.clone()
    }

    /// Path and offset where the log ended when it was opened.
    fn end(&self) -> Option<(String, u64)> {
        self.end.clone()
    }

    /// What was missing before runs that were stored on the way.
    fn gaps(&self) -> Vec<Gap> {
        self.gaps.clone()
    }

    fn append(&mut self, stream: u64, kind: u8, payload: &[u8]) -> u64 {
        self.log.append(stream, kind, &[payload])
    }

    #[allow(clippy::too_many_arguments)] // columns of a call from Python
    fn append_run(
        &mut self,
        hub: &Hub,
        stream: u64,
        kind: u8,
        start: usize,
        end: usize,
        first: u64,
        time_ns: i64,
    ) -> u64 {
        self.scratch.clear();
        run_bytes::push_head(&mut self.scratch, first, time_ns);
        for parts in hub.hub.run(start, end) {
            run_bytes::push_message(&mut self.scratch, parts);
        }
        self.log.append(stream, kind, &[&self.scratch])
    }

    #[allow(clippy::too_many_arguments)] // columns of a call from Python
    fn append_message(
        &mut self,
        stream: u64,
        kind: u8,
        sequence: u64,
        time_ns: i64,
        subject: &[u8],
        headers: &[u8],
        message: &[u8],
    ) -> u64 {
        self.scratch.clear();
        run_bytes::push_head(&mut self.scratch, sequence, time_ns);
        run_bytes::push_message(&mut self.scratch, (subject, headers, message));
        self.log.append(stream, kind, &[&self.scratch])
    }

    /// Messages that were removed, and the others in their place, as `Store.replace` has them.
    #[allow(clippy::too_many_arguments)] // columns of a call from Python
    fn append_replaced(
        &mut self,
        stream: u64,
        kind: u8,
        sequences: Vec<u64>,
        erase: bool,
        subjects: Vec<PyBackedBytes>,
        headers: &[u8],
        first: u64,
        time_ns: i64,
    ) -> u64 {
        self.scratch.clear();
        replacement::push_removed(&mut self.scratch, erase, &sequences);
        if !subjects.is_empty() {
            run_bytes::push_head(&mut self.scratch, first, time_ns);
        }
        for subject in &subjects {
            run_bytes::push_message(&mut self.scratch, (subject, headers, b""));
        }
        self.log.append(stream, kind, &[&self.scratch])
    }

    /// Copies on their way into a store whose last sequence is `before`.
    fn append_copies(&mut self, stream: u64, kind: u8, copies: &mut Copies, before: u64) -> u64 {
        self.log
            .append(stream, kind, &[copies.copies.bytes(before)])
    }

    fn commit(&mut self) {
        self.log.commit();
    }

    /// Waits for the writer to write what is committed, and to end.
    fn close(&mut self, py: Python<'_>) {
        py.detach(|| self.log.close());
    }

    fn last(&self) -> u64 {
        self.log.last()
    }

    fn fileno(&self) -> i32 {
        self.log.descriptor().as_raw_fd()
    }

    fn acknowledge(&self) -> u64 {
        self.log.acknowledge()
    }

    fn durable(&self) -> u64 {
        self.log.durable()
    }

    fn failure(&self) -> Option<String> {
        self.log.failure()
    }

    fn pending_bytes(&self) -> u64 {
        self.log.pending_bytes()
    }

    fn segments(&self) -> usize {
        self.log.segments()
    }

    fn cut(&mut self, entry: u64) {
        self.log.cut(entry);
    }

    /// The first entry that is still in the log, or the next one.
    fn oldest(&self) -> u64 {
        self.log.oldest()
    }

    /// Everything appended so far is to leave no trace once it is cut and `remains` overwritten.
    fn forget(&mut self) {
        self.log.forget();
    }

    fn remains(&self) -> Remains {
        Remains {
            remains: self.log.remains(),
        }
    }

    /// Whether something waits to be overwritten, perhaps since an earlier start.
    fn has_remains(&self) -> PyResult<bool> {
        Ok(self.log.has_remains()?)
    }

    fn keep_spare(&mut self, wanted: bool) {
        self.log.keep_spare(wanted);
    }

    fn wait_durable(&mut self, py: Python<'_>, entry: u64) -> PyResult<u64> {
        let log = &mut self.log;
        Ok(py.detach(|| log.wait_durable(entry))?)
    }
}

fn owned(place: Option<(&str, u64)>) -> Option<(String, u64)> {
    place.map(|(path, offset)| (path.to_owned(), offset))
}

/// A run of one message, as `append_message` writes it, for an entry that holds several things.
#[pyfunction]
pub fn encode_message<'py>(
    py: Python<'py>,
    sequence: u64,
    time_ns: i64,
    subject: &[u8],
    headers: &[u8],
    message: &[u8],
) -> Bound<'py, PyBytes> {
    let size = 26 + subject.len() + headers.len() + message.len();
    let mut run = Vec::with_capacity(size);
    run_bytes::push_head(&mut run, sequence, time_ns);
    run_bytes::push_message(&mut run, (subject, headers, message));
    PyBytes::new(py, &run)
}
