//! The command line: `--name value` pairs from one table that all modes share.
//!
//! A name that is not in the table is an error, so that a misspelt option cannot quietly measure
//! something else.

use std::collections::HashMap;
use std::str::FromStr;
use std::time::Duration;

use crate::Outcome;

const KNOWN: &[(&str, &str, &str)] = &[
    ("host", "127.0.0.1", "address of the server"),
    ("port", "4222", "port of the server"),
    (
        "server-pid",
        "0",
        "process whose CPU time is read at the marks (0: none)",
    ),
    ("seconds", "2", "length of the measured window"),
    ("warmup", "0.5", "seconds before the window opens"),
    (
        "messages",
        "0",
        "stop after so many messages instead (0: by time)",
    ),
    ("size", "128", "payload bytes, at least 8"),
    ("subject", "bench", "subject, or the root of the subjects"),
    (
        "subjects",
        "1",
        "publish to SUBJECT.0 ... and subscribe to SUBJECT.*, if above 1",
    ),
    ("publishers", "1", "publishing connections"),
    (
        "subscribers",
        "1",
        "subscribing connections; each receives everything",
    ),
    (
        "sids",
        "distinct",
        "distinct: each subscriber has its own sid; same: all have 1",
    ),
    (
        "window",
        "0",
        "messages sent and not yet received by all (0: by size, up to 100,000); of publish: \
         unacknowledged on each connection (0: 4,000)",
    ),
    (
        "connections",
        "1",
        "connections that request, publish into streams or idle",
    ),
    ("stream", "BENCH", "streams are STREAM0, STREAM1 ..."),
    ("streams", "1", "streams that take turns"),
    ("storage", "file", "of the streams: file or memory"),
    ("message-ids", "no", "yes: every publish has a Nats-Msg-Id"),
    (
        "counters",
        "no",
        "yes: every publish is an increment of its subject's counter",
    ),
    (
        "revisions",
        "no",
        "yes: every publish expects the sequence of its subject's last message",
    ),
    ("inflight", "1", "requests in flight on each connection"),
    (
        "tokens",
        "1",
        "tokens that hold the number of a stream's subject: 1 or 2",
    ),
    ("retention", "limits", "of the stream of work"),
    ("delivery", "pull", "of consume: pull, push or push-flow"),
    ("acks", "no", "yes: consume acknowledges every message"),
    ("ack-pending", "10000", "max_ack_pending of consumers"),
    ("batch", "1000", "messages that a pull request asks for"),
    ("ahead", "2", "pull requests that wait at the server"),
    (
        "consumers",
        "1",
        "consumers, each with a subject of its own",
    ),
];

pub struct Options {
    values: HashMap<&'static str, String>,
}

pub fn help() -> String {
    let line = |(name, default, summary): &(&str, &str, &str)| {
        format!("  --{name:<12} {summary} [{default}]\n")
    };
    KNOWN.iter().map(line).collect()
}

impl Options {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Outcome<Self> {
        let defaults = KNOWN
            .iter()
            .map(|(name, default, _)| (*name, (*default).to_owned()));
        let mut values: HashMap<_, _> = defaults.collect();
        while let Some(argument) = arguments.next() {
            let slot = argument
                .strip_prefix("--")
                .and_then(|name| values.get_mut(name));
            let slot = slot.ok_or_else(|| format!("unknown option {argument}"))?;
            *slot = arguments
                .next()
                .ok_or_else(|| format!("{argument} needs a value"))?;
        }
        Ok(Self { values })
    }

    /// The same with some values changed.
    pub fn with(&self, changes: &[(&'static str, &str)]) -> Self {
        let mut values = self.values.clone();
        for (name, value) in changes {
            values.insert(name, (*value).to_owned());
        }
        Self { values }
    }

    pub fn text(&self, name: &str) -> String {
        self.values.get(name).cloned().unwrap_or_default()
    }

    pub fn number<T: FromStr>(&self, name: &str) -> Outcome<T> {
        let text = self.text(name);
        Ok(text
            .parse()
            .map_err(|_| format!("--{name}: '{text}' is not a number it can take"))?)
    }

    pub fn duration(&self, name: &str) -> Outcome<Duration> {
        let seconds: f64 = self.number(name)?;
        Ok(Duration::try_from_secs_f64(seconds).map_err(|fault| format!("--{name}: {fault}"))?)
    }

    /// A count for which 0 means that there is none.
    pub fn some(&self, name: &str) -> Outcome<Option<u64>> {
        Ok(Some(self.number(name)?).filter(|count| *count > 0))
    }

    pub fn yes(&self, name: &str) -> Outcome<bool> {
        match self.text(name).as_str() {
            "yes" => Ok(true),
            "no" => Ok(false),
            other => Err(format!("--{name} is yes or no, not {other}").into()),
        }
    }

    pub fn server_pid(&self) -> Outcome<Option<u32>> {
        Ok(Some(self.number("server-pid")?).filter(|pid| *pid > 0))
    }

    pub fn address(&self) -> Outcome<(String, u16)> {
        Ok((self.text("host"), self.number("port")?))
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(line.split_whitespace().map(str::to_owned)).map_err(|f| f.to_string())
    }

    #[test]
    fn defaults_and_values() {
        let options = parse("--size 16 --messages 9").expect("known options");
        assert_eq!(options.number::<usize>("size").ok(), Some(16));
        assert_eq!(options.some("messages").ok(), Some(Some(9)));
        assert_eq!(options.some("window").ok(), Some(None));
        assert_eq!(options.text("host"), "127.0.0.1");
    }

    #[test]
    fn what_is_not_known_is_refused() {
        assert!(parse("--sise 16").is_err());
        assert!(parse("size 16").is_err());
        assert!(parse("--size").is_err());
        assert!(
            parse("--size big")
                .expect("any text")
                .number::<usize>("size")
                .is_err()
        );
    }
}
