//! The hub and its socket driver as one Python object.

use crate::copies::Copies;
use penstock_sockets::{Again, Driver};
use penstock_turn::{Bounds, ConnectionId, Marks, Received, Run, Source, Switches};
use penstock_wire::{Limits, Message};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io;

type Runs = Vec<(u32, usize, usize)>;
type FrameColumns<'py> = (
    u8,
    u64,
    u32,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    u32,
);
type BatchColumns<'py> = (usize, usize, Bound<'py, PyBytes>, u64, usize, usize, bool);
type InterestRow<'py> = (
    Bound<'py, PyBytes>,
    Option<Bound<'py, PyBytes>>,
    Bound<'py, PyBytes>,
    u64,
    u64,
);

#[pyclass]
pub struct Hub {
    pub(crate) hub: penstock_turn::Hub,
    driver: Driver,
}

struct Slice<'a>(&'a [u8]);

impl Source for Slice<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = self.0.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

#[pymethods]
impl Hub {
    #[new]
    #[pyo3(signature = (*, control_line_bytes_max, payload_bytes_max, pending_bytes_max, crowded_bytes, read_bytes_max, turn_bytes_max, seed))]
    fn new(
        control_line_bytes_max: usize,
        payload_bytes_max: usize,
        pending_bytes_max: usize,
        crowded_bytes: usize,
        read_bytes_max: usize,
        turn_bytes_max: usize,
        seed: u64,
    ) -> PyResult<Hub> {
        let bounds = Bounds {
            wire: Limits {
                control_line_bytes_max,
                payload_bytes_max,
            },
            pending_bytes_max,
            crowded_bytes,
            read_bytes_max,
            turn_bytes_max,
        };
        Ok(Hub {
            hub: penstock_turn::Hub::new(bounds, seed),
            driver: Driver::new()?,
        })
    }

    fn fileno(&self) -> i32 {
        self.driver.descriptor()
    }

    fn add_account(&mut self) -> u32 {
        self.hub.add_account()
    }

    fn open(&mut self, account: u32, expects_connect: bool) -> u64 {
        let switches = Switches {
            account,
            expects_connect,
            bulk: false,
            echo: true,
            headers: false,
            no_responders: false,
        };
        self.hub.open(switches).0
    }

    fn attach(&mut self, id: u64, descriptor: i32) -> PyResult<()> {
        Ok(self.driver.add(descriptor, ConnectionId(id).slot())?)
    }

    fn switch(
        &mut self,
        id: u64,
        account: u32,
        bulk: bool,
        echo: bool,
        headers: bool,
        no_responders: bool,
    ) {
        let switches = Switches {
            account,
            expects_connect: false,
            bulk,
            echo,
            headers,
            no_responders,
        };
        self.hub.switch(ConnectionId(id), switches);
    }

    fn close(&mut self, id: u64) -> bool {
        let id = ConnectionId(id);
        if self.hub.traffic(id).is_none() {
            return false;
        }
        self.driver.close(&mut self.hub, id.slot());
        self.hub.close(id)
    }

    /// Starts a turn and reads the sockets.
    fn turn(&mut self, now_ns: u64) -> PyResult<()> {
        Ok(self.driver.turn(&mut self.hub, now_ns)?)
    }

    /// -1: the next turn is due when the descriptor is readable; otherwise after so many
    /// nanoseconds.
    fn next_turn(&self) -> i64 {
        match self.driver.next_turn(&self.hub) {
            Again::WhenReady => -1,
            Again::After(pause_ns) => i64::try_from(pause_ns).unwrap_or(i64::MAX),
        }
    }

    /// Looks for the next bytes for a moment, unless something else is to be waited for. True if
    /// a turn must follow.
    fn linger(&mut self, py: Python<'_>) -> bool {
        let driver = &mut self.driver;
        self.hub.held_bytes() == 0 && py.detach(|| driver.linger())
    }

    /// Starts a turn without reading sockets.
    fn begin(&mut self, now_ns: u64) {
        self.hub.begin_turn(now_ns);
    }

    /// Bytes of one connection that come from elsewhere than a socket of the kernel; once for
    /// each connection in a turn. Returns how many were taken.
    fn feed(&mut self, id: u64, data: &[u8]) -> usize {
        let slot = ConnectionId(id).slot();
        if self.hub.traffic(ConnectionId(id)).is_none() || !self.hub.may_read(slot) {
            return 0;
        }
        let mut source = Slice(data);
        let _: Received = self.hub.receive(slot, &mut source);
        data.len() - source.0.len()
    }

