"""What the Rust kernel exports (crates/penstock-python)."""

from collections.abc import Sequence
from typing import TypeAlias

def is_valid_pattern(subject: bytes) -> bool: ...
def is_valid_literal(subject: bytes) -> bool: ...

class SubjectIndex:
    def __new__(cls) -> SubjectIndex: ...
    def __len__(self) -> int: ...
    def insert(self, pattern: bytes, number: int) -> bool: ...
    def remove(self, pattern: bytes, number: int) -> bool: ...
    def find(self, subject: bytes) -> list[int]: ...
    def matched(self, hub: Hub, start: int, end: int) -> int: ...

class Hub:
    def __new__(
        cls,
        *,
        control_line_bytes_max: int,
        payload_bytes_max: int,
        pending_bytes_max: int,
        crowded_bytes: int,
        read_bytes_max: int,
        turn_bytes_max: int,
        seed: int,
    ) -> Hub: ...
    def fileno(self) -> int: ...
    def add_account(self) -> int: ...
    def open(self, account: int, expects_connect: bool) -> int: ...
    def attach(self, id: int, descriptor: int) -> None: ...
    def switch(
        self, id: int, account: int, bulk: bool, echo: bool, headers: bool, no_responders: bool
    ) -> None: ...
    def close(self, id: int) -> bool: ...
    def turn(self, now_ns: int) -> None: ...
    def next_turn(self) -> int: ...
    def linger(self) -> bool: ...
    def begin(self, now_ns: int) -> None: ...
    def feed(self, id: int, data: bytes) -> int: ...
    def take(self, id: int) -> bytes: ...
    def next_group(
        self, start: int
    ) -> tuple[bool, int, int, list[tuple[int, int, int]]] | None: ...
    def runs(self, start: int, end: int) -> list[tuple[int, int, int]]: ...
    def picked(self, position: int) -> int | None: ...
    def frame(self, index: int) -> tuple[int, int, int, bytes, bytes, bytes, int] | None: ...
    def fan_out(self, start: int, end: int) -> int: ...
    def hold_after(self, index: int) -> None: ...
    def release(self, id: int) -> bool: ...
    def send(self, id: int, data: bytes) -> None: ...
    def flush(self) -> list[tuple[int, int]]: ...
    def give_up_overdue(self, now_ns: int, deadline_ns: int) -> None: ...
    def subscribe(self, id: int, pattern: bytes, queue: bytes | None, sid: bytes) -> bool: ...
    def unsubscribe(self, id: int, sid: bytes, delivered_max: int) -> bool: ...
    def own_sids(self, id: int, subject: bytes) -> list[bytes]: ...
    def add_target(self, account: int, pattern: bytes, target: int) -> bool: ...
    def remove_target(self, account: int, pattern: bytes, target: int) -> bool: ...
    def listens(self, account: int, subject: bytes) -> bool: ...
    def loopback_runs(self) -> list[tuple[int, int, int]]: ...
    def loops_back(self) -> bool: ...
    def take_loopback_lost(self) -> int: ...
    def publish(
        self, account: int, subject: bytes, reply: bytes, headers: bytes, payload: bytes
    ) -> bool: ...
    def lanes(
        self,
        start: int,
        end: int,
        prefix: bytes,
        harmless: bytes,
        column: bytes,
        expected: bytes,
        header_bytes_max: int,
        message_bytes_max: int,
        lifetime_seconds: tuple[int, int],
    ) -> list[tuple[int, int, int]]: ...
    def batch_runs(
        self,
        start: int,
        end: int,
        names: tuple[bytes, bytes, bytes],
        prefix: bytes,
        harmless: bytes,
        header_bytes_max: int,
        message_bytes_max: int,
    ) -> list[tuple[int, int, bytes, int, int, int, bool]]:
        """Stretches of messages of one batch, their places one behind the other.

        `names`: the headers with the id and the place, and those, with a colon behind each, that
        keep a message out. Answers with start, end, id, place of the first, bytes of all, those of
        the largest without its subject, and whether there are no other headers with the prefix but
        harmless ones.
        """

    def header_column(self, start: int, end: int, name: bytes) -> list[bytes]: ...
    def acknowledge(
        self, start: int, end: int, prefix: bytes, first: int, suffix: bytes
    ) -> None: ...
    def acknowledge_counted(
        self, start: int, prefix: bytes, first: int, joint: bytes, counted: Copies
    ) -> None: ...
    def set_gate(self, entry: int) -> None: ...
    def release_held(self, durable: int) -> None: ...
    def drop_held(self) -> None: ...
    def held_bytes(self) -> int: ...
    def traffic(self, id: int) -> tuple[int, int, int, int, int, int, int] | None: ...
    def interests(self, id: int) -> list[tuple[bytes, bytes | None, bytes, int, int]]: ...
    def listeners(self, account: int) -> int: ...
    def answer_run(self, start: int, end: int) -> None:
        """An empty message to the reply subject of every picked frame that has one."""

    def listens_exactly(self, account: int, subject: bytes, queue: bytes | None) -> bool:
        """Whether somebody subscribed to this very subject, no wildcard.

        Without `queue` only plain subscriptions count, with it only those of that group.
        """

    def watch(self, account: int, subject: bytes, queue: bytes | None, number: int) -> bool:
        """Watches `listens_exactly` under a number of the caller's; returns how it is now."""

    def unwatch(self, number: int) -> None: ...
    def take_interest_changes(self) -> list[tuple[int, bool]]:
        """The watched ones whose answer is another than was last told; once in every turn."""

