//! The files of one stream: `msgs/<number>.blk`, `index` and sometimes `ids`. Knows which were written since the
//! last sync; a file is replaced by writing a new one, syncing it and renaming it.

use crate::error::{Error, Result};
use penstock_disk::{Disk, File};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const NEW: &str = ".new"; // a file that was not finished; it may go

pub(crate) struct Files {
    disk: Arc<dyn Disk>,
    directory: String,
    open: Option<(u32, Arc<dyn File>)>,
    dirty: BTreeMap<u32, Arc<dyn File>>,
    /// What a checkpoint under way is syncing. A sync meanwhile does not count on it.
    in_flight: BTreeMap<u32, Arc<dyn File>>,
    names_dirty: bool,
    names_in_flight: bool,
    /// There was no checkpoint yet, so perhaps no name of the directories is durable.
    pub is_new: bool,
    is_new_in_flight: bool,
    /// Blocks in which something was erased that a sync has not made durable: until then, the file
    /// must not go, for what is erased would stay where it was on the disk.
    overwritten: BTreeSet<u32>,
    /// A sync failed: nobody knows what the files have, so nothing more is written to them.
    broken: Option<String>,
}

/// Files to be made durable by somebody else, and the index that goes with them.
pub(crate) struct Flight {
    disk: Arc<dyn Disk>,
    directory: String,
    files: Vec<Arc<dyn File>>,
    names: bool,
    is_new: bool,
    doomed: Vec<String>,
}

/// How a flight ended.
#[derive(Debug)]
pub(crate) enum Landing {
    Safe,
    /// The files are as they were, or better; it can be tried again.
    Late(Error),
    /// A sync failed, which is never tried again.
    Lost(Error),
}

impl Flight {
    /// Syncs the files, puts the index in its place and removes the files that it does not name.
    pub fn land(&self, index: &[u8]) -> Landing {
        match self.sync() {
            Ok(()) => self
                .replace_index(index)
                .map_or_else(Landing::Late, |()| Landing::Safe),
            Err(error) => Landing::Lost(error),
        }
    }

    fn sync(&self) -> Result<()> {
        for file in &self.files {
            file.sync()?;
        }
        if self.names {
            self.disk
                .sync_directory(&blocks_directory(&self.directory))?;
        }
        if self.is_new {
            sync_above(self.disk.as_ref(), &self.directory)?;
        }
        Ok(())
    }

    fn replace_index(&self, content: &[u8]) -> Result<()> {
        replace(self.disk.as_ref(), &index_path(&self.directory), content)?;
        self.disk.sync_directory(&self.directory)?;
        for path in &self.doomed {
            if self.disk.exists(path) {
                self.disk.remove_file(path)?;
            }
        }
        Ok(())
    }
}

impl Files {
    /// A directory that is made here is durable with the first checkpoint, or the first sync.
    pub fn new(disk: Arc<dyn Disk>, directory: &str) -> Result<Files> {
        let mut files = Files {
            disk,
            directory: directory.to_owned(),
            open: None,
            dirty: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            names_dirty: false,
            names_in_flight: false,
            is_new: false,
            is_new_in_flight: false,
            overwritten: BTreeSet::new(),
            broken: None,
        };
        let blocks = files.blocks_directory();
        if !files.disk.exists(&blocks) {
            files.disk.create_directory(&blocks)?;
            files.is_new = true;
        }
        for name in files.disk.list(&blocks)? {
            if name.ends_with(NEW) {
                files.disk.remove_file(&format!("{blocks}/{name}"))?;
            }
        }
        Ok(files)
    }

    fn blocks_directory(&self) -> String {
        blocks_directory(&self.directory)
    }

    pub fn block_path(&self, number: u32) -> String {
        format!("{}/msgs/{number}.blk", self.directory)
    }

    fn ids_path(&self) -> String {
        format!("{}/ids", self.directory)
    }

    /// The numbers of all blocks, ascending, and what else lies among them.
    pub fn numbers(&self) -> Result<(Vec<u32>, Vec<String>)> {
        let (mut numbers, mut others) = (Vec::new(), Vec::new());
        for name in self.disk.list(&self.blocks_directory())? {
            let number = name
                .strip_suffix(".blk")
                .and_then(|text| text.parse::<u32>().ok());
            match number {
                Some(number) if format!("{number}.blk") == name => numbers.push(number),
                _ => others.push(name),
            }
        }
        numbers.sort_unstable();
        Ok((numbers, others))
    }

