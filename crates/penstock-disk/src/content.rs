//! The content of one simulated file: what can be read, what is durable, and the changes between
//! the two, which a power cut may keep, lose or tear, each on its own.

use crate::random::Random;

pub(crate) const SECTOR_BYTES: usize = 512; // what a disk writes whole or not at all

enum Change {
    Write { offset: usize, data: Vec<u8> },
    Truncate(usize),
}

#[derive(Default)]
pub(crate) struct Content {
    pub live: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Change>,
}

impl Content {
    pub fn write(&mut self, offset: usize, data: &[u8]) {
        put(&mut self.live, offset, data);
        let data = data.to_vec();
        self.pending.push(Change::Write { offset, data });
    }

    pub fn truncate(&mut self, len: usize) {
        self.live.resize(len, 0);
        self.pending.push(Change::Truncate(len));
    }

    pub fn sync(&mut self) {
        for change in self.pending.drain(..) {
            match change {
                Change::Write { offset, data } => put(&mut self.durable, offset, &data),
                Change::Truncate(len) => self.durable.resize(len, 0),
            }
        }
    }

    /// A sync that fails: some of the changes got out and the rest are forgotten, so that a later
    /// sync succeeds without them while they can still be read. This is what Linux does.
    pub fn sync_in_vain(&mut self, random: &mut Random) {
        self.settle(random);
    }

    /// The power is cut: each change was written, lost or torn, in no particular order of time.
    pub fn crash(&mut self, random: &mut Random) {
        self.settle(random);
        self.live.clone_from(&self.durable);
    }

    fn settle(&mut self, random: &mut Random) {
        for change in self.pending.drain(..) {
            match (change, random.below(3)) {
                (_, 0) => {}
                (Change::Truncate(len), _) => self.durable.resize(len, 0),
                (Change::Write { offset, data }, 1) => put(&mut self.durable, offset, &data),
                (Change::Write { offset, data }, _) => {
                    put_torn(&mut self.durable, offset, &data, random);
                }
            }
        }
    }
}

fn put(content: &mut Vec<u8>, offset: usize, data: &[u8]) {
    let end = offset + data.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[offset..end].copy_from_slice(data);
}

/// Some sectors of the write arrive; the length may grow over those that do not.
fn put_torn(content: &mut Vec<u8>, offset: usize, data: &[u8], random: &mut Random) {
    let end = offset + data.len();
    if content.len() < end && random.below(2) == 0 {
        content.resize(end, 0);
    }
    let mut at = offset;
    while at < end {
        let sector_end = (at / SECTOR_BYTES + 1) * SECTOR_BYTES;
        let next = sector_end.min(end);
        if random.below(2) == 0 {
            put(content, at, &data[at - offset..next - offset]);
        }
        at = next;
    }
}
