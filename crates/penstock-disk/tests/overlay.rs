//! An overlay answers as the operating system's disk does, and the files below stay as they were.

#![allow(clippy::unwrap_used)]

use penstock_disk::{Disk, OverlayDisk, RealDisk};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let name = format!("penstock-overlay-{}-{name}", std::process::id());
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

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % end
    }
}

const DIRECTORIES: [&str; 3] = ["", "d", "d/e"];

fn names() -> Vec<String> {
    let inside = |directory: &&str| match *directory {
        "" => String::new(),
        directory => format!("{directory}/"),
    };
    let starts = DIRECTORIES.iter().map(inside);
    starts
        .flat_map(|start| (0..3).map(move |number| format!("{start}f{number}")))
        .collect()
}

/// Everything that can be seen on a disk.
fn content(disk: &dyn Disk) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    for directory in DIRECTORIES {
        let Ok(names) = disk.list(directory) else {
            continue;
        };
        for name in names {
            let path = format!("{directory}/{name}")
                .trim_start_matches('/')
                .to_owned();
            let content = disk.open(&path, false).ok().map(|file| {
                let mut bytes = vec![7; file.len().unwrap() as usize + 10];
                let count = file.read_at(0, &mut bytes).unwrap();
                bytes.truncate(count);
                bytes
            });
            assert!(disk.exists(&path), "{path} is listed");
            found.insert(path, content);
        }
    }
    found
}

fn change(disk: &dyn Disk, dice: &mut Dice) -> Result<(), std::io::ErrorKind> {
    let names = names();
    let mut name = || names[dice.below(names.len() as u64) as usize].clone();
    let (one, other) = (name(), name());
    let done = match dice.below(9) {
        0 => disk.remove_file(&one),
        1 => disk.rename(&one, &other),
        2 => disk.create_directory(DIRECTORIES[dice.below(3) as usize]),
        3 if dice.below(4) == 0 => disk.remove_tree("d/e"),
        4 => disk
            .open(&one, false)
            .and_then(|file| file.truncate(dice.below(20_000))),
        action => disk.open(&one, action > 5).and_then(|file| {
            let data = vec![dice.below(255) as u8; dice.below(9000) as usize];
            file.write_at(dice.below(12_000), &data)
        }),
    };
    done.map_err(|error| error.kind())
}

fn fill(root: &Path) {
    std::fs::create_dir_all(root.join("d")).unwrap();
    for (name, bytes) in [("f0", 10_000), ("d/f1", 4096), ("d/f2", 0)] {
        std::fs::write(root.join(name), vec![1; bytes]).unwrap();
    }
}

#[test]
fn it_answers_as_the_real_one_and_writes_nothing() {
    for seed in 0..60 {
        let (one, other) = (Directory::new("real"), Directory::new("over"));
        fill(&one.0);
        fill(&other.0);
        let real = RealDisk::new(&one.0);
        let overlay = OverlayDisk::new(&other.0);
        let before = content(&RealDisk::new(&other.0));
        let mut dice = (Dice(seed), Dice(seed));
        for step in 0..60 {
            let results = (change(&real, &mut dice.0), change(&overlay, &mut dice.1));
            assert_eq!(
                results.0.is_ok(),
                results.1.is_ok(),
                "seed {seed} step {step}"
            );
            assert!(
                content(&real) == content(&overlay),
                "seed {seed} step {step}"
            );
        }
        assert!(content(&RealDisk::new(&other.0)) == before, "seed {seed}");
    }
}

#[test]
fn an_open_file_stays_usable_under_another_name_and_without_one() {
    let directory = Directory::new("open");
    fill(&directory.0);
    let disk = OverlayDisk::new(&directory.0);
    let file = disk.open("f0", false).unwrap();
    disk.rename("f0", "d/g").unwrap();
    file.write_at(0, b"word").unwrap();
    let again = disk.open("d/g", false).unwrap();
    let mut found = [0; 5];
    again.read_at(0, &mut found).unwrap();
    assert_eq!(&found, b"word\x01");
    disk.remove_file("d/g").unwrap();
    assert_eq!(file.len().unwrap(), 10_000);
    assert!(disk.open("f0", false).is_err() && disk.open("none/g", true).is_err());
}
