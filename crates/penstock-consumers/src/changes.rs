//! What happened to a ledger since it was last asked, as bytes for a journal.
//!
//! Strategy: facts in the order they became true, each absolute, so that making the same changes
//! again, in order, changes nothing. Deliveries and acknowledgements in a row are one fact. The
//! positions come last, once, whatever happened to them in between.

use crate::ledger::{Ledger, Place, Position, Range};
use crate::varint::{Reader, Writer};

const FORMAT: u64 = 1;
const RUN_MAX: u64 = 1 << 20; // deliveries in one fact; a reader takes no more for true

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// All that was is gone; the list is this one.
    Started(Vec<u64>),
    /// So many deliveries of messages in a row: first sequence, first consumer sequence, since.
    Delivered(u64, u64, u64, i64),
    /// Another delivery: sequence, deliveries, since.
    DeliveredAgain(u64, u64, i64),
    Settled(Range),
    /// At the end of the queue.
    Queued(u64),
    /// Waits since a time; true: out of the queue.
    Waits(u64, i64, bool),
    GivenUp(u64),
    QueueCleared,
    /// So many of the list are left.
    Listed(u64),
    Placed(Place),
}

impl Change {
    fn write(&self, out: &mut Writer) {
        match self {
            Change::Started(listed) => {
                out.number(0);
                out.number(listed.len() as u64);
                listed.iter().for_each(|sequence| out.sequence(*sequence));
            }
            Change::Delivered(count, sequence, consumer, since_ns) => {
                out.number(1);
                out.number(*count);
                out.sequence(*sequence);
                out.number(*consumer);
                out.time(*since_ns);
            }
            Change::DeliveredAgain(sequence, deliveries, since_ns) => {
                out.number(2);
                out.sequence(*sequence);
                out.number(*deliveries);
                out.time(*since_ns);
            }
            Change::Settled((first, last)) => {
                out.number(3);
                out.sequence(*first);
                out.sequence(*last);
            }
            Change::Queued(sequence) => {
                out.number(4);
                out.sequence(*sequence);
            }
            Change::Waits(sequence, since_ns, unqueued) => {
                out.number(if *unqueued { 6 } else { 5 });
                out.sequence(*sequence);
                out.time(*since_ns);
            }
            Change::GivenUp(sequence) => {
                out.number(7);
                out.sequence(*sequence);
            }
            Change::QueueCleared => out.number(8),
            Change::Listed(left) => {
                out.number(9);
                out.number(*left);
            }
            Change::Placed(place) => {
                out.number(10);
                write_place(out, place);
            }
        }
    }

    fn read(from: &mut Reader<'_>) -> Option<Change> {
        Some(match from.number()? {
            0 => {
                let count = from.count(1)?;
                Change::Started((0..count).map(|_| from.sequence()).collect::<Option<_>>()?)
            }
            1 => {
                let count = from.number().filter(|count| *count <= RUN_MAX)?;
                Change::Delivered(count, from.sequence()?, from.positive()?, from.time()?)
            }
            2 => Change::DeliveredAgain(from.sequence()?, from.positive()?, from.time()?),
            3 => Change::Settled((from.sequence()?, from.sequence()?)),
            4 => Change::Queued(from.sequence()?),
            kind @ (5 | 6) => Change::Waits(from.sequence()?, from.time()?, kind == 6),
            7 => Change::GivenUp(from.sequence()?),
            8 => Change::QueueCleared,
            9 => Change::Listed(from.number()?),
            10 => Change::Placed(read_place(from)?),
            _ => return None,
        })
    }
}

pub(crate) fn write_place(out: &mut Writer, place: &Place) {
    for position in [place.delivered, place.floor, place.shown] {
        out.number(position.consumer);
        out.number(position.stream);
    }
    out.number(place.cursor);
}

