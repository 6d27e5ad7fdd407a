//! The writer: joins the groups that wait into one, writes it, syncs, announces; and retires
//! segments, one at a time between writes. It runs in a thread of its own, or step by step where
//! a simulation decides when the disk gets its turn.

use crate::announce::{Group, Shared};
use crate::format::{GROUP_HEADER_BYTES, seal_group};
use crate::log::Options;
use crate::segment::{self, Segment};
use penstock_disk::Disk;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

const JOINED_BYTES_MAX: usize = 16 << 20; // what waits beyond this is the next group

pub(crate) struct Writer {
    disk: Arc<dyn Disk>,
    directory: String,
    options: Options,
    /// The first entries of all segments, the current one last.
    firsts: VecDeque<u64>,
    current: Segment,
    taken: Vec<Group>,
    joined: Vec<u8>,
    cut_done: u64,
}

impl Writer {
    pub fn new(
        disk: Arc<dyn Disk>,
        directory: &str,
        options: Options,
        firsts: VecDeque<u64>,
        current: Segment,
    ) -> Writer {
        Writer {
            disk,
            directory: directory.to_owned(),
            options,
            firsts,
            current,
            taken: Vec::new(),
            joined: Vec::new(),
            cut_done: 0,
        }
    }

    /// Works until it is told to stop or something fails; then everything committed is written.
    pub fn run(mut self, shared: &Shared) {
        let _ending = Ending(shared);
        loop {
            let state = shared.wait_work(self.cut_done);
            if state.failure.is_some() || (state.stopping && state.waiting.is_empty()) {
                return;
            }
            drop(state);
            self.step(shared);
        }
    }

    /// One group and one step of cutting, if they are due.
    pub fn step(&mut self, shared: &Shared) {
        let mut state = shared.lock();
        if state.failure.is_some() {
            return;
        }
        let cut = state.cut;
        let mut bytes = 0;
        let fitting = |group: &&Group| {
            bytes += group.bytes.len();
            bytes <= JOINED_BYTES_MAX
        };
        let count = state.waiting.iter().take_while(fitting).count();
        let count = count.max(1).min(state.waiting.len());
        self.taken.extend(state.waiting.drain(..count));
        drop(state);
        let done = self.write_taken(shared).and_then(|()| self.cut_one(cut));
        match done {
            Ok(()) => shared.lock().segments = self.firsts.len(),
            Err(error) => shared.fail(error.to_string()),
        }
    }

    fn write_taken(&mut self, shared: &Shared) -> io::Result<()> {
        let Some(first) = self.taken.first().map(|group| group.first) else {
            return Ok(());
        };
        let count = self.taken.iter().map(|group| group.count).sum();
        let mut joined = self.join();
        let bytes = (joined.len() - GROUP_HEADER_BYTES) as u64;
        self.write(&mut joined, first, count)?;
        if self.taken.len() == 1 {
            self.taken[0].bytes = joined;
        } else {
            self.joined = joined;
        }
        shared.announce(&mut self.taken, bytes);
        Ok(())
    }

    /// The entries of all taken groups in one buffer; a single one is not copied.
    fn join(&mut self) -> Vec<u8> {
        if let [only] = &mut self.taken[..] {
            return std::mem::take(&mut only.bytes);
        }
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        joined.resize(GROUP_HEADER_BYTES, 0);
        for group in &self.taken {
            joined.extend_from_slice(&group.bytes[GROUP_HEADER_BYTES..]);
        }
        joined
    }

    fn write(&mut self, group: &mut Vec<u8>, first: u64, count: u32) -> io::Result<()> {
        let options = &self.options;
        if !self.current.takes(group.len(), options.segment_bytes_max) {
            let salt = options.salt_of(first);
            self.current = Segment::create(&*self.disk, &self.directory, first, salt)?;
            self.firsts.push_back(first);
        }
        seal_group(group, first, count, self.current.salt);
        self.current
            .write(group, options.extend_bytes, options.segment_bytes_max)
    }

    fn cut_one(&mut self, cut: u64) -> io::Result<()> {
        if let (Some(oldest), Some(next)) = (self.firsts.front(), self.firsts.get(1))
            && *next <= cut + 1
        {
            let (disk, bytes_max) = (&*self.disk, self.options.segment_bytes_max);
            segment::retire(disk, &self.directory, *oldest, bytes_max)?;
            self.firsts.pop_front();
        } else {
            self.cut_done = cut;
        }
        Ok(())
    }
}

/// However the thread ends, nobody waits for it in vain.
struct Ending<'a>(&'a Shared);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail("the log's writer thread panicked".to_owned());
        }
    }
}