class Store:
    @staticmethod
    def in_memory(name: str) -> Store: ...
    @staticmethod
    def open(
        root: str,
        directory: str,
        name: str,
        replayable_from: int | None,
        is_all_logged: bool = False,
    ) -> tuple[Store, int | None, list[tuple[int, int]], list[str]]: ...
    def append_run(self, hub: Hub, start: int, end: int, first: int, time_ns: int) -> int: ...
    def fitting(
        self,
        hub: Hub,
        start: int,
        end: int,
        messages: int,
        bytes: int,
        messages_per_subject: int,
        keeps_subjects: bool,
    ) -> int: ...
    def expected(self, hub: Hub, start: int, end: int, header: bytes, first: int) -> int: ...
    def replay_run(self, bytes: bytes) -> tuple[int, int] | None: ...
    def append_copies(self, copies: Copies) -> None: ...
    def replay_copies(self, bytes: bytes) -> tuple[int, int] | None: ...
    def append(
        self, sequence: int, timestamp_ns: int, subject: bytes, headers: bytes, message: bytes
    ) -> None: ...
    def load(self, sequence: int) -> tuple[int, int, bytes, bytes, bytes] | None: ...
    def remove(self, sequence: int, erase: bool) -> bool: ...
    def replay_removals(self, sequences: list[int], erase: bool) -> None: ...
    def remove_below(self, sequence: int) -> int: ...
    def next_matching(self, pattern: bytes, sequence: int) -> int | None: ...
    def last_matching(self, pattern: bytes, sequence: int) -> int | None: ...
    def sequence_at(self, time_ns: int) -> int | None: ...
    def subject_state(self, subject: bytes) -> tuple[int, int, int] | None: ...
    def subjects(self, pattern: bytes, offset: int, limit: int) -> list[tuple[bytes, int]]: ...
    def header_values(
        self, name: bytes, sequence: int, bytes_max: int
    ) -> tuple[bytes, bytes, bytes, bytes, int | None]: ...
    def deleted(self) -> list[tuple[int, int]]: ...
    def evict(self, messages: int, bytes: int, messages_per_subject: int) -> int: ...
    def expire(self, time_ns: int, count_max: int) -> int: ...
    def watch_lifetimes(self, watched: bool) -> None: ...
    def lifetimes(self) -> tuple[int, int, int | None]: ...
    def next_over(self, age_max_ns: int | None) -> int | None: ...
    def over(
        self, now_ns: int, older_than_ns: int | None, count_max: int
    ) -> tuple[list[int], bool]: ...
    def lasts(self, sequences: list[int]) -> list[tuple[int, bytes, bytes]]: ...
    def replace(
        self,
        sequences: list[int],
        erase: bool,
        subjects: list[bytes],
        headers: bytes,
        first: int,
        time_ns: int,
    ) -> int: ...
    def replay_replaced(self, bytes: bytes) -> tuple[int, int] | None: ...
    def state(self) -> tuple[int, int, int, int, int, int, int, int]: ...
    def pending(self, patterns: list[bytes], sequence: int) -> int: ...
    def last_by_subjects(self, patterns: list[bytes], up_to: int) -> list[int]: ...
    def checkpoint(self, mark: int, closing: bool) -> None: ...
    def begin_checkpoint(self, mark: int, closing: bool) -> Checkpoint | None: ...
    def end_checkpoint(self, checkpoint: Checkpoint) -> bool: ...
    def has_erasures(self) -> bool: ...
    def has_overwritten(self) -> bool: ...
    def take_appended_bytes(self) -> int: ...
    def save_ids(self, ids: RecentIds, since_ns: int) -> None: ...
    def take_ids(self, ids: RecentIds) -> bool: ...
    def lost(self) -> tuple[list[tuple[int, int]], int]: ...
    def unwritten_bytes(self) -> int: ...
    def write_out(self) -> None: ...
    def sync(self) -> None: ...

