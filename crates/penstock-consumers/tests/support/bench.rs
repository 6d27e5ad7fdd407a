//! A ledger and its model on the same stream, side by side.

use super::model::{self, Model, Sent, Stored, Stream, Wanted};
use super::{ACK_SUBJECT, drain, hub, open, turn};
use penstock_blocks::{Content, Filter, Options, Store};
use penstock_consumers::{
    AckPolicy, Entry, FilterIndex, Ledger, Outcome, Range, Request, Stop, Terms,
};
use penstock_disk::SimulatedDisk;
use penstock_turn::{ConnectionId, Hub};
use std::sync::Arc;

pub const SUBJECTS: [&str; 5] = ["a.x", "a.y", "b.x", "b.y", "c"];
pub const FILTERS: [&[&str]; 6] = [
    &[],
    &["a.x"],
    &["a.*"],
    &["b.>", "c"],
    &["a.x", "b.y"],
    &["*.y"],
];
pub const HEADERS: [&[u8]; 3] = [b"", b"NATS/1.0\r\n\r\n", b"NATS/1.0\r\nA: b\r\n\r\n"];
pub const INBOXES: [&str; 4] = ["in.0", "in.1", "in.2", "in.3"]; // nobody listens to the last

/// Pending messages, deliveries of each, bytes of a call.
pub type Limits = (usize, u64, u64);

/// A listener: its connection, which inbox, and whether it knows headers.
pub struct Client {
    pub id: ConnectionId,
    pub inbox: usize,
    pub headers: bool,
}

pub struct Bench {
    pub hub: Hub,
    pub publisher: ConnectionId,
    pub clients: Vec<Client>,
    pub store: Store,
    pub stream: Stream,
    pub index: FilterIndex,
    pub ledger: Ledger,
    pub model: Model,
    pub now_ns: i64,
    pub changes: Vec<Vec<u8>>,
    /// Snapshots, and how many changes there were before each.
    pub snapshots: Vec<(Vec<u8>, usize)>,
}

pub fn filter_of(at: usize) -> (Vec<String>, Filter) {
    let filters = FILTERS[at].iter().map(|f| (*f).to_owned()).collect();
    (filters, Filter::new(FILTERS[at]))
}

impl Bench {
    pub fn new(policy: AckPolicy, filter: usize, listed: bool, in_files: bool) -> Bench {
        let mut hub = hub(1 << 30);
        let publisher = open(&mut hub, true);
        hub.add_target(0, b"$JS.ACK.S.C.*.*.*.*.*", 7);
        let clients = [(0, true), (1, true), (1, false), (2, false)].map(|(inbox, headers)| {
            let id = open(&mut hub, headers);
            hub.subscribe(id, INBOXES[inbox].as_bytes(), None, b"9");
            Client { id, inbox, headers }
        });
        let options = Options {
            block_bytes_max: 300,
            cache_bytes_max: 600,
            ..Options::default()
        };
        let store = if in_files {
            let disk = Arc::new(SimulatedDisk::new(1));
            Store::open(disk, "streams/S", "S", options).unwrap().0
        } else {
            Store::in_memory("S", options)
        };
        let (filters, filter) = filter_of(filter);
        let mut bench = Bench {
            hub,
            publisher,
            clients: clients.into(),
            store,
            stream: Stream::default(),
            index: FilterIndex::default(),
            ledger: Ledger::new(policy, ACK_SUBJECT.as_bytes(), filter, true),
            model: Model::new(policy, &filters, false),
            now_ns: 1_000,
            changes: Vec::new(),
            snapshots: Vec::new(),
        };
        bench.set_filters(&filters);
        bench.publish(
            &[(0, 0, 3), (1, 1, 3), (0, 2, 3), (4, 0, 3), (2, 0, 3)],
            true,
        );
        let list: &[u64] = if listed { &[2, 3, 5] } else { &[] };
        let cursor = if listed { 6 } else { 2 };
        bench.ledger.start(cursor, list);
        bench.model.start(cursor, list);
        bench
    }

    pub fn set_filters(&mut self, filters: &[String]) {
        let filters: Vec<Vec<u8>> = filters.iter().map(|f| f.clone().into_bytes()).collect();
        self.index.set(3, &filters);
        self.index.wait(3, true);
    }

    pub fn at(&self, place: usize) -> u64 {
        place as u64 * (self.stream.last + 3) / 60
    }

