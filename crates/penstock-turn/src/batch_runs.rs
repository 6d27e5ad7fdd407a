//! Stretches of a run that belong to one batch each: the same id, places that follow each other, and
//! no header that asks for more than to wait. Which headers those are is the caller's business.

use crate::columns::{Marks, STATUS_LINE, header_lines};
use crate::hub::Hub;
use penstock_wire::Frame;

const ID_BYTES_MAX: usize = 64;
const PLACE_DIGITS_MAX: usize = 9;

/// The headers that make a message one of a batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchNames<'a> {
    pub id: &'a [u8],
    pub place: &'a [u8],
    /// A message with one of these must be looked at; one after the other with a colon behind each.
    pub ends: &'a [u8],
}

/// Messages of one batch, one behind the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchRun<'a> {
    pub start: usize,
    pub end: usize,
    pub id: &'a [u8],
    /// The place of the first one in its batch.
    pub place: u64,
    /// Of subjects, headers and payloads; and the largest headers with their payload.
    pub bytes: usize,
    pub message_bytes_max: usize,
    /// No header matters but those of the batch.
    pub is_plain: bool,
}

struct Part<'a> {
    id: &'a [u8],
    place: u64,
    is_plain: bool,
}

fn is_among(name: &[u8], names: &[u8]) -> bool {
    names.split(|byte| *byte == b':').any(|known| known == name)
}

fn number(text: &[u8]) -> Option<u64> {
    let is_number = (1..=PLACE_DIGITS_MAX).contains(&text.len());
    if !is_number || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digits = text.iter().map(|digit| u64::from(digit - b'0'));
    Some(digits.fold(0, |value, digit| value * 10 + digit))
}

impl Hub {
    /// The stretches of the run `picked[start..end]` that are batches; what is between them is for
    /// the caller to look at.
    #[must_use]
    pub fn batch_runs(
        &self,
        start: usize,
        end: usize,
        names: BatchNames<'_>,
        marks: Marks<'_>,
    ) -> Vec<BatchRun<'_>> {
        let mut runs: Vec<BatchRun<'_>> = Vec::new();
        for position in start..end {
            let Some(frame) = self.picked_frame(position) else {
                continue;
            };
            let Some(part) = self.batch_part(frame, names, marks) else {
                continue;
            };
            let bytes = frame.subject.len() + frame.payload.len();
            match runs.last_mut() {
                Some(run)
                    if run.end == position
                        && run.id == part.id
                        && run.place + (position - run.start) as u64 == part.place =>
                {
                    run.end += 1;
                    run.bytes += bytes;
                    run.message_bytes_max = run.message_bytes_max.max(frame.payload.len());
                    run.is_plain &= part.is_plain;
                }
                _ => runs.push(BatchRun {
                    start: position,
                    end: position + 1,
                    id: part.id,
                    place: part.place,
                    bytes,
                    message_bytes_max: frame.payload.len(),
                    is_plain: part.is_plain,
                }),
            }
        }
        runs
    }

    fn batch_part(
        &self,
        frame: &Frame,
        names: BatchNames<'_>,
        marks: Marks<'_>,
    ) -> Option<Part<'_>> {
        let headers = self.headers_of(frame);
        let is_small = frame.payload.len() <= marks.message_bytes_max
            && headers.len() <= marks.header_bytes_max;
        if !is_small || !headers.starts_with(STATUS_LINE) {
            return None;
        }
        let (mut id, mut place, mut is_plain) = (None, None, true);
        for (name, value) in header_lines(headers) {
            if !name.starts_with(marks.prefix) {
                continue;
            }
            if name == names.id {
                id = id.or(Some(value)); // of several the first counts
            } else if name == names.place {
                place = place.or(Some(value));
            } else if is_among(name, names.ends) {
                return None;
            } else if !is_among(name, marks.harmless) {
                is_plain = false;
            }
        }
        let id = id.filter(|id| (1..=ID_BYTES_MAX).contains(&id.len()))?;
        let place = number(place?)?;
        Some(Part {
            id,
            place,
            is_plain,
        })
    }
}