class Copies:
    """Messages on their way into a store: from another one, or counted. `kernel/storage.py` names
    the stops."""

    def __new__(cls) -> Copies: ...
    def __len__(self) -> int: ...
    def take(
        self,
        origin: Store,
        patterns: list[bytes],
        sequence: int,
        up_to: int,
        *,
        messages_max: int,
        bytes_max: int,
        header_bytes_max: int,
        message_bytes_max: int,
        dropped: list[bytes],
        special: list[bytes],
        sourced: tuple[int, int, bytes, bytes, bytes] | None,
        renames: bool,
    ) -> tuple[int, int]:
        """Begins anew with the messages from `sequence` up to `up_to` that match.

        No patterns is everything. Header lines that begin with one of `dropped` are left out.
        Stops before a message whose headers contain one of `special` or that is too large. With
        `sourced` (first sequence, time, and three parts of a header line, the message's sequence
        and subject between them) messages get new sequences, that time and one more header line.
        With `renames` subjects get the names that were told, and a subject without one stops it.
        Answers with why it stopped (`CopyStop`) and the sequence to go on with.
        """

    def count(
        self,
        store: Store,
        hub: Hub,
        start: int,
        end: int,
        first: int,
        time_ns: int,
        increment: bytes,
        special: bytes,
        head: bytes,
        tail: bytes,
        message_bytes_max: int,
        messages: int,
        bytes: int,
        messages_per_subject: int,
    ) -> int:
        """Begins anew with what a run of increments comes to; the store has it then too.

        Stops before a frame whose header `increment` is not a sign and digits, that has a payload,
        or whose subject's last message is not just `head`, a number and `tail`, or has `special` in
        its headers, or whose sum or size is too large. For the limits of messages and bytes (0:
        none) the oldest messages give way, and it answers with how many; with a limit for each
        subject, it stops there instead.
        """

    def rename(self, subject: bytes, name: bytes) -> int:
        """What a subject is called in the other store; answers with how many are known."""

    def rows(self) -> list[tuple[int, int, bytes, bytes, bytes]]: ...
    def last(self) -> tuple[int, bytes] | None:
        """Sequence and headers of the last one."""

    def has_subject(self, subject: bytes) -> bool: ...
    def stage(self, subject: bytes, headers: bytes, message: bytes) -> None: ...
    def stage_run(self, hub: Hub, start: int, end: int) -> None: ...
    def unstage(self) -> list[bytes] | None:
        """Takes the last one away that was staged, if nothing was taken away since."""

    def number(self, first: int, time_ns: int) -> None:
        """Gives all of them sequences from `first` on, and this time."""

    def encoded(self, before: int) -> bytes:
        """As a log has them, for a store whose last sequence was `before`."""

