//! Messages on their way from one store into another, or counted on their way into their own.

use crate::hub::Hub;
use crate::store::{Store, failed, filter_of};
use penstock_blocks::{Copies as Bytes, CopyTerms, CountTerms, Limits, Sourced};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Sequence, time, subject, headers, message.
type Row<'py> = (
    u64,
    i64,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
);
/// First sequence, time, and the three parts of the header line.
type SourcedColumns = (u64, i64, Vec<u8>, Vec<u8>, Vec<u8>);

#[pyclass]
#[derive(Default)]
pub struct Copies {
    pub(crate) copies: Bytes,
}

#[pymethods]
impl Copies {
    #[new]
    fn new() -> Copies {
        Copies::default()
    }

    fn __len__(&self) -> usize {
        self.copies.count()
    }

    /// Begins anew with messages of a store; why it ended, and where to go on.
    #[allow(clippy::too_many_arguments)] // columns of a call from Python
    #[pyo3(signature = (
        origin, patterns, sequence, up_to, *, messages_max, bytes_max, header_bytes_max,
        message_bytes_max, dropped, special, sourced, renames
    ))]
    fn take(
        &mut self,
        origin: &mut Store,
        patterns: Vec<Vec<u8>>,
        sequence: u64,
        up_to: u64,
        messages_max: usize,
        bytes_max: usize,
        header_bytes_max: usize,
        message_bytes_max: usize,
        dropped: Vec<Vec<u8>>,
        special: Vec<Vec<u8>>,
        sourced: Option<SourcedColumns>,
        renames: bool,
    ) -> PyResult<(u8, u64)> {
        let filter = filter_of(&patterns);
        let sourced = sourced.as_ref().map(|columns| Sourced {
            first: columns.0,
            time_ns: columns.1,
            head: &columns.2,
            middle: &columns.3,
            end: &columns.4,
        });
        let terms = CopyTerms {
            filter: &filter,
            from: sequence,
            up_to,
            messages_max,
            bytes_max,
            header_bytes_max,
            message_bytes_max,
            dropped: &dropped,
            special: &special,
            sourced,
            renames,
        };
        let taken = self.copies.take(&mut origin.store, &terms);
        let (stop, next) = taken.map_err(failed)?;
        Ok((stop as u8, next))
    }

    /// Begins anew with what a run of increments comes to in a store, which has it then too: up to
    /// a message that the caller has to look at, or, if there is a limit for each subject, up to
    /// one that passes another limit. Answers with how many messages gave way to limits.
    #[allow(clippy::too_many_arguments)] // columns of a call from Python
    fn count(
        &mut self,
        store: &mut Store,
        hub: &Hub,
        start: usize,
        end: usize,
        first: u64,
        time_ns: i64,
        increment: &[u8],
        special: &[u8],
        head: &[u8],
        tail: &[u8],
        message_bytes_max: usize,
        messages: u64,
        bytes: u64,
        messages_per_subject: u64,
    ) -> PyResult<u64> {
        let limits = Limits {
            messages,
            bytes,
            messages_per_subject,
        };
        let terms = CountTerms {
            first,
            time_ns,
            head,
            tail,
            special,
            message_bytes_max,
            limits,
        };
        let increments = hub.hub.header_column(start, end, increment);
        let run = hub.hub.run(start, end).zip(increments);
        let counted = store.store.append_counted(run, &terms, &mut self.copies);
        counted.map_err(failed)
    }

    /// A subject and what it is called in the other store; how many are known.
    fn rename(&mut self, subject: &[u8], name: &[u8]) -> usize {
        self.copies.rename(subject, name)
    }

    fn rows<'py>(&self, py: Python<'py>) -> Vec<Row<'py>> {
        let row = |content: penstock_blocks::Content<'_>| {
            (
                content.sequence,
                content.timestamp_ns,
                PyBytes::new(py, content.subject),
                PyBytes::new(py, content.headers),
                PyBytes::new(py, content.message),
            )
        };
        self.copies.messages().map(row).collect()
    }

    fn has_subject(&self, subject: &[u8]) -> bool {
        self.copies.has_subject(subject)
    }

    /// Sequence and headers of the last one, if there is one.
    fn last<'py>(&self, py: Python<'py>) -> Option<(u64, Bound<'py, PyBytes>)> {
        let (sequence, _, headers) = self.copies.last()?;
        Some((sequence, PyBytes::new(py, headers)))
    }

    /// Adds a message that is numbered later.
    fn stage(&mut self, subject: &[u8], headers: &[u8], message: &[u8]) {
        self.copies.stage(subject, headers, message);
    }

    /// The same for the messages of a run.
    fn stage_run(&mut self, hub: &Hub, start: usize, end: usize) {
        for (subject, headers, message) in hub.hub.run(start, end) {
            self.copies.stage(subject, headers, message);
        }
    }

    /// Takes the last one away again: subject, headers, message.
    fn unstage<'py>(&mut self, py: Python<'py>) -> Option<[Bound<'py, PyBytes>; 3]> {
        let (subject, headers, message) = self.copies.unstage()?;
        Some([subject, headers, message].map(|part| PyBytes::new(py, &part)))
    }

    fn number(&mut self, first: u64, time_ns: i64) {
        self.copies.number(first, time_ns);
    }

    /// As a log has them, on their way into a store whose last sequence is `before`.
    fn encoded<'py>(&mut self, py: Python<'py>, before: u64) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.copies.bytes(before))
    }
}
