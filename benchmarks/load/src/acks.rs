//! The acknowledgements of publishes: each must be a plain success, and no sequence comes twice.
//!
//! A connection's acknowledgements of one stream must come in the order of its publishes, with
//! rising sequences (checked in `publish`); here every stream keeps a bit for each sequence, over
//! all connections. At the end the sequences must be one unbroken range.

use memchr::memmem;

use crate::Outcome;

const VALUE: &[u8] = b",\"val\":\"";

fn number_of(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digits = digits.iter();
    Some(digits.fold(0, |value, digit| value * 10 + u64::from(digit - b'0')))
}

fn unexpected(payload: &[u8]) -> String {
    let text = String::from_utf8_lossy(payload);
    format!("a publish was answered with {text}")
}

/// All acknowledgements of one stream.
pub struct Acks {
    head: Vec<u8>,
    /// The stream's last sequence before the run.
    before: u64,
    seen: Vec<u64>,
    count: u64,
    highest: u64,
}

impl Acks {
    pub fn new(stream: &str, before: u64) -> Self {
        Self {
            head: format!("{{\"stream\":\"{stream}\",").into_bytes(),
            before,
            seen: Vec::new(),
            count: 0,
            highest: before,
        }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn before(&self) -> u64 {
        self.before
    }

    /// The sequence of an acknowledgement that says nothing but stream and sequence.
    fn sequence_of(&self, told: &[u8]) -> Option<u64> {
        let rest = told.strip_prefix(&self.head[..])?;
        let rest = rest.strip_prefix(b" ").unwrap_or(rest);
        number_of(rest.strip_prefix(b"\"seq\":")?)
    }

    /// Takes one acknowledgement; its sequence.
    pub fn take(&mut self, payload: &[u8]) -> Outcome<u64> {
        let told = payload.strip_suffix(b"}");
        let sequence = told.and_then(|told| self.sequence_of(told));
        self.note(sequence.ok_or_else(|| unexpected(payload))?)
    }

    /// The same of an increment: its sequence, and what the counter has come to.
    pub fn take_counted(&mut self, payload: &[u8]) -> Outcome<(u64, u64)> {
        let split = memmem::find(payload, VALUE).and_then(|at| {
            let digits = payload[at + VALUE.len()..].strip_suffix(b"\"}")?;
            Some((self.sequence_of(&payload[..at])?, number_of(digits)?))
        });
        let (sequence, value) = split.ok_or_else(|| unexpected(payload))?;
        Ok((self.note(sequence)?, value))
    }

    fn note(&mut self, sequence: u64) -> Outcome<u64> {
        let Some(offset) = sequence.checked_sub(self.before + 1) else {
            return Err(format!("sequence {sequence} was there before the run").into());
        };
        let (word, bit) = ((offset / 64) as usize, 1 << (offset % 64));
        if word > self.seen.len() + (1 << 20) {
            return Err(format!("sequence {sequence} is far beyond what was sent").into());
        }
        if word >= self.seen.len() {
            self.seen.resize(word + 1, 0);
        }
        if self.seen[word] & bit != 0 {
            return Err(format!("sequence {sequence} was acknowledged twice").into());
        }
        self.seen[word] |= bit;
        self.count += 1;
        self.highest = self.highest.max(sequence);
        Ok(sequence)
    }

    /// As many sequences as acknowledgements, and none twice: so none is missing.
    pub fn check_unbroken(&self) -> Outcome<()> {
        if self.highest - self.before != self.count {
            let (count, range) = (self.count, self.highest - self.before);
            return Err(format!("{count} acknowledgements have sequences over {range}").into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Acks;

    #[test]
    fn only_plain_successes_count() {
        let mut acks = Acks::new("S", 10);
        assert_eq!(acks.take(b"{\"stream\":\"S\",\"seq\":12}").ok(), Some(12));
        assert_eq!(acks.take(b"{\"stream\":\"S\", \"seq\":11}").ok(), Some(11));
        assert!(acks.check_unbroken().is_ok());
        for wrong in [
            &b"{\"stream\":\"S\", \"seq\":11}"[..],
            b"{\"stream\":\"S\", \"seq\":10}",
            b"{\"stream\":\"T\", \"seq\":13}",
            b"{\"stream\":\"S\", \"seq\":13,\"duplicate\": true}",
            b"{\"stream\":\"S\", \"seq\":}",
            b"{\"error\":{\"code\":503},\"stream\":\"S\",\"seq\":0}",
            b"{\"stream\":\"S\", \"seq\":99999999999999}",
        ] {
            assert!(acks.take(wrong).is_err());
        }
        assert_eq!(acks.count(), 2);
        assert!(acks.take_counted(b"{\"stream\":\"S\",\"seq\":13}").is_err());
        let counted = acks.take_counted(b"{\"stream\":\"S\", \"seq\":13,\"val\":\"70\"}");
        assert_eq!(counted.ok(), Some((13, 70)));
        assert!(acks.take(b"{\"stream\":\"S\",\"seq\":15}").is_ok());
        assert!(acks.check_unbroken().is_err());
    }
}