pub(crate) fn read_place(from: &mut Reader<'_>) -> Option<Place> {
    let mut positions = [Position::default(); 3];
    for position in &mut positions {
        *position = Position {
            consumer: from.number()?,
            stream: from.number()?,
        };
    }
    let [delivered, floor, shown] = positions;
    Some(Place {
        delivered,
        floor,
        shown,
        cursor: from.number()?,
    })
}

/// Number and facts of a buffer; none if it is damaged.
pub(crate) fn read(bytes: &[u8]) -> Option<(u64, Vec<Change>)> {
    let mut from = Reader::new(bytes);
    if from.number()? != FORMAT {
        return None;
    }
    let version = from.number()?;
    let mut changes = Vec::new();
    while !from.is_at_end() {
        changes.push(Change::read(&mut from)?);
    }
    Some((version, changes))
}

/// The recorder.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    written: Writer,
    /// The last fact, while it may still grow.
    open: Option<Change>,
    /// The positions as they were told last.
    told: Place,
}

impl Changes {
    fn close(&mut self) {
        if let Some(change) = self.open.take() {
            change.write(&mut self.written);
        }
    }

    fn add(&mut self, change: Change) {
        self.close();
        self.open = Some(change);
    }

    pub fn started(&mut self, listed: &[u64]) {
        self.add(Change::Started(listed.to_vec()));
    }

    #[inline]
    pub fn delivered(&mut self, sequence: u64, consumer: u64, since_ns: i64) {
        if let Some(Change::Delivered(count, first, first_consumer, since)) = &mut self.open
            && (*first + *count, *first_consumer + *count, *since) == (sequence, consumer, since_ns)
            && *count < RUN_MAX
        {
            *count += 1;
            return;
        }
        self.add(Change::Delivered(1, sequence, consumer, since_ns));
    }

    pub fn delivered_again(&mut self, sequence: u64, deliveries: u64, since_ns: i64) {
        self.add(Change::DeliveredAgain(sequence, deliveries, since_ns));
    }

    #[inline]
    pub fn settled(&mut self, (first, last): Range) {
        if let Some(Change::Settled((_, end))) = &mut self.open
            && *end + 1 == first
        {
            *end = last;
            return;
        }
        self.add(Change::Settled((first, last)));
    }

    pub fn queued(&mut self, sequence: u64) {
        self.add(Change::Queued(sequence));
    }

    pub fn waits(&mut self, sequence: u64, since_ns: i64, unqueued: bool) {
        self.add(Change::Waits(sequence, since_ns, unqueued));
    }

    pub fn given_up(&mut self, sequence: u64) {
        self.add(Change::GivenUp(sequence));
    }

    pub fn queue_cleared(&mut self) {
        self.add(Change::QueueCleared);
    }

    pub fn listed(&mut self, left: usize) {
        let left = left as u64;
        match &mut self.open {
            Some(Change::Listed(known)) => *known = left,
            _ => self.add(Change::Listed(left)),
        }
    }

    /// What was recorded, with the positions as they are, under a number; empty if nothing was.
    fn take(&mut self, version: u64, place: Place) -> Vec<u8> {
        self.close();
        if place != self.told {
            Change::Placed(place).write(&mut self.written);
            self.told = place;
        }
        let facts = std::mem::take(&mut self.written);
        if facts.bytes.is_empty() {
            return Vec::new();
        }
        let mut head = Writer::default();
        head.number(FORMAT);
        head.number(version);
        head.bytes.extend_from_slice(&facts.bytes);
        head.bytes
    }

    /// The positions are known to whoever asks.
    pub fn tell(&mut self, place: Place) {
        self.told = place;
    }
}

impl Ledger {
    /// Everything since the last call as one buffer; empty if nothing changed.
    pub fn take_changes(&mut self) -> Vec<u8> {
        let Some(changes) = &mut self.changes else {
            return Vec::new();
        };
        let bytes = changes.take(self.version + 1, self.place);
        if !bytes.is_empty() {
            self.version += 1;
        }
        bytes
    }
}
