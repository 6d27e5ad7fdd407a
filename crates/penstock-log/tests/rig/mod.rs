//! What the tests of the log share: dice, entries that can be told apart, disks that lie, and the
//! check that a log holds what it promised.

#![allow(dead_code, clippy::unwrap_used)] // each test file uses its own part

use penstock_disk::{Disk, File};
use penstock_log::{Log, Options, Replay};
use std::io;
use std::sync::Arc;

pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub number: u64,
    pub stream: u64,
    pub kind: u8,
    pub payload: Vec<u8>,
}

pub fn steps(salt: u64) -> Options {
    Options {
        segment_bytes_max: 16 * 1024,
        extend_bytes: 2048,
        salt,
        threaded: false,
        ..Options::default()
    }
}

pub fn collect(replay: &mut Replay) -> io::Result<Vec<Kept>> {
    let mut entries = Vec::new();
    while let Some(entry) = replay.next()? {
        entries.push(Kept {
            number: entry.number,
            stream: entry.stream,
            kind: entry.kind,
            payload: entry.payload.to_vec(),
        });
    }
    Ok(entries)
}

pub fn reopen(disk: &Arc<dyn Disk>, options: Options) -> io::Result<(Log, Vec<Kept>)> {
    let (log, mut replay) = Log::open(Arc::clone(disk), "log", options)?;
    let entries = collect(&mut replay)?;
    Ok((log, entries))
}

/// Appends an entry whose content follows from its number.
pub fn append(log: &mut Log, payload_bytes: usize) -> Kept {
    let number = log.last() + 1;
    let stream = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut dice = Dice(stream | 1);
    let mut payload = vec![0; payload_bytes];
    for word in payload.chunks_mut(8) {
        word.copy_from_slice(&dice.below(u64::MAX).to_le_bytes()[..word.len()]);
    }
    let kind = number as u8;
    let (head, body) = payload.split_at(payload_bytes / 3);
    assert_eq!(log.append(stream, kind, &[head, body]), number);
    Kept {
        number,
        stream,
        kind,
        payload,
    }
}

#[derive(Clone, Copy, PartialEq)]
pub enum Lie {
    Nothing,
    Sync,
    SyncDirectory,
}

/// A disk that says it has synced and has not.
pub struct LyingDisk {
    pub inner: Arc<dyn Disk>,
    pub lie: Lie,
}

struct LyingFile(Box<dyn File>);

impl Disk for LyingDisk {
    fn create_directory(&self, path: &str) -> io::Result<()> {
        self.inner.create_directory(path)
    }
    fn open(&self, path: &str, create: bool) -> io::Result<Box<dyn File>> {
        let file = self.inner.open(path, create)?;
        Ok(if self.lie == Lie::Sync {
            Box::new(LyingFile(file))
        } else {
            file
        })
    }
    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.inner.list(path)
    }
    fn exists(&self, path: &str) -> bool {
        self.inner.exists(path)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }
    fn remove_file(&self, path: &str) -> io::Result<()> {
        self.inner.remove_file(path)
    }
    fn remove_tree(&self, path: &str) -> io::Result<()> {
        self.inner.remove_tree(path)
    }
    fn sync_directory(&self, path: &str) -> io::Result<()> {
        if self.lie == Lie::SyncDirectory {
            return Ok(());
        }
        self.inner.sync_directory(path)
    }
}

impl File for LyingFile {
    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write_at(offset, data)
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(offset, buffer)
    }
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn truncate(&self, len: u64) -> io::Result<()> {
        self.0.truncate(len)
    }
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

pub fn is_readable(log: &Log) -> bool {
    let descriptor = log.descriptor();
    let mut polled = [rustix::event::PollFd::new(
        &descriptor,
        rustix::event::PollFlags::IN,
    )];
    let now = rustix::event::Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    rustix::event::poll(&mut polled, Some(&now)).unwrap() == 1
}
