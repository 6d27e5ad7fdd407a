"""Ledgers by example, on a real hub and a real store: what receivers get, and what is kept."""

import pytest

from penstock.kernel.consumers import AckPolicy, Delivered, Entry, Figures, Ledger, Stop
from penstock.kernel.hub import Hub
from penstock.kernel.storage import Blocks
from tests.properties.hub_walk import open_client, small_hub

TIME_NS = 1_700_000_000_000_000_000
ACKS = b"$JS.ACK.S.C."


def hub_for_consumers() -> Hub:
    hub = small_hub(line_bytes_max=4096)
    assert hub.add_target(0, ACKS + b"*.*.*.*.*", 1)
    return hub


def listener(hub: Hub, inbox: bytes = b"in", queue: bytes | None = None) -> int:
    client = open_client(hub)
    assert hub.subscribe(client, inbox, queue, b"9")
    return client


def store_of(*messages: tuple[bytes, bytes, bytes]) -> Blocks:
    store = Blocks.in_memory("S")
    for sequence, (subject, headers, payload) in enumerate(messages, 1):
        store.append(sequence, TIME_NS + sequence, subject, headers, payload)
    return store


def plain_store(count: int) -> Blocks:
    return store_of(*[(b"a.%d" % number, b"", b"m%d" % number) for number in range(1, count + 1)])


def ledger_of(
    policy: AckPolicy = AckPolicy.EXPLICIT,
    *filters: bytes,
    headers_only: bool = False,
    cursor: int = 1,
) -> Ledger:
    ledger = Ledger(
        ack_subject=ACKS,
        ack_policy=policy,
        filters=list(filters),
        headers_only=headers_only,
        recorded=True,
    )
    ledger.start(cursor, [])
    return ledger


def deliver(
    ledger: Ledger,
    hub: Hub,
    store: Blocks,
    *requests: tuple[bytes, int, int],
    ack_pending_max: int = 0,
    deliveries_max: int = 0,
    bytes_soft: int = 0,
    header: bytes = b"",
    now_ns: int = 0,
    arrived: tuple[int, int, int, int, int] | None = None,
) -> Delivered:
    return Delivered(
        *ledger.deliver(
            hub,
            store,
            0,
            list(requests),
            ack_pending_max=ack_pending_max,
            deliveries_max=deliveries_max,
            bytes_soft=bytes_soft,
            header=header,
            now_ns=now_ns,
            arrived=arrived,
        )
    )


def letter(  # as a client sees it
    number: int, pending: int, *, delivery: int = 1, consumer: int | None = None
) -> bytes:
    payload = b"m%d" % number
    numbers = (delivery, number, consumer or number, TIME_NS + number, pending)
    reply = ACKS + b"%d.%d.%d.%d.%d" % numbers
    return b"MSG a.%d 9 %s %d\r\n%s\r\n" % (number, reply, len(payload), payload)


def ack_run(hub: Hub, sender: int, *lines: tuple[bytes, bytes, bytes]) -> tuple[int, int]:
    """A turn with publishes (subject, reply, payload); the run for the consumer."""
    hub.begin(1)
    frames = [
        b"PUB %s %s %d\r\n%s\r\n" % (ACKS + subject, reply, len(payload), payload)
        for subject, reply, payload in lines
    ]
    hub.feed(sender, b"".join(frames))
    group = hub.next_group(0)
    assert group is not None
    bulk, start, end, runs = group
    assert bulk and hub.fan_out(start, end) == -1
    ((target, run_start, run_end),) = runs
    assert target == 1
    return run_start, run_end


def test_a_pull_gets_the_next_messages_with_their_ack_subjects() -> None:
    hub, store, ledger = hub_for_consumers(), plain_store(3), ledger_of()
    client = listener(hub, b"in.*")
    assert deliver(ledger, hub, store, (b"in.1", 2, 0)).stop == Stop.DONE
    assert hub.take(client) == letter(1, 2) + letter(2, 1)
    told = deliver(ledger, hub, store, (b"in.2", 2, 0))
    assert told == (Stop.END, 0, 0, [(1, len(letter(3, 0)) - len(b"MSG  9  2\r\n\r\n"))])
    assert hub.take(client) == letter(3, 0)
    assert Figures(*ledger.figures()) == (3, 3, 0, 0, 4, 3, 0, 0)
    assert ledger.num_pending(store, None) == 0


