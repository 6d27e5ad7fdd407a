"""Requests to the stream API that the reference takes and that would stop a stream here."""

import contextlib
from collections.abc import Iterator

import pytest

from tests.crash.load import create
from tests.crash.node import Node
from tests.crash.wire import Wire


@pytest.fixture
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    store = tmp_path_factory.mktemp("store")
    with Node(store) as node, contextlib.closing(Wire(node.port)) as wire:
        yield wire


def test_a_purge_does_not_use_up_all_sequences(wire: Wire) -> None:
    create(wire, "FAR")
    answer = wire.request("$JS.API.STREAM.PURGE.FAR", b'{"seq": %d}' % (2**64 - 1))
    assert answer["error"]["err_code"] == 10110
    assert str(2**61) in answer["error"]["description"]
    assert wire.request("FAR.x", b"goes on")["seq"] == 1
    filtered = b'{"filter": "FAR.x", "seq": %d}' % (2**64 - 1)
    assert wire.request("$JS.API.STREAM.PURGE.FAR", filtered)["purged"] == 1
    assert wire.request("$JS.API.STREAM.PURGE.FAR", b'{"seq": %d}' % 2**61)["success"]
    assert wire.request("FAR.x", b"goes on")["seq"] == 2**61


def test_the_audit_of_a_request_follows_its_reply(wire: Wire) -> None:
    wire.send(b"SUB $JS.EVENT.ADVISORY.API 9\r\n")
    for subject in ("$JS.API.INFO", "$JS.API.STREAM.INFO.NONE"):
        reply = wire.ask(subject, b"")
        heard = []
        while len(heard) < 2:
            heard += [message.subject for message in wire.read(5)]
        assert heard == [reply, "$JS.EVENT.ADVISORY.API"]


def test_text_that_is_no_text_costs_nobody_a_connection(wire: Wire) -> None:
    create(wire, "RAW")
    wire.send(b"PUB RAW.\xff 0\r\n\r\n")
    shown = wire.request("$JS.API.STREAM.INFO.RAW", b'{"subjects_filter": ">"}')["state"]
    assert shown["subjects"] == {"RAW.\ufffd": 1}
    for request in ("STREAM.DELETE.RAW", "CONSUMER.INFO.RAW.x", "STREAM.MSG.DELETE.RAW"):
        assert "error" in wire.request(f"$JS.API.{request}", b'{"\xff": "\xff"}')
    assert wire.request("RAW.x", b"goes on")["seq"] == 2