class Checkpoint:
    @property
    def error(self) -> str: ...
    @property
    def lost(self) -> bool: ...
    def write(self) -> None: ...

class RecentIds:
    def __new__(cls) -> RecentIds: ...
    def __len__(self) -> int: ...
    def find(self, id: bytes, since_ns: int) -> int | None: ...
    def are_new(self, ids: Sequence[bytes], since_ns: int) -> bool: ...
    def remember(self, ids: Sequence[bytes], first: int, time_ns: int) -> None: ...
    def remember_column(
        self, sequences: bytes, times_ns: bytes, ends: bytes, values: bytes
    ) -> None: ...
    def newest(self) -> tuple[int, bytes] | None: ...

class Overlay:
    def __new__(cls, root: str) -> Overlay: ...

def open_examined(
    root: str,
    directory: str,
    name: str,
    replayable_from: int | None,
    overlay: Overlay | None = None,
    is_all_logged: bool = False,
) -> tuple[
    Store,
    int | None,
    tuple[
        int,
        list[int],
        list[tuple[int, int]],
        list[tuple[int, int]],
        tuple[int, int, int],
        list[tuple[int, int]],
        list[str],
    ],
]: ...
def examine(
    store: Store, number: int
) -> tuple[list[tuple[int, int, int, int, list[tuple[int, int]]]], int | None]: ...
def block_summaries(store: Store) -> list[tuple[int, int, int, int, int]]: ...

class StoreLock:
    def __new__(cls, root: str, path: str) -> StoreLock: ...

class Log:
    def __new__(
        cls,
        root: str,
        directory: str,
        salt: int,
        segment_bytes_max: int = ...,
        overlay: Overlay | None = None,
    ) -> Log: ...
    def next_replayed(
        self, run_kind: int, stores: dict[int, tuple[Store, int]]
    ) -> tuple[int, int, int, bytes] | None: ...
    def gaps(self) -> list[tuple[int, int, int]]: ...
    def lost(self) -> list[tuple[str, int, int, int]]: ...
    def mended(self) -> list[tuple[str, int]]: ...
    def torn(self) -> tuple[str, int] | None: ...
    def end(self) -> tuple[str, int] | None: ...
    def append(self, stream: int, kind: int, payload: bytes) -> int: ...
    def append_run(
        self, hub: Hub, stream: int, kind: int, start: int, end: int, first: int, time_ns: int
    ) -> int: ...
    def append_replaced(
        self,
        stream: int,
        kind: int,
        sequences: list[int],
        erase: bool,
        subjects: list[bytes],
        headers: bytes,
        first: int,
        time_ns: int,
    ) -> int: ...
    def append_message(
        self,
        stream: int,
        kind: int,
        sequence: int,
        time_ns: int,
        subject: bytes,
        headers: bytes,
        message: bytes,
    ) -> int: ...
    def append_copies(self, stream: int, kind: int, copies: Copies, before: int) -> int: ...
    def commit(self) -> None: ...
    def close(self) -> None: ...
    def last(self) -> int: ...
    def fileno(self) -> int: ...
    def acknowledge(self) -> int: ...
    def durable(self) -> int: ...
    def failure(self) -> str | None: ...
    def pending_bytes(self) -> int: ...
    def segments(self) -> int: ...
    def cut(self, entry: int) -> None: ...
    def oldest(self) -> int: ...
    def forget(self) -> None: ...
    def remains(self) -> Remains: ...
    def has_remains(self) -> bool: ...
    def keep_spare(self, wanted: bool) -> None: ...
    def wait_durable(self, entry: int) -> int: ...

class Remains:
    def overwrite(self) -> None: ...

def encode_message(
    sequence: int, time_ns: int, subject: bytes, headers: bytes, message: bytes
) -> bytes: ...

class S2Reader:
    def __new__(cls) -> S2Reader: ...
    def feed(self, data: bytes) -> None: ...
    def next_block(self) -> bytes | None: ...
    def is_whole(self) -> bool: ...

def s2_start() -> bytes: ...
def s2_chunk(data: bytes) -> bytes: ...

