//! Moments as servers write them: `2026-01-31T12:00:00.123456789Z`, any number of digits behind the
//! dot. Only UTC: no server writes anything else.

const DAYS_BEFORE_1970: i64 = 719_468; // from the first of March of the year 0
const DAYS_IN_400_YEARS: i64 = 146_097;

/// Nanoseconds since 1970.
#[must_use]
pub fn moment_ns(text: &[u8]) -> Option<i64> {
    let (date, rest) = text.split_first_chunk::<19>()?;
    let rest = rest.strip_suffix(b"Z")?;
    let marks = (date[4], date[7], date[10], date[13], date[16]);
    if marks != (b'-', b'-', b'T', b':', b':') {
        return None;
    }
    let (year, month, day) = (
        number(&date[..4])?,
        number(&date[5..7])?,
        number(&date[8..10])?,
    );
    let (hour, minute, second) = (
        number(&date[11..13])?,
        number(&date[14..16])?,
        number(&date[17..])?,
    );
    let is_real = (1..=12).contains(&month) && (1..=31).contains(&day);
    if !is_real || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    seconds
        .checked_mul(1_000_000_000)?
        .checked_add(fraction_ns(rest)?)
}

fn fraction_ns(text: &[u8]) -> Option<i64> {
    if text.is_empty() {
        return Some(0);
    }
    let digits = text.strip_prefix(b".")?;
    let digits = &digits[..digits.len().min(9)];
    let missing = u32::try_from(9 - digits.len()).ok()?;
    Some(number(digits)? * 10i64.pow(missing))
}

fn number(digits: &[u8]) -> Option<i64> {
    let whole = (!digits.is_empty()).then_some(0i64);
    digits.iter().fold(whole, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| i64::from(digit - b'0'))?;
        Some(number? * 10 + digit)
    })
}

/// Days since 1970; years are counted from March on, so that a leap day is their last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let month = (month + 9) % 12;
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * DAYS_IN_400_YEARS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - DAYS_BEFORE_1970
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01T00:00:00.5Z", 500_000_000),
            ("2000-02-29T12:34:56.000000001Z", 951_827_696_000_000_001),
            ("2026-11-16T15:33:50.123456789Z", 1_794_843_230_123_456_789),
            ("1969-12-31T23:59:59Z", -1_000_000_000),
        ] {
            assert_eq!(moment_ns(text.as_bytes()), Some(expected), "{text}");
        }
        for text in [
            "",
            "2026-11-16T15:33:50",
            "2026-11-16 15:33:50Z",
            "2026-13-16T15:33:50Z",
            "2026-11-16T15:33:50.Z",
            "2026-11-16T15:33:50+01:00",
            "2026-11-16T15:33:5xZ",
        ] {
            assert_eq!(moment_ns(text.as_bytes()), None, "{text}");
        }
    }
}
