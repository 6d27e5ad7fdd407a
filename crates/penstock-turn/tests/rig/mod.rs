//! A hub without sockets: bytes come from slices, output goes into sinks that take as much or as
//! little as a plan says.
#![allow(dead_code)] // each test file uses its part

use penstock_turn::{Bounds, ConnectionId, Hub, Received, Source, Switches};
use penstock_wire::Limits;
use std::io::{self, IoSlice, Write};

pub fn bounds() -> Bounds {
    Bounds {
        wire: Limits {
            control_line_bytes_max: 4096,
            payload_bytes_max: 1 << 20,
        },
        pending_bytes_max: 64 << 20,
        crowded_bytes: 64 << 20,
        read_bytes_max: 8 << 20,
        turn_bytes_max: 64 << 20,
    }
}

/// A settled client in account 0 that hears its own messages.
pub fn switches() -> Switches {
    Switches {
        account: 0,
        expects_connect: false,
        bulk: true,
        echo: true,
        headers: true,
        no_responders: false,
    }
}

/// One read's worth of bytes, or an interruption before them.
pub struct Bytes<'a> {
    pub data: &'a [u8],
    pub interrupted: bool,
}

impl Source for Bytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if std::mem::take(&mut self.interrupted) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if self.data.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = self.data.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.data[..count]);
        self.data = &self.data[count..];
        Ok(count)
    }
}

/// Reads once; returns how many bytes were taken.
pub fn feed(hub: &mut Hub, id: ConnectionId, data: &[u8]) -> (usize, Received) {
    let mut source = Bytes {
        data,
        interrupted: data.len().is_multiple_of(3),
    };
    let received = hub.receive(id.slot(), &mut source);
    (data.len() - source.data.len(), received)
}

/// Walks the vector as the server does when every frame of it is a publish.
pub fn deliver_all(hub: &mut Hub) {
    let mut position = 0;
    while let Some(group) = hub.next_group(position) {
        assert!(group.bulk);
        hub.fan_out(group.start, group.end);
        position = group.end;
    }
}

/// What a sink does with one write.
#[derive(Clone, Copy, Debug)]
pub enum Take {
    Bytes(usize),
    Block,
    Interrupt,
}

/// Takes what its plan says; blocks when the plan is over.
pub struct Sink {
    pub plan: std::vec::IntoIter<Take>,
    pub taken: Vec<u8>,
}

impl Sink {
    pub fn new(plan: Vec<Take>) -> Sink {
        Sink {
            plan: plan.into_iter(),
            taken: Vec::new(),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let most = match self.plan.next() {
            Some(Take::Bytes(most)) => most,
            Some(Take::Interrupt) => return Err(io::ErrorKind::Interrupted.into()),
            Some(Take::Block) | None => return Err(io::ErrorKind::WouldBlock.into()),
        };
        let before = self.taken.len();
        for slice in slices {
            let room = most - (self.taken.len() - before);
            self.taken
                .extend_from_slice(&slice[..slice.len().min(room)]);
        }
        Ok(self.taken.len() - before)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Everything that waits for a connection.
pub fn drain(hub: &mut Hub, id: ConnectionId) -> Vec<u8> {
    let mut bytes = Vec::new();
    hub.flush(id.slot(), &mut bytes).unwrap();
    bytes
}
