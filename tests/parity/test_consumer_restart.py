"""Consumers of a server that is stopped: what waiting requests hear, and what is known after.

Every case has servers of its own.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.parity import consumer_restart_cases
from tests.parity.consumer_steps import Steps, consumer, pull
from tests.parity.consumers_peer import ConsumerPeer, difference, second_implementation
from tests.parity.servers import REFERENCE, Implementation, Server
from tests.parity.stream_api_cases import made

Told = list[Any]


def lived_twice(kind: Implementation, store: Path, before: Steps, after: Steps) -> Told:
    """The answers of a server, and of the one that comes after it."""
    flags = ("-js", "-sd", str(store))
    with Server(kind, flags) as server:
        with closing(ConsumerPeer(server)) as first:
            told = first.script(before)
        server.signal("SIGTERM")
        server.wait_exit()
    with (
        Server(kind, flags) as server,
        closing(ConsumerPeer(server, delivered=first.delivered)) as second,
    ):
        return told + second.script(after)


def of_both(tmp_path: Path, *arguments: Any) -> tuple[Told, Told]:
    kinds = (REFERENCE, second_implementation())
    with ThreadPoolExecutor(2) as threads:
        running = [
            threads.submit(lived_twice, kind, tmp_path / name, *arguments)
            for kind, name in zip(kinds, ("theirs", "ours"), strict=True)
        ]
        theirs, ours = (done.result() for done in running)
    return theirs, ours


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(before, after, id=name)
        for name, (before, after) in consumer_restart_cases.ALL.items()
    ],
)
def test_restart(tmp_path: Path, before: Steps, after: Steps) -> None:
    steps = [*before, "what came unasked before", *after, "what came unasked after"]
    assert not difference(steps, *of_both(tmp_path, before, after))


@pytest.mark.parametrize("kind", (REFERENCE, second_implementation()), ids=lambda kind: kind.name)
def test_waiting_requests_hear_of_the_end(tmp_path: Path, kind: Implementation) -> None:
    with (
        Server(kind, ("-js", "-sd", str(tmp_path))) as server,
        closing(ConsumerPeer(server)) as peer,
    ):
        peer.script([made(), consumer(), pull(3, "a"), pull(1, "b", max_bytes=100)])
        server.signal("SIGTERM")
        peer.until_closed()
        server.wait_exit()
        found = sorted(peer.seen(message) for message in peer.heard)
    status = "NATS/1.0 409 Server Shutdown\r\n"
    left = "Nats-Pending-Messages: {}\r\nNats-Pending-Bytes: {}\r\n\r\n"
    wanted = [
        ("P.a", "", "", status + left.format(3, 0), ""),
        ("P.b", "", "", status + left.format(1, 100), ""),
    ]
    if kind is REFERENCE:  # it gives them 50 ms to leave, and loses what is later
        wanted = [message for message in wanted if message in found]
    assert found == wanted
