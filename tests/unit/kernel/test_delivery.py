"""Fan-out by example: the exact bytes subscribers get."""

import pytest

from penstock.kernel.hub import Frame, Hub
from tests.properties.hub_walk import Walked, open_client, small_hub, walk


def talk(hub: Hub, connection: int, data: bytes) -> Walked:
    hub.begin(1)
    assert hub.feed(connection, data) == len(data)
    return walk(hub, lambda *_: pytest.fail("not in the bulk lane"))


def test_messages_are_rendered_as_the_reference_does() -> None:
    hub = small_hub()
    client = open_client(hub)
    assert hub.subscribe(client, b"a.*", None, b"9")
    talk(hub, client, b"PUB a.b 2\r\nhi\r\nPUB a.c r.1 0\r\n\r\nHPUB a.d 3 5\r\nHHHhi\r\n")
    assert hub.take(client) == (
        b"MSG a.b 9 2\r\nhi\r\nMSG a.c 9 r.1 0\r\n\r\nHMSG a.d 9 3 5\r\nHHHhi\r\n"
    )


def test_headers_go_to_those_who_understand_them() -> None:
    hub = small_hub()
    client, old = open_client(hub), open_client(hub, headers=False)
    assert hub.subscribe(old, b"a", None, b"1")
    talk(hub, client, b"HPUB a r 3 5\r\nHHHhi\r\n")
    assert hub.take(old) == b"MSG a 1 r 2\r\nhi\r\n"


def test_a_shared_rendering_is_shared_only_by_those_who_see_the_same() -> None:
    hub = small_hub()
    publisher = open_client(hub)
    kinds = [(sid, headers) for sid in (b"1", b"2") for headers in (True, False)] * 2
    clients = [(open_client(hub, headers=headers), sid, headers) for sid, headers in kinds]
    for client, sid, _ in clients:
        assert hub.subscribe(client, b"a", None, sid)
    talk(hub, publisher, b"HPUB a 3 5\r\nHHHhi\r\n" * 500)
    for client, sid, headers in clients:
        one = b"HMSG a %s 3 5\r\nHHHhi\r\n" if headers else b"MSG a %s 2\r\nhi\r\n"
        assert hub.take(client) == one % sid * 500


def test_an_echo_is_left_out_where_it_is_unwanted() -> None:
    hub = small_hub()
    quiet, other = open_client(hub, echo=False), open_client(hub)
    for client in (quiet, other):
        assert hub.subscribe(client, b"a", None, b"1")
    talk(hub, quiet, b"PUB a 1\r\nx\r\n")
    assert hub.take(quiet) == b""
    assert hub.take(other) == b"MSG a 1 1\r\nx\r\n"


def test_publishers_of_one_subject_in_one_turn_are_kept_apart() -> None:
    hub = small_hub()
    clients = [open_client(hub, echo=False), open_client(hub, echo=False)]
    hub.begin(1)
    for client, body in zip(clients, (b"1", b"2"), strict=True):
        assert hub.subscribe(client, b"a", None, b"9")
        hub.feed(client, b"PUB a 1\r\n%s\r\n" % body)
    walk(hub, lambda *_: pytest.fail("not in the bulk lane"))
    assert [hub.take(client) for client in clients] == [
        b"MSG a 9 1\r\n2\r\n",
        b"MSG a 9 1\r\n1\r\n",
    ]


def test_a_maximum_ends_a_subscription_in_the_middle_of_a_run() -> None:
    hub = small_hub()
    client = open_client(hub, no_responders=True)
    assert hub.subscribe(client, b"a", None, b"1")
    assert hub.unsubscribe(client, b"1", 2)
    walked = talk(hub, client, b"PUB a r 1\r\nx\r\n" * 4)
    assert hub.take(client) == b"MSG a 1 r 1\r\nx\r\n" * 2
    assert len(walked.unanswered) == 2  # and from then on nobody listens
    assert not hub.unsubscribe(client, b"1", 0)
    assert hub.subscribe(client, b"a", None, b"1")  # the sid is free again


def test_a_maximum_already_reached_ends_at_once() -> None:
    hub = small_hub()
    client = open_client(hub)
    assert hub.subscribe(client, b"a", None, b"1")
    talk(hub, client, b"PUB a 1\r\nx\r\n" * 3)
    assert hub.unsubscribe(client, b"1", 3)
    assert hub.interests(client) == []


