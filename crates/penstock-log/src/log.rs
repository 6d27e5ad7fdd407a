//! The log as its owner sees it: append, commit, and what is durable by now.

use crate::announce::{Group, Shared};
use crate::format::{GROUP_HEADER_BYTES, push_entry};
use crate::remains::Remains;
use crate::replay::{Replay, Tail, find_tail};
use crate::segment::{self, Segment};
use crate::writer::Writer;
use penstock_disk::Disk;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// What to do about damage that is no torn tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// An error that names file and offset.
    Refuse,
    /// The entries are left out and told by `Replay::lost`.
    Skip,
}

#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// A segment ends before this; only a group that is larger by itself goes beyond it.
    pub segment_bytes_max: u64,
    /// How many zeros a small write takes with it where the file ends; 0 for none.
    pub extend_bytes: u64,
    /// A random number, so that nobody can make bytes that look like a group.
    pub salt: u64,
    /// The number of the first entry where there is no log yet.
    pub entry_first: u64,
    pub damage: Damage,
    /// Whether to write in a thread; otherwise in `write_waiting`.
    pub threaded: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            segment_bytes_max: 64 << 20,
            extend_bytes: 1 << 20,
            salt: 0,
            entry_first: 1,
            damage: Damage::Refuse,
            threaded: true,
        }
    }
}

impl Options {
    /// The salt of the segment that starts with an entry.
    pub(crate) fn salt_of(&self, first: u64) -> u64 {
        xxhash_rust::xxh3::xxh3_64_with_seed(&first.to_le_bytes(), self.salt)
    }
}

enum Engine {
    Thread(Option<JoinHandle<()>>),
    Steps(Box<Writer>),
}

/// One writer, no locks: the log belongs to one task; only its own thread works beside it.
pub struct Log {
    disk: Arc<dyn Disk>,
    directory: String,
    shared: Arc<Shared>,
    engine: Engine,
    buffer: Vec<u8>,
    /// Entries in the buffer, and the last one that has a number.
    count: u32,
    last: u64,
}

impl Log {
    /// Opens the log in a directory, creating both if needed. Whatever replay will visit is
    /// durable on return; new entries go to a segment of their own.
    pub fn open(
        disk: Arc<dyn Disk>,
        directory: &str,
        options: Options,
    ) -> io::Result<(Log, Replay)> {
        create_directory(&*disk, directory)?;
        let mut firsts = segment::list(&*disk, directory)?;
        let tail = match firsts.last() {
            Some(first) => find_tail(&*disk, directory, *first, options.damage)?,
            None => Tail {
                next: options.entry_first.max(1),
                torn: None,
                end: None,
                mended: None,
            },
        };
        let next = tail.next;
        firsts.retain(|first| *first != next); // a last segment without entries is replaced
        let salt = options.salt_of(next);
        let current = Segment::create(&*disk, directory, next, salt, false)?;
        let mut all = VecDeque::from(firsts.clone());
        all.push_back(next);
        let replay = Replay::new(Arc::clone(&disk), directory, options.damage, firsts, tail);
        let shared = Arc::new(Shared::new(next - 1, all.len(), all[0])?);
        let writer = Writer::new(Arc::clone(&disk), directory, options, all, current);
        let engine = start(writer, &shared, options.threaded)?;
        let log = Log {
            disk,
            directory: directory.to_owned(),
            shared,
            engine,
            buffer: vec![0; GROUP_HEADER_BYTES],
            count: 0,
            last: next - 1,
        };
        Ok((log, replay))
    }

    /// Puts an entry into the current group and returns its number.
    pub fn append(&mut self, stream: u64, kind: u8, parts: &[&[u8]]) -> u64 {
        push_entry(&mut self.buffer, stream, kind, parts);
        self.count += 1;
        self.last += 1;
        self.last
    }

    /// Hands the current group to the writer; never blocks on the disk.
    pub fn commit(&mut self) {
        if self.count == 0 {
            return;
        }
        let count = std::mem::take(&mut self.count);
        let group = Group {
            first: self.last + 1 - u64::from(count),
            count,
            bytes: std::mem::take(&mut self.buffer),
        };
        self.buffer = self.shared.submit(group);
        self.buffer.clear();
        self.buffer.resize(GROUP_HEADER_BYTES, 0);
    }

