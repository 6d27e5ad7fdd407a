//! The commit log of a server.

use crate::hub::Hub;
use crate::store::Store;
use penstock_disk::{LockGuard, RealDisk};
use penstock_log::{Damage, Log as Entries, Options, Replay};
use penstock_turn::run_bytes;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::os::fd::AsRawFd;
use std::sync::Arc;

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
    gaps: Vec<Gap>,
    scratch: Vec<u8>,
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
    fn new(root: &str, directory: &str, salt: u64) -> PyResult<Log> {
        let options = Options {
            salt,
            damage: Damage::Skip,
            ..Options::default()
        };
        let (log, replay) = Entries::open(Arc::new(RealDisk::new(root)), directory, options)?;
        Ok(Log {
            log,
            replay: Some(replay),
            lost: Vec::new(),
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
        self.replay = None;
        Ok(None)
    }

    /// Damaged entries that were left out of the replay, once it is over.
    fn lost(&self) -> Vec<Lost> {
        self.lost.clone()
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

    fn commit(&mut self) {
        self.log.commit();
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

    fn wait_durable(&mut self, py: Python<'_>, entry: u64) -> PyResult<u64> {
        let log = &mut self.log;
        Ok(py.detach(|| log.wait_durable(entry))?)
    }
}