class ForeignBlocks:
    def __new__(cls, root: str, directory: str, name: str) -> ForeignBlocks: ...
    def last(self) -> tuple[int, int]: ...
    def messages(
        self, sequence: int, bytes_max: int
    ) -> list[tuple[int, int, bytes, bytes, bytes]]: ...

def parse_lifetime(text: bytes) -> int | None: ...
def encode_entry(
    name: bytes, time_ns: int, sequence: int, headers: bytes, payload: bytes
) -> bytes: ...

class EntryDecoder:
    def __new__(cls, bytes_max: int) -> EntryDecoder: ...
    def feed(self, data: bytes) -> None: ...
    def take(self, count_max: int) -> list[tuple[bytes, int, int, bytes, bytes]]: ...
    def is_whole(self) -> bool: ...

Arrived: TypeAlias = tuple[int, int, int, int, int]

class Ledger:
    """What one consumer was delivered, what of it is not settled yet, and where it goes on.

    It knows sequences, times and counts, and no rules. Stream sequences are called `sequence`,
    consumer sequences `consumer_sequence`. Times are nanoseconds of one clock of the caller's (the
    wall clock, since they outlive a restart). `kernel/consumers.py` names the numbers and the
    columns.
    """

    def __new__(
        cls,
        *,
        ack_subject: bytes,
        ack_policy: int,
        filters: list[bytes],
        headers_only: bool,
        recorded: bool,
    ) -> Ledger:
        """`ack_subject` is `$JS.ACK.<stream>.<consumer>.` with its last dot.

        No filters, or `>`, is everything; filters must not overlap. With `recorded`, changes are
        kept for `take_changes`, which must then be called.
        """

    def start(self, cursor: int, listed: list[int]) -> None:
        """Begins anew: looks at `cursor` next, but first at the sequences of the (rising) list.

        Delivered and floor become 0/(first-1), where first is the list's or the cursor.
        """

    def configure(self, filters: list[bytes], headers_only: bool) -> None:
        """Other filters from now on; positions stay."""

    def deliver(
        self,
        hub: Hub,
        store: Store,
        account: int,
        requests: list[tuple[bytes, int, int]],
        *,
        ack_pending_max: int,
        deliveries_max: int,
        bytes_soft: int,
        header: bytes,
        now_ns: int,
        arrived: Arrived | None,
    ) -> tuple[int, int, int, list[tuple[int, int]]]:
        """Delivers to the requests in turn; each is (inbox, messages_max, bytes_max).

        Everybody who listens to the inbox gets a copy, one member of a queue group. First what is
        queued again, then the list, then from the cursor on. 0 is no limit, for all but
        `messages_max`. `bytes_soft` stops behind the delivery that brings the bytes of this call
        above it. `header` is a line (with CRLF) added to every message's headers; it is not
        counted. `arrived` is what `FilterIndex.arrived` says, or none to count in the store.

        Answers with (stop, request, sequence, served): why it stopped (`Stop`), which request it
        concerns or whose turn is next, which message, and for each request the messages and bytes
        it got. Bytes are those of subject, ack subject, headers and payload.
        """

    def is_at_end(self, store: Store, ack_pending_max: int, arrived: Arrived | None) -> bool:
        """Whether `deliver` would find nothing and stop with END; then everything is as after it.

        For whoever asks often and mostly in vain.
        """

    def peek(self, store: Store) -> tuple[int, int] | None:
        """Sequence and time of the next new message, if there is one; the cursor moves to it."""

    def ack(self, sequence: int, consumer_sequence: int) -> list[tuple[int, int]] | None:
        """One acknowledgement (or termination), by the ack policy.

        Ranges of the sequences settled by it, for retention; empty if it has no effect. None if
        the sequence was not reached yet: such an ack is ignored and not answered.
        """

    def ack_run(
        self, hub: Hub, start: int, end: int
    ) -> tuple[int, int, list[tuple[int, int]], bool]:
        """The same for the picked frames from `start` on, as long as they are plain acks.

        Plain: under this ledger's ack subject with nine tokens, sequences in digits, the payload
        empty, `+ACK` or `+OK`; with a reply only if the sequence was reached. Answers with the
        position where it stopped (`end`, or a frame for the caller), how many acks had an effect,
        the ranges settled, and whether any expects an answer. Answers are the caller's:
        `Hub.answer_run`.
        """

    def nak(self, sequence: int, consumer_sequence: int) -> bool:
        """To the end of the queue, unless it is queued already.

        False and nothing if it is not pending or the consumer sequence is out of range.
        """

    def delay(self, sequence: int, since_ns: int) -> bool:
        """Out of the queue, with its wait counted from `since_ns`; false if not pending."""

    def progress(self, sequence: int, since_ns: int) -> bool:
        """Its wait is counted from `since_ns`; false if not pending."""

    def requeue(self, sequence: int) -> bool:
        """To the end of the queue, even if it is in it; false if not pending."""

    def give_up(self, sequence: int) -> bool:
        """Out of pending and queue; counts as redelivered, and the floor stays where it is."""

    def needs(self, sequence: int) -> bool:
        """Whether it is not settled: not delivered yet, pending, or given up.

        The filters are not asked.
        """

    def expire(
        self, now_ns: int, waits: list[int], deliveries_max: int
    ) -> tuple[int, list[int], int | None]:
        """Queues everything whose wait is over, in order of sequences.

        The wait after delivery n is `waits[min(n, len) - 1]`. What had `deliveries_max` (0: no
        limit) is given up instead. Answers with how many were queued, which were given up, and the
        next deadline, if any. What is queued has none.
        """

    def next_deadline(self, waits: list[int]) -> int | None: ...
    def removed(self, first: int, last: int) -> list[tuple[int, int, int]]:
        """Messages left the stream: settled as by acks of them, by the ack policy.

        Answers with those that were pending: sequence, consumer sequence, deliveries.
        """

    def removed_missing(self, store: Store) -> list[tuple[int, int, int]]:
        """The same for everything pending that the store no longer has."""

    def purged(self, below: int) -> int:
        """Everything below a sequence was purged; how many were pending.

        Cursor, floor and delivered move up to it, and the queue is emptied.
        """

    def purged_missing(self, store: Store, first: int) -> int:
        """Some messages were purged: those the store no longer has leave pending.

        The floor's consumer sequence becomes the highest of theirs, and the queue is emptied.
        """

    def entry(self, sequence: int) -> tuple[int, int, int, bool] | None:
        """Consumer sequence of its first delivery, since when it waits, deliveries, queued."""

    def figures(self) -> tuple[int, int, int, int, int, int, int, int]:
        """See `Figures` in kernel/consumers.py."""

    def num_pending(self, store: Store, arrived: Arrived | None) -> int:
        """How many messages are still to be delivered for the first time."""

    def take_changes(self) -> bytes:
        """Everything since the last call as one buffer, for the journal; empty if nothing."""

    def apply(self, changes: bytes) -> bool:
        """Replays a buffer of `take_changes`; false if it is in already. `ValueError` if damaged.

        Not recorded.
        """

    def snapshot(self) -> bytes:
        """The whole state, without configuration. Changes not taken yet are in it."""

    def restore(self, snapshot: bytes) -> None:
        """The state of a snapshot in the place of this one. `ValueError` if damaged."""

