//! The beginning of every connection, on blocking sockets: INFO, CONNECT, PING, PONG, SUB.
//!
//! Nothing is published before all subscriptions are confirmed by a PONG, so that a subscriber
//! expects every message from the first one on.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::Outcome;
use crate::frames::{Frame, next_frame};
use crate::options::Options;

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT: &[u8] = b"CONNECT {\"verbose\":false,\"pedantic\":false,\"tls_required\":false,\
    \"lang\":\"penstock-load\",\"version\":\"1\",\"protocol\":1,\"echo\":true,\"headers\":true,\
    \"no_responders\":true}\r\n";

/// A connection that is ready, and what the server has sent behind the last PONG (an INFO, say).
pub struct Opened {
    pub stream: TcpStream,
    pub rest: Vec<u8>,
}

impl Opened {
    /// Writes `request` and a PING, and reads until the PONG.
    fn confirm(&mut self, request: &[u8]) -> Outcome<()> {
        self.stream.write_all(request)?;
        self.stream.write_all(b"PING\r\n")?;
        loop {
            while let Some((frame, length)) = next_frame(&self.rest)? {
                let (pong, ping) = (frame == Frame::Pong, frame == Frame::Ping);
                self.rest.drain(..length);
                if ping {
                    self.stream.write_all(b"PONG\r\n")?;
                }
                if pong {
                    return Ok(());
                }
            }
            let mut buffer = [0; 4096];
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err("the server closed the connection in the handshake".into()),
                Ok(count) => self.rest.extend_from_slice(&buffer[..count]),
                Err(fault) if fault.kind() == ErrorKind::Interrupted => {}
                Err(fault) => return Err(format!("no answer to the handshake: {fault}").into()),
            }
        }
    }
}

pub fn open(options: &Options) -> Outcome<Opened> {
    let (host, port) = options.address()?;
    let stream = TcpStream::connect((host.as_str(), port))
        .map_err(|fault| format!("cannot connect to {host}:{port}: {fault}"))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(HANDSHAKE_TIMEOUT))?;
    let mut opened = Opened {
        stream,
        rest: Vec::new(),
    };
    opened.confirm(CONNECT)?;
    Ok(opened)
}

pub fn open_subscribed(options: &Options, subject: &str, sid: usize) -> Outcome<Opened> {
    let mut opened = open(options)?;
    opened.confirm(format!("SUB {subject} {sid}\r\n").as_bytes())?;
    Ok(opened)
}
