//! `idle`: opens connections that do nothing, says so, and holds them until stdin closes.
//!
//! Each has sent CONNECT and one SUB and answers PINGs, so the server keeps it; the harness reads
//! the server's memory meanwhile.

use std::io::{Read, Write};
use std::sync::Arc;

use mio::{Events, Poll, Token, Waker};

use crate::Outcome;
use crate::connection::open_subscribed;
use crate::frames::{Frame, next_frame};
use crate::link::Link;
use crate::options::Options;
use crate::report::Report;

const SCRATCH_BYTES: usize = 64 * 1024;

fn serve(link: &mut Link, scratch: &mut [u8]) -> Outcome<()> {
    while link.readable {
        let valid = link.receive(scratch)?;
        let mut at = 0;
        while let Some((frame, length)) = next_frame(&scratch[at..valid])? {
            at += length;
            if frame == Frame::Ping {
                link.outbox.extend_from_slice(b"PONG\r\n");
            }
        }
        link.keep(&scratch[at..valid])?;
    }
    link.flush()
}

pub fn run(options: &Options) -> Outcome<Report> {
    let count: usize = options.number("connections")?;
    let mut poll = Poll::new()?;
    let mut links = Vec::with_capacity(count);
    for number in 0..count {
        let opened = open_subscribed(options, &format!("idle.{number}"), 1)
            .map_err(|fault| format!("connection {number}: {fault}"))?;
        links.push(Link::new(opened, &poll, number)?);
    }
    let ready = Report::default().count("connections", count as u64);
    writeln!(std::io::stdout(), "{ready}")?;

    // Held here too: a waker that is dropped takes its wake-up with it.
    let waker = Arc::new(Waker::new(poll.registry(), Token(count))?);
    let stdin_waker = Arc::clone(&waker);
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = stdin_waker.wake();
    });
    let (mut events, mut scratch) = (Events::with_capacity(1024), vec![0; SCRATCH_BYTES]);
    let mut lost = 0;
    loop {
        match poll.poll(&mut events, None) {
            Err(fault) if fault.kind() != std::io::ErrorKind::Interrupted => {
                return Err(fault.into());
            }
            _ => {}
        }
        for event in &events {
            let Some(link) = links.get_mut(event.token().0) else {
                return Ok(Report::default().count("held", (count - lost) as u64));
            };
            link.note(event);
            if serve(link, &mut scratch).is_err() {
                link.readable = false;
                lost += 1;
            }
        }
    }
}