    fn file(&mut self, number: u32, create: bool) -> Result<Arc<dyn File>> {
        if let Some((known, file)) = &self.open
            && *known == number
        {
            return Ok(Arc::clone(file));
        }
        let known = self.dirty.get(&number);
        let file: Arc<dyn File> = match known.or_else(|| self.in_flight.get(&number)) {
            Some(file) => Arc::clone(file),
            None => Arc::from(self.disk.open(&self.block_path(number), create)?),
        };
        self.open = Some((number, Arc::clone(&file)));
        Ok(file)
    }

    pub fn length(&mut self, number: u32) -> Result<u64> {
        Ok(self.file(number, false)?.len()?)
    }

    pub fn read(&mut self, number: u32) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        self.read_into(number, &mut content)?;
        Ok(content)
    }

    /// The same into a buffer that is there already.
    pub fn read_into(&mut self, number: u32, content: &mut Vec<u8>) -> Result<()> {
        let file = self.file(number, false)?;
        content.resize(file.len()? as usize, 0);
        let length = file.read_at(0, content)?;
        content.truncate(length);
        Ok(())
    }

    pub fn read_at(&mut self, number: u32, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        Ok(self.file(number, false)?.read_at(offset, buffer)?)
    }

    pub fn write(&mut self, number: u32, offset: u64, data: &[u8]) -> Result<()> {
        self.check()?;
        let file = self.file(number, true)?;
        self.names_dirty |= offset == 0;
        self.dirty.insert(number, Arc::clone(&file));
        Ok(file.write_at(offset, data)?)
    }

    /// Writes over what is to be gone.
    pub fn overwrite(&mut self, number: u32, offset: u64, data: &[u8]) -> Result<()> {
        self.overwritten.insert(number);
        self.write(number, offset, data)
    }

    /// The same was done before, and perhaps not made durable.
    pub fn was_overwritten(&mut self, number: u32) -> Result<()> {
        let file = self.file(number, false)?;
        self.overwritten.insert(number);
        self.dirty.insert(number, file);
        Ok(())
    }

    pub fn has_overwritten(&self) -> bool {
        !self.overwritten.is_empty()
    }

    pub fn truncate(&mut self, number: u32, length: u64) -> Result<()> {
        let file = self.file(number, true)?;
        self.dirty.insert(number, Arc::clone(&file));
        Ok(file.truncate(length)?)
    }

    pub fn remove(&mut self, number: u32) -> Result<()> {
        self.open = None;
        self.dirty.remove(&number);
        let path = self.block_path(number);
        if self.disk.exists(&path) {
            self.disk.remove_file(&path)?;
            self.names_dirty = true;
        }
        Ok(())
    }

    pub fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        self.open = None;
        self.names_dirty = true;
        Ok(self.disk.rename(from, to)?)
    }

    /// Puts new content in the place of a block; the old one is there until the new one is whole.
    pub fn replace_block(&mut self, number: u32, content: &[u8]) -> Result<()> {
        if self.overwritten.contains(&number) {
            self.sync_block(number)?;
        }
        self.dirty.remove(&number);
        let path = self.block_path(number);
        self.replace(&path, content)
    }

    fn replace(&mut self, path: &str, content: &[u8]) -> Result<()> {
        self.check()?;
        replace(self.disk.as_ref(), path, content)?;
        self.open = None;
        self.names_dirty = true;
        Ok(())
    }

    /// Fails if nothing more may be written.
    pub fn check(&self) -> Result<()> {
        match &self.broken {
            Some(text) => Err(std::io::Error::other(text.clone()).into()),
            None => Ok(()),
        }
    }

    /// Hands everything unsynced to somebody else to make durable, with blocks to remove.
    pub fn take_off(&mut self, doomed: &[u32]) -> Flight {
        self.in_flight.append(&mut self.dirty);
        self.names_in_flight |= std::mem::take(&mut self.names_dirty);
        self.is_new_in_flight |= std::mem::take(&mut self.is_new);
        for number in doomed {
            if !self.overwritten.contains(number) {
                self.in_flight.remove(number);
            }
        }
        if self
            .open
            .as_ref()
            .is_some_and(|(number, _)| doomed.contains(number))
        {
            self.open = None;
        }
        Flight {
            disk: Arc::clone(&self.disk),
            directory: self.directory.clone(),
            files: self.in_flight.values().cloned().collect(),
            names: self.names_in_flight,
            is_new: self.is_new_in_flight,
            doomed: doomed
                .iter()
                .map(|number| self.block_path(*number))
                .collect(),
        }
    }

    /// The flight is over.
    pub fn landed(&mut self, landing: &Landing) {
        if let Landing::Lost(error) = landing {
            self.broken = Some(error.to_string());
        }
        self.overwritten.clear();
        self.in_flight.clear();
        self.names_in_flight = false;
        self.is_new_in_flight = false;
    }

    /// Makes the files durable, and the directories that hold them.
    pub fn sync(&mut self) -> Result<()> {
        self.sync_files()?;
        if self.is_new || self.is_new_in_flight {
            sync_above(self.disk.as_ref(), &self.blocks_directory())?;
            self.is_new = false;
        }
        Ok(())
    }

    pub fn sync_files(&mut self) -> Result<()> {
        self.check()?;
        let files = self.in_flight.values().chain(self.dirty.values());
        for file in files {
            if let Err(error) = file.sync() {
                self.broken = Some(error.to_string());
                return Err(error.into());
            }
        }
        self.dirty.clear();
        self.overwritten.clear();
        self.sync_names()
    }

    fn sync_block(&mut self, number: u32) -> Result<()> {
        if let Err(error) = self.file(number, false)?.sync() {
            self.broken = Some(error.to_string());
            return Err(error.into());
        }
        self.overwritten.remove(&number);
        Ok(())
    }

    pub fn sync_names(&mut self) -> Result<()> {
        if self.names_dirty || self.names_in_flight {
            self.disk.sync_directory(&self.blocks_directory())?;
            self.names_dirty = false;
        }
        Ok(())
    }

    pub fn read_index(&self) -> Result<Option<Vec<u8>>> {
        let path = index_path(&self.directory);
        if !self.disk.exists(&path) {
            return Ok(None);
        }
        read_all(self.disk.open(&path, false)?.as_ref()).map(Some)
    }

    /// The index of a store that has nothing else, without a sync: a log knows what comes in.
    pub fn write_first_index(&mut self, content: &[u8]) -> Result<()> {
        let file = self.disk.open(&index_path(&self.directory), true)?;
        file.truncate(0)?;
        Ok(file.write_at(0, content)?)
    }

    pub fn write_index(&mut self, content: &[u8]) -> Result<()> {
        let (path, names_dirty) = (index_path(&self.directory), self.names_dirty);
        self.replace(&path, content)?;
        self.names_dirty = names_dirty;
        Ok(self.disk.sync_directory(&self.directory)?)
    }

    pub fn remove_index(&mut self) -> Result<()> {
        let path = index_path(&self.directory);
        if self.disk.exists(&path) {
            self.disk.remove_file(&path)?;
            self.disk.sync_directory(&self.directory)?;
        }
        Ok(())
    }

    /// Writes the file of ids, without a sync: whoever reads it finds out if it is whole.
    pub fn write_ids(&self, content: &[u8]) -> Result<()> {
        let path = self.ids_path();
        let write = || {
            let file = self.disk.open(&path, true)?;
            file.truncate(0)?;
            file.write_at(0, content)
        };
        write().map_err(|error| {
            drop(self.disk.remove_file(&path)); // what there is of it takes room for nothing
            error.into()
        })
    }

    /// The file of ids, which is gone afterwards. One that cannot be read is as good as none.
    pub fn take_ids(&self) -> Option<Vec<u8>> {
        let path = self.ids_path();
        if !self.disk.exists(&path) {
            return None;
        }
        let file = self.disk.open(&path, false).ok()?;
        let content = read_all(file.as_ref()).ok();
        drop(self.disk.remove_file(&path)); // left behind, it would be found out as old
        content
    }

    /// Lets go of open files.
    pub fn close(&mut self) {
        self.open = None;
    }
}

fn blocks_directory(directory: &str) -> String {
    format!("{directory}/msgs")
}

fn index_path(directory: &str) -> String {
    format!("{directory}/index")
}

/// Makes the names of a directory and of all above it durable.
fn sync_above(disk: &dyn Disk, directory: &str) -> Result<()> {
    let mut path = directory;
    while let Some((parent, _)) = path.rsplit_once('/') {
        disk.sync_directory(parent)?;
        path = parent;
    }
    Ok(disk.sync_directory("")?)
}

/// A file has either its old content or the new one, whatever happens.
fn replace(disk: &dyn Disk, path: &str, content: &[u8]) -> Result<()> {
    let new = format!("{path}{NEW}");
    let file = disk.open(&new, true)?;
    file.truncate(0)?;
    file.write_at(0, content)?;
    file.sync()?;
    Ok(disk.rename(&new, path)?)
}

fn read_all(file: &dyn File) -> Result<Vec<u8>> {
    let mut content = vec![0; file.len()? as usize];
    let length = file.read_at(0, &mut content)?;
    content.truncate(length);
    Ok(content)
}
