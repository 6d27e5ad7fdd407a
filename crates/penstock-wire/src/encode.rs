//! Frames to bytes, for the one frame that is rendered in bulk: a delivered message.

/// A message on its way to subscribers. `body` is headers, payload and the closing CRLF in one
/// piece, as it came in, so that a delivery is one head and one copy.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    pub subject: &'a [u8],
    pub reply: &'a [u8],
    pub header_bytes: usize,
    pub body: &'a [u8],
    /// Sizes are written with at least so many digits: a publisher's leading zeros are kept.
    pub header_digits: u8,
    pub size_digits: u8,
}

impl<'a> Message<'a> {
    /// The message as a client without header support sees it.
    #[must_use]
    pub fn without_headers(self) -> Message<'a> {
        Message {
            header_bytes: 0,
            size_digits: 0,
            body: self.body.get(self.header_bytes..).unwrap_or_default(),
            ..self
        }
    }

    /// Writes everything before the body: `MSG subject sid [reply] size` or its HMSG form.
    pub fn push_head(&self, out: &mut Vec<u8>, sid: &[u8]) {
        let with_headers = self.header_bytes > 0;
        out.extend_from_slice(if with_headers { b"HMSG " } else { b"MSG " });
        out.extend_from_slice(self.subject);
        out.push(b' ');
        out.extend_from_slice(sid);
        out.push(b' ');
        if !self.reply.is_empty() {
            out.extend_from_slice(self.reply);
            out.push(b' ');
        }
        if with_headers {
            push_number(out, self.header_bytes, self.header_digits);
            out.push(b' ');
        }
        push_number(out, self.body.len() - 2, self.size_digits);
        out.extend_from_slice(b"\r\n");
    }
}

/// Appends the whole delivery of `message` to the subscription `sid`.
pub fn render(out: &mut Vec<u8>, message: &Message<'_>, sid: &[u8]) {
    message.push_head(out, sid);
    out.extend_from_slice(message.body);
}

fn push_number(out: &mut Vec<u8>, value: usize, digits_min: u8) {
    let mut buffer = itoa::Buffer::new();
    let text = buffer.format(value).as_bytes();
    for _ in text.len()..usize::from(digits_min) {
        out.push(b'0');
    }
    out.extend_from_slice(text);
}
