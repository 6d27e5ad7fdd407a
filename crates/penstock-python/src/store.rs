//! The store of one stream.

use crate::checkpoint::Checkpoint;
use crate::copies::Copies;
use crate::hub::Hub;
use crate::recent_ids::RecentIds;
use penstock_blocks::{Content, Filter, LastOf, Limits, Options, Recovery, Store as Blocks};
use penstock_disk::RealDisk;
use penstock_turn::{replacement, run_bytes};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::fmt::Display;
use std::sync::Arc;

type Row<'py> = (
    u64,
    i64,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
);
/// A store, the log entry up to which it is complete, lost ranges, notes.
type Opened = (Store, Option<u64>, Vec<(u64, u64)>, Vec<String>);
/// Sequences, times, where values end, values: numbers little endian, of 8, 8 and 4 bytes. Then from
/// where to go on.
type Column<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Option<u64>,
);
/// Sequence, subject and headers.
type Last<'py> = (u64, Bound<'py, PyBytes>, Bound<'py, PyBytes>);
type State = (u64, u64, u64, i64, u64, i64, u64, u64);

pub(crate) fn failed(error: impl Display) -> PyErr {
    PyOSError::new_err(error.to_string())
}

#[pyclass]
pub struct Store {
    pub(crate) store: Blocks,
}

#[pymethods]
impl Store {
    /// A store in memory.
    #[staticmethod]
    fn in_memory(name: &str) -> Store {
        Store {
            store: Blocks::in_memory(name, Options::default()),
        }
    }

    /// Opens or creates a store in files. Returns it with the log entry up to which everything is
    /// in, the lost ranges of sequences, and what else there is to say about the opening.
    #[staticmethod]
    #[pyo3(signature = (root, directory, name, replayable_from, is_all_logged = false))]
    fn open(
        root: &str,
        directory: &str,
        name: &str,
        replayable_from: Option<u64>,
        is_all_logged: bool,
    ) -> PyResult<Opened> {
        let options = Options {
            replayable_from,
            is_all_logged,
            ..Options::default()
        };
        let disk = Arc::new(RealDisk::new(root));
        let (store, recovery) = Blocks::open(disk, directory, name, options).map_err(failed)?;
        let mark = recovery.mark;
        let notes = notes(&recovery);
        Ok((Store { store }, mark, recovery.lost, notes))
    }

    fn append_run(
        &mut self,
        hub: &Hub,
        start: usize,
        end: usize,
        first: u64,
        time_ns: i64,
    ) -> PyResult<u64> {
        self.store
            .append_run(hub.hub.run(start, end), first, time_ns)
            .map_err(failed)
    }

    /// How many messages of a run, from its beginning, fit within limits that nothing gives way
    /// to but the oldest of a message's own subject, if that.
    #[allow(clippy::too_many_arguments)] // columns of a call from Python
    fn fitting(
        &mut self,
        hub: &Hub,
        start: usize,
        end: usize,
        messages: u64,
        bytes: u64,
        messages_per_subject: u64,
        keeps_subjects: bool,
    ) -> usize {
        let limits = Limits {
            messages,
            bytes,
            messages_per_subject,
        };
        let run = hub.hub.run(start, end);
        self.store.fitting(run, &limits, keeps_subjects)
    }

    fn expected(
        &mut self,
        hub: &Hub,
        start: usize,
        end: usize,
        header: &[u8],
        first: u64,
    ) -> usize {
        self.store
            .expected(hub.hub.headed(start, end, header), first)
    }

    /// Stores a run as the log has kept it, apart from what is there already. Answers with the
    /// sequences before it that are missing, if any.
    pub fn replay_run(&mut self, bytes: &[u8]) -> PyResult<Option<(u64, u64)>> {
        let Some((first, time_ns, messages)) = run_bytes::read(bytes) else {
            return Err(failed("a run in the log has no head"));
        };
        let next = self.store.last_sequence() + 1;
        let known = usize::try_from(next.saturating_sub(first)).unwrap_or(usize::MAX);
        self.store
            .append_run(messages.skip(known), first.max(next), time_ns)
            .map_err(failed)?;
        Ok((first > next).then(|| (next, first - 1)))
    }