class FilterIndex:
    """Which consumers of a stream a stored message concerns, and how many so far.

    Consumers have numbers of the caller's (small, they index a table).
    """

    def __new__(cls) -> FilterIndex: ...
    def set(self, number: int, filters: list[bytes]) -> None:
        """Adds a consumer or changes its filters; none, or `>`, is everything."""

    def remove(self, number: int) -> None: ...
    def wait(self, number: int, waiting: bool) -> None:
        """Whether the consumer is to be woken. A new one is not."""

    def count_run(self, hub: Hub, start: int, end: int, first: int) -> list[int]:
        """Counts the picked frames `start..end`, stored from `first` on; who is to be woken.

        Once for every stored run, in order.
        """

    def count_message(self, subject: bytes, sequence: int) -> list[int]:
        """The same for one message."""

    def count_copies(self, copies: Copies) -> list[int]:
        """The same for copies, whose sequences may have gaps."""

    def arrived(self, number: int) -> Arrived:
        """For `Ledger.deliver` and `Ledger.num_pending`; says nothing to anybody else."""

def send_page(
    hub: Hub,
    store: Store,
    account: int,
    inbox: bytes,
    stream: bytes,
    pattern: bytes,
    *,
    sequence: int,
    up_to: int,
    messages_max: int,
    bytes_max: int,
    pending: int,
    before: int,
) -> tuple[int, int, int, int, int, int]:
    """Messages of a direct get to whoever listens to an inbox."""

