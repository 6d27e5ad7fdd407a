//! The index file: the state of a store at a checkpoint, so that opening need not scan.
//!
//! It is a cache and believed only whole: `head | body | head`, each with its hash. The head says
//! where the checkpoint is and stands twice, because without it nobody knows what to cut after a
//! crash; the body is worth a scan and stands once.

use crate::block::{Block, Part};
use crate::bloom::{self, Bloom};
use crate::lifetimes::Lifetimes;
use crate::note::Range;
use crate::record::{BlockKey, word};
use crate::store::Store;
use crate::subjects::Subjects;

const MAGIC: u64 = u64::from_le_bytes(*b"penstix1");
const SUBJECTS_ALWAYS_MAX: usize = 10_000; // tables up to this are in every index, not the last only
const HEAD_WORDS: usize = 6;
const HEAD_BYTES: usize = (HEAD_WORDS + 1) * 8;

// Beside the number of a block. An index from before there were the second and the third bit has
// headers and lifetimes everywhere, which only costs a look.
const SEALED: u64 = 1 << 32;
const WITHOUT_HEADERS: u64 = 1 << 33;
const WITHOUT_LIFETIMES: u64 = 1 << 34;
const LIFETIMES_ALWAYS_MAX: usize = 100_000; // more are in the last index only; blocks have them

/// Where a checkpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The caller's log entry.
    pub mark: u64,
    pub tail_number: u32,
    pub tail_length: u64,
    pub last: u64,
}

#[derive(Default)]
pub(crate) struct Body {
    pub first: u64,
    pub last_timestamp_ns: i64,
    pub messages: u64,
    pub bytes: u64,
    pub unreadable: Vec<u32>,
    pub lost_bytes: u64,
    pub lost: Vec<Range>,
    pub erasures: Vec<u64>,
    pub blocks: Vec<Block>,
    pub subjects: Option<Subjects>,
    /// Sequences and ends of messages with a lifetime, if somebody wanted to know them.
    pub lifetimes: Option<Vec<(u64, i64)>>,
}

pub(crate) enum IndexFile {
    Damaged,
    /// Of another stream.
    Foreign,
    /// The body does not verify.
    HeadOnly(Head),
    Whole(Head, Box<Body>),
}

fn key() -> BlockKey {
    BlockKey::of(b"penstock index")
}

pub(crate) fn encode(store: &Store, mark: u64, closing: bool) -> Vec<u8> {
    let tail = store.blocks.back();
    let head = Head {
        mark,
        tail_number: tail.map_or(0, |block| block.number),
        tail_length: tail.map_or(0, |block| block.length),
        last: store.last,
    };
    let mut out = encode_head(&head, &store.name);
    let start = out.len();
    encode_body(store, &head, closing, &mut out);
    let hash = key().hash(&[&out[start..]]);
    put(&mut out, hash);
    out.extend(encode_head(&head, &store.name));
    out
}

fn encode_head(head: &Head, name: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEAD_BYTES);
    let name = bloom::hash(name.as_bytes());
    let tail = u64::from(head.tail_number);
    for word in [MAGIC, name, head.mark, tail, head.tail_length, head.last] {
        put(&mut out, word);
    }
    let hash = key().hash(&[&out]);
    put(&mut out, hash);
    out
}

fn encode_body(store: &Store, head: &Head, closing: bool, out: &mut Vec<u8>) {
    let with_subjects = closing || store.subjects.len() <= SUBJECTS_ALWAYS_MAX;
    put(out, head.mark);
    put(out, store.first);
    put(out, store.last_timestamp_ns.cast_unsigned());
    put(out, store.messages);
    put(out, store.bytes);
    put(out, store.lost_bytes);
    put_ranges(out, &store.lost);
    put_words(
        out,
        &[&store.erasures[..], &store.underway.erasures[..]].concat(),
    );
    put_words(
        out,
        &store
            .unreadable
            .iter()
            .map(|number| u64::from(*number))
            .collect::<Vec<_>>(),
    );
    put(out, store.blocks.len() as u64);
    for block in &store.blocks {
        encode_block(block, out);
    }
    put(out, u64::from(with_subjects));
    if with_subjects {
        put(out, store.subjects.len() as u64);
        for id in store.subjects.ids() {
            let (subject, key) = (store.subjects.get(id), store.subjects.key(id));
            let bounds = u64::from(subject.first_is_bound) | u64::from(subject.last_is_bound) << 1;
            put(out, key.len() as u64 | bounds << 32);
            out.extend_from_slice(key);
            put(out, subject.count);
            put(out, subject.first);
            put(out, subject.last);
        }
    }
    encode_lifetimes(store, closing, out);
}

