//! The operating system's disk: files, names, and the lock against a second server.

#![allow(clippy::unwrap_used)]

use penstock_disk::{Disk, RealDisk};
use std::io::ErrorKind;
use std::path::PathBuf;

struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let name = format!("penstock-disk-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_are_written_read_cut_and_synced() {
    let directory = Directory::new("files");
    let disk = RealDisk::new(&directory.0);
    disk.create_directory("a/b").unwrap();
    let file = disk.open("a/b/one", true).unwrap();
    file.write_at(4, b"word").unwrap();
    assert_eq!(file.len().unwrap(), 8);
    let mut buffer = [1; 16];
    assert_eq!(file.read_at(2, &mut buffer).unwrap(), 6);
    assert_eq!(&buffer[..6], b"\0\0word");
    file.truncate(6).unwrap();
    file.sync().unwrap();
    disk.sync_directory("a/b").unwrap();
    let again = disk.open("a/b/one", false).unwrap();
    assert_eq!(again.len().unwrap(), 6);
}

#[test]
fn names_are_listed_renamed_and_removed() {
    let directory = Directory::new("names");
    let disk = RealDisk::new(&directory.0);
    disk.create_directory("d").unwrap();
    for name in ["d/c", "d/a", "d/b"] {
        disk.open(name, true).unwrap();
    }
    assert_eq!(disk.list("d").unwrap(), ["a", "b", "c"]);
    disk.rename("d/a", "d/c").unwrap();
    disk.remove_file("d/b").unwrap();
    assert_eq!(disk.list("d").unwrap(), ["c"]);
    assert!(disk.exists("d/c") && !disk.exists("d/a"));
    disk.remove_tree("d").unwrap();
    disk.remove_tree("d").unwrap();
    assert!(disk.list("").unwrap().is_empty());
}

#[test]
fn errors_name_operation_and_path() {
    let directory = Directory::new("errors");
    let disk = RealDisk::new(&directory.0);
    let error = disk.open("missing/file", false).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let text = error.to_string();
    assert!(
        text.starts_with("open ") && text.contains("missing/file"),
        "{text}"
    );
    let error = disk.open("../outside", true).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn only_one_holds_the_lock() {
    let directory = Directory::new("lock");
    let first = RealDisk::new(&directory.0);
    let second = RealDisk::new(&directory.0);
    let held = first.lock("lock").unwrap();
    let error = second.lock("lock").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    assert!(
        error
            .to_string()
            .ends_with("lock: in use by another server"),
        "{error}"
    );
    drop(held);
    second.lock("lock").unwrap();
}
