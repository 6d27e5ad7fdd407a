//! The one checked parser for numbers from the wire.

/// Nine digits at the most, as the reference: no size of the protocol is larger, none overflows.
pub const DIGITS_MAX: usize = 9;

/// A size: ASCII digits only, one to nine of them. No sign, no spaces, no underscores.
#[must_use]
pub fn parse_size(text: &[u8]) -> Option<u32> {
    if text.is_empty() || text.len() > DIGITS_MAX {
        return None;
    }
    let mut value = 0u32;
    for &byte in text {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = value * 10 + u32::from(byte - b'0');
    }
    Some(value)
}