def test_a_taken_sid_keeps_its_first_subscription() -> None:
    hub = small_hub()
    client = open_client(hub)
    assert hub.subscribe(client, b"a", None, b"1")
    assert not hub.subscribe(client, b"b", None, b"1")
    assert hub.interests(client) == [(b"a", None, b"1", 0, 0)]


def test_only_requests_that_nobody_hears_are_unanswered() -> None:
    hub = small_hub()
    client, indifferent = open_client(hub, no_responders=True), open_client(hub)
    assert hub.add_target(0, b"svc.>", 3)
    data = b"PUB a 1\r\n1\r\nPUB a r 1\r\n2\r\nPUB svc.x r 1\r\n3\r\nPUB a r 1\r\n4\r\n"
    walked = talk(hub, client, data)
    assert [frame.payload for frame in walked.unanswered] == [b"2", b"4"]
    assert [(target, frame.payload) for target, frame in walked.served] == [(3, b"3")]
    assert talk(hub, indifferent, data).unanswered == []
    assert hub.remove_target(0, b"svc.>", 3)
    assert not hub.remove_target(0, b"svc.>", 3)
    assert len(talk(hub, client, data).unanswered) == 3


def test_members_under_different_patterns_are_one_group() -> None:
    hub = small_hub()
    client = open_client(hub)
    assert hub.subscribe(client, b"a.*", b"q", b"1")
    assert hub.subscribe(client, b"a.b", b"q", b"2")
    assert hub.subscribe(client, b"a.b", b"other", b"3")
    talk(hub, client, b"PUB a.b 1\r\nx\r\n" * 50)
    received = hub.take(client)
    counts = [received.count(b"MSG a.b %d 1\r\n" % sid) for sid in (1, 2, 3)]
    assert counts[0] + counts[1] == counts[2] == 50
    assert min(counts) > 0


def test_accounts_do_not_hear_each_other() -> None:
    hub = small_hub(accounts=2)
    one, two = open_client(hub, account=0), open_client(hub, account=1)
    for client in (one, two):
        assert hub.subscribe(client, b">", None, b"1")
    talk(hub, one, b"PUB a 1\r\nx\r\n")
    assert hub.take(one) == b"MSG a 1 1\r\nx\r\n"
    assert hub.take(two) == b""
    hub.begin(2)
    hub.feed(one, b"PUB a 1\r\n1\r\n")
    hub.feed(two, b"PUB a 1\r\n2\r\n")  # the same subject in a row, but not the same route
    walk(hub, lambda *_: pytest.fail("not in the bulk lane"))
    assert hub.take(one) == b"MSG a 1 1\r\n1\r\n"
    assert hub.take(two) == b"MSG a 1 1\r\n2\r\n"
    assert hub.publish(1, b"a", b"", b"", b"server")
    assert hub.take(two) == b"MSG a 1 6\r\nserver\r\n"


def test_a_subscription_in_the_same_turn_counts_from_there_on() -> None:
    hub = small_hub()
    publisher, listener = open_client(hub), open_client(hub)
    hub.begin(1)
    hub.feed(publisher, b"PUB a 1\r\n1\r\n")
    hub.feed(listener, b"SUB a 1\r\nPUB a 1\r\n2\r\nUNSUB 1\r\nPUB a 1\r\n3\r\n")

    def look(_index: int, frame: Frame, _walked: Walked) -> None:
        if frame.subject:
            assert hub.subscribe(listener, frame.subject, None, frame.payload)
        else:
            assert hub.unsubscribe(listener, frame.payload, 0)

    walk(hub, look)
    assert hub.take(listener) == b"MSG a 1 1\r\n2\r\n"


def test_the_words_of_the_server_come_in_order_with_messages() -> None:
    hub = small_hub()
    client = open_client(hub)
    assert hub.subscribe(client, b"a", None, b"1")
    hub.send(client, b"PING\r\n")
    talk(hub, client, b"PUB a 1\r\nx\r\n")
    hub.send(client, b"PONG\r\n")
    assert hub.take(client) == b"PING\r\nMSG a 1 1\r\nx\r\nPONG\r\n"
    assert hub.take(client) == b""