fn encode_lifetimes(store: &Store, closing: bool, out: &mut Vec<u8>) {
    let few = |lifetimes: &&Lifetimes| closing || lifetimes.len() <= LIFETIMES_ALWAYS_MAX;
    let Some(lifetimes) = store.lifetimes.as_ref().filter(few) else {
        return put(out, 0);
    };
    put(out, 1);
    put(out, lifetimes.len() as u64);
    for (sequence, end_ns) in lifetimes.rows() {
        put(out, sequence);
        put(out, end_ns.cast_unsigned());
    }
}

fn encode_block(block: &Block, out: &mut Vec<u8>) {
    let flag = |flag: u64, is_set: bool| if is_set { flag } else { 0 };
    let flags = flag(SEALED, block.sealed)
        | flag(WITHOUT_HEADERS, !block.has_headers)
        | flag(WITHOUT_LIFETIMES, !block.has_lifetimes);
    let words = [
        u64::from(block.number) | flags,
        block.first,
        block.last,
        block.first_timestamp_ns.cast_unsigned(),
        block.last_timestamp_ns.cast_unsigned(),
        block.records,
        block.messages,
        block.bytes,
        block.length,
        block.framing,
        block.note_bytes,
    ];
    words.iter().for_each(|word| put(out, *word));
    put_ranges(out, &block.deleted.ranges());
    put_words(out, block.bloom.words());
    put(out, block.parts.len() as u64);
    for part in &block.parts {
        put(out, part.first);
        put(out, u64::from(part.offset));
        put(out, part.framing);
    }
}

fn put(out: &mut Vec<u8>, word: u64) {
    out.extend_from_slice(&word.to_le_bytes());
}

fn put_words(out: &mut Vec<u8>, words: &[u64]) {
    put(out, words.len() as u64);
    words.iter().for_each(|word| put(out, *word));
}

fn put_ranges(out: &mut Vec<u8>, ranges: &[Range]) {
    put(out, ranges.len() as u64);
    for (first, last) in ranges {
        put(out, *first);
        put(out, *last);
    }
}

pub(crate) fn decode(content: &[u8], name: &str) -> IndexFile {
    let end = content.len().saturating_sub(HEAD_BYTES);
    let heads = [&content[..content.len().min(HEAD_BYTES)], &content[end..]];
    let Some((head, of)) = heads.iter().find_map(|bytes| decode_head(bytes)) else {
        return IndexFile::Damaged;
    };
    if of != bloom::hash(name.as_bytes()) {
        return IndexFile::Foreign;
    }
    match content
        .get(HEAD_BYTES..end)
        .and_then(|bytes| verified_body(bytes, &head))
    {
        Some(body) => IndexFile::Whole(head, Box::new(body)),
        None => IndexFile::HeadOnly(head),
    }
}

/// Where the parts begin that do not verify, as `decode` has found.
pub(crate) fn flaws(content: &[u8], decoded: &IndexFile) -> Vec<u64> {
    let end = content.len().saturating_sub(HEAD_BYTES);
    let heads = [&content[..content.len().min(HEAD_BYTES)], &content[end..]];
    let parts = [
        (0, decode_head(heads[0]).is_some()),
        (
            HEAD_BYTES as u64,
            matches!(decoded, IndexFile::Whole(..) | IndexFile::Foreign),
        ),
        (end as u64, decode_head(heads[1]).is_some()),
    ];
    let flawed = parts.iter().filter(|(_, is_whole)| !is_whole);
    flawed.map(|(offset, _)| *offset).collect()
}

