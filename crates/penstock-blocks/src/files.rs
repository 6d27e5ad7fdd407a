//! The files of one stream: `msgs/<number>.blk` and `index`. Knows which were written since the
//! last sync; a file is replaced by writing a new one, syncing it and renaming it.

use crate::error::Result;
use penstock_disk::{Disk, File};
use std::collections::BTreeMap;
use std::sync::Arc;

const NEW: &str = ".new"; // a file that was not finished; it may go

pub(crate) struct Files {
    disk: Arc<dyn Disk>,
    directory: String,
    open: Option<(u32, Arc<dyn File>)>,
    dirty: BTreeMap<u32, Arc<dyn File>>,
    names_dirty: bool,
}

impl Files {
    pub fn new(disk: Arc<dyn Disk>, directory: &str) -> Result<Files> {
        let files = Files {
            disk,
            directory: directory.to_owned(),
            open: None,
            dirty: BTreeMap::new(),
            names_dirty: false,
        };
        let blocks = files.blocks_directory();
        if !files.disk.exists(&blocks) {
            files.disk.create_directory(&blocks)?;
            let mut path = blocks.as_str();
            while let Some((parent, _)) = path.rsplit_once('/') {
                files.disk.sync_directory(parent)?;
                path = parent;
            }
            files.disk.sync_directory("")?;
        }
        for name in files.disk.list(&blocks)? {
            if name.ends_with(NEW) {
                files.disk.remove_file(&format!("{blocks}/{name}"))?;
            }
        }
        Ok(files)
    }

    fn blocks_directory(&self) -> String {
        format!("{}/msgs", self.directory)
    }

    pub fn block_path(&self, number: u32) -> String {
        format!("{}/msgs/{number}.blk", self.directory)
    }

    fn index_path(&self) -> String {
        format!("{}/index", self.directory)
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
        let file: Arc<dyn File> = match self.dirty.get(&number) {
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
        let file = self.file(number, false)?;
        read_all(file.as_ref())
    }

    pub fn read_at(&mut self, number: u32, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        Ok(self.file(number, false)?.read_at(offset, buffer)?)
    }

    pub fn write(&mut self, number: u32, offset: u64, data: &[u8]) -> Result<()> {
        let file = self.file(number, true)?;
        self.names_dirty |= offset == 0;
        self.dirty.insert(number, Arc::clone(&file));
        Ok(file.write_at(offset, data)?)
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
        self.dirty.remove(&number);
        let path = self.block_path(number);
        self.replace(&path, content)
    }

    fn replace(&mut self, path: &str, content: &[u8]) -> Result<()> {
        let new = format!("{path}{NEW}");
        let file = self.disk.open(&new, true)?;
        file.truncate(0)?;
        file.write_at(0, content)?;
        file.sync()?;
        self.rename(&new, path)
    }

    /// Files written and not yet synced, for whoever syncs them elsewhere.
    pub fn dirty(&self) -> Vec<Arc<dyn File>> {
        self.dirty.values().cloned().collect()
    }

    pub fn sync(&mut self) -> Result<()> {
        while let Some((number, file)) = self.dirty.first_key_value() {
            let number = *number;
            file.sync()?;
            self.dirty.remove(&number);
        }
        self.sync_names()
    }

    pub fn sync_names(&mut self) -> Result<()> {
        if self.names_dirty {
            self.disk.sync_directory(&self.blocks_directory())?;
            self.names_dirty = false;
        }
        Ok(())
    }

    pub fn read_index(&self) -> Result<Option<Vec<u8>>> {
        let path = self.index_path();
        if !self.disk.exists(&path) {
            return Ok(None);
        }
        read_all(self.disk.open(&path, false)?.as_ref()).map(Some)
    }

    pub fn write_index(&mut self, content: &[u8]) -> Result<()> {
        let (path, names_dirty) = (self.index_path(), self.names_dirty);
        self.replace(&path, content)?;
        self.names_dirty = names_dirty;
        Ok(self.disk.sync_directory(&self.directory)?)
    }

    pub fn remove_index(&mut self) -> Result<()> {
        let path = self.index_path();
        if self.disk.exists(&path) {
            self.disk.remove_file(&path)?;
            self.disk.sync_directory(&self.directory)?;
        }
        Ok(())
    }

    /// Lets go of open files.
    pub fn close(&mut self) {
        self.open = None;
    }
}

fn read_all(file: &dyn File) -> Result<Vec<u8>> {
    let mut content = vec![0; file.len()? as usize];
    let length = file.read_at(0, &mut content)?;
    content.truncate(length);
    Ok(content)
}