def test_headers_are_kept_removed_or_rewritten() -> None:
    hub = hub_for_consumers()
    block = b"NATS/1.0\r\nA: b\r\n\r\n"
    store = store_of((b"a", block, b"x"), (b"a", b"", b"xyz"))
    client = listener(hub)
    deliver(ledger_of(), hub, store, (b"in", 1, 0))
    head, _, rest = hub.take(client).partition(b"\r\n")
    assert head.startswith(b"HMSG a 9 $JS.ACK.S.C.1.1.1.") and head.endswith(b" 18 19")
    assert rest == block + b"x\r\n"
    deliver(ledger_of(headers_only=True), hub, store, (b"in", 2, 0))
    text = hub.take(client)
    assert b"\r\nNATS/1.0\r\nA: b\r\nNats-Msg-Size: 1\r\n\r\n\r\nHMSG " in text
    assert text.endswith(b" 30 30\r\nNATS/1.0\r\nNats-Msg-Size: 3\r\n\r\n\r\n")
    told = deliver(ledger_of(cursor=2), hub, store, (b"in", 1, 0), header=b"Nats-Pin-Id: p\r\n")
    text = hub.take(client)
    assert text.endswith(b" 28 31\r\nNATS/1.0\r\nNats-Pin-Id: p\r\n\r\nxyz\r\n")
    reply = text.split(b" ")[3]
    assert told.served == [(1, len(b"a") + len(reply) + len(b"xyz"))]


def test_requests_take_turns_and_one_that_is_done_leaves() -> None:
    hub, store, ledger = hub_for_consumers(), plain_store(9), ledger_of()
    clients = [listener(hub, b"in.%d" % number) for number in range(3)]
    wanted = [(b"in.0", 2, 0), (b"in.1", 1, 0), (b"in.2", 3, 0)]
    told = deliver(ledger, hub, store, *wanted)
    assert told.stop == Stop.DONE
    assert [messages for messages, _ in told.served] == [2, 1, 3]
    assert hub.take(clients[0]) == letter(1, 8) + letter(4, 5)
    assert hub.take(clients[1]) == letter(2, 7)
    assert hub.take(clients[2]) == letter(3, 6) + letter(5, 4) + letter(6, 3)


def test_a_message_that_does_not_fit_stays_for_the_next_request() -> None:
    hub, store, ledger = hub_for_consumers(), plain_store(3), ledger_of()
    client = listener(hub, b"in.*")
    one = len(letter(1, 2)) - len(b"MSG  9  2\r\n\r\n")
    told = deliver(ledger, hub, store, (b"in.0", 5, one + 10), (b"in.1", 1, 0))
    assert told == (Stop.BYTES, 0, 3, [(1, one), (1, one)])
    assert deliver(ledger, hub, store, (b"in.1", 1, one)).stop == Stop.DONE
    assert hub.take(client) == letter(1, 2) + letter(2, 1) + letter(3, 0)
    told = deliver(ledger_of(), hub, store, (b"in.0", 2, 10 * one), (b"in.1", 9, 0))
    assert (told.stop, told.request, told.served) == (Stop.BATCH, 0, [(2, 2 * one), (1, one)])
    told = deliver(ledger_of(), hub, store, (b"in.0", 9, 0), bytes_soft=one)
    assert (told.stop, told.served) == (Stop.SOFT, [(2, 2 * one)])


