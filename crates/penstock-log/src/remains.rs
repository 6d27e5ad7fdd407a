//! What is left of entries that are to be forgotten: files that were set aside, to be overwritten
//! before they go. That takes its time, so it is done by whoever has it, in any thread.
//!
//! Order, so that a crash at any step leaves nothing behind for good: a file gets its new name, which
//! an opening knows again, durably, for under the old one it would be damaged; then zeros, durably;
//! then it is removed.

use crate::announce::Shared;
use crate::segment;
use penstock_disk::Disk;
use std::io;
use std::sync::Arc;

/// Apart from the log, which goes on meanwhile.
pub struct Remains {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) directory: String,
    /// None where nobody cuts beside the caller.
    pub(crate) shared: Option<Arc<Shared>>,
}

impl Remains {
    /// Overwrites and removes what was set aside, after everything is cut that was to be cut.
    pub fn overwrite(&self) -> io::Result<()> {
        if let Some(shared) = &self.shared {
            shared.wait_cut()?;
        }
        let files = segment::set_aside(&*self.disk, &self.directory)?;
        if files.is_empty() {
            return Ok(());
        }
        self.disk.sync_directory(&self.directory)?; // an earlier life may have failed to
        for path in &files {
            let file = self.disk.open(path, false)?;
            segment::write_zeros(&*file, 0, file.len()?)?;
            file.sync()?;
            self.disk.remove_file(path)?;
        }
        self.disk.sync_directory(&self.directory)
    }
}