    fn append_copies(&mut self, copies: &Copies) -> PyResult<()> {
        self.store.append_copies(&copies.copies).map_err(failed)
    }

    /// As `replay_run`, for copies.
    fn replay_copies(&mut self, bytes: &[u8]) -> PyResult<Option<(u64, u64)>> {
        self.store.replay_copies(bytes).map_err(failed)
    }

    fn append(
        &mut self,
        sequence: u64,
        timestamp_ns: i64,
        subject: &[u8],
        headers: &[u8],
        message: &[u8],
    ) -> PyResult<()> {
        let content = Content {
            sequence,
            timestamp_ns,
            subject,
            headers,
            message,
        };
        self.store.append(&content).map_err(failed)
    }

    fn load<'py>(&mut self, py: Python<'py>, sequence: u64) -> PyResult<Option<Row<'py>>> {
        let message = self.store.load(sequence).map_err(failed)?;
        Ok(message.map(|found| {
            (
                found.sequence,
                found.timestamp_ns,
                PyBytes::new(py, found.subject),
                PyBytes::new(py, found.headers),
                PyBytes::new(py, found.message),
            )
        }))
    }

    fn remove(&mut self, sequence: u64, erase: bool) -> PyResult<bool> {
        let removed = self.store.remove(sequence, erase).map_err(failed)?;
        Ok(removed.is_some())
    }

    /// Does again what a log says: a message may be removed already, and not overwritten.
    fn replay_removals(&mut self, sequences: Vec<u64>, erase: bool) -> PyResult<()> {
        for sequence in sequences {
            if erase {
                self.store.replay_erasure(sequence).map_err(failed)?;
            } else {
                self.store.remove(sequence, false).map_err(failed)?;
            }
        }
        Ok(())
    }

    fn remove_below(&mut self, sequence: u64) -> PyResult<u64> {
        let gone = self.store.remove_below(sequence).map_err(failed)?;
        Ok(gone.messages)
    }

    fn next_matching(&mut self, pattern: &[u8], sequence: u64) -> PyResult<Option<u64>> {
        let filter = Filter::new(&[pattern]);
        self.store.next_matching(&filter, sequence).map_err(failed)
    }

    fn last_matching(&mut self, pattern: &[u8], sequence: u64) -> PyResult<Option<u64>> {
        let filter = Filter::new(&[pattern]);
        self.store.last_matching(&filter, sequence).map_err(failed)
    }

    fn sequence_at(&mut self, time_ns: i64) -> PyResult<Option<u64>> {
        self.store.sequence_at_time(time_ns).map_err(failed)
    }

    fn subject_state(&mut self, subject: &[u8]) -> PyResult<Option<(u64, u64, u64)>> {
        let state = self.store.subject_state(subject).map_err(failed)?;
        Ok(state.map(|found| (found.messages, found.first, found.last)))
    }

    fn subjects<'py>(
        &mut self,
        py: Python<'py>,
        pattern: &[u8],
        offset: usize,
        limit: usize,
    ) -> Vec<(Bound<'py, PyBytes>, u64)> {
        let mut rows = Vec::new();
        let mut position = 0;
        self.store
            .subjects(&Filter::new(&[pattern]), |subject, count| {
                if position >= offset && rows.len() < limit {
                    rows.push((PyBytes::new(py, subject), count));
                }
                position += 1;
            });
        rows
    }

    /// One header of all messages from a sequence on that have it.
    fn header_values<'py>(
        &mut self,
        py: Python<'py>,
        name: &[u8],
        sequence: u64,
        bytes_max: usize,
    ) -> PyResult<Column<'py>> {
        let (column, rest) = self
            .store
            .header_values(name, sequence, bytes_max)
            .map_err(failed)?;
        let sequences = packed(py, &column.sequences, |number| number.to_le_bytes());
        let times = packed(py, &column.timestamps_ns, |time| time.to_le_bytes());
        let ends = packed(py, &column.ends, |end| end.to_le_bytes());
        let values = PyBytes::new(py, &column.values);
        Ok((sequences, times, ends, values, rest))
    }

    fn deleted(&mut self) -> PyResult<Vec<(u64, u64)>> {
        self.store.deleted().map_err(failed)
    }

    fn evict(&mut self, messages: u64, bytes: u64, messages_per_subject: u64) -> PyResult<u64> {
        let limits = Limits {
            messages,
            bytes,
            messages_per_subject,
        };
        let gone = self.store.enforce(&limits).map_err(failed)?;
        Ok(gone.messages)
    }

    fn expire(&mut self, time_ns: i64, count_max: u64) -> PyResult<u64> {
        self.store.expire(time_ns, count_max).map_err(failed)
    }

    /// From now on it is known which messages have a lifetime, or no longer.
    fn watch_lifetimes(&mut self, watched: bool) -> PyResult<()> {
        self.store.watch_lifetimes(watched).map_err(failed)
    }

    /// How many messages have a lifetime, how many of them never end, when the next one does.
    fn lifetimes(&self) -> (usize, usize, Option<i64>) {
        self.store.lifetimes().map_or((0, 0, None), |lifetimes| {
            (
                lifetimes.len(),
                lifetimes.endless(),
                lifetimes.next_end_ns(),
            )
        })
    }

    /// Before this moment nothing is over, where messages may have this age.
    #[pyo3(signature = (age_max_ns))]
    fn next_over(&self, age_max_ns: Option<i64>) -> Option<i64> {
        self.store.next_over_ns(age_max_ns)
    }

    /// Messages older than a time and messages whose lifetime is over, so many at the most, and
    /// whether there are more.
    #[pyo3(signature = (now_ns, older_than_ns, count_max))]
    fn over(
        &mut self,
        now_ns: i64,
        older_than_ns: Option<i64>,
        count_max: usize,
    ) -> PyResult<(Vec<u64>, bool)> {
        let over = self.store.over(now_ns, older_than_ns, count_max);
        over.map(|over| (over.sequences, over.is_cut))
            .map_err(failed)
    }

    /// Without these messages some subjects would have none: the last one of each such subject.
    fn lasts<'py>(&mut self, py: Python<'py>, sequences: Vec<u64>) -> PyResult<Vec<Last<'py>>> {
        let lasts = self.store.lasts(&sequences).map_err(failed)?;
        let row = |last: &LastOf| {
            let subject = PyBytes::new(py, &last.subject);
            (last.sequence, subject, PyBytes::new(py, &last.headers))
        };
        Ok(lasts.iter().map(row).collect())
    }

    /// Removes messages and stores one without payload for each of some subjects, from a sequence
    /// on. Returns how many were removed.
    fn replace(
        &mut self,
        sequences: Vec<u64>,
        erase: bool,
        subjects: Vec<PyBackedBytes>,
        headers: &[u8],
        first: u64,
        time_ns: i64,
    ) -> PyResult<u64> {
        let gone = self.store.remove_all(&sequences, erase).map_err(failed)?;
        let messages = subjects
            .iter()
            .map(|subject| (&subject[..], headers, &[][..]));
        self.store
            .append_run(messages, first, time_ns)
            .map_err(failed)?;
        Ok(gone.messages)
    }

    /// Does that again as the log has kept it. Answers with the sequences before the new ones that
    /// are missing, if any.
    fn replay_replaced(&mut self, bytes: &[u8]) -> PyResult<Option<(u64, u64)>> {
        let Some((erase, ranges, run)) = replacement::read(bytes) else {
            return Err(failed("messages removed in the log have no head"));
        };
        for (first, last) in ranges {
            if erase {
                for sequence in first..=last {
                    self.store.replay_erasure(sequence).map_err(failed)?;
                }
            } else {
                self.store.remove_range(first, last).map_err(failed)?;
            }
        }
        if run.is_empty() {
            return Ok(None);
        }
        self.replay_run(run)
    }

    fn state(&mut self) -> PyResult<State> {
        let state = self.store.state().map_err(failed)?;
        Ok((
            state.messages,
            state.bytes,
            state.first_sequence,
            state.first_timestamp_ns,
            state.last_sequence,
            state.last_timestamp_ns,
            state.deleted,
            state.subjects,
        ))
    }

    /// How many messages at or after a sequence match one of the patterns.
    fn pending(&mut self, patterns: Vec<Vec<u8>>, sequence: u64) -> PyResult<u64> {
        let filter = filter_of(&patterns);
        self.store.pending(&filter, sequence, false).map_err(failed)
    }

    /// The last message of every subject that matches, up to a sequence.
    fn last_by_subjects(&mut self, patterns: Vec<Vec<u8>>, up_to: u64) -> PyResult<Vec<u64>> {
        let filter = filter_of(&patterns);
        self.store.last_by_subjects(&filter, up_to).map_err(failed)
    }

    /// Makes the state as of now the one to go on from; `mark` is the log's last entry in it.
    fn checkpoint(&mut self, mark: u64, closing: bool) -> PyResult<()> {
        self.store.checkpoint(mark, closing).map_err(failed)
    }

    /// The same in steps: this notes the state down, the checkpoint's `write` may run in another
    /// thread, and `end_checkpoint` must follow it.
    fn begin_checkpoint(&mut self, mark: u64, closing: bool) -> PyResult<Option<Checkpoint>> {
        let noted = self.store.begin_checkpoint(mark, closing).map_err(failed)?;
        Ok(noted.map(|noted| Checkpoint { noted }))
    }

    /// True if another one should follow soon.
    fn end_checkpoint(&mut self, checkpoint: &Checkpoint) -> PyResult<bool> {
        self.store.end_checkpoint(&checkpoint.noted).map_err(failed)
    }

    /// Whether the bytes of a removed message wait for a checkpoint to be overwritten.
    fn has_erasures(&self) -> bool {
        self.store.has_erasures()
    }

    /// Whether something was overwritten that the next checkpoint is to make durable.
    fn has_overwritten(&self) -> bool {
        self.store.has_overwritten()
    }

    fn take_appended_bytes(&mut self) -> u64 {
        self.store.take_appended_bytes()
    }

    /// Keeps the ids since a time in a file, for the next opening.
    fn save_ids(&mut self, ids: &RecentIds, since_ns: i64) -> PyResult<()> {
        self.store.save_ids(&ids.ids, since_ns).map_err(failed)
    }

    /// Adds the ids kept in the file, which is gone then; false if there are none to go by.
    fn take_ids(&mut self, ids: &mut RecentIds) -> bool {
        self.store.take_ids(&mut ids.ids)
    }

    /// Ranges of sequences whose records were found damaged or missing, and how many bytes.
    fn lost(&self) -> (Vec<(u64, u64)>, u64) {
        let (ranges, bytes) = self.store.lost();
        (ranges.to_vec(), bytes)
    }

    fn unwritten_bytes(&self) -> u64 {
        self.store.unwritten_bytes()
    }

    fn write_out(&mut self) -> PyResult<()> {
        self.store.write_out().map_err(failed)
    }

    fn sync(&mut self) -> PyResult<()> {
        self.store.sync().map_err(failed)
    }
}

fn packed<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    numbers: &[T],
    bytes: impl Fn(T) -> [u8; N],
) -> Bound<'py, PyBytes> {
    let packed: Vec<u8> = numbers.iter().flat_map(|number| bytes(*number)).collect();
    PyBytes::new(py, &packed)
}

pub(crate) fn filter_of(patterns: &[Vec<u8>]) -> Filter {
    let slices: Vec<&[u8]> = patterns.iter().map(Vec::as_slice).collect();
    Filter::new(&slices)
}

fn notes(recovery: &Recovery) -> Vec<String> {
    let mut notes = Vec::new();
    if recovery.lost_bytes > 0 {
        notes.push(format!(
            "{} damaged bytes were passed over",
            recovery.lost_bytes
        ));
    }
    if recovery.tail_bytes > 0 {
        notes.push(format!(
            "{} bytes of an unfinished write were cut off",
            recovery.tail_bytes
        ));
    }
    for (from, to) in &recovery.moved {
        notes.push(format!("block {from} was found in the place of block {to}"));
    }
    for path in &recovery.unreadable {
        notes.push(format!("nothing in {path} can be read; it was left alone"));
    }
    for path in &recovery.suspicious {
        notes.push(format!("a length in {path} is damaged"));
    }
    notes
}
