//! The store of one stream: blocks of records, the table of subjects, and what is alive.
//!
//! Strategy: one owner, no locks, no clock. Messages enter the last block, whose bytes are in
//! memory until `write_out`; older blocks are read when needed and forgotten again (`cache`).
//! Removing marks; notes in the last block say so to a later opening. A memory store is the same
//! without files: nothing is forgotten and nothing noted.
//!
//! Invariant: a record is alive if its sequence is at least `first` and not in its block's
//! `deleted`; `messages`, `bytes` and the subject table count exactly those.

use crate::block::{Block, Loaded};
use crate::cache::Cache;
use crate::checkpoint::Underway;
use crate::error::{Error, Result};
use crate::files::Files;
use crate::index::Place;
use crate::lifetimes::Lifetimes;
use crate::note::{self, Range, Seal};
use crate::record::{self, BlockKey, Content, RECORD_BYTES_MAX, SEQUENCE_MAX};
use crate::subjects::Subjects;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub struct Options {
    /// A block is sealed before it would grow beyond this.
    pub block_bytes_max: usize,
    /// For the contents of blocks that are not the last.
    pub cache_bytes_max: usize,
    /// The first entry the commit log can replay. Blocks are cut back to a checkpoint made at
    /// that entry or later; without a log they keep what was written after it.
    pub replayable_from: Option<u64>,
    /// The log has everything that was ever in the store. Nothing was made durable before the first
    /// checkpoint, so blocks without an index are passed over.
    pub is_all_logged: bool,
    /// The blocks may be the reference's, which does not seal them.
    pub foreign: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            block_bytes_max: 8 << 20, // as the reference's
            cache_bytes_max: 64 << 20,
            replayable_from: None,
            is_all_logged: false,
            foreign: false,
        }
    }
}

/// What the stream has, as stream info tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub messages: u64,
    pub bytes: u64,
    pub first_sequence: u64,
    pub first_timestamp_ns: i64,
    pub last_sequence: u64,
    pub last_timestamp_ns: i64,
    pub deleted: u64,
    pub subjects: u64,
}

/// A message, valid until the store is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    pub sequence: u64,
    pub timestamp_ns: i64,
    pub subject: &'a [u8],
    pub headers: &'a [u8],
    pub message: &'a [u8],
}

pub struct Store {
    pub(crate) files: Option<Files>,
    pub(crate) name: String,
    pub(crate) options: Options,
    pub(crate) blocks: VecDeque<Block>,
    /// The content of the last block while it grows, and its key (none in memory).
    pub(crate) tail: Option<Loaded>,
    pub(crate) tail_key: Option<BlockKey>,
    pub(crate) cache: Cache,
    /// Sealed blocks that are not all written.
    pub(crate) unwritten: Vec<u32>,
    pub(crate) subjects: Subjects,
    pub(crate) last_subject: u32,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    /// What was appended since somebody asked, though it may be gone again.
    pub(crate) appended_bytes: u64,
    /// The first message's sequence; one above `last` if there is none.
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) last_timestamp_ns: i64,
    /// The `first` that notes tell of, and removed sequences they do not tell of yet.
    pub(crate) first_noted: u64,
    pub(crate) removals: Vec<Range>,
    /// Removed messages whose bytes are to be overwritten.
    pub(crate) erasures: Vec<u64>,
    /// How many of them, from the front, notes tell of.
    pub(crate) erasures_noted: usize,
    /// Of the messages that have one, if somebody wants to know.
    pub(crate) lifetimes: Option<Lifetimes>,
    /// What the index has of them, until somebody does, and up to which sequence.
    pub(crate) lifetimes_found: Option<(Vec<(u64, i64)>, u64)>,
    /// Messages below this one are old, and stay all the same.
    pub(crate) aged: u64,
    pub(crate) underway: Underway,
    /// Subjects appended to since the last `enforce`, where there is a limit for each.
    pub(crate) touched: Option<Vec<u32>>,
    /// The limit that `touched` counts from; under another one all subjects are looked at.
    pub(crate) subject_messages_max: u64,
    pub(crate) lost: Vec<Range>,
    pub(crate) lost_bytes: u64,
    /// Numbers of files that could not be read; they are left alone.
    pub(crate) unreadable: Vec<u32>,
    /// Block and length at the last seal, to seal only what changed.
    pub(crate) sealed_at: (u32, u64),
    pub(crate) scratch: Vec<u8>,
    /// Block of the last single read, and how many there were in a row.
    pub(crate) single_reads: (u32, u32),
}

impl Store {
    #[must_use]
    pub fn in_memory(name: &str, options: Options) -> Store {
        let cache = Cache::new(usize::MAX);
        Store::empty(name, options, cache, None)
    }