def test_nobody_listening_costs_nothing() -> None:
    hub, store, ledger = hub_for_consumers(), plain_store(3), ledger_of()
    client = listener(hub, b"in.1")
    told = deliver(ledger, hub, store, (b"in.1", 2, 0), (b"in.2", 2, 0))
    assert (told.stop, told.request, told.sequence) == (Stop.NO_INTEREST, 1, 2)
    assert Figures(*ledger.figures()).delivered_consumer == 1
    assert hub.unsubscribe(client, b"9", 2)  # one was delivered, one may follow
    told = deliver(ledger, hub, store, (b"in.1", 2, 0))
    assert (told.stop, told.sequence, told.served[0][0]) == (Stop.NO_INTEREST, 3, 1)
    assert hub.take(client) == letter(1, 2) + letter(2, 1)
    assert deliver(ledger, hub, store, (b"in.1", 2, 0)).stop == Stop.NO_INTEREST


def test_everybody_gets_a_copy_and_one_member_of_a_group() -> None:
    hub, store, ledger = hub_for_consumers(), plain_store(40), ledger_of(AckPolicy.NONE)
    plain = [listener(hub), listener(hub, b">")]
    group = [listener(hub, b"in", b"workers") for _ in range(2)]
    assert deliver(ledger, hub, store, (b"in", 99, 0)).stop == Stop.END
    whole = b"".join(letter(number, 40 - number) for number in range(1, 41))
    assert [hub.take(client) for client in plain] == [whole, whole]
    parts = [hub.take(member) for member in group]
    assert all(parts) and sum(map(len, parts)) == len(whole)
    assert Figures(*ledger.figures())[:4] == (40, 40, 40, 40)


def test_nothing_leaves_before_the_gate_opens() -> None:
    hub, store, ledger = hub_for_consumers(), plain_store(2), ledger_of()
    client = listener(hub)
    hub.set_gate(5)
    deliver(ledger, hub, store, (b"in", 9, 0))
    hub.set_gate(0)
    hub.release_held(4)
    assert hub.take(client) == b""
    hub.release_held(5)
    assert hub.take(client) == letter(1, 1) + letter(2, 0)


def test_a_listener_with_much_to_read_is_served_when_it_has_room() -> None:
    hub = Hub(
        control_line_bytes_max=4096,
        payload_bytes_max=4096,
        pending_bytes_max=1 << 20,
        crowded_bytes=300,
        read_bytes_max=1 << 16,
        turn_bytes_max=1 << 20,
        seed=1,
    )
    hub.add_account()
    store, ledger = plain_store(20), ledger_of()
    client = listener(hub)
    received = b""
    for turn in range(40):
        hub.begin(turn)
        told = deliver(ledger, hub, store, (b"in", 99, 0))
        if told.stop == Stop.END:
            break
        assert told.stop == Stop.CROWDED
        assert hub.next_turn() == -1
        received += hub.take(client)
        assert hub.next_turn() == 0
    assert received + hub.take(client) == b"".join(letter(n, 20 - n) for n in range(1, 21))
    assert turn == 3


def test_plain_acks_are_one_call_and_others_stop_it() -> None:
    hub, store, ledger = hub_for_consumers(), plain_store(9), ledger_of()
    client = listener(hub)
    deliver(ledger, hub, store, (b"in", 9, 0))
    hub.take(client)
    start, end = ack_run(
        hub,
        client,
        (b"1.1.1.5.5", b"", b""),
        (b"1.2.2.5.5", b"", b"+ACK"),
        (b"x.3.x.x.x", b"in", b"+OK"),
        (b"1.2.2.5.5", b"in", b"+ACK"),  # again
        (b"1.99.9.5.5", b"", b"+ACK"),  # not reached: ignored
        (b"1.5.5.5.5", b"", b"-NAK"),
        (b"1.7.7.5.5", b"", b"+ACK"),
        (b"1.99.9.5.5", b"in", b"+ACK"),  # not reached, and an answer is expected
        (b"1.x.9.5.5", b"", b"+ACK"),
    )
    assert ledger.ack_run(hub, start, end) == (start + 5, 3, [(1, 3)], True)
    assert ledger.ack_run(hub, start + 6, end) == (start + 7, 1, [(7, 7)], False)
    assert ledger.ack_run(hub, start + 8, end) == (start + 8, 0, [], False)
    assert Figures(*ledger.figures()) == (9, 9, 3, 3, 10, 5, 0, 0)
    hub.answer_run(start, start + 5)
    assert hub.take(client) == b"MSG in 9 0\r\n\r\n" * 2