def alike(hub: Hub, start: int, end: int) -> tuple[list[bytes], bytes]:
    """Where the answers to the frames `picked[start..end]` go, from the first on, as long as they
    have the same body and no headers; and that body."""

def send_singles(
    hub: Hub,
    store: Store,
    account: int,
    stream: bytes,
    start: int,
    end: int,
    *,
    dots: int,
    missing: bytes,
) -> int:
    """Answers direct gets of one message, the frames `picked[start..end]`: those that ask for the
    last one of a subject, which stands behind so many dots, or for a sequence, and say nothing
    else. The first one that is left, or `end`."""

class Memory:
    """Bytes of the kernel, read where they are."""

    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

_Buffers: TypeAlias = tuple[int, Memory, list[Memory]]  # nulls, validity (empty: all), buffers

class Answers:
    """Messages to inboxes that begin alike, taken out of the bytes of its connection."""

    def __new__(cls, prefix: bytes, columns: int, counters: bool) -> Answers: ...
    def __len__(self) -> int: ...
    def row_bytes(self) -> int: ...
    def is_over(self) -> bool: ...
    def begin(self, inbox: bytes, up_to: int, excluded: list[bytes]) -> None:
        """Before a request to an inbox: rows up to a sequence, and none of these subjects."""

    def reset(self) -> None: ...
    def feed(self, data: bytes) -> bytes:
        """Answers with what is somebody else's; `ValueError` if it is not the protocol."""

    def outcome(self) -> tuple[int, bytes, int, int, int]: ...
    def take(self) -> list[_Buffers]: ...

class BlockRows:
    """Messages of a range of sequences, taken out of block files in their order."""

    def __new__(
        cls,
        directory: str,
        stream: str,
        columns: int,
        counters: bool,
        patterns: list[bytes],
        range: tuple[int, int],
        removed: list[tuple[int, int]],
    ) -> BlockRows: ...
    def __len__(self) -> int: ...
    def begin(self, number: int) -> None: ...
    def fill(self, rows_max: int, bytes_max: int) -> int: ...
    def next_sequence(self) -> int: ...
    def take(self) -> list[_Buffers]: ...

_Column: TypeAlias = tuple[bytes | None, bytes, bytes, int, int]
_Lists: TypeAlias = tuple[bytes | None, bytes, int, int, int]
_Headers: TypeAlias = tuple[_Lists, _Column, _Lists | None, _Column]

class Publishes:
    def __new__(
        cls,
        rows: int,
        subjects: _Column | None,
        payloads: _Column | None,
        ids: _Column | None,
        lines: list[tuple[bytes, _Column]],
        headers: _Headers | None,
    ) -> Publishes: ...
    def render(
        self,
        subjects: PublishSubjects,
        bounds: tuple[int, int, int],
        subject: bytes,
        reply: bytes,
        lines: bytes,
        name: bytes,
        stem: bytes,
        number: int,
        message_bytes_max: int,
    ) -> tuple[bytes, int, int]: ...

class PublishSubjects:
    def __new__(cls, allowed: list[bytes], reserved: list[bytes]) -> PublishSubjects: ...

class PublishAcks:
    def __new__(cls, reply: bytes, stream: bytes, first: int) -> PublishAcks: ...
    def expect(self, rows: int) -> None: ...
    def settle(self, row: int) -> bool: ...
    @property
    def first(self) -> int: ...
    def take(self, data: bytes) -> tuple[int, int, list[tuple[int, bytes]], int, list[bytes]]: ...