    pub(crate) fn empty(name: &str, options: Options, cache: Cache, files: Option<Files>) -> Store {
        Store {
            files,
            name: name.to_owned(),
            options,
            blocks: VecDeque::new(),
            tail: None,
            tail_key: None,
            cache,
            unwritten: Vec::new(),
            subjects: Subjects::default(),
            last_subject: 0,
            messages: 0,
            bytes: 0,
            appended_bytes: 0,
            first: 1,
            last: 0,
            last_timestamp_ns: 0,
            first_noted: 1,
            removals: Vec::new(),
            erasures: Vec::new(),
            erasures_noted: 0,
            lifetimes: None,
            lifetimes_found: None,
            aged: 0,
            underway: Underway::default(),
            touched: None,
            subject_messages_max: 0,
            lost: Vec::new(),
            lost_bytes: 0,
            unreadable: Vec::new(),
            sealed_at: (0, 0),
            scratch: Vec::new(),
            single_reads: (0, 0),
        }
    }

    /// What a message would add to `bytes`.
    #[must_use]
    pub fn counted_bytes(&self, subject: usize, headers: usize, message: usize) -> u64 {
        let count = if self.files.is_some() {
            record::file_bytes
        } else {
            record::memory_bytes
        };
        count(subject, headers, message) as u64
    }

    /// Adds a run of messages with sequences without gaps and one time; answers with the bytes
    /// added. On an error the messages before the one it is about are in.
    pub fn append_run<'a>(
        &mut self,
        items: impl Iterator<Item = (&'a [u8], &'a [u8], &'a [u8])>,
        first_sequence: u64,
        timestamp_ns: i64,
    ) -> Result<u64> {
        let before = self.bytes;
        for (sequence, (subject, headers, message)) in (first_sequence..).zip(items) {
            let content = Content {
                sequence,
                timestamp_ns,
                subject,
                headers,
                message,
            };
            self.append(&content)?;
        }
        Ok(self.bytes - before)
    }

    /// Adds one message. Sequences go up; gaps are allowed.
    #[inline]
    pub fn append(&mut self, content: &Content<'_>) -> Result<()> {
        let sequence = content.sequence;
        if sequence <= self.last || sequence > SEQUENCE_MAX {
            return Err(Error::Order {
                sequence,
                last: self.last,
            });
        }
        let total = content.total();
        if total > RECORD_BYTES_MAX || content.subject.len() > usize::from(u16::MAX) {
            return Err(Error::TooLarge { bytes: total });
        }
        self.make_room(total)?;
        if !self.subjects.is(self.last_subject, content.subject) {
            self.last_subject = self.subjects.intern(content.subject);
        }
        let bytes = match self.files {
            Some(_) => total,
            None => record::memory_bytes(
                content.subject.len(),
                content.headers.len(),
                content.message.len(),
            ),
        };
        let (Some(tail), Some(block)) = (self.tail.as_mut(), self.blocks.back_mut()) else {
            return Ok(()); // make_room has put both there
        };
        if block.records == 0 && sequence > self.last + 1 && self.files.is_some() {
            self.removals.push((self.last + 1, sequence - 1)); // else a block seems to be missing
        }
        let offset = tail.data.len();
        content.encode(&mut tail.data, self.tail_key.as_ref());
        let subject = self.last_subject;
        tail.index.push(
            sequence,
            Place {
                offset: offset as u32,
                bytes: bytes as u32,
                subject,
            },
        );
        let lengths = crate::framing::lengths(content.subject.len(), content.headers.len());
        let framing = crate::framing::of_record(offset, total, lengths);
        block.appended(sequence, content.timestamp_ns, bytes as u64, framing);
        block.divided(offset, framing);
        block.has_headers |= !content.headers.is_empty();
        block.length = tail.data.len() as u64;
        self.subjects.appended(subject, sequence);
        if let Some(touched) = &mut self.touched
            && touched.last() != Some(&subject)
        {
            touched.push(subject);
        }
        if self.messages == 0 {
            self.first = sequence;
        }
        self.messages += 1;
        self.bytes += bytes as u64;
        self.appended_bytes += bytes as u64;
        self.last = sequence;
        self.last_timestamp_ns = content.timestamp_ns;
        if !content.headers.is_empty() {
            self.note_lifetime(sequence, content.timestamp_ns, content.headers);
        }
        Ok(())
    }