def test_the_floor_follows_the_first_deliveries() -> None:
    hub, ledger = hub_for_consumers(), ledger_of(AckPolicy.EXPLICIT, b"a")
    store = store_of(*[(b"a" if n % 3 == 2 else b"b", b"", b"") for n in range(1, 10)])
    listener(hub)
    deliver(ledger, hub, store, (b"in", 9, 0))
    assert ledger.ack(5, 2) == [(5, 5)]
    assert Figures(*ledger.figures())[:4] == (3, 8, 0, 0)
    assert ledger.ack(2, 9) == [(2, 2)]
    assert Figures(*ledger.figures())[:4] == (3, 8, 2, 7)
    assert ledger.ack(2, 9) == []
    assert ledger.ack(8, 3) == [(8, 8)]
    assert Figures(*ledger.figures())[:4] == (3, 8, 3, 8)
    assert ledger.ack(10, 4) is None


def test_an_ack_for_all_settles_everything_up_to_it() -> None:
    hub, store, ledger = hub_for_consumers(), plain_store(6), ledger_of(AckPolicy.ALL)
    client = listener(hub)
    deliver(ledger, hub, store, (b"in", 4, 0))
    start, end = ack_run(hub, client, (b"1.3.3.5.5", b"", b""), (b"1.2.2.5.5", b"", b""))
    assert ledger.ack_run(hub, start, end) == (end, 1, [(1, 3)], False)
    assert Figures(*ledger.figures())[:6] == (4, 4, 3, 3, 5, 1)
    assert ledger.ack(3, 9) == []


def test_the_end_is_known_without_a_delivery() -> None:
    hub, store, ledger = hub_for_consumers(), plain_store(2), ledger_of()
    listener(hub)
    assert not ledger.is_at_end(store, 0, None)
    deliver(ledger, hub, store, (b"in", 2, 0))
    assert ledger.is_at_end(store, 3, None)
    assert not ledger.is_at_end(store, 2, None), "nothing new would be delivered"
    assert ledger.nak(1, 1)
    assert not ledger.is_at_end(store, 0, None)

    filtered = ledger_of(AckPolicy.EXPLICIT, b"nobody")
    assert filtered.is_at_end(store, 0, None)
    assert Figures(*filtered.figures()).cursor == 3, "as behind a delivery that found nothing"


def test_redelivery_comes_first_in_the_order_of_naks() -> None:
    hub, store, ledger = hub_for_consumers(), plain_store(6), ledger_of()
    client = listener(hub)
    deliver(ledger, hub, store, (b"in", 3, 0), now_ns=10)
    hub.take(client)
    assert ledger.nak(3, 3) and ledger.nak(1, 1) and ledger.nak(3, 3)
    assert not ledger.nak(4, 4) and not ledger.nak(2, 9)
    told = deliver(ledger, hub, store, (b"in", 3, 0), ack_pending_max=3, now_ns=20)
    assert (told.stop, told.served[0][0]) == (Stop.ACK_PENDING, 2)
    again = letter(3, 3, delivery=2, consumer=4) + letter(1, 3, delivery=2, consumer=5)
    assert hub.take(client) == again
    assert ledger.entry(1) == Entry(1, 20, 2, False)
    assert Figures(*ledger.figures()) == (5, 3, 0, 0, 4, 3, 2, 0)