fn decode_head(bytes: &[u8]) -> Option<(Head, u64)> {
    if bytes.len() != HEAD_BYTES || word(bytes, 0) != MAGIC {
        return None;
    }
    let hashed = HEAD_WORDS * 8;
    if key().hash(&[&bytes[..hashed]]) != word(bytes, hashed) {
        return None;
    }
    let head = Head {
        mark: word(bytes, 16),
        tail_number: u32::try_from(word(bytes, 24)).ok()?,
        tail_length: word(bytes, 32),
        last: word(bytes, 40),
    };
    Some((head, word(bytes, 8)))
}

fn verified_body(bytes: &[u8], head: &Head) -> Option<Body> {
    let (body, hash) = bytes.split_at_checked(bytes.len().checked_sub(8)?)?;
    if key().hash(&[body]) != word(hash, 0) {
        return None;
    }
    let mut reader = Reader { bytes: body };
    (reader.word()? == head.mark).then_some(())?;
    decode_body(&mut reader)
}

fn decode_body(reader: &mut Reader<'_>) -> Option<Body> {
    let mut body = Body {
        first: reader.word()?,
        last_timestamp_ns: reader.word()?.cast_signed(),
        messages: reader.word()?,
        bytes: reader.word()?,
        lost_bytes: reader.word()?,
        lost: reader.ranges()?,
        ..Body::default()
    };
    body.erasures = reader.words()?;
    body.unreadable = reader
        .words()?
        .iter()
        .map(|number| *number as u32)
        .collect();
    let blocks = reader.word()?;
    body.blocks = (0..blocks)
        .map(|_| decode_block(reader))
        .collect::<Option<_>>()?;
    if reader.word()? != 0 {
        body.subjects = Some(decode_subjects(reader)?);
    }
    if reader.word().unwrap_or(0) != 0 {
        let rows = reader.ranges()?; // they look the same: pairs of numbers
        let rows = rows.into_iter().map(|row| (row.0, row.1.cast_signed()));
        body.lifetimes = Some(rows.collect());
    }
    Some(body)
}

fn decode_block(reader: &mut Reader<'_>) -> Option<Block> {
    let number = reader.word()?;
    let mut block = Block {
        number: number as u32,
        sealed: number & SEALED != 0,
        has_headers: number & WITHOUT_HEADERS == 0,
        has_lifetimes: number & WITHOUT_LIFETIMES == 0,
        first: reader.word()?,
        last: reader.word()?,
        first_timestamp_ns: reader.word()?.cast_signed(),
        last_timestamp_ns: reader.word()?.cast_signed(),
        records: reader.word()?,
        messages: reader.word()?,
        bytes: reader.word()?,
        length: reader.word()?,
        framing: reader.word()?,
        note_bytes: reader.word()?,
        ..Block::default()
    };
    for range in reader.ranges()? {
        block.deleted.insert_range(range);
    }
    block.bloom = Bloom::from_words(reader.words()?);
    let parts = reader.word()?;
    block.parts = (0..parts).map(|_| reader.part()).collect::<Option<_>>()?;
    Some(block)
}

fn decode_subjects(reader: &mut Reader<'_>) -> Option<Subjects> {
    let mut subjects = Subjects::default();
    let count = reader.word()?;
    subjects.reserve(count as usize);
    for _ in 0..count {
        let length = reader.word()?;
        let id = subjects.intern(reader.take(length as u32 as usize)?);
        let subject = subjects.get_mut(id);
        subject.first_is_bound = length >> 32 & 1 != 0;
        subject.last_is_bound = length >> 33 & 1 != 0;
        subject.count = reader.word()?;
        subject.first = reader.word()?;
        subject.last = reader.word()?;
    }
    Some(subjects)
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    fn word(&mut self) -> Option<u64> {
        self.take(8).map(|bytes| word(bytes, 0))
    }

    fn part(&mut self) -> Option<Part> {
        Some(Part {
            first: self.word()?,
            offset: u32::try_from(self.word()?).ok()?,
            framing: self.word()?,
        })
    }

    fn words(&mut self) -> Option<Vec<u64>> {
        let count = self.word()?;
        (0..count).map(|_| self.word()).collect()
    }

    fn ranges(&mut self) -> Option<Vec<Range>> {
        let count = self.word()?;
        (0..count)
            .map(|_| Some((self.word()?, self.word()?)))
            .collect()
    }
}