    /// Everything that waits for a connection that is not a socket of the kernel.
    fn take<'py>(&mut self, py: Python<'py>, id: u64) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = Vec::new();
        if self.hub.traffic(ConnectionId(id)).is_some() {
            self.hub.flush(ConnectionId(id).slot(), &mut bytes)?;
        }
        Ok(PyBytes::new(py, &bytes))
    }

    fn next_group(&mut self, start: usize) -> Option<(bool, usize, usize, Runs)> {
        let group = self.hub.next_group(start)?;
        Some((group.bulk, group.start, group.end, columns(&group.runs)))
    }

    /// Finds the routes of a stretch of publishes that Python looked at.
    fn runs(&mut self, start: usize, end: usize) -> Runs {
        columns(&self.hub.runs(start, end))
    }

    fn picked(&self, position: usize) -> Option<usize> {
        self.hub.picked(position)
    }

    fn frame<'py>(&self, py: Python<'py>, index: usize) -> Option<FrameColumns<'py>> {
        if self.hub.is_passed_over(index) {
            return None;
        }
        let (entry, bytes) = self.hub.entry(index)?;
        let frame = &entry.frame;
        Some((
            frame.verb as u8,
            self.hub.sender(index)?.0,
            frame.header_bytes,
            PyBytes::new(py, frame.subject.of(bytes)),
            PyBytes::new(py, frame.reply.of(bytes)),
            PyBytes::new(py, frame.payload.of(bytes)),
            frame.number,
        ))
    }

    /// Delivers a stretch of the vector; the index of an unanswered request, or -1.
    fn fan_out(&mut self, start: usize, end: usize) -> i64 {
        self.hub
            .fan_out(start, end)
            .and_then(|index| i64::try_from(index).ok())
            .unwrap_or(-1)
    }

    fn hold_after(&mut self, index: usize) {
        self.hub.hold_after(index);
    }

    fn release(&mut self, id: u64) -> bool {
        let released = self.hub.release(ConnectionId(id));
        if released {
            self.driver.requeue(ConnectionId(id).slot());
        }
        released
    }

    fn send(&mut self, id: u64, data: &[u8]) {
        self.hub.send(ConnectionId(id), data);
    }

    /// Writes all outputs, then tells which connections the kernel has given up.
    fn flush(&mut self) -> Vec<(u64, u8)> {
        self.driver.flush(&mut self.hub);
        self.hub
            .take_ended()
            .into_iter()
            .map(|(id, ending)| (id.0, ending as u8))
            .collect()
    }

    fn give_up_overdue(&mut self, now_ns: u64, deadline_ns: u64) {
        self.hub.give_up_overdue(now_ns, deadline_ns);
    }

    #[pyo3(signature = (id, pattern, queue, sid))]
    fn subscribe(&mut self, id: u64, pattern: &[u8], queue: Option<&[u8]>, sid: &[u8]) -> bool {
        self.hub.subscribe(ConnectionId(id), pattern, queue, sid)
    }

    fn unsubscribe(&mut self, id: u64, sid: &[u8], delivered_max: u64) -> bool {
        self.hub.unsubscribe(ConnectionId(id), sid, delivered_max)
    }

    fn own_sids<'py>(
        &mut self,
        py: Python<'py>,
        id: u64,
        subject: &[u8],
    ) -> Vec<Bound<'py, PyBytes>> {
        let sids = self.hub.own_sids(ConnectionId(id), subject);
        sids.iter().map(|sid| PyBytes::new(py, sid)).collect()
    }

    fn add_target(&mut self, account: u32, pattern: &[u8], target: u32) -> bool {
        self.hub.add_target(account, pattern, target)
    }

    fn remove_target(&mut self, account: u32, pattern: &[u8], target: u32) -> bool {
        self.hub.remove_target(account, pattern, target)
    }

    /// True if somebody would hear a message to a subject.
    fn listens(&mut self, account: u32, subject: &[u8]) -> bool {
        self.hub.listens(account, subject)
    }

    /// The next round of the server's own messages to its own parts, as runs.
    fn loopback_runs(&mut self) -> Runs {
        columns(&self.hub.loopback_runs())
    }

    /// True if there is something for such a round.
    fn loops_back(&self) -> bool {
        self.hub.loops_back()
    }

    /// How many of them were dropped since the last time this was asked.
    fn take_loopback_lost(&mut self) -> u64 {
        self.hub.take_loopback_lost()
    }

    /// A message from the server itself; true if somebody listens.
    fn publish(
        &mut self,
        account: u32,
        subject: &[u8],
        reply: &[u8],
        headers: &[u8],
        payload: &[u8],
    ) -> bool {
        let body = [headers, payload, b"\r\n"].concat();
        let message = Message {
            subject,
            reply,
            header_bytes: headers.len(),
            body: &body,
            header_digits: 0,
            size_digits: 0,
        };
        self.hub.publish(account, &message)
    }

    /// Stretches of a run by lane: 0 plain, 1 column, 2 careful, 3 gone, 4 expecting.
    #[allow(clippy::too_many_arguments)] // columns of a call from Python
    fn lanes(
        &self,
        start: usize,
        end: usize,
        prefix: &[u8],
        harmless: &[u8],
        column: &[u8],
        expected: &[u8],
        header_bytes_max: usize,
        message_bytes_max: usize,
        lifetime_seconds: (u64, u64),
    ) -> Vec<(u8, usize, usize)> {
        let marks = Marks {
            prefix,
            harmless,
            column,
            expected,
            header_bytes_max,
            message_bytes_max,
            lifetime_seconds,
        };
        self.hub
            .lanes(start, end, marks)
            .into_iter()
            .map(|(lane, from, to)| (lane as u8, from, to))
            .collect()
    }

    /// Stretches of a run that are batches: start, end, id, place of the first, bytes of all and of
    /// the largest, whether no other header matters.
    #[allow(clippy::too_many_arguments)] // columns of a call from Python
    fn batch_runs<'py>(
        &self,
        py: Python<'py>,
        start: usize,
        end: usize,
        names: (&[u8], &[u8], &[u8]),
        prefix: &[u8],
        harmless: &[u8],
        header_bytes_max: usize,
        message_bytes_max: usize,
    ) -> Vec<BatchColumns<'py>> {
        let (id, place, ends) = names;
        let names = penstock_turn::BatchNames { id, place, ends };
        let marks = Marks {
            prefix,
            harmless,
            column: b"",
            expected: b"",
            header_bytes_max,
            message_bytes_max,
            lifetime_seconds: (1, 0),
        };
        let runs = self.hub.batch_runs(start, end, names, marks);
        runs.iter()
            .map(|run| {
                let (id, largest) = (PyBytes::new(py, run.id), run.message_bytes_max);
                (
                    run.start,
                    run.end,
                    id,
                    run.place,
                    run.bytes,
                    largest,
                    run.is_plain,
                )
            })
            .collect()
    }

    /// One header of every frame of a run.
    fn header_column<'py>(
        &self,
        py: Python<'py>,
        start: usize,
        end: usize,
        name: &[u8],
    ) -> Vec<Bound<'py, PyBytes>> {
        let values = self.hub.header_column(start, end, name);
        values.map(|value| PyBytes::new(py, value)).collect()
    }

    /// Answers every request of a run with `prefix`, a number from `first` on, and `suffix`.
    fn acknowledge(&mut self, start: usize, end: usize, prefix: &[u8], first: u64, suffix: &[u8]) {
        self.hub.acknowledge(start, end, prefix, first, suffix);
    }

    /// Answers every request of a run that was counted with `prefix`, a number from `first` on,
    /// and its message, with `joint` in the place of the first byte.
    fn acknowledge_counted(
        &mut self,
        start: usize,
        prefix: &[u8],
        first: u64,
        joint: &[u8],
        counted: &Copies,
    ) {
        let messages = counted.copies.messages().map(|content| content.message);
        let messages: Vec<&[u8]> = messages.collect();
        self.hub
            .acknowledge_each(start, prefix, first, joint, &messages);
    }

    fn set_gate(&mut self, entry: u64) {
        self.hub.set_gate(entry);
    }

    fn release_held(&mut self, durable: u64) {
        self.hub.release_held(durable);
    }

    fn drop_held(&mut self) {
        self.hub.drop_held();
    }

    fn held_bytes(&self) -> usize {
        self.hub.held_bytes()
    }

    /// Messages in, bytes in, messages out, bytes out, last activity, bytes waiting,
    /// subscriptions; none for a connection that is no more.
    fn traffic(&self, id: u64) -> Option<(u64, u64, u64, u64, u64, usize, usize)> {
        let (traffic, pending, subscriptions) = self.hub.traffic(ConnectionId(id))?;
        Some((
            traffic.messages_in,
            traffic.bytes_in,
            traffic.messages_out,
            traffic.bytes_out,
            traffic.last_activity_ns,
            pending,
            subscriptions,
        ))
    }

    fn interests<'py>(&self, py: Python<'py>, id: u64) -> Vec<InterestRow<'py>> {
        let bytes = |data: &[u8]| PyBytes::new(py, data);
        self.hub
            .interests(ConnectionId(id))
            .iter()
            .map(|interest| {
                (
                    bytes(interest.pattern),
                    interest.queue.map(bytes),
                    bytes(interest.sid),
                    interest.delivered,
                    interest.delivered_max,
                )
            })
            .collect()
    }

    fn listeners(&self, account: u32) -> usize {
        self.hub.listeners(account)
    }

    fn answer_run(&mut self, start: usize, end: usize) {
        self.hub.answer_run(start, end);
    }

    #[pyo3(signature = (account, subject, queue))]
    fn listens_exactly(&self, account: u32, subject: &[u8], queue: Option<&[u8]>) -> bool {
        self.hub.listens_exactly(account, subject, queue)
    }

    #[pyo3(signature = (account, subject, queue, number))]
    fn watch(&mut self, account: u32, subject: &[u8], queue: Option<&[u8]>, number: u32) -> bool {
        self.hub.watch(number, account, subject, queue)
    }

    fn unwatch(&mut self, number: u32) {
        self.hub.unwatch(number);
    }

    fn take_interest_changes(&mut self) -> Vec<(u32, bool)> {
        self.hub.take_interest_changes()
    }
}

fn columns(runs: &[Run]) -> Runs {
    runs.iter()
        .map(|run| (run.target, run.start, run.end))
        .collect()
}
