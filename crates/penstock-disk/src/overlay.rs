//! The operating system's files below a root, of which none is ever written: changes stay in
//! memory.
//!
//! Opening a store or a log mends what it finds. Whoever only wants to know what an opening would
//! find and do opens it on an overlay. Files are read through their path each time, so that one
//! overlay may look at any number of them; a change lays pages over a file, or a name over a name.
//! Somebody else must see to it that nobody writes the files meanwhile.

use crate::{Disk, File, named};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const PAGE_BYTES: usize = 4096;

/// Files below one root directory, as they are and as they would be.
pub struct OverlayDisk {
    root: PathBuf,
    names: Mutex<Names>,
}

#[derive(Default)]
struct Names {
    /// What was opened, made or renamed by its name; none where it was removed.
    files: BTreeMap<String, Option<Arc<OverlayFile>>>,
    /// Directories that are not there, and those that are there no longer.
    made: BTreeSet<String>,
    removed: BTreeSet<String>,
}

struct OverlayFile {
    path: String,
    /// What lies below; none of a file that was made here.
    below: Option<PathBuf>,
    content: Mutex<Content>,
}

struct Content {
    length: u64,
    /// How much of the file below can be seen: it was cut there.
    below_length: u64,
    pages: BTreeMap<u64, Vec<u8>>,
}

impl OverlayDisk {
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> OverlayDisk {
        OverlayDisk {
            root: root.into(),
            names: Mutex::default(),
        }
    }

    fn explain(&self, operation: &str, path: &str, error: &io::Error) -> io::Error {
        let path = self.root.join(path).display().to_string();
        named(operation, &path, error)
    }

    fn missing(&self, operation: &str, path: &str) -> io::Error {
        self.explain(operation, path, &ErrorKind::NotFound.into())
    }

    fn is_directory(&self, names: &Names, path: &str) -> bool {
        let is_removed = parents(path).any(|parent| names.removed.contains(parent));
        names.made.contains(path) || (!is_removed && self.root.join(path).is_dir())
    }

    /// The file of a name, if there is one, here or below.
    fn find(&self, names: &mut Names, path: &str) -> io::Result<Option<Arc<OverlayFile>>> {
        if let Some(known) = names.files.get(path) {
            return Ok(known.clone());
        }
        let below = self.root.join(path);
        if parents(path).any(|parent| names.removed.contains(parent)) || !below.is_file() {
            return Ok(None);
        }
        let metadata = fs::metadata(&below);
        let length = metadata
            .map_err(|error| self.explain("open", path, &error))?
            .len();
        let found = self.file(path, Some(below), length);
        names
            .files
            .insert(path.to_owned(), Some(Arc::clone(&found)));
        Ok(Some(found))
    }

    fn file(&self, path: &str, below: Option<PathBuf>, length: u64) -> Arc<OverlayFile> {
        Arc::new(OverlayFile {
            path: self.root.join(path).display().to_string(),
            below,
            content: Mutex::new(Content {
                length,
                below_length: length,
                pages: BTreeMap::new(),
            }),
        })
    }
}

impl Disk for OverlayDisk {
    fn create_directory(&self, path: &str) -> io::Result<()> {
        let mut names = lock(&self.names);
        for part in parents(path) {
            if !self.is_directory(&names, part) {
                names.made.insert(part.to_owned());
            }
        }
        Ok(())
    }

    fn open(&self, path: &str, create: bool) -> io::Result<Box<dyn File>> {
        let mut names = lock(&self.names);
        if self.is_directory(&names, path) {
            return Err(self.explain("open", path, &ErrorKind::IsADirectory.into()));
        }
        if let Some(found) = self.find(&mut names, path)? {
            return Ok(Box::new(found));
        }
        if !create || !self.is_directory(&names, parent(path)) {
            return Err(self.missing("open", path));
        }
        let made = self.file(path, None, 0);
        names.files.insert(path.to_owned(), Some(Arc::clone(&made)));
        Ok(Box::new(made))
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let names = lock(&self.names);
        if !self.is_directory(&names, path) {
            return Err(self.missing("list", path));
        }
        let inside = |name: &str| match path {
            "" => name.to_owned(),
            _ => format!("{path}/{name}"),
        };
        let mut found = BTreeSet::new();
        if !names.made.contains(path) {
            let explain = |error: io::Error| self.explain("list", path, &error);
            for entry in fs::read_dir(self.root.join(path)).map_err(explain)? {
                let name = entry.map_err(explain)?.file_name();
                let name = name.to_string_lossy().into_owned();
                if !names.removed.contains(&inside(&name)) {
                    found.insert(name);
                }
            }
        }
        let name_in = |whole: &str| {
            let (directory, name) = whole.rsplit_once('/').unwrap_or(("", whole));
            (directory == path).then(|| name.to_owned())
        };
        for (whole, file) in &names.files {
            match (name_in(whole), file) {
                (Some(name), Some(_)) => found.insert(name),
                (Some(name), None) => found.remove(&name),
                (None, _) => false,
            };
        }
        found.extend(names.made.iter().filter_map(|whole| name_in(whole)));
        Ok(found.into_iter().collect())
    }

