//! Requests among the frames of a run.

use crate::hub::Hub;

/// What is asked on which subject, and where the answer goes.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub subject: &'a [u8],
    /// Empty if no answer is wanted.
    pub reply: &'a [u8],
    /// Bytes of the body that are headers.
    pub header_bytes: usize,
    pub body: &'a [u8],
}

impl Hub {
    /// The frame `picked[position]`; none if its connection is gone.
    #[must_use]
    pub fn asked(&self, position: usize) -> Option<Asked<'_>> {
        let frame = self.picked_frame(position)?;
        let bytes = self.vector.bytes();
        Some(Asked {
            subject: frame.subject.of(bytes),
            reply: frame.reply.of(bytes),
            header_bytes: frame.header_bytes as usize,
            body: frame.payload.of(bytes),
        })
    }
}
