//! How long a message is to live, as its publisher writes it into a header: whole seconds, a
//! duration as Go writes it (`1h30m`, `1.5s`), or `never`.

use memchr::memmem::Finder;
use std::sync::LazyLock;

pub const HEADER: &[u8] = b"Nats-TTL";

const TEXT_BYTES_MAX: usize = 64; // nothing that fits 64 bits of nanoseconds needs more
const SECOND_NS: u64 = 1_000_000_000;
const NS_MAX: u128 = i64::MAX as u128;
const FRACTION_DIGITS_MAX: usize = 18; // those behind are less than a nanosecond of any unit

/// Longer names before those that they begin with.
const UNITS: [(&[u8], u64); 8] = [
    (b"ns", 1),
    (b"us", 1_000),
    ("µs".as_bytes(), 1_000), // the micro sign
    ("μs".as_bytes(), 1_000), // the Greek letter
    (b"ms", 1_000_000),
    (b"s", SECOND_NS),
    (b"m", 60 * SECOND_NS),
    (b"h", 3600 * SECOND_NS),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// It stays, however old.
    Endless,
    /// Whole seconds; zero says nothing.
    Seconds(u64),
}

impl Lifetime {
    /// When a message of a time is over, if it ever is; nothing if that is no moment we can name.
    #[must_use]
    pub fn end_ns(self, time_ns: i64) -> Option<i64> {
        let Lifetime::Seconds(seconds) = self else {
            return Some(i64::MAX);
        };
        let length_ns = i64::try_from(seconds.checked_mul(SECOND_NS)?).ok()?;
        time_ns
            .checked_add(length_ns)
            .filter(|end_ns| *end_ns < i64::MAX)
    }
}

/// None if it is no lifetime: not a number, negative, too long, or shorter than a second.
#[must_use]
pub fn parse(text: &[u8]) -> Option<Lifetime> {
    if text.eq_ignore_ascii_case(b"never") {
        return Some(Lifetime::Endless);
    }
    if text.is_empty() || text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let total_ns = match whole(text) {
        (seconds, b"") => seconds?.checked_mul(u128::from(SECOND_NS))?,
        _ => duration_ns(text.strip_prefix(b"+").unwrap_or(text))?,
    };
    let is_lifetime = total_ns == 0 || (u128::from(SECOND_NS)..=NS_MAX).contains(&total_ns);
    is_lifetime.then(|| Lifetime::Seconds((total_ns / u128::from(SECOND_NS)) as u64))
}

/// What the headers of a message say, if they say it well. The first header of the name counts.
#[must_use]
#[inline]
pub fn find(headers: &[u8]) -> Option<Lifetime> {
    static LINE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\r\nNats-TTL:"));
    if headers.is_empty() {
        return None;
    }
    let start = LINE.find(headers)? + LINE.needle().len();
    let rest = &headers[start..];
    let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
    let rest = &rest[blanks..];
    let end = rest.windows(2).position(|pair| pair == b"\r\n");
    parse(&rest[..end.unwrap_or(rest.len())])
}

/// Digits at the beginning as a number, none if it is too large, and what follows them.
fn whole(text: &[u8]) -> (Option<u128>, &[u8]) {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(count);
    let number = digits.iter().try_fold(0u128, |number, digit| {
        number
            .checked_mul(10)?
            .checked_add(u128::from(digit - b'0'))
    });
    (number, rest)
}

fn duration_ns(mut text: &[u8]) -> Option<u128> {
    let mut total_ns = 0u128;
    loop {
        let (number, after) = whole(text);
        let (fraction, behind) = match after.strip_prefix(b".") {
            Some(fraction) => {
                let count = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
                fraction.split_at(count)
            }
            None => (&[][..], after),
        };
        if after.len() == text.len() && fraction.is_empty() {
            return None; // no digit at all
        }
        let (name, unit_ns) = UNITS.iter().find(|(name, _)| behind.starts_with(name))?;
        let fraction = &fraction[..fraction.len().min(FRACTION_DIGITS_MAX)];
        let scale = 10u128.pow(fraction.len() as u32);
        let part_ns = whole(fraction).0? * u128::from(*unit_ns) / scale;
        total_ns = number?
            .checked_mul(u128::from(*unit_ns))?
            .checked_add(part_ns)?
            .checked_add(total_ns)?;
        text = &behind[name.len()..];
        if text.is_empty() {
            return Some(total_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_durations_and_never_are_lifetimes() {
        for (text, seconds) in [
            ("1", 1),
            ("0", 0),
            ("00", 0),
            ("0s", 0),
            ("1s", 1),
            ("+2s", 2),
            ("1.5s", 1),
            ("1500ms", 1),
            (".5m", 30),
            ("5m.5s", 300),
            ("1h1m1s", 3661),
            ("1.s", 1),
            ("9223372036", 9_223_372_036),
            ("2562047h47m16s", 9_223_372_036),
            ("1000000000ns", 1),
            ("2000000us", 2),
            ("3000000µs", 3),
            ("3000000μs", 3),
        ] {
            let found = parse(text.as_bytes());
            assert_eq!(found, Some(Lifetime::Seconds(seconds)), "{text}");
        }
        for text in ["never", "NEVER", "Never"] {
            assert_eq!(parse(text.as_bytes()), Some(Lifetime::Endless));
        }
    }

    #[test]
    fn everything_else_is_not() {
        for text in [
            "",
            "-1",
            "-1s",
            "+2",
            "500ms",
            "0.9999999999s",
            "1.5",
            "abc",
            "3 ",
            "1d",
            "1_0",
            "٣",
            "0x5",
            "1e3s",
            "1s ",
            ".s",
            "s",
            "+",
            "1s1",
            "9223372037",
            "2562047h47m17s",
            "99999999999999999999",
            "999999999999999999999999999999999999999999h",
            " 1",
            "1 s",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse(&[b'1'; TEXT_BYTES_MAX + 1]), None);
    }

    #[test]
    fn the_first_header_counts() {
        let find = |lines: &str| find(format!("NATS/1.0{lines}\r\n\r\n").as_bytes());
        assert_eq!(find("\r\nA: b\r\nNats-TTL:  7"), Some(Lifetime::Seconds(7)));
        assert_eq!(
            find("\r\nNats-TTL: 7\r\nNats-TTL: 8"),
            Some(Lifetime::Seconds(7))
        );
        assert_eq!(find("\r\nNats-TTL: x\r\nNats-TTL: 8"), None);
        assert_eq!(find("\r\nnats-ttl: 8"), None);
        assert_eq!(find("\r\nA: Nats-TTL: 8"), None);
    }

    #[test]
    fn an_end_that_cannot_be_named_is_none() {
        let now_ns = 1_700_000_000_000_000_000;
        assert_eq!(
            Lifetime::Seconds(1).end_ns(now_ns),
            Some(now_ns + 1_000_000_000)
        );
        assert_eq!(Lifetime::Seconds(9_223_372_036).end_ns(now_ns), None);
        assert_eq!(Lifetime::Seconds(u64::MAX).end_ns(0), None);
        assert_eq!(Lifetime::Endless.end_ns(now_ns), Some(i64::MAX));
    }
}
