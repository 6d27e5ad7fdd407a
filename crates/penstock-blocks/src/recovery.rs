//! Opening a store: from the index where it is whole and fits the blocks, else from the blocks
//! alone. Whatever is damaged or missing is reported, and nothing else is given up.
//!
//! Strategy: blocks are scanned from the last to the first. A removal is always noted behind the
//! message it is about, so when a message is met, it is known whether it is alive, and nothing has
//! to be taken back.

use crate::block::{Block, Loaded};
use crate::cache::Cache;
use crate::error::Result;
use crate::files::Files;
use crate::index::NO_SUBJECT;
use crate::index_file::{self, Body, Head, IndexFile};
use crate::note::Range;
use crate::record::{BlockKey, Record};
use crate::scan::{Damage, Scan, scan};
use crate::sequences::{Bits, Removed};
use crate::store::{Options, Store};
use penstock_disk::Disk;
use penstock_wire::lifetime;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexCondition {
    /// There was nothing at all: a new store.
    #[default]
    New,
    Used,
    /// Made without the subject table, which takes a scan.
    Partial,
    Missing,
    Damaged,
    /// Of another stream.
    Foreign,
    /// It does not fit the blocks, or is older than what the log can replay.
    Stale,
}

/// What was found on opening.
#[derive(Clone, Debug, Default)]
pub struct Recovery {
    /// The log entry up to which everything is in. Without it, entries must be replayed from the
    /// first, passing over appends of sequences that are there already.
    pub mark: Option<u64>,
    pub index: IndexCondition,
    /// Where parts of the index begin that do not verify, though it may have been used.
    pub index_flaws: Vec<u64>,
    /// Sequences whose records are damaged or missing, and those of them that an earlier opening
    /// knew of.
    pub lost: Vec<Range>,
    pub lost_before: Vec<Range>,
    pub lost_bytes: u64,
    /// Cut from the end of the last block: a write that did not get through.
    pub tail_bytes: u64,
    /// The block that they were in, and its length without them.
    pub tail: (u32, u64),
    /// Cut back to the checkpoint; the log has it.
    pub cut_bytes: u64,
    /// Blocks found under another's name, and put back: from, to.
    pub moved: Vec<(u32, u32)>,
    /// Files among the blocks in which nothing verifies. They are left alone.
    pub unreadable: Vec<String>,
    /// A length is damaged in these blocks and it is not known whose.
    pub suspicious: Vec<String>,
}

pub(crate) struct Opening {
    pub store: Store,
    pub report: Recovery,
    pub removed: Removed,
    /// Of them, what was to be overwritten.
    erased: Bits,
    pub damage: Vec<(u32, Damage)>,
    /// Records from here on are older copies of what later blocks have.
    ceiling: u64,
    latest_ns: i64,
    highest: u64,
}

impl Store {
    /// Opens the store of a stream, or makes a new one.
    pub fn open(
        disk: Arc<dyn Disk>,
        directory: &str,
        name: &str,
        options: Options,
    ) -> Result<(Store, Recovery)> {
        let files = Files::new(disk, directory)?;
        let cache = Cache::new(options.cache_bytes_max);
        let mut opening = Opening {
            store: Store::empty(name, options, cache, Some(files)),
            report: Recovery::default(),
            removed: Removed::default(),
            erased: Bits::default(),
            damage: Vec::new(),
            ceiling: u64::MAX,
            latest_ns: 0,
            highest: 0,
        };
        opening.run()?;
        let Opening {
            mut store,
            mut report,
            ..
        } = opening;
        report.lost.clone_from(&store.lost);
        report.lost_bytes = store.lost_bytes;
        store.removals.clear();
        store.erasures.sort_unstable();
        store.erasures.dedup();
        store.erasures_noted = store.erasures.len();
        if let Some(files) = &mut store.files {
            files.sync_files()?;
        }
        Ok((store, report))
    }
}

impl Opening {
    pub fn files(&mut self) -> Result<&mut Files> {
        let missing = || std::io::Error::other("a store without files cannot be opened");
        Ok(self.store.files.as_mut().ok_or_else(missing)?)
    }

