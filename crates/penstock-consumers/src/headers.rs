//! What becomes of a message's headers and payload on the way to its receiver.

use penstock_blocks::Message;

const START: &[u8] = b"NATS/1.0\r\n";
const SIZE: &[u8] = b"Nats-Msg-Size: ";
const END: &[u8] = b"\r\n";

/// How messages are rewritten, and room to do it in.
pub(crate) struct Rewriting<'a> {
    headers_only: bool,
    /// A line for all of them.
    added: &'a [u8],
    headers: Vec<u8>,
}

impl<'a> Rewriting<'a> {
    pub fn new(headers_only: bool, added: &'a [u8]) -> Rewriting<'a> {
        Rewriting {
            headers_only,
            added,
            headers: Vec::new(),
        }
    }

    /// Headers and payload as they are sent, and how many of their bytes do not count.
    #[inline]
    pub fn of<'m>(&'m mut self, message: &Message<'m>) -> (&'m [u8], &'m [u8], usize) {
        if !self.headers_only && self.added.is_empty() {
            return (message.headers, message.message, 0);
        }
        let headers = &mut self.headers;
        headers.clear();
        match message.headers.strip_suffix(END) {
            Some(lines) if !lines.is_empty() => headers.extend_from_slice(lines),
            _ => headers.extend_from_slice(START),
        }
        let mut payload = message.message;
        let mut uncounted = 0;
        if self.headers_only {
            headers.extend_from_slice(SIZE);
            headers.extend_from_slice(itoa::Buffer::new().format(payload.len()).as_bytes());
            headers.extend_from_slice(END);
            payload = &[];
        } else {
            uncounted = if message.headers.is_empty() {
                START.len() + END.len()
            } else {
                0
            };
        }
        headers.extend_from_slice(self.added);
        headers.extend_from_slice(END);
        (headers, payload, uncounted + self.added.len())
    }
}
