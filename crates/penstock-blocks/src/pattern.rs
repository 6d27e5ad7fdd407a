//! Which subjects are asked for: a list of subjects with the wildcards `*` (one token) and `>`
//! (one or more at the end). An empty list asks for everything.

#[derive(Clone, Debug)]
pub struct Filter {
    patterns: Vec<Vec<u8>>,
    everything: bool,
    literal: bool,
}

impl Filter {
    #[must_use]
    pub fn new<P: AsRef<[u8]>>(patterns: &[P]) -> Filter {
        let patterns: Vec<Vec<u8>> = patterns.iter().map(|p| p.as_ref().to_vec()).collect();
        Filter {
            everything: patterns.is_empty() || patterns.iter().any(|pattern| pattern == b">"),
            literal: patterns.iter().all(|pattern| is_literal(pattern)),
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

    #[must_use]
    pub fn matches(&self, subject: &[u8]) -> bool {
        self.everything
            || self
                .patterns
                .iter()
                .any(|pattern| matches(pattern, subject))
    }
}

fn is_literal(pattern: &[u8]) -> bool {
    !pattern
        .split(|byte| *byte == b'.')
        .any(|token| token == b"*" || token == b">")
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