    fn run(&mut self) -> Result<()> {
        let content = self.files()?.read_index()?;
        let (numbers, _) = self.files()?.numbers()?;
        let decoded = content.map(|content| {
            let decoded = index_file::decode(&content, &self.store.name);
            self.report.index_flaws = index_file::flaws(&content, &decoded);
            decoded
        });
        let is_useful = matches!(decoded, Some(IndexFile::Whole(..) | IndexFile::HeadOnly(_)));
        if self.store.options.is_all_logged && !is_useful {
            return self.begin_again(&numbers);
        }
        let (head, body) = match decoded {
            None if numbers.is_empty() => return self.begin(),
            None => self.without_index(IndexCondition::Missing),
            Some(IndexFile::Damaged) => self.without_index(IndexCondition::Damaged),
            Some(IndexFile::Foreign) => self.without_index(IndexCondition::Foreign),
            Some(IndexFile::HeadOnly(head)) => {
                self.report.index = IndexCondition::Damaged;
                (Some(head), None)
            }
            Some(IndexFile::Whole(head, body)) => (Some(head), Some(body)),
        };
        let head = head.filter(|head| self.is_replayable(head));
        self.report.mark = head.map(|head| head.mark);
        if let (Some(head), Some(from)) = (&head, self.store.options.replayable_from) {
            self.files()?.is_new |= head.mark < from; // what `begin` wrote
            self.cut(head, &numbers)?;
        }
        self.highest = head.map_or(0, |head| head.last);
        if let Some(body) = &body {
            self.report.lost_before.clone_from(&body.lost);
        }
        match (head, body) {
            (Some(head), Some(body)) if self.fits(&body)? => self.adopt(&head, *body)?,
            (_, body) => self.rebuild(body)?,
        }
        self.settle()
    }

    fn without_index(&mut self, condition: IndexCondition) -> (Option<Head>, Option<Box<Body>>) {
        self.report.index = condition;
        (None, None)
    }

    /// A new store. With a log, its emptiness is a checkpoint.
    fn begin(&mut self) -> Result<()> {
        if let Some(from) = self.store.options.replayable_from {
            let mark = from.saturating_sub(1);
            self.report.mark = Some(mark);
            self.files()?.is_new = true;
            self.store.write_first_index(mark)?;
        }
        Ok(())
    }

    /// The power failed before the first checkpoint, and some of the files reached the disk.
    fn begin_again(&mut self, numbers: &[u32]) -> Result<()> {
        self.report.index_flaws.clear();
        for number in numbers {
            self.report.cut_bytes += self.files()?.length(*number)?;
            self.files()?.remove(*number)?;
        }
        self.begin()
    }

    /// False if the log begins after the checkpoint: what is missing between could not be had.
    fn is_replayable(&mut self, head: &Head) -> bool {
        let from = self.store.options.replayable_from;
        let replayable = from.is_none_or(|from| head.mark.saturating_add(1) >= from);
        if !replayable {
            self.report.index = IndexCondition::Stale;
        }
        replayable
    }

    /// Takes back what was written after the checkpoint.
    fn cut(&mut self, head: &Head, numbers: &[u32]) -> Result<()> {
        for number in numbers.iter().rev() {
            let length = self.files()?.length(*number)?;
            if *number > head.tail_number {
                self.report.cut_bytes += length;
                self.files()?.remove(*number)?;
            } else if *number == head.tail_number && length > head.tail_length {
                self.report.cut_bytes += length - head.tail_length;
                self.files()?.truncate(*number, head.tail_length)?;
            }
        }
        self.files()?.sync_files()
    }

    /// True if the blocks are those the index was made of.
    fn fits(&mut self, body: &Body) -> Result<bool> {
        let (numbers, _) = self.files()?.numbers()?;
        for (position, block) in body.blocks.iter().enumerate() {
            let is_last = position + 1 == body.blocks.len();
            let is_there = numbers.binary_search(&block.number).is_ok();
            let fits = !is_there && block.length == 0
                || is_there && {
                    let length = self.files()?.length(block.number)?;
                    (length == block.length || is_last && length > block.length)
                        && (length == 0 || self.begins_well(block.number, block.number)?)
                };
            if !fits {
                self.report.index = IndexCondition::Stale;
                return Ok(false);
            }
        }
        self.report.index = IndexCondition::Used;
        if body.subjects.is_none() {
            self.report.index = IndexCondition::Partial;
        }
        Ok(body.subjects.is_some())
    }

    /// True if the first record of a file verifies as one of block `number`.
    pub fn begins_well(&mut self, file: u32, number: u32) -> Result<bool> {
        let mut head = [0; 4];
        self.files()?.read_at(file, 0, &mut head)?;
        let total = u32::from_le_bytes(head) as usize & (i32::MAX as usize);
        let mut record = vec![0; total.min(crate::record::RECORD_BYTES_MAX)];
        let length = self.files()?.read_at(file, 0, &mut record)?;
        let key = BlockKey::new(&self.store.name, number);
        Ok(Record::verified(&record[..length], &key).is_some())
    }

