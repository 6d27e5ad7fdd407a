//! Where a message is stored, said in lines behind its own headers.

use penstock_blocks::Message;

const STATUS: &[u8] = b"NATS/1.0\r\n";
const LINE_END: &[u8] = b"\r\n";
const SECOND_NS: i64 = 1_000_000_000;
const DAY_SECONDS: i64 = 86_400;

/// The lines that say where a message is stored, and room for them.
pub struct Place {
    headers: Vec<u8>,
    stream: Vec<u8>,
    /// The second of the last message, and its text: what is stored together is of one second.
    second: i64,
    second_text: Vec<u8>,
    numbers: itoa::Buffer,
}

impl Place {
    pub fn new(stream: &[u8]) -> Place {
        Place {
            headers: Vec::with_capacity(512),
            stream: [b"Nats-Stream: ", stream, b"\r\nNats-Subject: "].concat(),
            second: i64::MIN,
            second_text: Vec::new(),
            numbers: itoa::Buffer::new(),
        }
    }

    /// The headers of a message that is asked for alone.
    pub fn alone(&mut self, message: &Message<'_>) -> &[u8] {
        self.describe(message);
        self.headers.extend_from_slice(b"\r\n\r\n");
        &self.headers
    }

    /// Those of one among many: how many are left, and the sequence of the one before.
    pub fn in_page(&mut self, message: &Message<'_>, pending: u64, before: u64) -> &[u8] {
        self.describe(message);
        let headers = &mut self.headers;
        headers.extend_from_slice(b"\r\nNats-Num-Pending: ");
        headers.extend_from_slice(self.numbers.format(pending).as_bytes());
        headers.extend_from_slice(b"\r\nNats-Last-Sequence: ");
        headers.extend_from_slice(self.numbers.format(before).as_bytes());
        headers.extend_from_slice(b"\r\n\r\n");
        headers
    }

    fn describe(&mut self, message: &Message<'_>) {
        let headers = &mut self.headers;
        headers.clear();
        push_unended(headers, message.headers);
        headers.extend_from_slice(&self.stream);
        headers.extend_from_slice(message.subject);
        headers.extend_from_slice(b"\r\nNats-Sequence: ");
        headers.extend_from_slice(self.numbers.format(message.sequence).as_bytes());
        headers.extend_from_slice(b"\r\nNats-Time-Stamp: ");
        let (second, fraction_ns) = (
            message.timestamp_ns.div_euclid(SECOND_NS),
            message.timestamp_ns.rem_euclid(SECOND_NS),
        );
        if second != self.second {
            self.second = second;
            self.second_text = second_text(second).into_bytes();
        }
        headers.extend_from_slice(&self.second_text);
        push_fraction(headers, fraction_ns);
        headers.push(b'Z');
    }
}

/// The headers of a message without the empty line at their end, so that others may follow.
fn push_unended(out: &mut Vec<u8>, headers: &[u8]) {
    if headers.is_empty() {
        return out.extend_from_slice(STATUS);
    }
    let lines = headers.strip_suffix(LINE_END).unwrap_or(headers);
    out.extend_from_slice(lines);
    if !lines.ends_with(LINE_END) {
        out.extend_from_slice(LINE_END);
    }
}

/// Without zeros at its end, and without its dot if nothing is left.
fn push_fraction(out: &mut Vec<u8>, fraction_ns: i64) {
    if fraction_ns == 0 {
        return;
    }
    let (mut digits, mut rest) = ([b'0'; 9], fraction_ns);
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let zeros = digits.iter().rev().take_while(|digit| **digit == b'0');
    let length = digits.len() - zeros.count();
    out.push(b'.');
    out.extend_from_slice(&digits[..length]);
}

/// `2026-01-31T12:00:00`. Years are counted from March on, so that a leap day is their last.
fn second_text(second: i64) -> String {
    let (days, of_day) = (
        second.div_euclid(DAY_SECONDS),
        second.rem_euclid(DAY_SECONDS),
    );
    let since = days + 719_468; // the first of March of the year 0
    let (era, of_era) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, rest) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{rest:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(headers: &[u8], timestamp_ns: i64) -> String {
        let message = Message {
            sequence: 17,
            timestamp_ns,
            subject: b"a.b",
            headers,
            message: b"x",
        };
        let mut place = Place::new(b"S");
        String::from_utf8_lossy(place.in_page(&message, 4, 12)).into_owned()
    }

    #[test]
    fn where_a_message_is_stored_stands_behind_its_headers() {
        let place = "Nats-Stream: S\r\nNats-Subject: a.b\r\nNats-Sequence: 17\r\nNats-Time-Stamp: \
            1970-01-01T00:00:01.5Z\r\nNats-Num-Pending: 4\r\nNats-Last-Sequence: 12\r\n\r\n";
        assert_eq!(
            described(b"", 1_500_000_000),
            format!("NATS/1.0\r\n{place}")
        );
        let own = "NATS/1.0\r\nA: b\r\n";
        for end in ["\r\n", ""] {
            let found = described(format!("{own}{end}").as_bytes(), 1_500_000_000);
            assert_eq!(found, format!("{own}{place}"));
        }
    }

    #[test]
    fn moments_as_the_api_writes_them() {
        for (time_ns, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_827_696_000_000_001, "2000-02-29T12:34:56.000000001Z"),
            (1_794_843_230_120_000_000, "2026-11-16T15:33:50.12Z"),
            (-1, "1969-12-31T23:59:59.999999999Z"),
            (4_107_542_400_000_000_000, "2100-03-01T00:00:00Z"),
        ] {
            let found = described(b"", time_ns);
            assert!(
                found.contains(&format!("Nats-Time-Stamp: {expected}\r\n")),
                "{found}"
            );
        }
    }
}
