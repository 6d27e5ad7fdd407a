//! Which subjects are asked for: a list of subjects with the wildcards `*` (one token) and `>`
//! (one or more at the end; anywhere else it stands for nothing). An empty list asks for everything.
//!
//! Strategy: a table of subjects is tried from one end to the other, and mostly in vain. So what
//! stands in front of a pattern's first wildcard and behind its last is compared as bytes, and what
//! is between them is looked at only where that fits. Mostly those are wildcards alone: then it is
//! the number of tokens that counts.

const WORD_BYTES: usize = 8;

#[derive(Clone, Debug)]
pub struct Filter {
    patterns: Vec<Vec<u8>>,
    shapes: Vec<Shape>,
    everything: bool,
    literal: bool,
}

/// How a pattern is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    /// Bytes in front of the first wildcard, and behind the last: whole tokens and their dots.
    front: usize,
    behind: usize,
    middle: Middle,
}

/// What is between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Middle {
    /// So many dots, and a token on each side of them.
    Dots(usize),
    /// At least so many.
    DotsMin(usize),
    /// Tokens that have to be looked at.
    Tokens,
}

impl Filter {
    #[must_use]
    pub fn new<P: AsRef<[u8]>>(patterns: &[P]) -> Filter {
        let patterns: Vec<Vec<u8>> = patterns.iter().map(|p| p.as_ref().to_vec()).collect();
        Filter {
            everything: patterns.is_empty() || patterns.iter().any(|pattern| pattern == b">"),
            literal: patterns.iter().all(|pattern| is_literal(pattern)),
            shapes: patterns.iter().map(|pattern| shape_of(pattern)).collect(),
            patterns,
        }
    }

    #[must_use]
    pub fn everything() -> Filter {
        Filter::new::<&[u8]>(&[])
    }

    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.everything
    }

    /// The subjects, if there is no wildcard among them.
    #[must_use]
    pub fn literals(&self) -> Option<&[Vec<u8>]> {
        (self.literal && !self.everything).then_some(&self.patterns)
    }

    pub(crate) fn patterns(&self) -> &[Vec<u8>] {
        &self.patterns
    }

    #[must_use]
    pub fn matches(&self, subject: &[u8]) -> bool {
        self.everything
            || self
                .patterns
                .iter()
                .zip(&self.shapes)
                .any(|(pattern, shape)| shape.matches(pattern, subject))
    }
}

fn shape_of(pattern: &[u8]) -> Shape {
    let (mut start, mut front, mut end) = (0, None, 0);
    for token in pattern.split(|byte| *byte == b'.') {
        if is_wild(token) {
            front = front.or(Some(start));
            end = start + 1;
        }
        start += token.len() + 1;
    }
    let Some(front) = front else {
        return Shape {
            front: 0,
            behind: 0,
            middle: Middle::Tokens,
        };
    };
    let between = &pattern[front..end];
    let dots = between.len() / 2; // if there are wildcards alone
    let has_tail = end == pattern.len() && between.ends_with(b">");
    let stars = &between[..between.len() - usize::from(has_tail)];
    let is_star = |(at, byte): (usize, &u8)| *byte == if at % 2 == 0 { b'*' } else { b'.' };
    let middle = match has_tail {
        _ if !stars.iter().enumerate().all(is_star) => Middle::Tokens,
        true => Middle::DotsMin(dots),
        false => Middle::Dots(dots),
    };
    Shape {
        front,
        behind: pattern.len() - end,
        middle,
    }
}

impl Shape {
    #[inline]
    fn matches(&self, pattern: &[u8], subject: &[u8]) -> bool {
        let (front, behind) = (self.front, self.behind);
        if subject.len() <= front + behind {
            return pattern == subject; // wildcards take a byte at least
        }
        let end = subject.len() - behind;
        if !is_same(&pattern[pattern.len() - behind..], &subject[end..])
            || !is_same(&pattern[..front], &subject[..front])
        {
            return false;
        }
        let dots = || {
            let between = subject[front..end].iter();
            between
                .map(|byte| usize::from(*byte == b'.'))
                .sum::<usize>()
        };
        match self.middle {
            Middle::Dots(count) => dots() == count,
            Middle::DotsMin(0) => true,
            Middle::DotsMin(count) => dots() >= count,
            Middle::Tokens => matches(&pattern[front..], &subject[front..]),
        }
    }
}

