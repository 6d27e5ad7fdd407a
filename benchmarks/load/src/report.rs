//! What a mode found: one flat JSON object on one line, and the order statistics it needs.

use std::fmt;

/// Keys in the order they were added; the values are JSON already.
#[derive(Default)]
pub struct Report {
    entries: Vec<(&'static str, String)>,
}

impl Report {
    pub fn count(mut self, key: &'static str, value: u64) -> Self {
        self.entries.push((key, value.to_string()));
        self
    }

    /// A number JSON has no word for (a rate over no time) becomes null.
    pub fn number(mut self, key: &'static str, value: f64) -> Self {
        let text = if value.is_finite() {
            format!("{value:.6}")
        } else {
            "null".to_owned()
        };
        self.entries.push((key, text));
        self
    }

    pub fn optional(self, key: &'static str, value: Option<f64>) -> Self {
        self.number(key, value.unwrap_or(f64::NAN))
    }

    pub fn flag(mut self, key: &'static str, value: bool) -> Self {
        self.entries.push((key, value.to_string()));
        self
    }

    pub fn latencies(self, mut nanoseconds: Vec<u64>) -> Self {
        nanoseconds.sort_unstable();
        let at = |share| percentile(&nanoseconds, share).map(|ns| ns as f64 / 1e3);
        self.optional("p50_us", at(0.50))
            .optional("p99_us", at(0.99))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("{")?;
        for (position, (key, value)) in self.entries.iter().enumerate() {
            let comma = if position == 0 { "" } else { ", " };
            write!(out, "{comma}\"{key}\": {value}")?;
        }
        out.write_str("}")
    }
}

/// The smallest value that at least `share` of all do not exceed.
pub fn percentile(sorted: &[u64], share: f64) -> Option<u64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::{Report, percentile};

    #[test]
    fn percentiles_are_values_that_occurred() {
        let sorted: Vec<u64> = (1..=100).collect();
        assert_eq!(percentile(&sorted, 0.50), Some(50));
        assert_eq!(percentile(&sorted, 0.99), Some(99));
        assert_eq!(percentile(&[7], 0.99), Some(7));
        assert_eq!(percentile(&[], 0.50), None);
    }

    #[test]
    fn one_line_of_json() {
        let report = Report::default()
            .count("sent", 3)
            .optional("cpu", None)
            .flag("ok", true);
        assert_eq!(
            report.to_string(),
            r#"{"sent": 3, "cpu": null, "ok": true}"#
        );
    }
}
