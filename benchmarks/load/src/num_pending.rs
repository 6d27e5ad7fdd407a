//! `num-pending`: how long a consumer with a filter takes to be made, and to tell how much is left.
//!
//! The stream was filled by `publish` with `--tokens 2`. Consumers with different filters are made
//! one after the other, each is asked for its figures and deleted; the time is from the request to
//! the answer on a blocking connection. What they say is compared with a count of the publishes that
//! match. Between two of them the server has nothing to do.

use std::time::Instant;

use crate::Outcome;
use crate::options::Options;
use crate::publish_frame::{subject_of, subject_text};
use crate::report::{Report, percentile};
use crate::stream_api::{StreamApi, stream_name};

const ROUNDS: u64 = 15;
const SPLIT: u64 = 1_000; // the last token of a subject has the number's last three digits

/// A filter, by what it asks of a subject's number.
struct Filter {
    keys: (&'static str, &'static str),
    /// The token in front of the last, and the last; none is a wildcard.
    tokens: (Option<u64>, Option<u64>),
    /// Of the stream, where the consumer begins.
    from_middle: bool,
}

const FILTERS: &[Filter] = &[
    Filter {
        keys: ("create_all_us", "info_all_us"),
        tokens: (None, None),
        from_middle: false,
    },
    Filter {
        keys: ("create_branch_us", "info_branch_us"),
        tokens: (Some(0), None),
        from_middle: false,
    },
    Filter {
        keys: ("create_across_us", "info_across_us"),
        tokens: (None, Some(0)),
        from_middle: false,
    },
    Filter {
        keys: ("create_middle_us", "info_middle_us"),
        tokens: (None, Some(0)),
        from_middle: true,
    },
];

impl Filter {
    /// The text of the filter: each round has another literal, so that nothing is remembered.
    fn text(&self, root: &str, round: u64) -> String {
        let text = subject_text(root, 2, round * SPLIT + round);
        let mut tokens: Vec<&str> = text.split('.').collect();
        let count = tokens.len();
        if self.tokens.0.is_none() {
            tokens[count - 2] = "*";
        }
        if self.tokens.1.is_none() {
            tokens[count - 1] = "*";
        }
        tokens.join(".")
    }

    fn matches(&self, subject: u64, round: u64) -> bool {
        self.tokens
            .0
            .is_none_or(|first| subject / SPLIT == first + round)
            && self
                .tokens
                .1
                .is_none_or(|last| subject % SPLIT == last + round)
    }
}

fn timed<T>(times: &mut Vec<u64>, asked: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    let begin = Instant::now();
    let answer = asked()?;
    times.push(begin.elapsed().as_nanos() as u64);
    Ok(answer)
}

fn middle_us(mut nanoseconds: Vec<u64>) -> Option<f64> {
    nanoseconds.sort_unstable();
    percentile(&nanoseconds, 0.50).map(|time| time as f64 / 1e3)
}

pub fn run(options: &Options) -> Outcome<Report> {
    let (root, stream) = (options.text("subject"), stream_name(options, 0));
    let subjects: u64 = options.number("subjects")?;
    let mut api = StreamApi::connect(options)?;
    let messages = api.held(&stream)?.messages;
    let mut report = Report::default().count("messages", messages);
    for filter in FILTERS {
        let (mut creates, mut infos) = (Vec::new(), Vec::new());
        let first = if filter.from_middle { messages / 2 } else { 0 };
        for round in 0..ROUNDS {
            let (name, text) = (format!("N{round}"), filter.text(&root, round));
            let start = first + 1;
            let config = format!(
                r#""ack_policy":"explicit","deliver_policy":"by_start_sequence","opt_start_seq":{start},"filter_subject":"{text}""#
            );
            let made = timed(&mut creates, || {
                api.create_consumer(&stream, &name, &config)
            })?;
            let told = timed(&mut infos, || api.figures(&stream, &name))?;
            api.delete_consumer(&stream, &name)?;
            let matching =
                (first..messages).filter(|turn| filter.matches(subject_of(*turn, subjects), round));
            let due = matching.count() as u64;
            if made.pending != due || told.pending != due {
                let found = (made.pending, told.pending);
                return Err(format!("{text}: {due} match, the server says {found:?}").into());
            }
        }
        report = report
            .optional(filter.keys.0, middle_us(creates))
            .optional(filter.keys.1, middle_us(infos));
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::FILTERS;

    #[test]
    fn filters_and_what_they_match() {
        let texts: Vec<String> = FILTERS.iter().map(|one| one.text("b", 7)).collect();
        assert_eq!(texts, ["b.0.*.*", "b.0.0007.*", "b.0.*.007", "b.0.*.007"]);
        let matching = |subject| FILTERS.iter().filter(|one| one.matches(subject, 7)).count();
        assert_eq!(matching(7_007), 4);
        assert_eq!(matching(7_123), 2);
        assert_eq!(matching(12_007), 3);
        assert_eq!(matching(12_345), 1);
    }
}
