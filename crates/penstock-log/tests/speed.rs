//! How fast the log is on the disk below `PENSTOCK_SPEED_DIRECTORY` (or the temporary directory).
//! Run by hand: `cargo test --release -p penstock-log --test speed -- --ignored --nocapture`.

#![allow(clippy::unwrap_used)]

use penstock_disk::{Disk, RealDisk};
use penstock_log::{Log, Options};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn directory(name: &str) -> std::path::PathBuf {
    let base = std::env::var_os("PENSTOCK_SPEED_DIRECTORY");
    let base = base.map_or_else(std::env::temp_dir, Into::into);
    let path = base.join(format!("penstock-log-speed-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn percentile(times: &mut [Duration], share: f64) -> f64 {
    times.sort_unstable();
    times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6
}

fn open(root: &std::path::Path, extend_bytes: u64) -> Log {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(root));
    let options = Options {
        extend_bytes,
        ..Options::default()
    };
    Log::open(disk, "log", options).unwrap().0
}

/// One commit at a time: what a lone publisher waits for.
fn latency(extend_bytes: u64, payload_bytes: usize) {
    let root = directory("latency");
    let mut log = open(&root, extend_bytes);
    let payload = vec![b'x'; payload_bytes];
    let mut times = Vec::new();
    for _ in 0..2_000 {
        let start = Instant::now();
        let entry = log.append(1, 1, &[&payload]);
        log.commit();
        log.wait_durable(entry).unwrap();
        times.push(start.elapsed());
    }
    let (p50, p99) = (percentile(&mut times, 0.5), percentile(&mut times, 0.99));
    println!(
        "one at a time, {payload_bytes:6} B, extend {extend_bytes:8}: p50 {p50:5.0} us, p99 {p99:5.0} us"
    );
    drop(log);
    std::fs::remove_dir_all(root).unwrap();
}

/// Groups of entries, with at most `pending_bytes_max` not durable; segments are cut on the way.
fn throughput(group_entries: usize, payload_bytes: usize, extend_bytes: u64) {
    let root = directory("throughput");
    let mut log = open(&root, extend_bytes);
    let payload = vec![b'x'; payload_bytes];
    let (head, body) = payload.split_at(payload_bytes / 2);
    let mut commits = Vec::new();
    let start = Instant::now();
    let mut appending = Duration::ZERO;
    let mut entries = 0u64;
    while start.elapsed() < Duration::from_secs(3) {
        let begun = Instant::now();
        for _ in 0..group_entries {
            log.append(7, 1, &[head, body]);
        }
        let filled = Instant::now();
        log.commit();
        commits.push(filled.elapsed());
        appending += filled - begun;
        entries += group_entries as u64;
        if commits.len() % 64 == 0 {
            let durable = log.acknowledge();
            log.cut(durable);
        }
        if log.pending_bytes() > 16 << 20 {
            log.wait_durable(log.last().saturating_sub(4 * group_entries as u64))
                .unwrap();
        }
    }
    log.wait_durable(log.last()).unwrap();
    let rate = entries as f64 / start.elapsed().as_secs_f64();
    let append_ns = appending.as_secs_f64() * 1e9 / entries as f64;
    let (p50, p99) = (
        percentile(&mut commits, 0.5),
        percentile(&mut commits, 0.99),
    );
    println!(
        "groups of {group_entries:5} x {payload_bytes:4} B, extend {extend_bytes:7}: {:7.3} M durable entries/s, \
         {:5.0} MB/s, append {append_ns:4.0} ns, commit p50 {p50:4.1} us p99 {p99:5.1} us",
        rate / 1e6,
        rate * payload_bytes as f64 / 1e6
    );
    drop(log);
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    for _ in 0..2 {
        for payload_bytes in [128, 4_000, 60_000] {
            for extend_bytes in [0, 1 << 20, 16 << 20] {
                latency(extend_bytes, payload_bytes);
            }
        }
    }
    for extend_bytes in [0, 1 << 20] {
        for (group, payload) in [
            (1, 64),
            (10, 64),
            (100, 64),
            (1_000, 64),
            (4_000, 64),
            (100, 128),
            (4_000, 128),
            (4_000, 1_024),
        ] {
            throughput(group, payload, extend_bytes);
        }
    }
}
