"""No connection gets more than its share of a turn; what is put off comes later, in order."""

from penstock.kernel.hub import Frame, Hub, Verb

READ_BYTES = 1 << 20


def hub_with(connections: int) -> tuple[Hub, list[int]]:
    hub = Hub(
        control_line_bytes_max=4096,
        payload_bytes_max=1 << 20,
        pending_bytes_max=1 << 30,
        crowded_bytes=1 << 30,
        read_bytes_max=READ_BYTES,
        turn_bytes_max=16 << 20,
        seed=1,
    )
    account = hub.add_account()
    ids = [hub.open(account, False) for _ in range(connections)]
    for connection in ids:
        hub.switch(connection, account, True, True, True, False)
    return hub, ids


def walk(hub: Hub) -> list[Frame]:
    """One turn as the server walks it; returns the frames that were looked at."""
    seen = []
    position = 0
    while (group := hub.next_group(position)) is not None:
        bulk, start, position, _runs = group
        if bulk:
            assert hub.fan_out(start, position) == -1
        else:
            columns = [hub.frame(index) for index in range(start, position)]
            seen += [Frame(*found) for found in columns if found is not None]
    return seen


def test_a_flood_of_pings_is_served_in_portions_and_others_come_in_between() -> None:
    hub, (flooder, other) = hub_with(2)
    hub.begin(1)
    assert hub.feed(flooder, b"PING\r\n" * 600) == 3600
    hub.feed(other, b"PING\r\n")
    senders = [frame.connection for frame in walk(hub)]
    assert senders.count(flooder) == 256
    assert senders.count(other) == 1
    for portion in (256, 88, 0):
        hub.begin(1)
        hub.feed(flooder, b"")
        assert len(walk(hub)) == portion


def test_publishes_to_very_many_listeners_are_put_off_and_arrive_in_order() -> None:
    hub, (publisher, listener, other) = hub_with(3)
    for sid in range(50_000):
        assert hub.subscribe(listener, b"wide", None, b"%d" % sid)
    assert hub.subscribe(other, b"narrow", None, b"1")
    hub.begin(1)
    hub.feed(publisher, b"".join(b"PUB wide 1\r\n%d\r\n" % number for number in range(9)))
    hub.feed(other, b"PUB narrow 1\r\nx\r\n")
    received = b""
    turns = 0
    while True:
        walk(hub)
        sent = hub.take(listener)
        if not sent:
            break
        received += sent
        turns += 1
        if turns == 1:
            assert hub.take(other) == b"MSG narrow 1 1\r\nx\r\n"
        hub.begin(1)
        hub.feed(publisher, b"")
    assert turns > 1
    own = [line for line in received.split(b"MSG wide ") if line.startswith(b"7 1\r\n")]
    assert own == [b"7 1\r\n%d\r\n" % number for number in range(9)]
    assert received.count(b"MSG wide ") == 9 * 50_000


def test_a_hold_in_the_middle_of_a_portion_loses_nothing() -> None:
    hub, (connection,) = hub_with(1)
    hub.begin(1)
    hub.feed(connection, b"PING\r\n" * 300 + b"PONG\r\n")
    hub.hold_after(10)
    assert len(walk(hub)) == 11
    assert hub.release(connection)
    verbs = []
    for _ in range(3):
        hub.begin(1)
        hub.feed(connection, b"")
        verbs += [frame.verb for frame in walk(hub)]
    assert verbs == [Verb.PING] * 289 + [Verb.PONG]


def test_a_connection_that_leaves_with_very_many_subscriptions_leaves_in_steps() -> None:
    hub, (leaver, publisher) = hub_with(2)
    for sid in range(20_000):
        assert hub.subscribe(leaver, b"s.%d" % sid, None, b"%d" % sid)
    assert hub.close(leaver)
    assert 0 < hub.listeners(0) < 20_000
    assert hub.next_turn() == 0
    hub.begin(1)
    hub.feed(publisher, b"PUB s.3 0\r\n\r\n")  # nobody gets it, swept or not
    walk(hub)
    while hub.next_turn() == 0:
        hub.begin(1)
    assert hub.listeners(0) == 0