    pub fn publish(&mut self, messages: &[(usize, usize, usize)], counted: bool) {
        for (subject, headers, size) in messages {
            self.now_ns += 1;
            let message = Stored {
                subject: SUBJECTS[*subject].to_owned(),
                headers: HEADERS[*headers].to_vec(),
                payload: vec![b'm'; *size],
                time_ns: self.now_ns,
            };
            let sequence = self.stream.last + 1;
            let content = Content {
                sequence,
                timestamp_ns: message.time_ns,
                subject: message.subject.as_bytes(),
                headers: &message.headers,
                message: &message.payload,
            };
            self.store.append(&content).unwrap();
            if counted {
                let woken = self.index.count_message(content.subject, sequence);
                assert_eq!(woken == [3], self.model.is_meant(&message), "{woken:?}");
            }
            self.stream.messages.insert(sequence, message);
            self.stream.last = sequence;
        }
    }

    pub fn deliver(&mut self, wanted: &[Wanted], limits: Limits, header: &str, asked: bool) {
        let found = self.deliver_patiently(wanted, limits, header, asked);
        let (ack_pending_max, deliveries_max, bytes_soft) = limits;
        let terms = model::Terms {
            ack_pending_max,
            deliveries_max,
            bytes_soft,
            header,
            now_ns: self.now_ns,
        };
        let listens = |inbox| inbox < 3;
        let told = self.model.deliver(&self.stream, wanted, listens, &terms);
        assert_eq!(found.stop, told.stop);
        let found = (found.index, found.sequence, found.served);
        assert_eq!(found, (told.index, told.sequence, told.served));
        self.hub.set_gate(0);
        self.hub.release_held(1);
        self.check_bytes(&told.sent);
    }

    /// Calls again for what is left as long as the ledger is busy, as its owner would.
    pub fn deliver_patiently(
        &mut self,
        wanted: &[Wanted],
        (ack_pending_max, deliveries_max, bytes_soft): Limits,
        header: &str,
        asked: bool,
    ) -> Outcome {
        let mut served = vec![(0, 0); wanted.len()];
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        loop {
            let requests: Vec<Request<'_>> = order
                .iter()
                .map(|index| Request {
                    inbox: INBOXES[wanted[*index].0].as_bytes(),
                    messages_max: wanted[*index].1 - served[*index].0,
                    bytes_max: wanted[*index].2.saturating_sub(served[*index].1),
                })
                .collect();
            let so_far: u64 = served.iter().map(|(_, bytes)| bytes).sum();
            let terms = Terms {
                ack_pending_max,
                deliveries_max,
                bytes_soft: bytes_soft.saturating_sub(so_far),
                header: header.as_bytes(),
                now_ns: self.now_ns,
                arrived: asked.then(|| self.index.arrived(3)),
                ..Terms::default()
            };
            let found = self
                .ledger
                .deliver(&mut self.hub, &mut self.store, &requests, &terms)
                .unwrap();
            for (index, (messages, bytes)) in order.iter().zip(&found.served) {
                served[*index].0 += messages;
                served[*index].1 += bytes;
            }
            if found.stop != Stop::Busy {
                let index = order.get(found.index).copied().unwrap_or(0);
                let index = if found.stop == Stop::Done { 0 } else { index };
                return Outcome {
                    index,
                    served,
                    ..found
                };
            }
            order.rotate_left(found.index);
            let is_open = |index: &usize| {
                let ((messages, bytes), (_, most, bytes_most)) = (served[*index], wanted[*index]);
                messages < most && (bytes_most == 0 || bytes < bytes_most)
            };
            order.retain(is_open);
        }
    }

    pub fn check_bytes(&mut self, sent: &[Sent]) {
        for client in &self.clients {
            let own = sent.iter().filter(|letter| letter.inbox == client.inbox);
            let expected: Vec<u8> = own.flat_map(|letter| rendered(letter, client)).collect();
            let found = drain(&mut self.hub, client.id);
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            assert_eq!(text(&found), text(&expected));
        }
    }

