//! What the decoder finds: one frame, as ranges into the buffer it was found in.

/// A range of bytes; the offsets count from the start of the buffer the decoder was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    #[must_use]
    pub fn of<'a>(&self, buffer: &'a [u8]) -> &'a [u8] {
        buffer
            .get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }

    #[must_use]
    pub fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    #[must_use]
    pub fn shifted(&self, by: u32) -> Span {
        Span {
            start: self.start + by,
            end: self.end + by,
        }
    }
}

/// The verbs a client may send. The numbers are shared with Python (`kernel/hub.py`).
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Connect = 1,
    Publish = 2,
    PublishWithHeaders = 3,
    Subscribe = 4,
    Unsubscribe = 5,
    Ping = 6,
    Pong = 7,
    Info = 8,
    Ok = 9,
    Err = 10,
    /// Not a verb: the connection sent what cannot be a frame; `number` holds the `Fault`.
    Fault = 11,
    /// Not a verb: a frame that was taken back from the vector.
    Skipped = 12,
}

/// Why bytes can never become a frame. The numbers are shared with Python (`kernel/hub.py`).
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    UnknownOperation = 1,
    ControlLineTooLong = 2,
    BadArguments = 3,
    PayloadTooLarge = 4,
}

/// One frame. Which ranges are set depends on the verb:
/// publish: subject, reply, payload (headers first, then body, without the closing CRLF);
/// subscribe: subject, reply = queue group, payload = sid; unsubscribe: payload = sid,
/// reply = the maximum as written; connect, info and err: payload = the argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub verb: Verb,
    /// Bytes of the payload that are headers.
    pub header_bytes: u32,
    /// How many digits the sizes were written with; they are passed on as they came.
    pub size_digits: u8,
    pub header_digits: u8,
    pub subject: Span,
    pub reply: Span,
    pub payload: Span,
    /// A `Fault` as a number, where the verb is `Fault`.
    pub number: u32,
}

impl Frame {
    #[must_use]
    pub fn bare(verb: Verb) -> Frame {
        Frame {
            verb,
            header_bytes: 0,
            size_digits: 0,
            header_digits: 0,
            subject: Span::default(),
            reply: Span::default(),
            payload: Span::default(),
            number: 0,
        }
    }

    #[must_use]
    pub fn fault(fault: Fault) -> Frame {
        Frame {
            number: fault as u32,
            ..Frame::bare(Verb::Fault)
        }
    }

    #[must_use]
    pub fn shifted(mut self, by: u32) -> Frame {
        self.subject = self.subject.shifted(by);
        self.reply = self.reply.shifted(by);
        self.payload = self.payload.shifted(by);
        self
    }

    #[must_use]
    pub fn is_publish(&self) -> bool {
        matches!(self.verb, Verb::Publish | Verb::PublishWithHeaders)
    }
}
