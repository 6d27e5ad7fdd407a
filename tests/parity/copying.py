"""What scenarios of mirrors and sources have in common: a stream's messages, awaited and compared.

The reference reads its origins through consumers that it sets up after a while, so everything that
depends on a copy is awaited. A stream's identity at the end of `Nats-Stream-Source` is random.
"""

import base64
import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest

from tests.parity.numbered import Pub
from tests.parity.servers import PENSTOCK, REFERENCE, Server
from tests.parity.streams_peer import Pair, Peer

COPIED_SECONDS_MAX = 40.0  # the reference waits 10 s before it tries again
IDENTITY = re.compile(r"(Nats-Stream-Source: [^\r]+) [^ \r]{8}\r\n")
Found = TypeVar("Found")
Row = tuple[int, str, str, str]
Servers = tuple[Server, Server]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    theirs, ours = (tmp_path_factory.mktemp(name) for name in ("theirs", "ours"))
    with (
        Server(REFERENCE, ("-js", "-sd", str(theirs))) as reference,
        Server(PENSTOCK, ("-js", "-sd", str(ours))) as penstock,
    ):
        yield reference, penstock
        assert "Traceback" not in penstock.log


@pytest.fixture
def pair(servers: Servers) -> Iterator[Pair]:
    reference, penstock = servers
    found = Pair(Peer(reference), Peer(penstock))
    found.clear()
    yield found
    found.close()


def same(pair: Pair, scenario: Callable[[Peer], Found]) -> Found:
    """What a scenario comes to, on both servers alike."""
    theirs, ours = scenario(pair.reference), scenario(pair.ours)
    assert ours == theirs
    return ours


def make(peer: Peer, name: str, **fields: Any) -> dict[str, Any]:
    answer = peer.ask(f"STREAM.CREATE.{name}", {"name": name, **fields})
    assert "error" not in answer, answer
    return answer


def change(peer: Peer, name: str, **fields: Any) -> dict[str, Any]:
    answer = peer.ask(f"STREAM.UPDATE.{name}", {"name": name, **fields})
    assert "error" not in answer, answer
    return answer


def publish(peer: Peer, *subjects: str, **headers: str) -> None:
    """One message to each, with its number in the stream as its body."""
    named = {name.replace("_", "-"): value for name, value in headers.items()} or None
    for subject in subjects:
        answer = peer.play(Pub(subject, f"at {subject}", named))
        assert '"seq"' in str(answer), answer


def state(peer: Peer, name: str) -> dict[str, Any]:
    found: dict[str, Any] = peer.ask(f"STREAM.INFO.{name}")["state"]
    return found


def until(check: Callable[[], Found], wanted: Callable[[Found], bool]) -> Found:
    """Asks until the answer is the wanted one; the last answer counts."""
    deadline = time.monotonic() + COPIED_SECONDS_MAX
    while not wanted(found := check()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def reached(peer: Peer, name: str, last: int) -> tuple[int, int, int]:
    """First and last sequence and the number of messages, once the last one is there."""
    found = until(lambda: state(peer, name), lambda shown: bool(shown["last_seq"] >= last))
    return found["first_seq"], found["last_seq"], found["messages"]


def message(peer: Peer, name: str, sequence: int) -> dict[str, str] | None:
    body = b'{"seq":%d}' % sequence
    answer = peer.request(f"$JS.API.STREAM.MSG.GET.{name}", body)
    assert answer is not None
    found: dict[str, Any] = json.loads(answer.payload)
    if "error" in found:
        assert found["error"]["err_code"] == 10037
        return None
    raw: dict[str, str] = found["message"]
    headers = base64.b64decode(raw.get("hdrs", "")).decode()
    data = base64.b64decode(raw.get("data", "")).decode()
    return {"subject": raw["subject"], "headers": headers, "data": data, "time": raw["time"]}


def rows(peer: Peer, name: str, last: int) -> list[Row]:
    """All messages up to a sequence, which is awaited."""
    reached(peer, name, last)
    found = []
    for sequence in range(1, last + 1):
        one = message(peer, name, sequence)
        if one is not None:
            headers = IDENTITY.sub(r"\1\r\n", one["headers"])
            found.append((sequence, one["subject"], headers, one["data"]))
    return found


def times(peer: Peer, name: str, last: int) -> list[tuple[int, str]]:
    found = ((sequence, message(peer, name, sequence)) for sequence in range(1, last + 1))
    return [(sequence, one["time"]) for sequence, one in found if one is not None]


def origins(peer: Peer, name: str) -> Any:
    """The mirror or the sources of a stream, without what passes by."""
    found = peer.ask(f"STREAM.INFO.{name}")
    shown = found.get("mirror") or found.get("sources")
    listed = [shown] if isinstance(shown, dict) else shown or []
    for one in listed:
        assert one.pop("active") >= -1
    return sorted(listed, key=str)
