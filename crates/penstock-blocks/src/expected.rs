//! Expectations of a run: each message says which sequence the last one of its subject has.
//!
//! Strategy: the run is gone through on paper, with the store for what was there before and the
//! sequences that the run itself would get. The first message whose expectation is not plainly met
//! ends it: what is wrong with it is for the caller to say.

use crate::pattern::is_literal;
use crate::store::Store;
use ahash::AHashMap;

impl Store {
    /// How many of a run's subjects, from the first on, have the expected last sequence, if those
    /// before are stored from `first` on and nothing is removed meanwhile.
    pub fn expected<'a>(
        &mut self,
        items: impl Iterator<Item = (&'a [u8], &'a [u8])>,
        first: u64,
    ) -> usize {
        let mut came: AHashMap<&[u8], u64> = AHashMap::default();
        let mut count = 0;
        for ((subject, text), sequence) in items.zip(first..) {
            let before = match came.get(subject) {
                Some(before) => *before,
                None if !is_literal(subject) => break, // as the reference, it stands for others
                None => match self.last_of_subject(subject) {
                    Ok(last) => last.unwrap_or(0),
                    Err(_) => break,
                },
            };
            if number(text) != Some(before) {
                break;
            }
            came.insert(subject, sequence);
            count += 1;
        }
        count
    }
}

/// Digits, as long as nobody has to ask whether they are too many.
fn number(text: &[u8]) -> Option<u64> {
    let is_plain = (1..=19).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    let digits = std::str::from_utf8(text).ok().filter(|_| is_plain)?;
    digits.parse().ok()
}
