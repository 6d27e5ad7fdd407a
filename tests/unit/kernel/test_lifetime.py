"""Connections come and go by example: ids, what they leave behind, and what ends them."""

from penstock.kernel.hub import Ending, Hub
from tests.properties.hub_walk import frames_of, open_client, small_hub, walk


def talk(hub: Hub, connection: int, data: bytes) -> None:
    hub.begin(1)
    assert hub.feed(connection, data) == len(data)
    walk(hub, lambda *_: None)


def test_a_stale_id_is_ignored_wherever_it_comes_in() -> None:
    hub = small_hub(accounts=2)
    gone = open_client(hub)
    assert hub.subscribe(gone, b"a", None, b"1")
    assert hub.close(gone)
    hub.begin(1)
    new = open_client(hub, echo=False)
    assert new != gone
    assert new & 0xFFFFFFFF == gone & 0xFFFFFFFF  # the same slot
    assert not hub.close(gone)
    assert hub.feed(gone, b"PING\r\n") == 0
    assert not hub.subscribe(gone, b"b", None, b"1")
    assert hub.subscribe(new, b"a", None, b"1")
    assert not hub.unsubscribe(gone, b"1", 0)
    assert not hub.release(gone)
    hub.send(gone, b"hello")
    hub.switch(gone, 1, True, True, True, True)
    assert hub.take(gone) == hub.take(new) == b""
    assert hub.traffic(gone) is None
    assert hub.interests(gone) == []
    assert hub.own_sids(gone, b"a") == []
    talk(hub, new, b"PUB a 1\r\nx\r\n")  # still in account 0, still without echo
    assert hub.take(new) == b""


def test_frames_of_a_closed_connection_are_passed_over() -> None:
    hub = small_hub()
    one, two = hub.open(0, False), hub.open(0, False)
    hub.begin(1)
    hub.feed(one, b"PING\r\nPING\r\n")
    hub.feed(two, b"PONG\r\n")
    assert hub.close(one)
    assert hub.frame(0) is None
    assert hub.next_group(0) == (False, 2, 3, [])
    assert [frame.connection for frame in frames_of(hub)] == [two]


def test_a_new_connection_does_not_inherit_frames_of_its_slot() -> None:
    hub = small_hub()
    gone = hub.open(0, False)
    hub.begin(1)
    hub.feed(gone, b"PING\r\n")
    assert hub.close(gone)
    hub.open(0, False)
    assert hub.frame(0) is None
    assert hub.next_group(0) is None


def test_a_closed_subscriber_leaves_no_route_and_no_output() -> None:
    hub = small_hub()
    publisher, gone = open_client(hub), open_client(hub)
    assert hub.subscribe(gone, b"a", b"q", b"1")
    assert hub.listeners(0) == 1
    assert hub.close(gone)
    assert hub.listeners(0) == 0
    talk(hub, publisher, b"PUB a 1\r\nx\r\n")
    assert hub.take(gone) == b""


def test_a_slow_consumer_is_given_up_alone() -> None:
    hub = small_hub(pending_bytes_max=40)
    publisher, slow, quick = open_client(hub), open_client(hub), open_client(hub)
    for subscriber in (slow, quick):
        assert hub.subscribe(subscriber, b"a", None, b"1")
    for _ in range(4):  # 14 bytes each
        talk(hub, publisher, b"PUB a 1\r\nx\r\n")
        assert hub.take(quick) == b"MSG a 1 1\r\nx\r\n"
    assert hub.flush() == [(slow, Ending.PENDING_TOO_LARGE)]
    assert hub.flush() == []
    assert hub.take(slow) == b""
    assert hub.feed(slow, b"PING\r\n") == 0
    assert hub.close(slow)


def test_a_route_found_before_a_change_names_nobody_else() -> None:
    """Routes of a group are found at its start; a subscription that ends and another that begins
    before they are used must not be taken for each other."""
    hub = small_hub()
    publisher, one, two = open_client(hub), open_client(hub), open_client(hub)
    assert hub.subscribe(one, b"a", None, b"1")
    hub.begin(1)
    hub.feed(publisher, b"PUB a 1\r\nx\r\n")
    assert hub.next_group(0) == (True, 0, 1, [])
    assert hub.unsubscribe(one, b"1", 0)
    assert hub.subscribe(two, b"b", None, b"7")
    assert hub.fan_out(0, 1) == -1
    assert hub.take(one) == hub.take(two) == b""
