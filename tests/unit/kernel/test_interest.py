"""Who listens, and notice of it; and which consumers a message concerns."""

from penstock.kernel.consumers import AckPolicy, FilterIndex, Stop
from penstock.kernel.hub import Frame, Hub
from penstock.kernel.storage import Blocks
from tests.properties.hub_walk import open_client, small_hub
from tests.unit.kernel.test_ledger import deliver, ledger_of, listener

MESSAGES_TARGET = 4


def test_any_listener_counts_for_an_inbox() -> None:
    hub = small_hub()
    client = open_client(hub)
    assert not hub.listens(0, b"in.1")
    assert hub.subscribe(client, b"in.*", None, b"1")
    assert hub.listens(0, b"in.1") and not hub.listens(0, b"in") and not hub.listens(3, b"in.1")
    assert hub.unsubscribe(client, b"1", 0) and not hub.listens(0, b"in.1")
    assert hub.subscribe(client, b"in.1", b"group", b"2") and hub.listens(0, b"in.1")
    assert hub.close(client) and not hub.listens(0, b"in.1")


def test_only_the_very_subject_counts_for_a_push_consumer() -> None:
    hub = small_hub(accounts=2)
    client = open_client(hub)
    assert hub.subscribe(client, b"push.*", None, b"1")
    assert hub.subscribe(client, b">", None, b"2")
    assert hub.subscribe(client, b"push.d", b"group", b"3")
    assert not hub.listens_exactly(0, b"push.d", None)
    assert hub.listens_exactly(0, b"push.d", b"group")
    assert not hub.listens_exactly(0, b"push.d", b"other")
    assert hub.subscribe(client, b"push.d", None, b"4")
    assert hub.listens_exactly(0, b"push.d", None)
    assert not hub.listens_exactly(1, b"push.d", None)


def test_changes_of_watched_interest_are_told_once() -> None:
    hub = small_hub(accounts=2)
    client, other = open_client(hub), open_client(hub)
    foreigner = open_client(hub, account=1)
    assert not hub.watch(0, b"push.d", None, 7)
    assert not hub.watch(0, b"push.d", b"group", 8)
    assert hub.subscribe(foreigner, b"push.d", None, b"1")
    assert hub.subscribe(client, b"push.*", None, b"1")
    assert hub.take_interest_changes() == []
    assert hub.subscribe(client, b"push.d", None, b"2")
    assert hub.subscribe(other, b"push.d", None, b"2")
    assert hub.take_interest_changes() == [(7, True)]
    assert hub.unsubscribe(client, b"2", 0)
    assert hub.take_interest_changes() == []
    assert hub.subscribe(client, b"push.d", b"group", b"3")
    assert hub.close(other)
    assert hub.take_interest_changes() == [(7, False), (8, True)]
    assert hub.unsubscribe(client, b"3", 0)
    assert hub.subscribe(client, b"push.d", b"group", b"4")  # gone and back: nothing happened
    assert hub.take_interest_changes() == []
    hub.unwatch(8)
    assert hub.close(client)
    assert hub.take_interest_changes() == []
    assert hub.watch(1, b"push.d", None, 8)


def store_run(hub: Hub, store: Blocks, publisher: int, *subjects: bytes) -> tuple[int, int, int]:
    """Publishes and stores a run; its positions and its first sequence."""
    hub.begin(1)
    hub.feed(publisher, b"".join(b"PUB %s 1\r\nx\r\n" % subject for subject in subjects))
    group = hub.next_group(0)
    assert group is not None
    ((_, start, end),) = group[3]
    first = store.state()[4] + 1
    store.append_run(hub, start, end, first, 1)
    return start, end, first


def test_a_run_wakes_those_who_wait_for_one_of_its_messages() -> None:
    hub, store, index = small_hub(), Blocks.in_memory("S"), FilterIndex()
    assert hub.add_target(0, b"m.>", MESSAGES_TARGET)
    publisher = open_client(hub)
    index.set(0, [])
    index.set(1, [b"m.a", b"m.b.*"])
    index.set(2, [b"m.*"])
    index.set(3, [b"m.c"])
    run = store_run(hub, store, publisher, b"m.a", b"m.a", b"m.b.x")
    assert index.count_run(hub, *run) == []
    for number in range(4):
        index.wait(number, True)
    run = store_run(hub, store, publisher, b"m.a", b"m.b.y", b"m.a")
    assert sorted(index.count_run(hub, *run)) == [0, 1, 2]
    assert sorted(index.count_message(b"m.c", 7)) == [0, 2, 3]
    index.wait(0, False)
    index.remove(2)
    assert index.count_message(b"m.a", 8) == [1]


