//! Runs the decoder over bytes as a server would: whole, or piece by piece behind what was left
//! of the last piece. Frames come out with their bytes, so that two ways can be compared.

use penstock_wire::{Fault, Frame, Limits, Step, Verb, decode};

/// The longest verb, a blank and a line end: what surrounds the argument of a line.
const AROUND_ARGUMENT_BYTES: usize = 16;

/// A frame with its bytes instead of ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub verb: Verb,
    pub header_bytes: u32,
    pub subject: Vec<u8>,
    pub reply: Vec<u8>,
    pub payload: Vec<u8>,
}

impl Seen {
    pub fn of(frame: &Frame, buffer: &[u8]) -> Seen {
        Seen {
            verb: frame.verb,
            header_bytes: frame.header_bytes,
            subject: frame.subject.of(buffer).to_vec(),
            reply: frame.reply.of(buffer).to_vec(),
            payload: frame.payload.of(buffer).to_vec(),
        }
    }
}

/// Everything a stream of bytes turned into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub frames: Vec<Seen>,
    pub fault: Option<Fault>,
    /// Bytes at the end that are no frame yet; 0 after a fault.
    pub left: usize,
}

/// The decoder with what it has not used yet, and a check of every promise a single step makes.
pub struct Stream<'a> {
    limits: &'a Limits,
    kept: Vec<u8>,
    wanted: usize,
    outcome: Outcome,
}

impl<'a> Stream<'a> {
    pub fn new(limits: &'a Limits) -> Stream<'a> {
        Stream {
            limits,
            kept: Vec::new(),
            wanted: 0,
            outcome: Outcome::default(),
        }
    }

    pub fn feed(&mut self, piece: &[u8]) {
        if self.outcome.fault.is_some() {
            return;
        }
        self.kept.extend_from_slice(piece);
        let mut at = 0;
        loop {
            let rest = &self.kept[at..];
            match decode(rest, self.limits) {
                Step::Frame(frame, taken) => {
                    assert!(taken > 0 && taken <= rest.len(), "took {taken} bytes");
                    assert!(
                        at > 0 || taken >= self.wanted,
                        "a frame of {taken} bytes, though {} were wanted",
                        self.wanted
                    );
                    self.outcome.frames.push(Seen::of(&frame, rest));
                    at += taken;
                }
                Step::Incomplete(wanted) => {
                    assert!(wanted > rest.len(), "wants {wanted} of {}", rest.len());
                    self.check_wait(wanted, rest.len());
                    self.wanted = wanted;
                    break;
                }
                Step::Fault(fault) => {
                    self.outcome.fault = Some(fault);
                    self.kept.clear();
                    return;
                }
            }
        }
        self.kept.drain(..at);
    }

    /// Nothing may make a server keep more than a line and a payload.
    fn check_wait(&self, wanted: usize, held: usize) {
        let line_bytes = 2 * self.limits.control_line_bytes_max + AROUND_ARGUMENT_BYTES;
        let most = line_bytes + self.limits.payload_bytes_max + 2;
        assert!(wanted <= most, "waits for {wanted} bytes with {held} held");
    }

    pub fn finish(mut self) -> Outcome {
        self.outcome.left = self.kept.len();
        self.outcome
    }
}

pub fn decode_whole(bytes: &[u8], limits: &Limits) -> Outcome {
    let mut stream = Stream::new(limits);
    stream.feed(bytes);
    stream.finish()
}

/// `cuts` are lengths of pieces, used again from the first when they run out.
pub fn decode_pieces(bytes: &[u8], cuts: &[usize], limits: &Limits) -> Outcome {
    let mut stream = Stream::new(limits);
    let mut rest = bytes;
    let mut lengths = cuts.iter().cycle();
    while !rest.is_empty() {
        let length = lengths.next().map_or(rest.len(), |cut| (*cut).max(1));
        let (piece, later) = rest.split_at(length.min(rest.len()));
        stream.feed(piece);
        rest = later;
    }
    stream.finish()
}