    /// How much was appended since the last time.
    pub fn take_appended_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.appended_bytes)
    }

    /// Sees to it that there is a last block in memory with room for so much more.
    #[inline]
    pub(crate) fn make_room(&mut self, bytes: usize) -> Result<()> {
        let max = self.options.block_bytes_max;
        match &self.tail {
            Some(tail) if tail.data.len() + bytes <= max || tail.data.is_empty() => Ok(()),
            _ => self.open_tail(bytes),
        }
    }

    #[cold]
    fn open_tail(&mut self, bytes: usize) -> Result<()> {
        if self.tail.is_none()
            && let Some(block) = self.blocks.back().filter(|block| !block.sealed)
        {
            let number = block.number;
            self.ensure_data(self.blocks.len() - 1)?;
            self.tail = self.cache.take(number);
            self.tail_key = self
                .files
                .as_ref()
                .map(|_| BlockKey::new(&self.name, number));
        }
        let has_room = |tail: &Loaded| tail.data.len() + bytes <= self.options.block_bytes_max;
        if self
            .tail
            .as_ref()
            .is_some_and(|tail| !has_room(tail) && !tail.data.is_empty())
        {
            self.seal_tail();
        }
        if self.tail.is_none() {
            let known = self.blocks.back().map(|block| block.number);
            let number = known
                .iter()
                .chain(&self.unreadable)
                .max()
                .map_or(1, |number| number + 1);
            self.blocks.push_back(Block::new(number, self.last));
            let mut data = self.cache.take_spare();
            data.clear();
            self.tail = Some(Loaded {
                data,
                ..Loaded::default()
            });
            self.tail_key = self
                .files
                .as_ref()
                .map(|_| BlockKey::new(&self.name, number));
            self.reclaim_memory_at(self.blocks.len().saturating_sub(2));
        }
        Ok(())
    }

    /// Closes the last block; what is not written of it stays pinned in the cache.
    fn seal_tail(&mut self) {
        self.write_seal(true);
        let (Some(mut tail), Some(block)) = (self.tail.take(), self.blocks.back_mut()) else {
            return;
        };
        block.sealed = true;
        block.summarize(&tail, &self.subjects, self.first);
        tail.index.shrink();
        if self.files.is_none() || tail.data.capacity() - tail.data.len() > tail.data.len() / 4 {
            tail.data.shrink_to_fit();
        }
        if self.files.is_some() && tail.is_pinned() {
            self.unwritten.push(block.number);
        }
        let number = block.number;
        self.cache.insert(number, tail);
    }

    /// Seals the last block, if it changed since the last seal or ends here.
    pub(crate) fn write_seal(&mut self, is_final: bool) {
        let (Some(tail), Some(block)) = (self.tail.as_mut(), self.blocks.back_mut()) else {
            return;
        };
        let Some(key) = &self.tail_key else {
            return;
        };
        if is_final || self.sealed_at != (block.number, block.length) {
            let seal = Seal {
                framing: block.framing,
                last: self.last,
                is_final,
            };
            note::write_seal(&mut tail.data, key, self.last_timestamp_ns, seal);
            block.length = tail.data.len() as u64;
            self.sealed_at = (block.number, block.length);
        }
    }

    pub fn state(&mut self) -> Result<State> {
        let (first, messages) = (self.first, self.messages);
        let first_timestamp_ns = self.first_timestamp()?;
        let span = self.last + 1 - first.min(self.last + 1);
        Ok(State {
            messages,
            bytes: self.bytes,
            first_sequence: first,
            first_timestamp_ns,
            last_sequence: self.last,
            last_timestamp_ns: self.last_timestamp_ns,
            deleted: span - messages.min(span),
            subjects: self.subjects.len() as u64,
        })
    }

    /// The last sequence that was stored, or told to be gone.
    #[must_use]
    pub fn last_sequence(&self) -> u64 {
        self.last
    }

    fn first_timestamp(&mut self) -> Result<i64> {
        let position = self.position_of(self.first);
        if self.messages == 0 || position >= self.blocks.len() {
            return Ok(0);
        }
        if self.blocks[position].first == self.first {
            return Ok(self.blocks[position].first_timestamp_ns);
        }
        match self.load(self.first) {
            Ok(message) => Ok(message.map_or(0, |message| message.timestamp_ns)),
            Err(Error::Damaged { .. }) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Ranges of sequences whose records were found damaged or missing, and how many bytes.
    #[must_use]
    pub fn lost(&self) -> (&[Range], u64) {
        (&self.lost, self.lost_bytes)
    }

    /// Bytes held in memory: of subjects, of blocks' contents.
    #[must_use]
    pub fn memory_bytes(&self) -> (usize, usize) {
        let tail = self.tail.as_ref().map_or(0, Loaded::bytes);
        (self.subjects.bytes(), self.cache.bytes() + tail)
    }

    /// True unless it is removed; there may still be no record, where sequences have gaps.
    #[inline]
    pub(crate) fn is_alive(&self, sequence: u64) -> bool {
        if sequence < self.first || sequence > self.last || self.blocks.is_empty() {
            return false;
        }
        let position = self.position_of(sequence);
        match self.blocks.get(position) {
            Some(block) => block.first <= sequence && !block.deleted.contains(sequence),
            None => false,
        }
    }

    /// The position of the first block that reaches this sequence.
    #[inline]
    pub(crate) fn position_of(&self, sequence: u64) -> usize {
        match self.blocks.back() {
            Some(tail) if tail.first <= sequence => self.blocks.len() - 1,
            _ => self.blocks.partition_point(|block| block.last < sequence),
        }
    }
}
