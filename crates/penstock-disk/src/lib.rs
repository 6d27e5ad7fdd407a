//! The disk as penstock sees it: the only crate with file system calls.
//!
//! Strategy: the storage crates take a `Disk` as an argument. `RealDisk` is the operating system's;
//! `SimulatedDisk` lives in memory, remembers what was synced and what was not, and forgets some
//! of the latter when the power is cut, reproducibly from a seed; `OverlayDisk` reads the operating
//! system's files and writes none. Nothing here is smart: a write is durable after `File::sync`, a
//! name (created, renamed, removed) after `sync_directory` of the directory that holds it, and
//! neither implies the other.

mod content;
mod names;
mod overlay;
mod random;
mod real;
mod simulated;

pub use overlay::OverlayDisk;
pub use real::{LockGuard, RealDisk};
pub use simulated::{Operation, SimulatedDisk};

use std::io;

/// Files below one root. Paths are relative to it and separated by '/'; "" is the root itself.
/// Errors name the operation and the path.
pub trait Disk: Send + Sync {
    /// Creates a directory with its parents; not an error if it is there.
    /// Durable after `sync_directory` of each parent that was new, and of the one that was not.
    fn create_directory(&self, path: &str) -> io::Result<()>;
    /// Opens a file for reading and writing; with `create`, an empty one if there is none.
    fn open(&self, path: &str, create: bool) -> io::Result<Box<dyn File>>;
    /// The names in a directory, sorted.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;
    fn exists(&self, path: &str) -> bool;
    /// Replaces what was at `to`, atomically.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    fn remove_file(&self, path: &str) -> io::Result<()>;
    /// Removes a directory with everything in it; not an error if it is not there.
    fn remove_tree(&self, path: &str) -> io::Result<()>;
    fn sync_directory(&self, path: &str) -> io::Result<()>;
}

/// An open file. It stays usable after its name is renamed or removed.
#[allow(clippy::len_without_is_empty)] // the length can fail; nobody asks only for emptiness
pub trait File: Send + Sync {
    /// Writes all of `data`; on an error any part of it may have been written.
    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()>;
    /// Reads until the buffer is full or the file ends; fewer bytes mean the end.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    fn len(&self) -> io::Result<u64>;
    /// Sets the length: cuts, or extends with zeros.
    fn truncate(&self, len: u64) -> io::Result<()>;
    /// Makes content and length durable (fdatasync). A failed one is final: what it was to write
    /// may be gone although it can still be read.
    fn sync(&self) -> io::Result<()>;
}

pub(crate) fn named(operation: &str, path: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{operation} {path}: {error}"))
}
