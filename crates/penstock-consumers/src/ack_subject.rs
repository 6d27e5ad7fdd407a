//! The subject that a delivery is acknowledged on: the ledger's own, then
//! `<deliveries>.<sequence>.<consumer sequence>.<time>.<pending>`.

const DIGITS_MAX: usize = 18; // more digits are a case for the caller

/// What a delivery's subject says, besides the consumer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    pub deliveries: u64,
    pub sequence: u64,
    pub consumer: u64,
    pub time_ns: i64,
    pub pending: u64,
}

impl Numbers {
    #[inline]
    pub fn push(&self, out: &mut Vec<u8>) {
        let mut buffer = itoa::Buffer::new();
        for number in [self.deliveries, self.sequence, self.consumer] {
            out.extend_from_slice(buffer.format(number).as_bytes());
            out.push(b'.');
        }
        out.extend_from_slice(buffer.format(self.time_ns).as_bytes());
        out.push(b'.');
        out.extend_from_slice(buffer.format(self.pending).as_bytes());
    }
}

/// Sequence and consumer sequence of the five tokens behind a ledger's own subject. The others are
/// not looked at, but must be there.
#[inline]
pub(crate) fn sequences(tokens: &[u8]) -> Option<(u64, Option<u64>)> {
    let rest = behind_token(tokens)?;
    let (sequence, rest) = number(rest)?;
    let end = rest.iter().position(|byte| *byte == b'.')?;
    let consumer = number(rest).map(|(consumer, _)| consumer);
    let rest = behind_token(&rest[end + 1..])?;
    let is_last = !rest.is_empty() && !rest.contains(&b'.');
    (end > 0 && is_last).then_some((sequence, consumer))
}

/// What follows a token that is not empty, and its dot.
#[inline]
fn behind_token(tokens: &[u8]) -> Option<&[u8]> {
    let end = tokens.iter().position(|byte| *byte == b'.')?;
    (end > 0).then(|| &tokens[end + 1..])
}

/// A number and what follows its dot.
#[inline]
fn number(tokens: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (at, byte) in tokens.iter().enumerate() {
        match byte {
            b'0'..=b'9' if at < DIGITS_MAX => value = value * 10 + u64::from(byte - b'0'),
            b'.' if at > 0 => return Some((value, &tokens[at + 1..])),
            _ => return None,
        }
    }
    None
}