/// Whether texts of the same length are the same, from the end on: mostly they differ there.
#[inline]
fn is_same(left: &[u8], right: &[u8]) -> bool {
    match (left.last_chunk::<WORD_BYTES>(), right.last_chunk()) {
        (Some(one), Some(other)) => {
            u64::from_le_bytes(*one) == u64::from_le_bytes(*other)
                && (left.len() == WORD_BYTES || left == right)
        }
        _ => left.iter().rev().eq(right.iter().rev()),
    }
}

/// True if a pattern has no wildcards.
#[must_use]
pub fn is_literal(pattern: &[u8]) -> bool {
    leading_literal(pattern) == pattern.len()
}

/// How many bytes are in front of a pattern's first wildcard, whole tokens and their dots.
pub(crate) fn leading_literal(pattern: &[u8]) -> usize {
    let mut start = 0;
    for token in pattern.split(|byte| *byte == b'.') {
        if is_wild(token) {
            return start;
        }
        start += token.len() + 1;
    }
    pattern.len()
}

pub(crate) fn is_wild(token: &[u8]) -> bool {
    token == b"*" || token == b">"
}

/// True if the subject, which has no wildcards, is one of those the pattern means.
#[must_use]
pub fn matches(pattern: &[u8], subject: &[u8]) -> bool {
    let (mut pattern, mut subject) = (pattern, subject);
    loop {
        if pattern == b">" {
            return true;
        }
        let (token, pattern_rest) = first_token(pattern);
        let (word, subject_rest) = first_token(subject);
        if token != b"*" && token != word {
            return false;
        }
        match (pattern_rest, subject_rest) {
            (None, None) => return true,
            (Some(left), Some(right)) => (pattern, subject) = (left, right),
            _ => return false,
        }
    }
}

fn first_token(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|byte| *byte == b'.') {
        Some(dot) => (&text[..dot], Some(&text[dot + 1..])),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::{Filter, Middle, Shape, matches, shape_of};
    use proptest::prelude::*;

    #[test]
    fn what_is_compared_and_what_is_counted() {
        let shape = |pattern: &[u8]| {
            let Shape {
                front,
                behind,
                middle,
            } = shape_of(pattern);
            (front, behind, middle)
        };
        assert_eq!(shape(b"a.b.*.c"), (4, 2, Middle::Dots(0)));
        assert_eq!(shape(b"a.*.*"), (2, 0, Middle::Dots(1)));
        assert_eq!(shape(b"a.>"), (2, 0, Middle::DotsMin(0)));
        assert_eq!(shape(b"*.>"), (0, 0, Middle::DotsMin(1)));
        assert_eq!(shape(b"a.*.b.>"), (2, 0, Middle::Tokens));
        assert_eq!(shape(b"*.ab"), (0, 3, Middle::Dots(0)));
        assert_eq!(shape(b"a.b*.c"), (0, 0, Middle::Tokens));
        assert_eq!(shape(b"a.>.c"), (2, 2, Middle::Tokens));
        assert_eq!(shape(b"a.>.>"), (2, 0, Middle::Tokens));
    }

    fn tokens(token: &'static str, last: &'static str) -> impl Strategy<Value = String> {
        (prop::collection::vec(token, 0..4), last).prop_map(|(mut tokens, last)| {
            tokens.push(last);
            tokens.join(".")
        })
    }

    proptest! {
        #[test]
        fn as_token_by_token(
            pattern in tokens("[ab]{1,2}|[ab]{9}|[*]|>", "[ab]{1,2}|[*]|>"),
            subject in tokens("[ab]{1,2}|[ab]{9}", "[ab]{1,2}"),
        ) {
            let filter = Filter::new(&[&pattern]);
            let expected = matches(pattern.as_bytes(), subject.as_bytes());
            prop_assert_eq!(filter.matches(subject.as_bytes()), expected);
        }
    }
}
