//! The writer: joins the groups that wait into one, writes it, syncs, announces; and retires
//! segments, one at a time between writes. Entries that are to be forgotten never share a segment
//! with later ones. It runs in a thread of its own, or step by step where
//! a simulation decides when the disk gets its turn.

use crate::announce::{Group, Shared};
use crate::format::{GROUP_HEADER_BYTES, seal_group, sealed_bytes};
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
    /// The entry that comes next.
    next: u64,
    /// Entries up to here are to leave no trace.
    forget: u64,
    keeps_spare: bool,
}

impl Writer {
    pub fn new(
        disk: Arc<dyn Disk>,
        directory: &str,
        options: Options,
        firsts: VecDeque<u64>,
        current: Segment,
    ) -> Writer {
        let next = firsts.back().copied().unwrap_or(1);
        Writer {
            disk,
            directory: directory.to_owned(),
            options,
            firsts,
            current,
            taken: Vec::new(),
            joined: Vec::new(),
            next,
            forget: 0,
            keeps_spare: true,
        }
    }

    /// Works until it is told to stop or something fails; then everything committed is written.
    pub fn run(mut self, shared: &Shared) {
        let _ending = Ending(shared);
        loop {
            let state = shared.wait_work(self.keeps_spare);
            if state.failure.is_some() || (state.stopping && state.waiting.is_empty()) {
                return;
            }
            drop(state);
            self.step(shared);
        }
    }

    /// One group, one step of cutting, and the end of the spare, if they are due.
    pub fn step(&mut self, shared: &Shared) {
        let mut state = shared.lock();
        if state.failure.is_some() {
            return;
        }
        let (cut, forget) = (state.cut, state.forget);
        let is_later = state
            .waiting
            .first()
            .is_some_and(|group| group.first > forget);
        let gives_spare_up = self.keeps_spare && !state.keeps_spare;
        self.keeps_spare = state.keeps_spare;
        let mut bytes = 0;
        let fitting = |group: &&Group| {
            bytes += group.bytes.len();
            bytes <= JOINED_BYTES_MAX && (is_later || group.first <= forget)
        };
        let count = state.waiting.iter().take_while(fitting).count();
        let count = count.max(1).min(state.waiting.len());
        self.taken.extend(state.waiting.drain(..count));
        drop(state);
        let mut done = self
            .set_spare_aside(forget)
            .and_then(|()| self.write_taken(shared))
            .and_then(|()| self.cut_one(cut));
        if gives_spare_up && done.is_ok() {
            let given_up = segment::remove_spare(&*self.disk, &self.directory);
            done = done.and_then(|is_cut| given_up.map(|()| is_cut));
        }
        match done {
            Ok(is_cut) => {
                let oldest = self.firsts.front().copied().unwrap_or(self.next);
                let cut_done = is_cut.then_some(cut);
                shared.cut(forget, cut_done, self.firsts.len(), oldest);
            }
            Err(error) => shared.fail(error.to_string()),
        }
    }

    /// Before the next segment is made of it.
    fn set_spare_aside(&mut self, forget: u64) -> io::Result<()> {
        if forget != self.forget {
            segment::spare_aside(&*self.disk, &self.directory, forget)?;
            self.forget = forget;
        }
        Ok(())
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
        let segment_bytes_max = self.options.segment_bytes_max;
        let is_other = first > self.forget && self.begins_forgotten();
        if is_other || !self.current.takes(sealed_bytes(group), segment_bytes_max) {
            self.begin_segment(first)?;
        }
        let options = &self.options;
        seal_group(group, first, count, self.current.salt);
        self.next = first + u64::from(count);
        self.current
            .write(group, options.extend_bytes, options.segment_bytes_max)
    }

    fn begin_segment(&mut self, first: u64) -> io::Result<()> {
        let salt = self.options.salt_of(first);
        self.current = Segment::create(&*self.disk, &self.directory, first, salt, true)?;
        self.firsts.push_back(first);
        Ok(())
    }

    /// Whether the current segment begins with an entry that is to be forgotten.
    fn begins_forgotten(&self) -> bool {
        let first = self.firsts.back().copied().unwrap_or(self.next);
        first < self.next && first <= self.forget
    }

    /// Takes one step; true if there was none to take.
    fn cut_one(&mut self, cut: u64) -> io::Result<bool> {
        if self.next <= cut + 1 && self.begins_forgotten() {
            self.begin_segment(self.next)?; // an idle log would keep its last segment for ever
        } else if let (Some(oldest), Some(next)) = (self.firsts.front(), self.firsts.get(1))
            && *next <= cut + 1
        {
            let (disk, bytes_max) = (&*self.disk, self.options.segment_bytes_max);
            if *oldest <= self.forget {
                segment::retire_aside(disk, &self.directory, *oldest)?;
            } else {
                let keeps_spare = self.keeps_spare;
                segment::retire(disk, &self.directory, *oldest, bytes_max, keeps_spare)?;
            }
            self.firsts.pop_front();
        } else {
            return Ok(true);
        }
        Ok(false)
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
