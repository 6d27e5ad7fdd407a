//! Counters: what each has come to by the increments that were published, and what the server says.
//!
//! Acknowledgements come in the order of the increments, so the sum that each must tell is known.
//! At the end every counter is read by a direct get of its last message, many requests in one write;
//! if there are few counters, they are read again, so that there is something to time.

use std::time::Instant;

use crate::Outcome;
use crate::options::Options;
use crate::publish_frame::{increment_of, subject_of, subject_text};
use crate::report::Report;
use crate::stream_api::{StreamApi, stream_name};

const READS_MIN: usize = 10_000;
const READS_AT_ONCE: usize = 100;

pub struct Totals {
    values: Vec<u64>,
}

impl Totals {
    pub fn new(counters: u64) -> Self {
        Self {
            values: vec![0; counters as usize],
        }
    }

    /// Adds the increment of a publish whose acknowledgement tells this value.
    pub fn check(&mut self, number: u64, value: u64) -> Outcome<()> {
        let counter = subject_of(number, self.values.len() as u64) as usize;
        self.values[counter] += increment_of(number);
        let due = self.values[counter];
        if value != due {
            return Err(format!("counter {counter} is told to be {value}, not {due}").into());
        }
        Ok(())
    }

    /// Reads every counter; how many in a second.
    pub fn read_back(
        &self,
        api: &mut StreamApi,
        options: &Options,
        report: Report,
    ) -> Outcome<Report> {
        let (root, tokens) = (options.text("subject"), options.number("tokens")?);
        let stream = stream_name(options, 0);
        let reads = READS_MIN.max(self.values.len());
        let counters: Vec<usize> = (0..self.values.len()).cycle().take(reads).collect();
        let subject_of = |counter: &usize| {
            let subject = subject_text(&root, tokens, *counter as u64);
            format!("$JS.API.DIRECT.GET.{stream}.{subject}")
        };
        let begin = Instant::now();
        for some in counters.chunks(READS_AT_ONCE) {
            let subjects: Vec<String> = some.iter().map(subject_of).collect();
            let bodies = api.ask_all(&subjects)?;
            for (counter, body) in some.iter().zip(bodies) {
                let due = self.values[*counter];
                if due > 0 && body != format!(r#"{{"val":"{due}"}}"#) {
                    return Err(format!("counter {counter} must be {due}, and is {body}").into());
                }
            }
        }
        let rate = reads as f64 / begin.elapsed().as_secs_f64();
        Ok(report.number("read_rate", rate))
    }
}
