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
    /// Where the answers to `picked[start..end]` go, as long as the frames have no headers and the
    /// same body as the first, which is the other part of the answer.
    #[must_use]
    pub fn alike(&self, start: usize, end: usize) -> (Vec<&[u8]>, &[u8]) {
        let body = self.asked(start).map_or(&b""[..], |first| first.body);
        let asked = (start..end).map_while(|position| self.asked(position));
        let alike = asked.take_while(|asked| {
            asked.header_bytes == 0 && asked.body == body && !asked.reply.is_empty()
        });
        (alike.map(|asked| asked.reply).collect(), body)
    }

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
