//! What the owner of the log and its writer share: groups on their way, the durable entry number,
//! the first failure; and the pipe that wakes the event loop.
//!
//! The pipe holds at most one byte, written and read under the mutex, so neither side ever blocks.

use crate::format::GROUP_HEADER_BYTES;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

const SPARE_BYTES_MAX: usize = 32 << 20; // buffers beyond this go back to the allocator
const COPIED_BYTES_MAX: usize = 16 * 1024; // copying this much costs the caller about a microsecond
const GATHERED_BYTES_MAX: usize = 256 * 1024; // a group that small ones were added to

/// Entries that become durable together: room for the header, then the entries.
pub(crate) struct Group {
    pub first: u64,
    pub count: u32,
    pub bytes: Vec<u8>,
}

#[derive(Default)]
pub(crate) struct State {
    pub waiting: Vec<Group>,
    /// Committed and not yet durable.
    pub undurable_bytes: u64,
    pub durable: u64,
    pub failure: Option<String>,
    /// Segments that end at or before this entry may go; how far that is done.
    pub cut: u64,
    pub cut_done: u64,
    /// Entries up to this one are to leave no trace once they are cut; what the writer knows.
    pub forget: u64,
    pub forget_known: u64,
    pub segments: usize,
    /// The first entry of the oldest segment.
    pub oldest: u64,
    pub stopping: bool,
    /// Whether a segment that may go is kept to be overwritten.
    pub keeps_spare: bool,
    buffers: Vec<Vec<u8>>,
    buffers_bytes: usize,
    signalled: bool,
}

impl State {
    fn is_cut_due(&self) -> bool {
        self.cut != self.cut_done || self.forget != self.forget_known
    }
}

pub(crate) struct Shared {
    state: Mutex<State>,
    work: Condvar,
    progress: Condvar,
    pub receiver: PipeReader,
    sender: PipeWriter,
}

impl Shared {
    pub fn new(durable: u64, segments: usize, oldest: u64) -> io::Result<Shared> {
        let (receiver, sender) = io::pipe()?;
        let state = State {
            durable,
            segments,
            oldest,
            keeps_spare: true,
            ..State::default()
        };
        Ok(Shared {
            state: Mutex::new(state),
            work: Condvar::new(),
            progress: Condvar::new(),
            receiver,
            sender,
        })
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a group to the writer and returns a buffer for the next. A small group is added to
    /// the one that waits already, so that many commits during one sync take few buffers.
    pub fn submit(&self, group: Group) -> Vec<u8> {
        let mut state = self.lock();
        if state.failure.is_some() {
            return group.bytes; // nothing becomes durable any more
        }
        let entries = &group.bytes[GROUP_HEADER_BYTES..];
        state.undurable_bytes += entries.len() as u64;
        let forget = state.forget;
        if let Some(last) = state.waiting.last_mut()
            && (last.first > forget || group.first <= forget)
            && entries.len() <= COPIED_BYTES_MAX
            && last.bytes.len() <= GATHERED_BYTES_MAX
        {
            last.bytes.extend_from_slice(entries);
            last.count += group.count;
            return group.bytes; // the writer knows of the other one
        }
        state.waiting.push(group);
        let buffer = state.buffers.pop().unwrap_or_default();
        state.buffers_bytes -= buffer.capacity();
        drop(state);
        self.work.notify_one();
        buffer
    }

    /// Calls the writer to look at the state again.
    pub fn wake(&self) {
        self.work.notify_one();
    }

    /// Waits until there is something to write, to cut, to give up, or to stop for.
    pub fn wait_work(&self, keeps_spare: bool) -> MutexGuard<'_, State> {
        let idle = |state: &mut State| {
            state.waiting.is_empty()
                && !state.is_cut_due()
                && state.keeps_spare == keeps_spare
                && !state.stopping
        };
        let waited = self.work.wait_while(self.lock(), idle);
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until an entry is durable or never will be.
    pub fn wait_progress(&self, entry: u64) -> MutexGuard<'_, State> {
        let early = |state: &mut State| state.durable < entry && state.failure.is_none();
        let waited = self.progress.wait_while(self.lock(), early);
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until everything is cut that was to be cut, or never will be.
    pub fn wait_cut(&self) -> io::Result<()> {
        let early =
            |state: &mut State| state.is_cut_due() && state.failure.is_none() && !state.stopping;
        let waited = self.progress.wait_while(self.lock(), early);
        let state = waited.unwrap_or_else(PoisonError::into_inner);
        match &state.failure {
            Some(text) => Err(io::Error::other(text.clone())),
            None => Ok(()),
        }
    }

    /// A step of cutting is done.
    pub fn cut(&self, forget: u64, done: Option<u64>, segments: usize, oldest: u64) {
        let mut state = self.lock();
        (state.segments, state.oldest, state.forget_known) = (segments, oldest, forget);
        state.cut_done = done.unwrap_or(state.cut_done);
        drop(state);
        self.progress.notify_all();
    }

    /// Nothing more is written; whoever waits need not.
    pub fn stop(&self) {
        self.lock().stopping = true;
        self.work.notify_one();
        self.progress.notify_all();
    }

    /// The groups are durable: announces it and takes their buffers back.
    pub fn announce(&self, groups: &mut Vec<Group>, bytes: u64) {
        let mut state = self.lock();
        state.undurable_bytes -= bytes;
        for group in groups.drain(..) {
            state.durable = group.first + u64::from(group.count) - 1;
            let capacity = group.bytes.capacity();
            if state.buffers_bytes + capacity <= SPARE_BYTES_MAX {
                state.buffers_bytes += capacity;
                state.buffers.push(group.bytes);
            }
        }
        self.signal(&mut state);
    }

    /// The first failure is kept, and everything on its way is dropped.
    pub fn fail(&self, text: String) {
        let mut state = self.lock();
        state.failure.get_or_insert(text);
        state.waiting.clear();
        state.undurable_bytes = 0;
        self.signal(&mut state);
    }

    fn signal(&self, state: &mut State) {
        self.progress.notify_all();
        if !state.signalled {
            state.signalled = true;
            if let Err(error) = (&self.sender).write_all(&[1]) {
                let text = format!("announce through the pipe: {error}");
                state.failure.get_or_insert(text);
            }
        }
    }

    /// Empties the pipe; what is durable from here on makes it readable again.
    pub fn acknowledge(&self) -> u64 {
        let mut state = self.lock();
        if state.signalled {
            state.signalled = false;
            if let Err(error) = (&self.receiver).read_exact(&mut [0]) {
                let text = format!("read the announcement pipe: {error}");
                state.failure.get_or_insert(text);
            }
        }
        state.durable
    }
}
