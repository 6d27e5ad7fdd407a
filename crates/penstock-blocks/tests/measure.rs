//! Figures, not checks: `cargo test --release -p penstock-blocks --test measure -- --ignored
//! --nocapture --test-threads 1`.
#![allow(clippy::unwrap_used)]

use penstock_blocks::{Filter, Limits, Options, RecentIds, Store};
use penstock_disk::{Disk, RealDisk};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

const TURN: u64 = 1000; // messages in one run

struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("penstock-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    fn disk(&self) -> Arc<dyn Disk> {
        Arc::new(RealDisk::new(&self.0))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

fn names(count: u64) -> Vec<Vec<u8>> {
    (0..count)
        .map(|n| format!("events.region.{n}").into_bytes())
        .collect()
}

fn fill(store: &mut Store, from: u64, count: u64, names: &[Vec<u8>], write: bool) {
    let subjects = names.len() as u64;
    let message = [b'x'; 128];
    for first in (from..from + count).step_by(TURN as usize) {
        let items = (first..first + TURN).map(|sequence| {
            let subject = &names[(sequence.wrapping_mul(0x9e37_79b9) % subjects) as usize];
            (&subject[..], &b""[..], &message[..])
        });
        store.append_run(items, first, first as i64).unwrap();
        if write {
            store.write_out().unwrap();
        }
    }
}

fn rate(label: &str, count: u64, started: Instant) {
    let seconds = started.elapsed().as_secs_f64();
    let each = seconds * 1e9 / count as f64;
    println!(
        "{label}: {:.2} M/s, {each:.0} ns each",
        count as f64 / seconds / 1e6
    );
}

#[test]
#[ignore = "a measurement"]
fn appending() {
    for subjects in [1, 10_000, 1_000_000] {
        let mut store = Store::in_memory("m", Options::default());
        let names = names(subjects);
        fill(&mut store, 1, subjects.max(TURN), &names, false);
        let next = store.state().unwrap().last_sequence + 1;
        let started = Instant::now();
        fill(&mut store, next, 2_000_000, &names, false);
        rate(
            &format!("append 128 B to memory, {subjects} subjects"),
            2_000_000,
            started,
        );
        let (contents, count) = (
            store.memory_bytes().1 as u64,
            store.state().unwrap().messages,
        );
        println!(
            "  {} B a message beside the payload",
            contents / count - 128
        );
    }
    for (write, subjects) in [(false, 1), (true, 1), (true, 10_000)] {
        let directory = Directory::new("append");
        let (mut store, _) =
            Store::open(directory.disk(), "streams/s", "s", Options::default()).unwrap();
        let count = if write { 3_000_000 } else { 500_000 };
        let names = names(subjects);
        let started = Instant::now();
        fill(&mut store, 1, count, &names, write);
        rate(
            &format!("append 128 B to file, write={write}, {subjects} subjects"),
            count,
            started,
        );
    }
}

#[test]
#[ignore = "a measurement"]
fn opening() {
    for (count, subjects) in [(3_000_000, 1000), (30_000_000, 1000)] {
        let directory = Directory::new("open");
        let open = || Store::open(directory.disk(), "streams/s", "s", Options::default()).unwrap();
        let (mut store, _) = open();
        fill(&mut store, 1, count, &names(subjects), true);
        store.sync().unwrap();
        let bytes = store.state().unwrap().bytes;
        drop(store);
        let before = resident_bytes();
        let started = Instant::now();
        let (mut store, report) = open();
        let seconds = started.elapsed().as_secs_f64();
        let per_gigabyte = seconds / (bytes as f64 / 1e9);
        println!(
            "{count} messages, {:.2} GB, after kill -9 ({:?}): {seconds:.2} s, {per_gigabyte:.2} s/GB, {} MB more",
            bytes as f64 / 1e9,
            report.index,
            resident_bytes().saturating_sub(before) >> 20,
        );
        store.checkpoint(0, true).unwrap();
        drop(store);
        let before = resident_bytes();
        let started = Instant::now();
        let (mut store, report) = open();
        println!(
            "clean ({:?}): {:.1} ms, {} MB more",
            report.index,
            started.elapsed().as_secs_f64() * 1e3,
            resident_bytes().saturating_sub(before) >> 20,
        );
        reading(&mut store, count);
    }
}

fn reading(store: &mut Store, count: u64) {
    let started = Instant::now();
    for sequence in 1..=1_000_000 {
        assert!(store.load(sequence).unwrap().is_some());
    }
    rate("load in order, from cold", 1_000_000, started);
    let started = Instant::now();
    for sequence in 0..100_000 {
        assert!(
            store
                .load(count - 1 - sequence * 7919 % 40_000)
                .unwrap()
                .is_some()
        );
    }
    rate("load at random, warm", 100_000, started);
    let started = Instant::now();
    for step in 0..2000 {
        assert!(store.load(1 + step * 7_919_317 % count).unwrap().is_some());
    }
    rate("load at random, cold", 2000, started);
    let filter = Filter::new(&["events.region.7"]);
    let started = Instant::now();
    println!(
        "pending of one subject from the middle: {}",
        store.pending(&filter, count / 2, false).unwrap()
    );
    rate("pending", 1, started);
    let filter = Filter::new(&["events.*.77"]);
    let (mut at, started) = (1, Instant::now());
    for _ in 0..1000 {
        at = store.next_matching(&filter, at).unwrap().unwrap() + 1;
    }
    rate("next of a wildcard, one in a thousand", 1000, started);
}

#[test]
#[ignore = "a measurement"]
fn subjects() {
    let count = 1_000_000;
    let directory = Directory::new("subjects");
    let open = || Store::open(directory.disk(), "streams/s", "s", Options::default()).unwrap();
    let (mut store, _) = open();
    let names = names(count);
    let before = resident_bytes();
    fill(&mut store, 1, count, &names, true);
    let subjects = store.state().unwrap().subjects;
    let (table, contents) = store.memory_bytes();
    store.cool();
    println!(
        "{subjects} subjects: table {} B each, contents {contents} B, resident {} B each",
        table as u64 / subjects,
        (resident_bytes().saturating_sub(before)) / subjects,
    );
    let started = Instant::now();
    let mut visited = 0;
    store.subjects(&Filter::new(&["events.*.77*"]), |_, _| visited += 1);
    rate("a walk over the table", count, started);
    wildcards(&mut store);
    let started = Instant::now();
    store.subjects(&Filter::everything(), |_, _| visited += 1);
    rate("all in order", count, started);
    store.checkpoint(0, true).unwrap();
    drop(store);
    let started = Instant::now();
    let (mut store, report) = open();
    println!(
        "{:?} open: {:.0} ms",
        report.index,
        started.elapsed().as_secs_f64() * 1e3
    );
    let limits = Limits {
        messages_per_subject: 1,
        ..Limits::default()
    };
    store.enforce(&limits).unwrap();
    let started = Instant::now();
    for turn in 0..200 {
        fill(&mut store, count + 1 + turn * TURN, TURN, &names, false);
        store.enforce(&limits).unwrap();
        store.write_out().unwrap();
    }
    rate("append and evict at one per subject", 200 * TURN, started);
}

/// Until everything is in order, and then.
fn wildcards(store: &mut Store) {
    for pattern in ["events.77.*", "events.*.77", "*.*.77.>"] {
        let filter = Filter::new(&[pattern]);
        let mut times = Vec::new();
        for _ in 0..100 {
            let started = Instant::now();
            store.subjects(&filter, |_, _| ());
            times.push(started.elapsed().as_micros());
        }
        let most = times.iter().max().copied().unwrap_or(0);
        println!(
            "{pattern}: at first {} us, at most {most} us, then {} us",
            times[0], times[99]
        );
    }
    let (table, _) = store.memory_bytes();
    println!(
        "in order: table {} B each",
        table as u64 / store.state().unwrap().subjects
    );
}

#[test]
#[ignore = "a measurement"]
fn message_ids() {
    let count = 3_000_000;
    let directory = Directory::new("ids");
    let open = || Store::open(directory.disk(), "streams/s", "s", Options::default()).unwrap();
    let (mut store, _) = open();
    for first in (1..=count).step_by(TURN as usize) {
        let headers: Vec<Vec<u8>> = (first..first + TURN)
            .map(|n| format!("NATS/1.0\r\nNats-Msg-Id: 00001-{n:010}\r\n\r\n").into_bytes())
            .collect();
        let items = headers
            .iter()
            .map(|headers| (&b"events.region"[..], &headers[..], &[b'x'; 128][..]));
        store.append_run(items, first, first as i64).unwrap();
        store.write_out().unwrap();
    }
    store.checkpoint(0, true).unwrap();
    drop(store);
    let (mut store, _) = open();
    let started = Instant::now();
    let (column, rest) = store.header_values(b"Nats-Msg-Id", 1, usize::MAX).unwrap();
    assert_eq!((column.sequences.len() as u64, rest), (count, None));
    rate("message ids out of blocks on disk", count, started);
    let before = resident_bytes();
    let started = Instant::now();
    let mut ids = RecentIds::default();
    let mut start = 0;
    let values = column.ends.iter().map(|end| {
        let end = *end as usize;
        &column.values[std::mem::replace(&mut start, end)..end]
    });
    let numbers = column.sequences.iter().zip(&column.timestamps_ns);
    ids.remember_all(values.zip(numbers).map(|(id, (s, t))| (id, *s, *t)));
    rate("message ids remembered", count, started);
    println!("  {} B each", (resident_bytes() - before) / count);
}
