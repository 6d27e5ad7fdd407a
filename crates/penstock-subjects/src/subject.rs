//! The grammar of subjects: tokens between dots, none empty; `*` stands for one token, `>` for
//! one or more at the end.

/// True for what may be subscribed to.
#[must_use]
pub fn is_valid_pattern(subject: &[u8]) -> bool {
    let mut tail_seen = false;
    for token in tokens(subject) {
        if token.is_empty() || tail_seen || token.iter().any(|byte| is_space(*byte)) {
            return false;
        }
        tail_seen = token == b">";
    }
    true
}

/// True for what may be published to: a valid pattern without wildcards.
#[must_use]
pub fn is_valid_literal(subject: &[u8]) -> bool {
    is_valid_pattern(subject) && !tokens(subject).any(|token| token == b"*" || token == b">")
}

pub(crate) fn tokens(subject: &[u8]) -> impl Iterator<Item = &[u8]> {
    subject.split(|byte| *byte == b'.')
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}
