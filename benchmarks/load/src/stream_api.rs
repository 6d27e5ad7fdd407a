//! What the generator asks of the JetStream API: create a stream, and tell what it holds.
//!
//! A connection of its own, blocking, before and after the load. The replies are JSON of which only
//! two numbers matter, so they are found by their keys; an error in a reply ends the run.

use std::io::{Read, Write};

use crate::Outcome;
use crate::connection::{Opened, open_subscribed};
use crate::frames::{Frame, next_frame};
use crate::options::Options;
use crate::report::Report;

const INBOX: &str = "_INBOX.penstockloadapi";

pub struct StreamApi {
    opened: Opened,
}

/// What a stream holds.
#[derive(Debug, PartialEq)]
pub struct Held {
    pub messages: u64,
    pub bytes: u64,
    pub last: u64,
}

pub fn stream_name(options: &Options, number: usize) -> String {
    format!("{}{number}", options.text("stream"))
}

fn number_after(text: &str, key: &str) -> Option<u64> {
    let rest = &text[text.find(key)? + key.len()..];
    let rest = rest.trim_start();
    let end = rest.find(|one: char| !one.is_ascii_digit())?;
    rest[..end].parse().ok()
}

fn held(reply: &str) -> Option<Held> {
    let state = &reply[reply.find("\"state\":")?..];
    Some(Held {
        messages: number_after(state, "\"messages\":")?,
        bytes: number_after(state, "\"bytes\":")?,
        last: number_after(state, "\"last_seq\":")?,
    })
}

impl StreamApi {
    pub fn connect(options: &Options) -> Outcome<Self> {
        let opened = open_subscribed(options, INBOX, 1)?;
        Ok(Self { opened })
    }

    fn ask(&mut self, subject: &str, payload: &str) -> Outcome<String> {
        let stream = &mut self.opened.stream;
        let size = payload.len();
        stream.write_all(format!("PUB {subject} {INBOX} {size}\r\n{payload}\r\n").as_bytes())?;
        let unread = &mut self.opened.rest;
        loop {
            while let Some((frame, length)) = next_frame(unread)? {
                let reply = match frame {
                    Frame::Message { payload, .. } => Some(String::from_utf8(payload.to_vec())?),
                    _ => None,
                };
                unread.drain(..length);
                if let Some(reply) = reply {
                    if reply.contains("\"error\":") {
                        return Err(format!("{subject}: {reply}").into());
                    }
                    return Ok(reply);
                }
            }
            let mut buffer = [0; 16 * 1024];
            match stream.read(&mut buffer) {
                Ok(0) => return Err(format!("{subject}: the connection was closed").into()),
                Ok(count) => unread.extend_from_slice(&buffer[..count]),
                Err(fault) => return Err(format!("{subject}: no answer: {fault}").into()),
            }
        }
    }

    /// Creates the stream, or finds it with the same configuration; what it holds.
    pub fn create(&mut self, name: &str, subject: &str, storage: &str) -> Outcome<Held> {
        let request = format!(
            r#"{{"name":"{name}","subjects":["{subject}"],"storage":"{storage}","num_replicas":1}}"#
        );
        let reply = self.ask(&format!("$JS.API.STREAM.CREATE.{name}"), &request)?;
        Ok(held(&reply).ok_or("the reply to STREAM.CREATE has no state")?)
    }

    pub fn held(&mut self, name: &str) -> Outcome<Held> {
        let reply = self.ask(&format!("$JS.API.STREAM.INFO.{name}"), "")?;
        Ok(held(&reply).ok_or("the reply to STREAM.INFO has no state")?)
    }
}

/// `state`: what the streams hold.
pub fn run(options: &Options) -> Outcome<Report> {
    let mut api = StreamApi::connect(options)?;
    let (mut messages, mut bytes, mut last) = (0, 0, 0);
    for number in 0..options.number("streams")? {
        let one = api.held(&stream_name(options, number))?;
        (messages, bytes, last) = (messages + one.messages, bytes + one.bytes, last + one.last);
    }
    Ok(Report::default()
        .count("messages", messages)
        .count("bytes", bytes)
        .count("last", last))
}

#[cfg(test)]
mod tests {
    use super::{Held, held};

    #[test]
    fn the_state_is_found_behind_the_configuration() {
        let reply = r#"{"config":{"messages":9},"state":{"messages":3,"bytes":120,"first_seq":1,"last_seq":4,"x":1}}"#;
        let found = Held {
            messages: 3,
            bytes: 120,
            last: 4,
        };
        assert_eq!(held(reply), Some(found));
        assert_eq!(held("{}"), None);
    }
}