def test_what_waits_too_long_is_queued_or_given_up() -> None:
    hub, store, ledger = hub_for_consumers(), plain_store(3), ledger_of()
    listener(hub)
    deliver(ledger, hub, store, (b"in", 3, 0), now_ns=100)
    assert ledger.next_deadline([50, 80]) == 150
    assert ledger.progress(2, 120) and ledger.delay(3, 130)
    assert ledger.expire(150, [50, 80], 0) == (1, [], 170)
    deliver(ledger, hub, store, (b"in", 1, 0), now_ns=160)
    assert ledger.expire(190, [50, 80], 2) == (2, [], 240)
    told = deliver(ledger, hub, store, (b"in", 9, 0), deliveries_max=1, now_ns=200)
    assert (told.stop, told.sequence) == (Stop.GIVE_UP, 2)
    assert ledger.give_up(2) and ledger.give_up(3)
    assert ledger.expire(240, [50, 80], 2) == (0, [1], None)
    assert Figures(*ledger.figures()) == (4, 3, 0, 0, 4, 0, 3, 0)
    assert [sequence for sequence in range(1, 6) if ledger.needs(sequence)] == [1, 2, 3, 4, 5]
    assert ledger.ack(1, 1) == [(1, 1)]
    assert Figures(*ledger.figures()).redelivered == 2
    assert not ledger.needs(1)


def test_messages_that_left_the_stream_leave_the_ledger() -> None:
    hub, store, ledger = hub_for_consumers(), plain_store(9), ledger_of()
    listener(hub)
    deliver(ledger, hub, store, (b"in", 6, 0))
    assert ledger.removed(1, 1) == [(1, 1, 1)]
    assert ledger.nak(3, 3) and store.remove(3, False) and store.remove(8, False)
    assert ledger.num_pending(store, None) == 2
    assert ledger.removed_missing(store) == [(3, 3, 1)]
    assert Figures(*ledger.figures()) == (6, 6, 1, 1, 7, 4, 0, 0)
    assert store.remove_below(5) == 3
    assert ledger.purged(5) == 2
    assert Figures(*ledger.figures()) == (6, 6, 4, 4, 7, 2, 0, 0)
    assert ledger.purged(10) == 2
    assert Figures(*ledger.figures()) == (6, 9, 6, 9, 10, 0, 0, 0)


def test_a_list_comes_before_the_cursor() -> None:
    hub, store, ledger = hub_for_consumers(), plain_store(9), ledger_of()
    client = listener(hub)
    ledger.start(8, [2, 4, 7])
    assert Figures(*ledger.figures())[:5] == (0, 1, 0, 1, 2)
    assert ledger.num_pending(store, None) == 5
    assert store.remove(4, False)
    assert ledger.peek(store) == (2, TIME_NS + 2)
    deliver(ledger, hub, store, (b"in", 3, 0))
    letters = [letter(2, 4, consumer=1), letter(7, 2, consumer=2), letter(8, 1, consumer=3)]
    assert hub.take(client) == b"".join(letters)
    assert ledger.peek(store) == (9, TIME_NS + 9)


def test_a_journal_brings_a_ledger_back() -> None:
    hub, store, ledger = hub_for_consumers(), plain_store(9), ledger_of()
    listener(hub)
    entries = [ledger.take_changes()]
    deliver(ledger, hub, store, (b"in", 6, 0), now_ns=5)
    snapshot = ledger.snapshot()
    ledger.ack(2, 2)
    ledger.nak(5, 5)
    entries.append(ledger.take_changes())
    assert len(entries[1]) < 40
    deliver(ledger, hub, store, (b"in", 2, 0), now_ns=7)
    ledger.removed(3, 3)
    entries.append(ledger.take_changes())
    assert ledger.take_changes() == b""
    for start in (None, snapshot):
        other = ledger_of()
        if start is not None:
            other.restore(start)
        other.take_changes()
        assert [other.apply(entry) for entry in entries[1:]] == [True, True]
        assert [other.apply(entry) for entry in entries] == [False] * 3
        assert other.snapshot() == ledger.snapshot()
        assert other.figures() == ledger.figures()
    with pytest.raises(ValueError, match="not the bytes"):
        ledger.apply(entries[1][:-1])
    with pytest.raises(ValueError, match="not the bytes"):
        ledger.restore(b"\x07")
