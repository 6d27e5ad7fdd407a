//! A block is written anew when a checkpoint ends, without what was removed while it was under way.
//! A kill right then leaves an index that does not fit; only the log tells of those removals.
#![allow(clippy::unwrap_used, clippy::panic)]

use penstock_blocks::{Content, IndexCondition, Options, Recovery, Store};
use penstock_disk::SimulatedDisk;
use std::sync::Arc;

const BLOCK_BYTES_MAX: usize = 16 << 10;
const MESSAGES: u64 = 120;
const MARK: u64 = 5;

fn open(disk: &Arc<SimulatedDisk>, replayable_from: u64) -> (Store, Recovery) {
    let options = Options {
        block_bytes_max: BLOCK_BYTES_MAX,
        replayable_from: Some(replayable_from),
        ..Options::default()
    };
    Store::open(Arc::clone(disk) as _, "streams/s", "s", options).unwrap()
}

fn filled(disk: &Arc<SimulatedDisk>) -> Store {
    let (mut store, _) = open(disk, 1);
    for sequence in 1..=MESSAGES {
        let content = Content {
            sequence,
            timestamp_ns: 1_700_000_000_000_000_000 + sequence.cast_signed(),
            subject: b"a.b",
            headers: b"",
            message: &[b'x'; 1000],
        };
        store.append(&content).unwrap();
    }
    store
}

#[test]
fn what_was_removed_while_a_block_was_written_anew_is_not_lost() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let mut store = filled(&disk);
    store.remove_below(28).unwrap(); // most of the second block
    let mut checkpoint = store.begin_checkpoint(MARK, false).unwrap().unwrap();
    store.remove_below(30).unwrap(); // the log has it behind the mark
    checkpoint.write();
    assert!(
        store.end_checkpoint(&checkpoint).unwrap(),
        "nothing was written anew"
    );
    drop(store);

    let (mut store, report) = open(&disk, MARK);
    assert_eq!(
        (report.index, report.mark),
        (IndexCondition::Stale, Some(MARK))
    );
    assert_eq!((report.lost, store.lost().0), (vec![], &[][..]));
    store.remove_below(30).unwrap(); // as the log says
    let state = store.state().unwrap();
    assert_eq!(
        (state.messages, state.last_sequence),
        (MESSAGES - 29, MESSAGES)
    );
}
