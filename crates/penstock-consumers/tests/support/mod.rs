//! A hub without sockets and a store, for ledgers to work on, and the obvious model of a ledger.
#![allow(dead_code)] // each test file uses its part

pub mod bench;
pub mod delivering;
pub mod model;

use penstock_blocks::{Content, Store};
use penstock_turn::{Bounds, ConnectionId, Hub, Source, Switches};
use penstock_wire::Limits;
use std::io;

pub const ACK_SUBJECT: &str = "$JS.ACK.S.C.";

pub fn hub(crowded_bytes: usize) -> Hub {
    let bounds = Bounds {
        wire: Limits {
            control_line_bytes_max: 4096,
            payload_bytes_max: 1 << 20,
        },
        pending_bytes_max: 1 << 30,
        crowded_bytes,
        read_bytes_max: 8 << 20,
        turn_bytes_max: 64 << 20,
    };
    let mut hub = Hub::new(bounds, 1);
    hub.add_account();
    hub
}

pub fn open(hub: &mut Hub, headers: bool) -> ConnectionId {
    hub.open(Switches {
        account: 0,
        expects_connect: false,
        bulk: true,
        echo: true,
        headers,
        no_responders: false,
    })
}

struct Bytes<'a>(&'a [u8]);

impl Source for Bytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        if count == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(count)
    }
}

/// One turn of a client that only publishes; the runs for the server's own parts.
pub fn turn(hub: &mut Hub, id: ConnectionId, data: &[u8]) -> Vec<(u32, usize, usize)> {
    hub.begin_turn(1);
    hub.receive(id.slot(), &mut Bytes(data));
    let group = hub.next_group(0).unwrap();
    hub.fan_out(group.start, group.end);
    let runs = group.runs.iter();
    runs.map(|run| (run.target, run.start, run.end)).collect()
}

/// Everything that waits for a connection.
pub fn drain(hub: &mut Hub, id: ConnectionId) -> Vec<u8> {
    let mut bytes = Vec::new();
    hub.flush(id.slot(), &mut bytes).unwrap();
    bytes
}

pub fn append(store: &mut Store, sequence: u64, time_ns: i64, subject: &str, size: usize) {
    let message = vec![b'm'; size];
    let content = Content {
        sequence,
        timestamp_ns: time_ns,
        subject: subject.as_bytes(),
        headers: b"",
        message: &message,
    };
    store.append(&content).unwrap();
}
