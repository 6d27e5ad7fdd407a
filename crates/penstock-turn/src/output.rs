//! What waits to be sent to one connection: a queue of pieces, some its own, some shared with
//! other connections, and how long the front of it has been waiting.
//!
//! Strategy: what a connection gets goes into small pieces first, since in a turn of many
//! connections each gets little, and into large ones only behind a full small one. Both kinds are
//! reused, so that no turn allocates or touches fresh memory.
//!
//! Invariant: `bytes` is the sum of the pieces less what was already sent of the first.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Write};
use std::sync::Arc;

const LARGE_BYTES: usize = 128 * 1024; // large enough for few system calls
const LARGE_KEPT: usize = 64; // spare ones: 8 MiB
const LARGE_GROWN: usize = 2 * LARGE_BYTES; // by the last message in it
const SMALL_BYTES: usize = 4 * 1024; // a page: some answers, or the heads of a few deliveries
const SMALL_FULL: usize = SMALL_BYTES / 2; // leaves room for what is written in one go
const SMALL_KEPT: usize = 1024; // spare ones: 4 MiB
const SLICES_MAX: usize = 64; // pieces given to one vectored write
const LEFTOVER_COPIED_MAX: usize = 16 * 1024; // smaller rests move out of their big piece

enum Piece {
    Own(Vec<u8>),
    Shared(Arc<Vec<u8>>),
}

impl Piece {
    fn as_slice(&self) -> &[u8] {
        match self {
            Piece::Own(bytes) => bytes,
            Piece::Shared(bytes) => bytes,
        }
    }
}

/// Spare pieces, reused instead of freed.
#[derive(Default)]
pub struct Pool {
    small: Vec<Vec<u8>>,
    large: Vec<Vec<u8>>,
}

impl Pool {
    fn small(&mut self) -> Vec<u8> {
        let spare = self.small.pop();
        spare.unwrap_or_else(|| Vec::with_capacity(SMALL_BYTES))
    }

    fn large(&mut self) -> Vec<u8> {
        let spare = self.large.pop();
        spare.unwrap_or_else(|| Vec::with_capacity(LARGE_BYTES))
    }

    fn give(&mut self, mut piece: Vec<u8>) {
        let (spare, kept_max) = match piece.capacity() {
            SMALL_BYTES => (&mut self.small, SMALL_KEPT),
            LARGE_BYTES..=LARGE_GROWN => (&mut self.large, LARGE_KEPT),
            _ => return, // grown by a large message
        };
        if spare.len() < kept_max {
            piece.clear();
            spare.push(piece);
        }
    }
}

/// How a flush ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushed {
    Everything,
    Blocked,
}

/// The output of one connection.
#[derive(Default)]
pub struct Output {
    pieces: VecDeque<Piece>,
    sent_of_first: usize,
    bytes: usize,
    sent: u64,
    /// Since when the bytes up to `waiting_for` have been waiting; both 0 when nothing blocks.
    waiting_since_ns: u64,
    waiting_for: u64,
    /// When the socket last took bytes.
    progress_ns: u64,
}

impl Output {
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    #[must_use]
    pub fn progress_ns(&self) -> u64 {
        self.progress_ns
    }

    /// Since when a flush has been blocked, 0 if none is.
    #[must_use]
    pub fn waiting_since_ns(&self) -> u64 {
        self.waiting_since_ns
    }

    /// Appends through `write`, which gets a buffer with room for about so many bytes.
    pub fn append(&mut self, pool: &mut Pool, bytes: usize, write: impl FnOnce(&mut Vec<u8>)) {
        match self.pieces.back() {
            Some(Piece::Own(piece)) if has_room(piece, bytes) => {}
            Some(Piece::Own(_)) => self.pieces.push_back(Piece::Own(pool.large())),
            _ if bytes > SMALL_FULL => self.pieces.push_back(Piece::Own(pool.large())),
            _ => self.pieces.push_back(Piece::Own(pool.small())),
        }
        if let Some(Piece::Own(bytes)) = self.pieces.back_mut() {
            let before = bytes.len();
            write(bytes);
            self.bytes += bytes.len() - before;
        }
    }

    pub fn append_shared(&mut self, bytes: &Arc<Vec<u8>>) {
        self.bytes += bytes.len();
        self.pieces.push_back(Piece::Shared(Arc::clone(bytes)));
    }

    /// Drops everything unsent.
    pub fn clear(&mut self, pool: &mut Pool) {
        while let Some(piece) = self.pieces.pop_front() {
            recycle(pool, piece);
        }
        self.sent_of_first = 0;
        self.bytes = 0;
        self.waiting_since_ns = 0;
    }

    /// Sends as much as `sink` takes without blocking.
    pub fn flush(
        &mut self,
        sink: &mut impl Write,
        pool: &mut Pool,
        now_ns: u64,
    ) -> io::Result<Flushed> {
        while self.bytes > 0 {
            match self.write_once(sink) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.consume(pool, count);
                    self.progress_ns = now_ns;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.note_blocked(pool, now_ns);
                    return Ok(Flushed::Blocked);
                }
                Err(error) => return Err(error),
            }
        }
        self.waiting_since_ns = 0;
        Ok(Flushed::Everything)
    }

    fn write_once(&self, sink: &mut impl Write) -> io::Result<usize> {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let mut count = 0;
        for piece in self.pieces.iter().take(SLICES_MAX) {
            let skip = if count == 0 { self.sent_of_first } else { 0 };
            slices[count] = IoSlice::new(&piece.as_slice()[skip..]);
            count += 1;
        }
        if count == 1 {
            return sink.write(&slices[0]);
        }
        sink.write_vectored(&slices[..count])
    }

    fn consume(&mut self, pool: &mut Pool, mut count: usize) {
        self.bytes -= count;
        self.sent += count as u64;
        while let Some(piece) = self.pieces.front() {
            let left = piece.as_slice().len() - self.sent_of_first;
            if count < left {
                self.sent_of_first += count;
                return;
            }
            count -= left;
            self.sent_of_first = 0;
            if let Some(piece) = self.pieces.pop_front() {
                recycle(pool, piece);
            }
        }
    }

    /// A flush counts as waiting until all that was there when it first blocked has been sent,
    /// so a reader that crawls is as overdue as one that stopped.
    fn note_blocked(&mut self, pool: &mut Pool, now_ns: u64) {
        if self.waiting_since_ns == 0 || self.sent >= self.waiting_for {
            self.waiting_since_ns = now_ns.max(1);
            self.waiting_for = self.sent + self.bytes as u64;
        }
        // A connection that waits with little must not sit on a large piece.
        if self.pieces.len() == 1
            && self.bytes <= LEFTOVER_COPIED_MAX
            && let Some(Piece::Own(bytes)) = self.pieces.front_mut()
        {
            let rest = bytes[self.sent_of_first..].to_vec();
            let big = std::mem::replace(bytes, rest);
            self.sent_of_first = 0;
            pool.give(big);
        }
    }
}

fn recycle(pool: &mut Pool, piece: Piece) {
    if let Piece::Own(bytes) = piece {
        pool.give(bytes);
    }
}

/// A large piece is filled up and over; a small one must not grow.
fn has_room(piece: &Vec<u8>, bytes: usize) -> bool {
    if piece.capacity() < LARGE_BYTES {
        piece.len() + bytes <= SMALL_FULL
    } else {
        piece.len() < LARGE_BYTES
    }
}
