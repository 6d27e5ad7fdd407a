//! The lines of a message's headers: `Name: value`, one below the other, behind the status line.

use memchr::{memchr, memmem};

/// Name and value of each, blanks around the value taken off. What is no header is passed over.
pub fn header_lines(headers: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let start = memmem::find(headers, b"\r\n").map_or(headers.len(), |end| end + 2);
    let mut rest = &headers[start..];
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = memmem::find(rest, b"\r\n").unwrap_or(rest.len());
            let line = &rest[..end];
            rest = rest.get(end + 2..).unwrap_or_default();
            let colon = memchr(b':', line).filter(|colon| *colon > 0);
            if let Some(colon) = colon {
                return Some((&line[..colon], line[colon + 1..].trim_ascii()));
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values() {
        let lines = |text: &'static str| {
            header_lines(text.as_bytes())
                .map(|(n, v)| (n.to_vec(), v.to_vec()))
                .collect::<Vec<_>>()
        };
        let pair = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        assert_eq!(
            lines("NATS/1.0\r\nA: b\r\nC:d \r\nA:  b:c\r\nE:\r\n\r\n"),
            [
                pair("A", "b"),
                pair("C", "d"),
                pair("A", "b:c"),
                pair("E", "")
            ]
        );
        assert_eq!(lines(""), []);
        assert_eq!(lines("NATS/1.0"), []);
        assert_eq!(
            lines("NATS/1.0\r\nnothing\r\n: x\r\nA: b"),
            [pair("A", "b")]
        );
    }
}
