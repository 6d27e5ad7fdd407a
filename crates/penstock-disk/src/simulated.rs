//! A disk in memory that loses what was not synced, reproducibly from a seed.
//!
//! Strategy: everything sits behind one mutex. `crash` is a power cut with the reboot after it:
//! files opened before it answer with errors, names and content are what the disk happened to
//! keep. Faults are switched on for one kind of operation and stay until `heal`. Every operation
//! goes into a trace hash, so a test can tell that the same seed did the same thing.

use crate::names::Names;
use crate::random::Random;
use crate::{Disk, File, named};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What can be counted and made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    CreateDirectory,
    Open,
    Read,
    Write,
    Truncate,
    Sync,
    Rename,
    Remove,
    SyncDirectory,
}

struct Fault {
    remaining: u64,
    kind: ErrorKind,
}

struct State {
    names: Names,
    random: Random,
    faults: BTreeMap<Operation, Fault>,
    counts: BTreeMap<Operation, u64>,
    trace: DefaultHasher,
    /// How often the power was cut; files of an earlier life are dead.
    life: u64,
}

pub struct SimulatedDisk {
    state: Arc<Mutex<State>>,
}

impl SimulatedDisk {
    #[must_use]
    pub fn new(seed: u64) -> SimulatedDisk {
        let state = State {
            names: Names::new(),
            random: Random::new(seed),
            faults: BTreeMap::new(),
            counts: BTreeMap::new(),
            trace: DefaultHasher::new(),
            life: 0,
        };
        SimulatedDisk {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Cuts the power and starts again with what the disk kept.
    pub fn crash(&self) {
        let mut state = lock(&self.state);
        let State { names, random, .. } = &mut *state;
        names.crash(random);
        state.life += 1;
    }

    /// After `count` more operations of this kind, every further one fails, until `heal`.
    pub fn fail_after(&self, operation: Operation, count: u64, kind: ErrorKind) {
        let fault = Fault {
            remaining: count,
            kind,
        };
        lock(&self.state).faults.insert(operation, fault);
    }

    pub fn heal(&self) {
        lock(&self.state).faults.clear();
    }

    /// How many operations of this kind were asked for, failed ones included.
    #[must_use]
    pub fn count(&self, operation: Operation) -> u64 {
        let state = lock(&self.state);
        state.counts.get(&operation).copied().unwrap_or(0)
    }

    /// A hash of everything that was done so far.
    #[must_use]
    pub fn trace(&self) -> u64 {
        lock(&self.state).trace.finish()
    }
}

impl State {
    fn begin(&mut self, operation: Operation, path: &str, detail: &[u8]) -> io::Result<()> {
        (operation, path, detail).hash(&mut self.trace);
        *self.counts.entry(operation).or_default() += 1;
        match self.faults.get_mut(&operation) {
            Some(fault) if fault.remaining == 0 => Err(injected(operation, path, fault.kind)),
            Some(fault) => {
                fault.remaining -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Disk for SimulatedDisk {
    fn create_directory(&self, path: &str) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.begin(Operation::CreateDirectory, path, b"")?;
        let mut directory = crate::names::ROOT;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let known = state.names.entries(directory).map(|e| e.get(name).copied());
            directory = match known.ok_or_else(|| missing("create directory", path))? {
                Some(node) => node,
                None => state.names.create(directory, name, true),
            };
        }
        Ok(())
    }

    fn open(&self, path: &str, create: bool) -> io::Result<Box<dyn File>> {
        let mut state = lock(&self.state);
        state.begin(Operation::Open, path, &[u8::from(create)])?;
        let node = match state.names.find(path) {
            Some(node) => node,
            None if create => {
                let place = state.names.locate(path);
                let (directory, name) = place.ok_or_else(|| missing("open", path))?;
                state.names.create(directory, name, false)
            }
            None => return Err(missing("open", path)),
        };
        if state.names.content(node).is_none() {
            let error = io::Error::from(ErrorKind::IsADirectory);
            return Err(named("open", path, &error));
        }
        Ok(Box::new(SimulatedFile {
            state: Arc::clone(&self.state),
            path: path.to_owned(),
            node,
            life: state.life,
        }))
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let state = lock(&self.state);
        let node = state.names.find(path);
        let entries = node.and_then(|node| state.names.entries(node));
        Ok(entries
            .ok_or_else(|| missing("list", path))?
            .keys()
            .cloned()
            .collect())
    }

    fn exists(&self, path: &str) -> bool {
        lock(&self.state).names.find(path).is_some()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.begin(Operation::Rename, from, to.as_bytes())?;
        let names = &mut state.names;
        let node = names.find(from).ok_or_else(|| missing("rename", from))?;
        let source = names.locate(from).ok_or_else(|| missing("rename", from))?;
        let target = names.locate(to).ok_or_else(|| missing("rename", to))?;
        names.rename(source, target, node);
        Ok(())
    }

    fn remove_file(&self, path: &str) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.begin(Operation::Remove, path, b"")?;
        let names = &mut state.names;
        let node = names.find(path).ok_or_else(|| missing("remove", path))?;
        if names.content(node).is_none() {
            let error = io::Error::from(ErrorKind::IsADirectory);
            return Err(named("remove", path, &error));
        }
        if let Some((directory, name)) = names.locate(path) {
            names.remove(directory, name);
        }
        Ok(())
    }

    fn remove_tree(&self, path: &str) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.begin(Operation::Remove, path, b"")?;
        if state.names.find(path).is_some()
            && let Some((directory, name)) = state.names.locate(path)
        {
            state.names.remove_tree(directory, name);
        }
        Ok(())
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.begin(Operation::SyncDirectory, path, b"")?;
        let node = state.names.find(path);
        let node = node.ok_or_else(|| missing("sync directory", path))?;
        state.names.sync(node);
        Ok(())
    }
}

struct SimulatedFile {
    state: Arc<Mutex<State>>,
    path: String,
    node: u64,
    life: u64,
}

impl SimulatedFile {
    fn enter(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = lock(&self.state);
        if state.life == self.life {
            Ok(state)
        } else {
            let text = format!("use {}: opened before the power was cut", self.path);
            Err(io::Error::other(text))
        }
    }
}

impl File for SimulatedFile {
    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.enter()?;
        offset.hash(&mut state.trace);
        let begun = state.begin(Operation::Write, &self.path, data);
        let State { names, random, .. } = &mut *state;
        // A write that fails has written a part of its data, as one that finds the disk full does.
        let share = if begun.is_ok() {
            data.len()
        } else {
            place(random.below(data.len() as u64 + 1))
        };
        if let Some(content) = names.content(self.node) {
            content.write(place(offset), &data[..share]);
        }
        begun
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.enter()?;
        state.begin(Operation::Read, &self.path, &offset.to_le_bytes())?;
        let content = state.names.content(self.node);
        let live = content.map_or(&[][..], |content| &content.live);
        let rest = &live[place(offset).min(live.len())..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn len(&self) -> io::Result<u64> {
        let mut state = self.enter()?;
        let content = state.names.content(self.node);
        Ok(content.map_or(0, |content| content.live.len() as u64))
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let mut state = self.enter()?;
        state.begin(Operation::Truncate, &self.path, &len.to_le_bytes())?;
        if let Some(content) = state.names.content(self.node) {
            content.truncate(place(len));
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.enter()?;
        let begun = state.begin(Operation::Sync, &self.path, b"");
        let State { names, random, .. } = &mut *state;
        if let Some(content) = names.content(self.node) {
            match begun {
                Ok(()) => content.sync(),
                Err(_) => content.sync_in_vain(random),
            }
        }
        begun
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn missing(operation: &str, path: &str) -> io::Error {
    named(operation, path, &io::Error::from(ErrorKind::NotFound))
}

fn injected(operation: Operation, path: &str, kind: ErrorKind) -> io::Error {
    let words = match operation {
        Operation::CreateDirectory => "create directory",
        Operation::Open => "open",
        Operation::Read => "read",
        Operation::Write => "write",
        Operation::Truncate => "truncate",
        Operation::Sync => "sync",
        Operation::Rename => "rename",
        Operation::Remove => "remove",
        Operation::SyncDirectory => "sync directory",
    };
    named(words, path, &io::Error::from(kind))
}

#[allow(clippy::cast_possible_truncation)] // offsets in memory
fn place(offset: u64) -> usize {
    offset as usize
}