    fn exists(&self, path: &str) -> bool {
        let mut names = lock(&self.names);
        self.is_directory(&names, path)
            || self
                .find(&mut names, path)
                .is_ok_and(|found| found.is_some())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut names = lock(&self.names);
        let found = self.find(&mut names, from)?;
        let target = Some(to).filter(|to| self.is_directory(&names, parent(to)));
        let (Some(found), Some(_)) = (found, target) else {
            return Err(self.missing("rename", from));
        };
        names.files.insert(from.to_owned(), None);
        names.files.insert(to.to_owned(), Some(found));
        Ok(())
    }

    fn remove_file(&self, path: &str) -> io::Result<()> {
        let mut names = lock(&self.names);
        let found = self.find(&mut names, path)?;
        found.ok_or_else(|| self.missing("remove", path))?;
        names.files.insert(path.to_owned(), None);
        Ok(())
    }

    fn remove_tree(&self, path: &str) -> io::Result<()> {
        let mut names = lock(&self.names);
        let is_inside = |name: &str| parents(name).any(|parent| parent == path);
        names.files.retain(|name, _| !is_inside(name));
        names.made.retain(|name| !is_inside(name));
        names.removed.insert(path.to_owned());
        Ok(())
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        match self.is_directory(&lock(&self.names), path) {
            true => Ok(()),
            false => Err(self.missing("sync directory", path)),
        }
    }
}

impl OverlayFile {
    fn explain(&self, operation: &str, error: &io::Error) -> io::Error {
        named(operation, &self.path, error)
    }

    /// Fills a buffer with what lies below, or zeros behind its end.
    fn read_below(&self, content: &Content, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        buffer.fill(0);
        let visible = content.below_length.saturating_sub(offset);
        let count = buffer.len().min(size(visible));
        let Some(below) = self.below.as_ref().filter(|_| count > 0) else {
            return Ok(());
        };
        let mut read = || fs::File::open(below)?.read_exact_at(&mut buffer[..count], offset);
        read().map_err(|error| self.explain("read", &error))
    }

    fn page<'a>(&self, content: &'a mut Content, number: u64) -> io::Result<&'a mut Vec<u8>> {
        if !content.pages.contains_key(&number) {
            let mut page = vec![0; PAGE_BYTES];
            self.read_below(content, number * PAGE_BYTES as u64, &mut page)?;
            content.pages.insert(number, page);
        }
        Ok(content.pages.entry(number).or_default())
    }
}

impl File for Arc<OverlayFile> {
    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut content = lock(&self.content);
        let (mut at, mut rest) = (offset, data);
        while !rest.is_empty() {
            let (number, start) = (at / PAGE_BYTES as u64, size(at % PAGE_BYTES as u64));
            let (part, others) = rest.split_at(rest.len().min(PAGE_BYTES - start));
            let page = self.page(&mut content, number)?;
            page[start..start + part.len()].copy_from_slice(part);
            at += part.len() as u64;
            rest = others;
        }
        content.length = content.length.max(at);
        Ok(())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let content = lock(&self.content);
        let count = buffer
            .len()
            .min(size(content.length.saturating_sub(offset)));
        let buffer = &mut buffer[..count];
        self.read_below(&content, offset, buffer)?;
        let first = offset / PAGE_BYTES as u64;
        for (number, page) in content.pages.range(first..) {
            let start = number * PAGE_BYTES as u64;
            if start >= offset + count as u64 {
                break;
            }
            let (skipped, at) = (
                size(offset.saturating_sub(start)),
                size(start.saturating_sub(offset)),
            );
            let part = (PAGE_BYTES - skipped).min(count - at);
            buffer[at..at + part].copy_from_slice(&page[skipped..skipped + part]);
        }
        Ok(count)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(lock(&self.content).length)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let mut content = lock(&self.content);
        let last = len / PAGE_BYTES as u64;
        if len < content.length && content.pages.contains_key(&last) {
            self.page(&mut content, last)?[size(len % PAGE_BYTES as u64)..].fill(0);
        }
        content.pages.retain(|number, _| *number <= last);
        content.below_length = content.below_length.min(len);
        content.length = len;
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

/// The directory that holds a name.
fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// A path, and all directories above it but the root.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    let mut next = Some(path).filter(|path| !path.is_empty());
    std::iter::from_fn(move || {
        let path = next?;
        next = path.rsplit_once('/').map(|(parent, _)| parent);
        Some(path)
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[allow(clippy::cast_possible_truncation)] // at most as much as a buffer or a page has
fn size(bytes: u64) -> usize {
    bytes as usize
}
