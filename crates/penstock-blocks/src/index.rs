//! Where the messages of one block are: offset, counted bytes and subject of each, by sequence.
//!
//! Strategy: twelve bytes a message. Sequences without gaps are not stored at all; the first gap
//! turns them into a column. The subject is a number of the subject table; it means something
//! only while the message is alive, so nobody looks at it before asking that.

pub(crate) const NO_SUBJECT: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub offset: u32,
    /// As counted in the stream's `bytes`.
    pub bytes: u32,
    pub subject: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Index {
    first: u64,
    sequences: Option<Vec<u64>>,
    places: Vec<Place>,
}

impl Index {
    /// Adds the next message; `sequence` is above all before.
    #[inline]
    pub fn push(&mut self, sequence: u64, place: Place) {
        if self.places.is_empty() {
            self.first = sequence;
            self.sequences = None;
        }
        if let Some(sequences) = &mut self.sequences {
            sequences.push(sequence);
        } else if sequence != self.first + self.places.len() as u64 {
            let mut sequences: Vec<u64> = (self.first..).take(self.places.len()).collect();
            sequences.push(sequence);
            self.sequences = Some(sequences);
        }
        self.places.push(place);
    }

    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    #[inline]
    #[must_use]
    pub fn sequence(&self, ordinal: usize) -> u64 {
        match &self.sequences {
            None => self.first + ordinal as u64,
            Some(sequences) => sequences[ordinal],
        }
    }

    #[inline]
    #[must_use]
    pub fn place(&self, ordinal: usize) -> Place {
        self.places[ordinal]
    }

    /// The ordinal of the first message at or after this sequence; `len` if there is none.
    #[inline]
    #[must_use]
    pub fn at_or_after(&self, sequence: u64) -> usize {
        match &self.sequences {
            None => (sequence.saturating_sub(self.first) as usize).min(self.places.len()),
            Some(sequences) => sequences.partition_point(|known| *known < sequence),
        }
    }

    #[inline]
    #[must_use]
    pub fn find(&self, sequence: u64) -> Option<Place> {
        let ordinal = self.at_or_after(sequence);
        let found = ordinal < self.len() && self.sequence(ordinal) == sequence;
        found.then(|| self.places[ordinal])
    }

    pub fn set_subject(&mut self, ordinal: usize, subject: u32) {
        self.places[ordinal].subject = subject;
    }

    pub fn truncate(&mut self, len: usize) {
        self.places.truncate(len);
        if let Some(sequences) = &mut self.sequences {
            sequences.truncate(len);
        }
    }

    /// Takes one message out, keeping the order of the others.
    pub fn take_out(&mut self, ordinal: usize) {
        let first = self.first;
        let len = self.places.len() as u64;
        let sequences = self
            .sequences
            .get_or_insert_with(|| (first..first + len).collect());
        sequences.remove(ordinal);
        self.places.remove(ordinal);
    }

    pub fn shrink(&mut self) {
        self.places.shrink_to_fit();
        if let Some(sequences) = &mut self.sequences {
            sequences.shrink_to_fit();
        }
    }

    #[must_use]
    pub fn bytes(&self) -> usize {
        let sequences = self.sequences.as_ref().map_or(0, Vec::capacity);
        self.places.capacity() * size_of::<Place>() + sequences * size_of::<u64>()
    }
}