    /// The last entry that has a number.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Becomes readable when more is durable or something failed; then call `acknowledge`.
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.shared.receiver.as_fd()
    }

    /// Makes the descriptor unreadable again and returns the last durable entry.
    pub fn acknowledge(&self) -> u64 {
        self.shared.acknowledge()
    }

    #[must_use]
    pub fn durable(&self) -> u64 {
        self.shared.lock().durable
    }

    /// Why nothing becomes durable any more: operation, path and error.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.shared.lock().failure.clone()
    }

    /// Bytes that were appended and are not durable yet.
    #[must_use]
    pub fn pending_bytes(&self) -> u64 {
        let filling = self.buffer.len() - GROUP_HEADER_BYTES;
        self.shared.lock().undurable_bytes + filling as u64
    }

    /// How many segments there are, the current one included.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.shared.lock().segments
    }

    /// The first entry of the oldest segment: what is before it is not in the log.
    #[must_use]
    pub fn oldest(&self) -> u64 {
        self.shared.lock().oldest
    }

    /// Everything appended so far is to leave no trace once it is cut: from here on entries go to
    /// another segment, and the files that had earlier ones wait for `Remains::overwrite` instead
    /// of being used again. Returns at once; what was appended is committed.
    pub fn forget(&mut self) {
        self.commit();
        self.shared.lock().forget = self.last;
        self.shared.wake();
    }

    /// What `forget` and `cut` have set aside, now and until it is overwritten.
    #[must_use]
    pub fn remains(&self) -> Remains {
        let is_threaded = matches!(self.engine, Engine::Thread(_));
        Remains {
            disk: Arc::clone(&self.disk),
            directory: self.directory.clone(),
            shared: is_threaded.then(|| Arc::clone(&self.shared)),
        }
    }

    /// Whether something is set aside, perhaps since an earlier life.
    pub fn has_remains(&self) -> io::Result<bool> {
        Ok(!segment::set_aside(&*self.disk, &self.directory)?.is_empty())
    }

    /// Lets go of the segments whose entries are all at or before this one. Returns at once.
    pub fn cut(&mut self, entry: u64) {
        let mut state = self.shared.lock();
        state.cut = state.cut.max(entry.min(state.durable));
        drop(state);
        self.shared.wake();
    }

    /// Whether a segment that may go is kept, to be overwritten by the next one. Where space is
    /// short it is not, and the one there is goes. Returns at once.
    pub fn keep_spare(&mut self, wanted: bool) {
        let mut state = self.shared.lock();
        if state.keeps_spare != wanted {
            state.keeps_spare = wanted;
            drop(state);
            self.shared.wake();
        }
    }

    /// Blocks until a committed entry is durable; an error says why it never will be.
    pub fn wait_durable(&mut self, entry: u64) -> io::Result<u64> {
        if entry > self.last - u64::from(self.count) {
            let text = format!("entry {entry} is not committed");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        while self.durable() < entry && self.write_waiting() {}
        let state = self.shared.wait_progress(entry);
        match &state.failure {
            Some(text) if state.durable < entry => Err(io::Error::other(text.clone())),
            _ => Ok(state.durable),
        }
    }

    /// Waits for the thread to end: what is committed is written before, what is only appended is
    /// not. Nothing becomes durable afterwards. Whoever drops the log need not call it.
    pub fn close(&mut self) {
        if let Engine::Thread(thread) = &mut self.engine {
            self.shared.stop();
            if let Some(Err(_panic)) = thread.take().map(JoinHandle::join) {
                // the writer has told its own end as a failure
            }
        }
    }

    /// Without a thread: one write with its sync, and one step of a cut. False if a thread does
    /// that, or if nothing can be done any more.
    pub fn write_waiting(&mut self) -> bool {
        match &mut self.engine {
            Engine::Thread(_) => false,
            Engine::Steps(writer) => {
                writer.step(&self.shared);
                self.shared.lock().failure.is_none()
            }
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.close();
    }
}

fn start(writer: Writer, shared: &Arc<Shared>, threaded: bool) -> io::Result<Engine> {
    if !threaded {
        return Ok(Engine::Steps(Box::new(writer)));
    }
    let shared = Arc::clone(shared);
    let thread = thread::Builder::new().name("penstock-log".to_owned());
    let thread = thread.spawn(move || writer.run(&shared))?;
    Ok(Engine::Thread(Some(thread)))
}

/// Creates the directory; it and the names above it are durable on return.
fn create_directory(disk: &dyn Disk, directory: &str) -> io::Result<()> {
    disk.create_directory(directory)?;
    let mut path = directory;
    while let Some((parent, _)) = path.rsplit_once('/') {
        disk.sync_directory(parent)?;
        path = parent;
    }
    disk.sync_directory("")
}