    /// Takes the index for granted and scans what came after it.
    fn adopt(&mut self, head: &Head, body: Body) -> Result<()> {
        let (numbers, _) = self.files()?.numbers()?;
        let store = &mut self.store;
        (store.messages, store.bytes) = (body.messages, body.bytes);
        (store.first, store.last, store.first_noted) = (body.first, head.last, body.first);
        store.last_timestamp_ns = body.last_timestamp_ns;
        (store.lost, store.lost_bytes) = (body.lost, body.lost_bytes);
        (store.erasures, store.unreadable) = (body.erasures, body.unreadable);
        store.subjects = body.subjects.unwrap_or_default();
        store.lifetimes_found = body.lifetimes.map(|rows| (rows, head.last + 1));
        store.blocks = body.blocks.into();
        self.latest_ns = body.last_timestamp_ns;
        self.removed.insert((1, body.first - 1));
        for number in numbers.iter().filter(|number| **number < head.tail_number) {
            let known = self
                .store
                .blocks
                .binary_search_by_key(number, |block| block.number);
            if known.is_err() && !self.store.unreadable.contains(number) {
                self.files()?.remove(*number)?; // its removal was not durable
            }
        }
        self.scan_newer(head, &numbers)
    }

    fn scan_newer(&mut self, head: &Head, numbers: &[u32]) -> Result<()> {
        let mut found: Vec<Block> = Vec::new();
        for number in numbers
            .iter()
            .rev()
            .take_while(|number| **number > head.tail_number)
        {
            found.extend(self.absorb(*number, None, found.is_empty())?);
        }
        let has_grown = numbers.contains(&head.tail_number)
            && self.files()?.length(head.tail_number)? > head.tail_length;
        if has_grown && let Some(base) = self.store.blocks.pop_back() {
            let grown = self.absorb(head.tail_number, Some(base), found.is_empty())?;
            self.store.blocks.extend(grown);
        }
        let base_blocks = self.store.blocks.len();
        self.store.blocks.extend(found.into_iter().rev());
        self.order_empty_blocks();
        self.store.last = self.highest.max(self.removed.highest);
        self.remove_from_base(head.last)?;
        self.report_lost(base_blocks);
        Ok(())
    }

    /// Applies removals noted after the index to the messages the index has.
    fn remove_from_base(&mut self, last: u64) -> Result<()> {
        let below = self.removed.below.min(last + 1);
        if below > self.store.first {
            self.store.remove_below(below)?;
        }
        let erased = self.erased.ranges().into_iter().flat_map(|(a, b)| a..=b);
        let erased = erased.filter(|sequence| *sequence <= last);
        self.store.erasures.extend(erased); // it does not matter if some are overwritten
        for (first, end) in self.removed.ranges() {
            self.store.remove_range(first, end.min(last))?;
        }
        Ok(())
    }

    /// Scans all blocks. What an index says of removals is true even if it does not fit.
    fn rebuild(&mut self, body: Option<Box<Body>>) -> Result<()> {
        let mut indexed = Vec::new();
        if let Some(body) = body {
            indexed.extend(
                body.blocks
                    .iter()
                    .map(|b| (b.number, b.length, b.first, b.last)),
            );
            self.removed.insert((1, body.first - 1));
            let mut last = body.first - 1;
            for block in &body.blocks {
                self.removed.insert((last + 1, block.first - 1));
                block
                    .deleted
                    .ranges()
                    .into_iter()
                    .for_each(|range| self.removed.insert(range));
                last = last.max(block.last);
            }
            self.removed.insert((last + 1, self.highest));
            (self.store.erasures, self.store.lost) = (body.erasures, body.lost);
            self.latest_ns = body.last_timestamp_ns;
        }
        self.put_back_moved()?;
        let (numbers, _) = self.files()?.numbers()?;
        let mut found: Vec<Block> = Vec::new();
        for number in numbers.iter().rev() {
            found.extend(self.absorb(*number, None, found.is_empty())?);
        }
        self.store.blocks = found.into_iter().rev().collect();
        self.order_empty_blocks();
        self.excuse_rewritten(&indexed);
        self.store.last = self.highest.max(self.removed.highest);
        self.report_lost(0);
        Ok(())
    }

    /// A block without messages stands between its neighbours.
    fn order_empty_blocks(&mut self) {
        let mut last = 0;
        for block in &mut self.store.blocks {
            if block.records == 0 {
                (block.first, block.last) = (last + 1, last);
            }
            last = block.last;
        }
    }