def test_what_the_index_counted_is_what_a_ledger_has_to_deliver() -> None:
    hub, store, index = small_hub(), Blocks.in_memory("S"), FilterIndex()
    assert hub.add_target(0, b"m.>", MESSAGES_TARGET)
    publisher, client = open_client(hub), listener(hub)
    ledger = ledger_of(AckPolicy.NONE, b"m.a", b"m.b")
    index.set(5, [b"m.a", b"m.b"])

    def publish(*subjects: bytes) -> None:
        index.count_run(hub, *store_run(hub, store, publisher, *subjects))

    publish(b"m.a", b"m.c", b"m.b")
    assert ledger.num_pending(store, index.arrived(5)) == 2
    publish(b"m.c", b"m.c", b"m.a")
    assert ledger.num_pending(store, index.arrived(5)) == 3
    told = deliver(ledger, hub, store, (b"in", 2, 0), arrived=index.arrived(5))
    assert told.stop == Stop.DONE
    assert [line.rsplit(b".")[-1][:1] for line in hub.take(client).split(b"\r\n")[::2][:2]] == [
        b"2",
        b"1",
    ]
    assert store.remove(6, False)
    assert ledger.num_pending(store, index.arrived(5)) == 0
    publish(b"m.c", b"m.b", b"m.c")
    told = deliver(ledger, hub, store, (b"in", 9, 0), arrived=index.arrived(5))
    assert (told.stop, told.served[0][0]) == (Stop.END, 1)
    assert b" $JS.ACK.S.C.1.8.3.1.0 1\r\nx" in hub.take(client)
    hub.take(client)
    publish(b"m.c", b"m.a")
    index.arrived(5)  # and nobody listened
    publish(b"m.a")
    told = deliver(ledger, hub, store, (b"in", 9, 0), arrived=index.arrived(5))
    assert (told.stop, told.served[0][0]) == (Stop.END, 2)
    store.append(13, 1, b"m.a", b"", b"")  # nobody counted it
    store.append(14, 1, b"m.a", b"", b"")
    index.count_message(b"m.a", 14)
    assert ledger.num_pending(store, index.arrived(5)) == 2


def test_acks_reach_everybody_who_listens_to_them() -> None:
    """Acks share a prefix and are routed as one row, unless somebody looks at what follows it."""
    for watched in (b"$JS.ACK.S.C.*.3.>", b"$JS.ACK.S.*.1.*.*.*.*", b"$JS.ACK.S.C.1.2.2.7.1"):
        hub = small_hub(line_bytes_max=4096)
        assert hub.add_target(0, b"$JS.ACK.S.C.*.*.*.*.*", 1)
        sender, watcher, everything = open_client(hub), open_client(hub), open_client(hub)
        assert hub.subscribe(watcher, watched, None, b"1")
        assert hub.subscribe(everything, b"$JS.>", None, b"1")
        subjects = [b"$JS.ACK.S.C.1.%d.%d.7.1" % (n, n) for n in range(1, 6)]
        subjects += [b"$JS.ACK.S.C.1.2.2.7.1.8", b"$JS.ACK.S.C.1.2..7.1", b"$JS.ACK.S.C.1.2"]
        hub.begin(1)
        hub.feed(sender, b"".join(b"PUB %s 0\r\n\r\n" % subject for subject in subjects))
        group = hub.next_group(0)
        assert group is not None
        bulk, start, end, runs = group
        assert bulk and hub.fan_out(start, end) == -1
        assert runs == [(1, 0, 5)]
        seen = [line.split(b" ")[1] for line in hub.take(everything).split(b"\r\n")[:-1:2]]
        assert seen == [*subjects[:6], subjects[7]]
        seen = [line.split(b" ")[1] for line in hub.take(watcher).split(b"\r\n")[:-1:2]]
        expected = {
            b"$JS.ACK.S.C.*.3.>": [subjects[2]],
            b"$JS.ACK.S.*.1.*.*.*.*": subjects[:5],
            b"$JS.ACK.S.C.1.2.2.7.1": [subjects[1]],
        }
        assert seen == expected[watched]


def test_a_part_of_the_server_that_listens_gets_messages_under_the_inbox() -> None:
    hub, store, ledger = small_hub(), Blocks.in_memory("S"), ledger_of()
    hub.begin(1)
    store.append(1, 7, b"m.a", b"NATS/1.0\r\nA: b\r\n\r\n", b"x")
    assert not hub.watch(0, b"in", None, 1)
    assert hub.add_target(0, b"in", MESSAGES_TARGET)
    assert hub.take_interest_changes() == [(1, True)]
    client = listener(hub)
    assert deliver(ledger, hub, store, (b"in", 9, 0)).served[0][0] == 1
    assert hub.take(client).startswith(b"HMSG m.a 9 $JS.ACK.S.C.1.1.1.7.0 18 19\r\n")
    assert hub.loopback_runs() == [(MESSAGES_TARGET, 0, 1)]
    index = hub.picked(0)
    assert index is not None
    columns = hub.frame(index)
    assert columns is not None
    frame = Frame(*columns)
    assert (frame.subject, frame.reply) == (b"in", b"$JS.ACK.S.C.1.1.1.7.0")
    assert (frame.headers, frame.body) == (b"NATS/1.0\r\nA: b\r\n\r\n", b"x")
    assert hub.close(client) and hub.remove_target(0, b"in", MESSAGES_TARGET)
    assert hub.take_interest_changes() == [(1, False)]
