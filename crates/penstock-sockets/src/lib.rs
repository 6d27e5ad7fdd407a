//! The socket driver: one poller for all client sockets, owned by the kernel and watched by the
//! event loop through its own descriptor.
//!
//! Strategy: sockets are registered once, edge-triggered, for both directions, so no system call
//! is spent on changing interest. What is readable waits in a queue; a turn reads each of them
//! once, in that order, and whoever has more goes to the back: round robin without a scheduler.
//! A socket that took less than it was given is left alone until the poller says it has room.

mod linger;

use linger::Linger;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use penstock_turn::{Ending, Flushed, Hub, Received, Source};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::thread;
use std::time::{Duration, Instant};

const EVENTS_MAX: usize = 4096; // of one poll; more wait for the next turn
const DRAIN_BYTES_MAX: usize = 1 << 20; // read and dropped at a close, so that no reset is sent

struct Socket {
    stream: TcpStream,
    /// In the queue of those to read.
    queued: bool,
    /// The peer will send no more; read until that shows.
    hung_up: bool,
    /// Took less than it was given; waits for the poller.
    blocked: bool,
}

impl Source for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }
}

/// When the next turn is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// When the descriptor becomes readable.
    WhenReady,
    /// After so many nanoseconds at the latest; 0 is at once.
    After(u64),
}

/// All client sockets and their poller.
pub struct Driver {
    poll: Poll,
    events: Events,
    /// `events` are of a look between the turns and wait for the next one.
    caught: bool,
    linger: Linger,
    sockets: Vec<Option<Socket>>,
    readable: VecDeque<u32>,
    dirty: Vec<u32>,
}

impl Driver {
    pub fn new() -> io::Result<Driver> {
        Ok(Driver {
            poll: Poll::new()?,
            events: Events::with_capacity(EVENTS_MAX),
            caught: false,
            linger: Linger::new(),
            sockets: Vec::new(),
            readable: VecDeque::new(),
            dirty: Vec::new(),
        })
    }

    /// The descriptor to watch: readable when a turn has something to do.
    #[must_use]
    pub fn descriptor(&self) -> RawFd {
        self.poll.as_raw_fd()
    }

    /// Takes over a connected, non-blocking socket. The descriptor belongs to the driver even if
    /// this fails.
    pub fn add(&mut self, descriptor: RawFd, slot: u32) -> io::Result<()> {
        // SAFETY: the caller gives the descriptor away (Python: `socket.detach()`), so nobody
        // else closes or uses it.
        #[allow(unsafe_code)]
        let owned = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let mut stream = TcpStream::from_std(owned.into());
        let both = Interest::READABLE | Interest::WRITABLE;
        self.poll
            .registry()
            .register(&mut stream, Token(slot as usize), both)?;
        let index = slot as usize;
        if self.sockets.len() <= index {
            self.sockets.resize_with(index + 1, || None);
        }
        self.sockets[index] = Some(Socket {
            stream,
            queued: false,
            hung_up: false,
            blocked: false,
        });
        Ok(())
    }

    /// Closes a slot's socket after a last attempt to send what waits. What the peer has already
    /// sent is read and dropped first: closing over unread bytes would reset the connection, and
    /// the peer could lose the error message that explains it.
    pub fn close(&mut self, hub: &mut Hub, slot: u32) {
        let Some(mut socket) = self.sockets.get_mut(slot as usize).and_then(Option::take) else {
            return;
        };
        if socket.queued {
            self.readable.retain(|other| *other != slot);
        }
        let _ = hub.flush(slot, &mut socket.stream);
        let _ = self.poll.registry().deregister(&mut socket.stream);
        let _ = socket.stream.shutdown(Shutdown::Write);
        let mut scratch = [0u8; 16 * 1024];
        let mut drained = 0;
        while drained < DRAIN_BYTES_MAX {
            match socket.stream.read(&mut scratch) {
                Ok(count) if count > 0 => drained += count,
                _ => break,
            }
        }
    }

    /// Puts a slot back into the queue: its bytes were held and wait to be decoded.
    pub fn requeue(&mut self, slot: u32) {
        enqueue(&mut self.sockets, &mut self.readable, slot);
    }

