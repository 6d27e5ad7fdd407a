//! Ledgers of consumers, and the index of their filters.

use crate::copies::Copies;
use crate::hub::Hub;
use crate::store::{Store, failed, filter_of};
use penstock_consumers::{
    AckPolicy, Acked, Arrived, Damaged, FilterIndex as Index, Ledger as State, Range, Request,
    Settled, Terminated, Terms,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

type ArrivedColumns = (u64, u64, u64, u64, u64);
/// Inbox, messages and bytes at the most.
type RequestRow = (Vec<u8>, u64, u64);
/// Why it stopped, request, message, messages and bytes of each request.
type Delivered = (u8, usize, u64, Vec<(u64, u64)>);
type Figures = (u64, u64, u64, u64, u64, usize, usize, usize);

fn arrived(columns: Option<ArrivedColumns>) -> Option<Arrived> {
    columns.map(|(epoch, total, last, first, before)| Arrived {
        epoch,
        total,
        last,
        first,
        before,
    })
}

fn damaged(_: Damaged) -> PyErr {
    PyValueError::new_err("these are not the bytes of a consumer's state")
}

#[pyclass]
pub struct Ledger {
    state: State,
}

#[pymethods]
impl Ledger {
    #[new]
    #[pyo3(signature = (*, ack_subject, ack_policy, filters, headers_only, recorded))]
    fn new(
        ack_subject: &[u8],
        ack_policy: u8,
        filters: Vec<Vec<u8>>,
        headers_only: bool,
        recorded: bool,
    ) -> PyResult<Ledger> {
        let policy = match ack_policy {
            0 => AckPolicy::None,
            1 => AckPolicy::Explicit,
            2 => AckPolicy::All,
            _ => return Err(PyValueError::new_err("there is no such ack policy")),
        };
        let mut state = State::new(policy, ack_subject, filter_of(&filters), recorded);
        state.configure(filter_of(&filters), headers_only);
        Ok(Ledger { state })
    }

    fn start(&mut self, cursor: u64, listed: Vec<u64>) {
        self.state.start(cursor, &listed);
    }

    fn configure(&mut self, filters: Vec<Vec<u8>>, headers_only: bool) {
        self.state.configure(filter_of(&filters), headers_only);
    }

    #[pyo3(signature = (hub, store, account, requests, *, ack_pending_max, deliveries_max, bytes_soft, header, now_ns, arrived))]
    #[allow(clippy::too_many_arguments)] // they are columns
    fn deliver(
        &mut self,
        hub: &mut Hub,
        store: &mut Store,
        account: u32,
        requests: Vec<RequestRow>,
        ack_pending_max: usize,
        deliveries_max: u64,
        bytes_soft: u64,
        header: &[u8],
        now_ns: i64,
        arrived: Option<ArrivedColumns>,
    ) -> PyResult<Delivered> {
        let requests: Vec<Request<'_>> = requests
            .iter()
            .map(|(inbox, messages_max, bytes_max)| Request {
                inbox,
                messages_max: *messages_max,
                bytes_max: *bytes_max,
            })
            .collect();
        let terms = Terms {
            account,
            ack_pending_max,
            deliveries_max,
            bytes_soft,
            header,
            now_ns,
            arrived: self::arrived(arrived),
        };
        let outcome = self
            .state
            .deliver(&mut hub.hub, &mut store.store, &requests, &terms)
            .map_err(failed)?;
        Ok((
            outcome.stop as u8,
            outcome.index,
            outcome.sequence,
            outcome.served,
        ))
    }

    fn is_at_end(
        &mut self,
        store: &mut Store,
        ack_pending_max: usize,
        arrived: Option<ArrivedColumns>,
    ) -> PyResult<bool> {
        self.state
            .is_at_end(&mut store.store, ack_pending_max, self::arrived(arrived))
            .map_err(failed)
    }

    fn peek(&mut self, store: &mut Store) -> PyResult<Option<(u64, i64)>> {
        self.state.peek(&mut store.store).map_err(failed)
    }

    fn ack(&mut self, sequence: u64, consumer_sequence: u64) -> Option<Vec<Range>> {
        let mut ranges = Vec::new();
        match self.state.ack(sequence, consumer_sequence, &mut ranges) {
            Settled::NotReached => None,
            Settled::Nothing | Settled::Something => Some(ranges),
        }
    }

    fn ack_run(&mut self, hub: &Hub, start: usize, end: usize) -> (usize, u64, Vec<Range>, bool) {
        let acked = self.state.ack_run(&hub.hub, start, end);
        let Acked {
            position,
            count,
            ranges,
            wants_answers,
        } = acked;
        (position, count, ranges, wants_answers)
    }

    fn nak(&mut self, sequence: u64, consumer_sequence: u64) -> bool {
        self.state.nak(sequence, consumer_sequence)
    }

    fn delay(&mut self, sequence: u64, since_ns: i64) -> bool {
        self.state.delay(sequence, since_ns)
    }

    fn progress(&mut self, sequence: u64, since_ns: i64) -> bool {
        self.state.progress(sequence, since_ns)
    }

    fn requeue(&mut self, sequence: u64) -> bool {
        self.state.requeue(sequence)
    }

    fn needs(&self, sequence: u64) -> bool {
        self.state.needs(sequence)
    }

    fn give_up(&mut self, sequence: u64) -> bool {
        self.state.give_up(sequence)
    }

    fn expire(
        &mut self,
        now_ns: i64,
        waits: Vec<i64>,
        deliveries_max: u64,
    ) -> (usize, Vec<u64>, Option<i64>) {
        let expired = self.state.expire(now_ns, &waits, deliveries_max);
        (expired.queued, expired.given_up, expired.deadline_ns)
    }

    fn next_deadline(&self, waits: Vec<i64>) -> Option<i64> {
        self.state.next_deadline(&waits)
    }

    fn removed(&mut self, first: u64, last: u64) -> Vec<Terminated> {
        self.state.removed((first, last))
    }

    fn removed_missing(&mut self, store: &mut Store) -> PyResult<Vec<Terminated>> {
        self.state.removed_missing(&mut store.store).map_err(failed)
    }

    fn purged(&mut self, below: u64) -> usize {
        self.state.purged(below)
    }

    fn purged_missing(&mut self, store: &mut Store, first: u64) -> PyResult<usize> {
        let store = &mut store.store;
        self.state.purged_missing(store, first).map_err(failed)
    }

    fn entry(&self, sequence: u64) -> Option<(u64, i64, u64, bool)> {
        let entry = self.state.entry(sequence)?;
        Some((
            entry.consumer,
            entry.since_ns,
            entry.deliveries,
            entry.queued,
        ))
    }

    fn figures(&self) -> Figures {
        let figures = self.state.figures();
        (
            figures.delivered.consumer,
            figures.delivered.stream,
            figures.floor.consumer,
            figures.floor.stream,
            figures.cursor,
            figures.pending,
            figures.redelivered,
            figures.queued,
        )
    }

    #[pyo3(signature = (store, arrived))]
    fn num_pending(&mut self, store: &mut Store, arrived: Option<ArrivedColumns>) -> PyResult<u64> {
        self.state
            .num_pending(&mut store.store, self::arrived(arrived))
            .map_err(failed)
    }

    fn take_changes<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.state.take_changes())
    }

    fn apply(&mut self, changes: &[u8]) -> PyResult<bool> {
        self.state.apply(changes).map_err(damaged)
    }

    fn snapshot<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.state.snapshot())
    }

    fn restore(&mut self, snapshot: &[u8]) -> PyResult<()> {
        self.state.restore(snapshot).map_err(damaged)
    }
}

#[pyclass]
#[derive(Default)]
pub struct FilterIndex {
    index: Index,
}

#[pymethods]
impl FilterIndex {
    #[new]
    fn new() -> FilterIndex {
        FilterIndex::default()
    }

    fn set(&mut self, number: u32, filters: Vec<Vec<u8>>) {
        self.index.set(number, &filters);
    }

    fn remove(&mut self, number: u32) {
        self.index.remove(number);
    }

    fn wait(&mut self, number: u32, waiting: bool) {
        self.index.wait(number, waiting);
    }

    fn count_run(&mut self, hub: &Hub, start: usize, end: usize, first: u64) -> Vec<u32> {
        self.index.count_run(&hub.hub, start, end, first)
    }

    fn count_message(&mut self, subject: &[u8], sequence: u64) -> Vec<u32> {
        self.index.count_message(subject, sequence)
    }

    fn count_copies(&mut self, copies: &Copies) -> Vec<u32> {
        self.index.count_copies(&copies.copies)
    }

    fn arrived(&mut self, number: u32) -> ArrivedColumns {
        let arrived = self.index.arrived(number);
        (
            arrived.epoch,
            arrived.total,
            arrived.last,
            arrived.first,
            arrived.before,
        )
    }
}