    pub fn ack_run(&mut self, acks: &[(usize, usize, usize)]) {
        let mut data = Vec::new();
        for (at, consumer, kind) in acks {
            let (sequence, reply) = (self.at(*at), if *kind == 5 { " in.2" } else { "" });
            let payload = ["", "+ACK", "+OK", "", "", "", "-NAK", "+ACK"][*kind];
            let count = if *kind == 7 { "x" } else { "1" };
            let line = format!("PUB {ACK_SUBJECT}{count}.{sequence}.{consumer}.1.2{reply} ");
            data.extend_from_slice(format!("{line}{}\r\n{payload}\r\n", payload.len()).as_bytes());
        }
        let runs = turn(&mut self.hub, self.publisher, &data);
        assert_eq!(runs.len(), 1);
        let (_, start, end) = runs[0];
        let acked = self.ledger.ack_run(&self.hub, start, end);
        let (mut position, mut count, mut settled) = (start, 0, Vec::new());
        for (at, consumer, kind) in acks {
            let sequence = self.at(*at);
            let is_reached = sequence < self.model.figures().cursor;
            let is_plain = *kind != 6 && (*kind != 5 || is_reached);
            if !is_plain || self.model.policy == AckPolicy::None {
                break;
            }
            let found = self.model.ack(sequence, *consumer as u64);
            let all = self.model.policy == AckPolicy::All;
            count += u64::from(
                found
                    .as_ref()
                    .is_some_and(|found| !found.is_empty() || all && *consumer > 0),
            );
            settled.extend(found.unwrap_or_default());
            position += 1;
        }
        assert_eq!((acked.position, flat(&acked.ranges)), (position, settled));
        if self.model.policy == AckPolicy::Explicit {
            assert_eq!(acked.count, count);
        }
    }

    pub fn take(&mut self) {
        let changes = self.ledger.take_changes();
        if !changes.is_empty() {
            self.changes.push(changes);
        }
    }

    /// The cursor may have passed messages that are not meant; then so does the model's.
    pub fn check(&mut self) {
        let (figures, expected) = (self.ledger.figures(), self.model.figures());
        if figures.cursor != expected.cursor && self.model.listed.is_empty() {
            assert!(figures.cursor > expected.cursor);
            let mut passed = self.stream.messages.range(expected.cursor..figures.cursor);
            assert!(!passed.any(|(_, message)| self.model.is_meant(message)));
            self.model.cursor = figures.cursor;
        }
        assert_eq!(figures, self.model.figures());
        for sequence in 0..self.stream.last + 3 {
            let needed = self.ledger.needs(sequence);
            assert_eq!(needed, self.model.needs(sequence), "{sequence}");
        }
        let queue: Vec<u64> = self.ledger.queue().collect();
        assert_eq!(queue, self.model.queue);
        let pending: Vec<(u64, Entry)> = self.ledger.pending().collect();
        let expected = self
            .model
            .pending
            .iter()
            .map(|(sequence, (consumer, since_ns))| {
                let entry = Entry {
                    consumer: *consumer,
                    since_ns: *since_ns,
                    deliveries: self.model.deliveries_of(*sequence),
                    queued: self.model.queue.contains(sequence),
                };
                (*sequence, entry)
            });
        assert_eq!(pending, expected.collect::<Vec<_>>());
    }

    /// Any snapshot and all changes from it on, and from anywhere before, give the same ledger.
    pub fn check_replay(&mut self) {
        self.take();
        let live = self.ledger.snapshot();
        self.snapshots.push((Vec::new(), 0));
        for (snapshot, from) in self.snapshots.clone() {
            let mut replayed = Ledger::new(self.model.policy, b"", Filter::everything(), true);
            if !snapshot.is_empty() {
                replayed.restore(&snapshot).unwrap();
            }
            for changes in &self.changes[from / 2..] {
                replayed.apply(changes).unwrap();
            }
            assert_eq!(replayed.snapshot(), live);
            assert_eq!(replayed.figures(), self.ledger.figures());
            assert!(replayed.take_changes().is_empty());
        }
    }
}

fn rendered(letter: &Sent, client: &Client) -> Vec<u8> {
    let headers: &[u8] = if client.headers { &letter.headers } else { b"" };
    let size = headers.len() + letter.payload.len();
    let (subject, reply) = (&letter.subject, &letter.reply);
    let head = match headers.len() {
        0 => format!("MSG {subject} 9 {reply} {size}\r\n"),
        bytes => format!("HMSG {subject} 9 {reply} {bytes} {size}\r\n"),
    };
    [head.as_bytes(), headers, &letter.payload, b"\r\n"].concat()
}

pub fn flat(ranges: &[Range]) -> Vec<u64> {
    ranges
        .iter()
        .flat_map(|(first, last)| *first..=*last)
        .collect()
}
