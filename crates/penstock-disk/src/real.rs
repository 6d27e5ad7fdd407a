//! The operating system's files below a root directory, and the lock that keeps a second server
//! away from them.
//!
//! Positional reads and writes only, so an open file has no cursor and can be shared by threads.

use crate::{Disk, File, named};
use rustix::fs::FlockOperation;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};

/// Files below one root directory. The root itself is created by `create_directory("")`.
pub struct RealDisk {
    root: PathBuf,
}

impl RealDisk {
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> RealDisk {
        RealDisk { root: root.into() }
    }

    /// Takes the lock file at `path` (created if missing) until the guard is dropped or the
    /// process ends, however it ends. Somebody else holding it is `ErrorKind::WouldBlock`.
    pub fn lock(&self, path: &str) -> io::Result<LockGuard> {
        let full = self.full(path)?;
        let file = open_options(true)
            .open(&full)
            .map_err(|error| self.explain("open", path, &error))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(LockGuard { _file: file }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(io::Error::new(
                io::ErrorKind::WouldBlock,
                format!("lock {}: in use by another server", full.display()),
            )),
            Err(error) => Err(self.explain("lock", path, &error.into())),
        }
    }

    fn full(&self, path: &str) -> io::Result<PathBuf> {
        let inside = Path::new(path)
            .components()
            .all(|component| matches!(component, Component::Normal(_)));
        if inside {
            Ok(self.root.join(path))
        } else {
            let text = format!("{path}: not a path below the root");
            Err(io::Error::new(io::ErrorKind::InvalidInput, text))
        }
    }

    fn explain(&self, operation: &str, path: &str, error: &io::Error) -> io::Error {
        named(
            operation,
            &self.root.join(path).display().to_string(),
            error,
        )
    }
}

/// The held lock; the lock file stays behind, because removing it would let two in.
#[derive(Debug)]
pub struct LockGuard {
    _file: fs::File,
}

impl Disk for RealDisk {
    fn create_directory(&self, path: &str) -> io::Result<()> {
        fs::create_dir_all(self.full(path)?)
            .map_err(|error| self.explain("create directory", path, &error))
    }

    fn open(&self, path: &str, create: bool) -> io::Result<Box<dyn File>> {
        let full = self.full(path)?;
        let file = open_options(create)
            .open(&full)
            .map_err(|error| self.explain("open", path, &error))?;
        let path = full.display().to_string();
        Ok(Box::new(RealFile { file, path }))
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let explain = |error: io::Error| self.explain("list", path, &error);
        let mut names = Vec::new();
        for entry in fs::read_dir(self.full(path)?).map_err(explain)? {
            let name = entry.map_err(explain)?.file_name();
            names.push(name.to_string_lossy().into_owned());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn exists(&self, path: &str) -> bool {
        self.full(path).is_ok_and(|full| full.exists())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.full(from)?, self.full(to)?)
            .map_err(|error| self.explain("rename", from, &error))
    }

    fn remove_file(&self, path: &str) -> io::Result<()> {
        fs::remove_file(self.full(path)?).map_err(|error| self.explain("remove", path, &error))
    }

    fn remove_tree(&self, path: &str) -> io::Result<()> {
        match fs::remove_dir_all(self.full(path)?) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.explain("remove", path, &error))
            }
            _ => Ok(()),
        }
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        fs::File::open(self.full(path)?)
            .and_then(|directory| directory.sync_all())
            .map_err(|error| self.explain("sync directory", path, &error))
    }
}

fn open_options(create: bool) -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(create)
        .truncate(false);
    options
}

struct RealFile {
    file: fs::File,
    path: String,
}

impl RealFile {
    fn explain(&self, operation: &str, error: &io::Error) -> io::Error {
        named(operation, &self.path, error)
    }
}

impl File for RealFile {
    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file
            .write_all_at(data, offset)
            .map_err(|error| self.explain("write", &error))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self
                .file
                .read_at(&mut buffer[filled..], offset + filled as u64)
            {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.explain("read", &error)),
            }
        }
        Ok(filled)
    }

    fn len(&self) -> io::Result<u64> {
        let metadata = self.file.metadata();
        Ok(metadata
            .map_err(|error| self.explain("stat", &error))?
            .len())
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.file
            .set_len(len)
            .map_err(|error| self.explain("truncate", &error))
    }

    fn sync(&self) -> io::Result<()> {
        self.file
            .sync_data()
            .map_err(|error| self.explain("sync", &error))
    }
}