    /// Scans one block, or what follows in it behind `base`, and counts what is alive.
    fn absorb(&mut self, number: u32, base: Option<Block>, is_last: bool) -> Result<Option<Block>> {
        let data = self.files()?.read(number)?;
        let key = BlockKey::new(&self.store.name, number);
        let is_new = base.is_none();
        let mut block = base.unwrap_or_else(|| Block::new(number, 0));
        block.parts.clear(); // they would not tell of what follows
        let mut found = scan(&data, block.length as usize, block.framing, &key, None);
        if is_new && found.end == 0 && data.len() >= crate::record::EMPTY_BYTES {
            self.leave_unreadable(number)?;
            return Ok(None);
        }
        found
            .removals
            .iter()
            .for_each(|range| self.removed.insert(*range));
        found
            .erasures
            .iter()
            .for_each(|range| self.erased.insert_range(*range));
        let garbage = (data.len() - found.end) as u64;
        if is_last && garbage > 0 {
            found.damage.pop();
            self.report.tail_bytes += garbage;
            self.report.tail = (number, found.end as u64);
            self.files()?.truncate(number, found.end as u64)?;
        }
        for damage in &found.damage {
            self.find_torn_erasures(damage);
            let after = damage.after.or((block.records > 0).then_some(block.last));
            self.damage.push((number, Damage { after, ..*damage }));
        }
        if found.framing_unexplained {
            let path = self.files()?.block_path(number);
            self.report.suspicious.push(path);
        }
        self.latest_ns = self.latest_ns.max(found.latest_ns);
        self.highest = self.highest.max(found.highest).max(found.last_told);
        block.length = if is_last { found.end } else { data.len() } as u64;
        block.framing = found.framing;
        block.sealed = found.sealed;
        block.note_bytes += found.note_bytes;
        self.count(&mut block, &mut found, &data);
        self.summarize(&mut block, found, data, is_last);
        Ok(Some(block))
    }

    /// What is damaged may be an erased record that was being overwritten.
    fn find_torn_erasures(&mut self, damage: &Damage) {
        let (after, before) = (damage.after.unwrap_or(0), damage.before.unwrap_or(u64::MAX));
        for (first, last) in self.erased.ranges() {
            let torn = first.max(after + 1)..=last.min(before - 1);
            self.store.erasures.extend(torn);
        }
    }

    fn leave_unreadable(&mut self, number: u32) -> Result<()> {
        let path = self.files()?.block_path(number);
        self.report.unreadable.push(path);
        self.store.unreadable.push(number);
        Ok(())
    }

    fn count(&mut self, block: &mut Block, found: &mut Scan, data: &[u8]) {
        found.index.truncate(found.index.at_or_after(self.ceiling));
        let (mut previous, mut id) = (&[][..], NO_SUBJECT);
        for ordinal in 0..found.index.len() {
            let (sequence, place) = (found.index.sequence(ordinal), found.index.place(ordinal));
            let Some(record) = Record::decode(&data[place.offset as usize..]) else {
                continue;
            };
            block.appended(sequence, record.timestamp_ns, u64::from(place.bytes), 0);
            block.has_headers |= !record.headers.is_empty();
            block.has_lifetimes |= lifetime::find(record.headers).is_some();
            if self.removed.contains(sequence) {
                block.messages -= 1;
                block.bytes -= u64::from(place.bytes);
                block.deleted.insert(sequence);
                if self.erased.contains(sequence) {
                    self.store.erasures.push(sequence);
                }
                continue;
            }
            if id == NO_SUBJECT || record.subject != previous {
                (previous, id) = (record.subject, self.store.subjects.intern(record.subject));
            }
            found.index.set_subject(ordinal, id);
            self.store.subjects.found(id, sequence);
            self.store.messages += 1;
            self.store.bytes += u64::from(place.bytes);
        }
        if found.index.len() > 0 {
            self.ceiling = found.index.sequence(0);
        }
    }

    /// Keeps what is needed later: of a sealed block its summary, of the last one everything.
    fn summarize(&mut self, block: &mut Block, found: Scan, mut data: Vec<u8>, is_last: bool) {
        data.truncate(found.end);
        let is_whole = block.records == found.index.len() as u64;
        let loaded = Loaded {
            index: found.index,
            written: data.len(),
            data,
            removals: found.removals,
            has_damage: !found.damage.is_empty(),
            ..Loaded::default()
        };
        if block.sealed && is_whole {
            block.summarize(&loaded, &self.store.subjects, 0);
            if !found.damage.is_empty() {
                block.parts.clear(); // nobody knows whether the lengths in them are right
            }
        }
        if is_last && is_whole {
            self.store.cache.insert(block.number, loaded);
        }
    }

    /// First and last, when everything is counted.
    fn settle(&mut self) -> Result<()> {
        let store = &mut self.store;
        store.last_timestamp_ns = self.latest_ns.max(store.last_timestamp_ns);
        store.first = store
            .first
            .max(self.removed.below)
            .max(1)
            .min(store.last + 1);
        let first = store.first;
        store.advance_first(first)?;
        store.first_noted = store.first;
        Ok(())
    }
}
