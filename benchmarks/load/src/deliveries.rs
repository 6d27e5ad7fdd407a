//! The hot path of consuming: a message as a consumer delivers it, and what its ack subject says.
//!
//! All messages of one consumer begin alike, up to the sequences in the ack subject, so a delivery is
//! a comparison, four numbers, and a comparison. One that was delivered before does not have the
//! form (its delivery count is not 1), and what does not have it is looked at the slow way and is a
//! fault there.

/// What the messages of one consumer have in common.
pub struct DeliveryForm {
    head: Vec<u8>,
    reply_at: usize,
    /// Behind the ack subject: the size.
    end_of_line: Vec<u8>,
    size: usize,
}

#[derive(Debug, PartialEq)]
pub struct Delivery<'a> {
    pub sequence_stream: u64,
    pub sequence_consumer: u64,
    /// Messages behind this one.
    pub pending: u64,
    /// Where an acknowledgement goes to.
    pub reply: &'a [u8],
    pub payload: &'a [u8],
    /// Bytes of the whole frame.
    pub length: usize,
}

/// The number at `at`, which must be followed by `end`; and where it goes on behind that.
#[inline]
fn number(data: &[u8], mut at: usize, end: u8) -> Option<(u64, usize)> {
    let (start, mut value) = (at, 0_u64);
    loop {
        let byte = *data.get(at)?;
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break (byte == end && at > start).then_some((value, at + 1));
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
}

impl DeliveryForm {
    pub fn new(subject: &str, sid: usize, stream: &str, consumer: &str, size: usize) -> Self {
        let before = format!("MSG {subject} {sid} ");
        let reply = format!("$JS.ACK.{stream}.{consumer}.1.");
        Self {
            reply_at: before.len(),
            head: (before + &reply).into_bytes(),
            end_of_line: format!("{size}\r\n").into_bytes(),
            size,
        }
    }

    /// The delivery at the beginning of `data`; none if it is not complete, or not as it should be.
    #[inline]
    pub fn first<'a>(&self, data: &'a [u8]) -> Option<Delivery<'a>> {
        if !data.starts_with(&self.head) {
            return None;
        }
        let (sequence_stream, at) = number(data, self.head.len(), b'.')?;
        let (sequence_consumer, at) = number(data, at, b'.')?;
        let (_, at) = number(data, at, b'.')?;
        let (pending, at) = number(data, at, b' ')?;
        let reply = &data[self.reply_at..at - 1];
        let rest = data[at..].strip_prefix(&self.end_of_line[..])?;
        let payload = rest.get(..self.size)?;
        rest[self.size..].strip_prefix(b"\r\n")?;
        Some(Delivery {
            sequence_stream,
            sequence_consumer,
            pending,
            reply,
            payload,
            length: at + self.end_of_line.len() + self.size + 2,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Delivery, DeliveryForm};

    #[test]
    fn a_delivery_is_taken_when_it_is_complete_and_the_first() {
        let form = DeliveryForm::new("a.b", 3, "S", "C", 2);
        let data = b"MSG a.b 3 $JS.ACK.S.C.1.70.9.1700000000000000000.12 2\r\nhi\r\nPING\r\n";
        let length = data.len() - 6;
        for cut in 0..length {
            assert_eq!(form.first(&data[..cut]), None, "cut at {cut}");
        }
        let found = Delivery {
            sequence_stream: 70,
            sequence_consumer: 9,
            pending: 12,
            reply: b"$JS.ACK.S.C.1.70.9.1700000000000000000.12",
            payload: b"hi",
            length,
        };
        assert_eq!(form.first(data), Some(found));
        for wrong in [
            &b"MSG a.b 3 $JS.ACK.S.C.2.70.9.1.12 2\r\nhi\r\n"[..],
            b"MSG a.b 4 $JS.ACK.S.C.1.70.9.1.12 2\r\nhi\r\n",
            b"MSG a.b 3 $JS.ACK.S.C.1.70..1.12 2\r\nhi\r\n",
            b"MSG a.b 3 $JS.ACK.S.C.1.70.9.1 2\r\nhi\r\n",
            b"MSG a.b 3 $JS.ACK.S.C.1.70.9.1.12 3\r\nhi!\r\n",
        ] {
            assert_eq!(form.first(wrong), None);
        }
    }
}
