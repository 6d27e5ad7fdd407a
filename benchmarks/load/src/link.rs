//! One non-blocking connection: what epoll said about it, and the bytes between two reads.
//!
//! Epoll is edge-triggered. A read or write that is shorter than asked for has emptied or filled
//! the socket, so the next edge is waited for without one more call that would only fail. Reads go
//! to a buffer that all links share (it stays in the cache); only an incomplete frame is kept here.

use std::io::{ErrorKind, Read, Write};

use mio::event::Event;
use mio::net::TcpStream;
use mio::{Interest, Poll, Token};

use crate::Outcome;
use crate::connection::Opened;

pub const SCRATCH_BYTES: usize = 512 * 1024; // shared by all links; a frame must fit

pub struct Link {
    stream: TcpStream,
    pub readable: bool,
    pub writable: bool,
    closing: bool,
    rest: Vec<u8>,
    /// Control lines and small frames; a publisher's blocks are written from where they are.
    pub outbox: Vec<u8>,
}

impl Link {
    pub fn new(opened: Opened, poll: &Poll, token: usize) -> Outcome<Self> {
        opened.stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(opened.stream);
        let interest = Interest::READABLE | Interest::WRITABLE;
        poll.registry()
            .register(&mut stream, Token(token), interest)?;
        Ok(Self {
            stream,
            readable: true, // there may be a rest of the handshake; a read finds out
            writable: false,
            closing: false,
            rest: opened.rest,
            outbox: Vec::new(),
        })
    }

    pub fn note(&mut self, event: &Event) {
        self.readable |= event.is_readable() || event.is_read_closed() || event.is_error();
        self.writable |= event.is_writable();
        self.closing |= event.is_read_closed() || event.is_error();
    }

    /// Fills `scratch` with what was kept and what has come; the number of bytes that are valid.
    pub fn receive(&mut self, scratch: &mut [u8]) -> Outcome<usize> {
        let kept = self.rest.len();
        scratch[..kept].copy_from_slice(&self.rest);
        self.rest.clear();
        match self.stream.read(&mut scratch[kept..]) {
            Ok(0) => Err("the server closed the connection".into()),
            Ok(count) => {
                self.readable = kept + count == scratch.len() || self.closing;
                Ok(kept + count)
            }
            Err(fault) if fault.kind() == ErrorKind::WouldBlock => {
                self.readable = false;
                Ok(kept)
            }
            Err(fault) if fault.kind() == ErrorKind::Interrupted => Ok(kept),
            Err(fault) => Err(format!("the connection was lost: {fault}").into()),
        }
    }

    /// Keeps the incomplete frame that `receive` will put in front of the next bytes.
    pub fn keep(&mut self, rest: &[u8]) -> Outcome<()> {
        if rest.len() >= SCRATCH_BYTES {
            return Err("the server sent a frame that is larger than the buffer".into());
        }
        self.rest.extend_from_slice(rest);
        Ok(())
    }

    /// Writes what the socket takes; the number of bytes it took.
    pub fn write(&mut self, bytes: &[u8]) -> Outcome<usize> {
        match self.stream.write(bytes) {
            Ok(count) => {
                self.writable = count == bytes.len();
                Ok(count)
            }
            Err(fault) if fault.kind() == ErrorKind::WouldBlock => {
                self.writable = false;
                Ok(0)
            }
            Err(fault) if fault.kind() == ErrorKind::Interrupted => Ok(0),
            Err(fault) => Err(format!("the connection was lost: {fault}").into()),
        }
    }

    pub fn flush(&mut self) -> Outcome<()> {
        if self.writable && !self.outbox.is_empty() {
            let outbox = std::mem::take(&mut self.outbox);
            let count = self.write(&outbox)?;
            self.outbox = outbox;
            self.outbox.drain(..count);
        }
        Ok(())
    }
}
