//! What the generator asks of the JetStream API: create streams and consumers, and tell what they
//! hold.
//!
//! A connection of its own, blocking, before and after the load. The replies are JSON of which only
//! some numbers matter, so they are found by their keys; an error in a reply ends the run.

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

/// Where a consumer is.
#[derive(Debug, PartialEq)]
pub struct Figures {
    /// Consumer sequence and stream sequence.
    pub delivered: (u64, u64),
    pub acknowledged: (u64, u64),
    pub ack_pending: u64,
    pub redelivered: u64,
    pub pending: u64,
}

/// A stream to be created.
pub struct StreamPlan<'a> {
    pub name: &'a str,
    pub subject: &'a str,
    pub storage: &'a str,
    pub retention: &'a str,
    pub counts: bool,
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

fn figures(reply: &str) -> Option<Figures> {
    let pair = |key| {
        let part = &reply[reply.find(key)?..];
        let sequence = number_after(part, "\"consumer_seq\":")?;
        Some((sequence, number_after(part, "\"stream_seq\":")?))
    };
    Some(Figures {
        delivered: pair("\"delivered\":")?,
        acknowledged: pair("\"ack_floor\":")?,
        ack_pending: number_after(reply, "\"num_ack_pending\":")?,
        redelivered: number_after(reply, "\"num_redelivered\":")?,
        pending: number_after(reply, "\"num_pending\":")?,
    })
}

impl StreamApi {
    pub fn connect(options: &Options) -> Outcome<Self> {
        let opened = open_subscribed(options, INBOX, 1)?;
        Ok(Self { opened })
    }

    fn ask(&mut self, subject: &str, payload: &str) -> Outcome<String> {
        self.send(subject, payload)?;
        self.answer(subject)
    }

    /// What is sent to each of these subjects without waiting, and empty, is answered with.
    pub fn ask_all(&mut self, subjects: &[String]) -> Outcome<Vec<String>> {
        let frame = |subject: &String| format!("PUB {subject} {INBOX} 0\r\n\r\n");
        let frames: String = subjects.iter().map(frame).collect();
        self.opened.stream.write_all(frames.as_bytes())?;
        subjects
            .iter()
            .map(|subject| self.answer(subject))
            .collect()
    }

    fn send(&mut self, subject: &str, payload: &str) -> Outcome<()> {
        let size = payload.len();
        let frame = format!("PUB {subject} {INBOX} {size}\r\n{payload}\r\n");
        Ok(self.opened.stream.write_all(frame.as_bytes())?)
    }

    /// The next answer, which is to be that of a request to this subject.
    fn answer(&mut self, subject: &str) -> Outcome<String> {
        let stream = &mut self.opened.stream;
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
    pub fn create(&mut self, plan: &StreamPlan) -> Outcome<Held> {
        let StreamPlan {
            name,
            subject,
            storage,
            retention,
            counts,
        } = plan;
        let counting = match counts {
            true => r#","allow_msg_counter":true,"allow_direct":true"#,
            false => "",
        };
        let request = format!(
            r#"{{"name":"{name}","subjects":["{subject}"],"storage":"{storage}","retention":"{retention}","num_replicas":1{counting}}}"#
        );
        let reply = self.ask(&format!("$JS.API.STREAM.CREATE.{name}"), &request)?;
        Ok(held(&reply).ok_or("the reply to STREAM.CREATE has no state")?)
    }

    pub fn held(&mut self, name: &str) -> Outcome<Held> {
        let reply = self.ask(&format!("$JS.API.STREAM.INFO.{name}"), "")?;
        Ok(held(&reply).ok_or("the reply to STREAM.INFO has no state")?)
    }

    /// Creates a consumer, of whose configuration `config` is all but the name.
    pub fn create_consumer(&mut self, stream: &str, name: &str, config: &str) -> Outcome<Figures> {
        let request = format!(
            r#"{{"stream_name":"{stream}","action":"create","config":{{"durable_name":"{name}","name":"{name}",{config}}}}}"#
        );
        let reply = self.ask(
            &format!("$JS.API.CONSUMER.CREATE.{stream}.{name}"),
            &request,
        )?;
        Ok(figures(&reply).ok_or("the reply to CONSUMER.CREATE has no figures")?)
    }

    pub fn figures(&mut self, stream: &str, name: &str) -> Outcome<Figures> {
        let reply = self.ask(&format!("$JS.API.CONSUMER.INFO.{stream}.{name}"), "")?;
        Ok(figures(&reply).ok_or("the reply to CONSUMER.INFO has no figures")?)
    }

    pub fn delete_consumer(&mut self, stream: &str, name: &str) -> Outcome<()> {
        self.ask(&format!("$JS.API.CONSUMER.DELETE.{stream}.{name}"), "")?;
        Ok(())
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
    use super::{Figures, Held, figures, held};

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

    #[test]
    fn the_figures_of_a_consumer() {
        let reply = r#"{"config":{"max_ack_pending":7},"delivered":{"consumer_seq":5,"stream_seq":9,"last_active":"x"},"ack_floor":{"consumer_seq":3,"stream_seq":4},"num_ack_pending":2,"num_redelivered":0,"num_waiting":1,"num_pending":11}"#;
        let found = Figures {
            delivered: (5, 9),
            acknowledged: (3, 4),
            ack_pending: 2,
            redelivered: 0,
            pending: 11,
        };
        assert_eq!(figures(reply), Some(found));
        assert_eq!(figures("{}"), None);
    }
}