    /// Reads what is there into the hub's vector.
    pub fn turn(&mut self, hub: &mut Hub, now_ns: u64) -> io::Result<()> {
        hub.begin_turn(now_ns);
        self.poll_events(hub)?;
        for _ in 0..self.readable.len() {
            if !hub.has_room() {
                break;
            }
            let Some(slot) = self.readable.pop_front() else {
                break;
            };
            if hub.pause_ns(slot) > 0 || self.read(hub, slot) {
                self.readable.push_back(slot);
            }
        }
        Ok(())
    }

    /// When the next turn is due; asked after `flush`.
    #[must_use]
    pub fn next_turn(&self, hub: &Hub) -> Again {
        if hub.has_chores() {
            return Again::After(0);
        }
        let mut shortest_ns = u64::MAX;
        for slot in &self.readable {
            match hub.pause_ns(*slot) {
                0 => return Again::After(0),
                pause_ns => shortest_ns = shortest_ns.min(pause_ns),
            }
        }
        if self.readable.is_empty() {
            Again::WhenReady
        } else {
            Again::After(shortest_ns)
        }
    }

    /// Looks for the next bytes for a moment, if they are likely to come at once; asked when the
    /// next turn is due `WhenReady`. True if they are here, for a turn that must follow.
    pub fn linger(&mut self) -> bool {
        let Some(until) = self.linger.until(Instant::now()) else {
            return false;
        };
        loop {
            // An error is the next turn's to find.
            let outcome = self.poll.poll(&mut self.events, Some(Duration::ZERO));
            self.caught = outcome.is_ok() && !self.events.is_empty();
            if self.caught || outcome.is_err() || Instant::now() >= until {
                self.linger.looked(self.caught);
                return self.caught;
            }
            thread::yield_now(); // whoever has something to do on this core comes first
        }
    }

    fn poll_events(&mut self, hub: &mut Hub) -> io::Result<()> {
        if !std::mem::take(&mut self.caught) {
            match self.poll.poll(&mut self.events, Some(Duration::ZERO)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
                other => other?,
            }
            if !self.events.is_empty() {
                self.linger.woken(Instant::now());
            }
        }
        for event in &self.events {
            #[allow(clippy::cast_possible_truncation)] // tokens are slots
            let slot = event.token().0 as u32;
            let Some(Some(socket)) = self.sockets.get_mut(slot as usize) else {
                continue;
            };
            if event.is_read_closed() || event.is_error() {
                socket.hung_up = true;
            }
            if event.is_writable() && std::mem::take(&mut socket.blocked) {
                hub.mark_dirty(slot);
            }
            if event.is_readable() || event.is_read_closed() || event.is_error() {
                enqueue(&mut self.sockets, &mut self.readable, slot);
            }
        }
        Ok(())
    }

    /// One read; true if the slot stays in the queue.
    fn read(&mut self, hub: &mut Hub, slot: u32) -> bool {
        let Some(Some(socket)) = self.sockets.get_mut(slot as usize) else {
            return false;
        };
        if !hub.may_read(slot) {
            socket.queued = false;
            return false;
        }
        let more = match hub.receive(slot, socket) {
            Received::More => true,
            Received::Drained => socket.hung_up,
            Received::Closed => {
                hub.give_up(slot, Ending::ClosedByPeer);
                false
            }
            Received::Failed => {
                hub.give_up(slot, Ending::ReadError);
                false
            }
        };
        socket.queued = more;
        more
    }

    /// Sends what waits, one write for each connection that has room.
    pub fn flush(&mut self, hub: &mut Hub) {
        let mut dirty = std::mem::take(&mut self.dirty);
        hub.swap_dirty(&mut dirty);
        for slot in dirty.drain(..) {
            let Some(Some(socket)) = self.sockets.get_mut(slot as usize) else {
                continue;
            };
            if socket.blocked {
                hub.clear_dirty(slot);
                continue;
            }
            match hub.flush(slot, &mut socket.stream) {
                Ok(Flushed::Everything) => {}
                Ok(Flushed::Blocked) => socket.blocked = true,
                Err(_) => hub.give_up(slot, Ending::WriteError),
            }
        }
        self.dirty = dirty;
        for slot in hub.take_deferred() {
            enqueue(&mut self.sockets, &mut self.readable, slot);
        }
    }
}

fn enqueue(sockets: &mut [Option<Socket>], readable: &mut VecDeque<u32>, slot: u32) {
    if let Some(Some(socket)) = sockets.get_mut(slot as usize)
        && !socket.queued
    {
        socket.queued = true;
        readable.push_back(slot);
    }
}
