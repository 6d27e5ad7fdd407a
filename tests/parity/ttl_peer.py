"""A stream with TTLs on one server, with what it takes to see messages come and go.

A scenario is a function of one `Timed`; `both` plays it on the two servers at the same time and
compares what it returns.
"""

import base64
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.parity.numbered import ANSWER_SECONDS_MAX, Headers, Pub
from tests.parity.servers import PENSTOCK
from tests.parity.stream_api_cases import info, made
from tests.parity.streams_peer import Pair, Peer, err_code

POLL_SECONDS = 0.02
SECOND = 1_000_000_000
TTL = "Nats-TTL"

Row = tuple[int, str, str, str]  # sequence, subject, headers, payload


class Timed:
    """One server, asked about its stream T."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.is_ours = peer.server.implementation is PENSTOCK

    def make(self, **fields: Any) -> None:
        answer = self.peer.play(made(**{"allow_msg_ttl": True, **fields}))
        assert "error" not in answer, answer

    def say(self, subject: str = "t.a", ttl: str = "", headers: Headers = None) -> Any:
        """Publishes; what the acknowledgement says."""
        assert headers is None or isinstance(headers, dict)
        more = {TTL: ttl} if ttl else {}
        return self.peer.play(Pub(subject, b"x", {**(headers or {}), **more} or None))

    def refusal(self, ttl: str) -> int:
        return err_code(self.say(ttl=ttl))

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.peer.play(info())["state"]
        return state

    def wait(self, is_there: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Until the stream's state is as wanted."""
        deadline = time.monotonic() + 2 * ANSWER_SECONDS_MAX
        while not is_there(state := self.state()):
            assert time.monotonic() < deadline, state
            time.sleep(POLL_SECONDS)
        return state

    def wait_messages(self, count: int) -> None:
        self.wait(lambda state: state["messages"] == count)

    def wait_last(self, sequence: int) -> None:
        self.wait(lambda state: state["last_seq"] >= sequence)

    def rows(self) -> list[Row]:
        """Everything that is there."""
        state, found = self.state(), []
        for sequence in range(state["first_seq"], state["last_seq"] + 1):
            answer = self.peer.ask("STREAM.MSG.GET.T", {"seq": sequence})
            if "message" in answer:
                message = answer["message"]
                headers = base64.b64decode(message.get("hdrs", "")).decode()
                payload = base64.b64decode(message.get("data", "")).decode()
                found.append((sequence, message["subject"], headers, payload))
        return found


def marker(reason: str, ttl: str) -> str:
    """The headers of a delete marker."""
    return (
        f"NATS/1.0\r\nNats-Marker-Reason: {reason}\r\nNats-TTL: {ttl}\r\nNats-Rollup: sub\r\n\r\n"
    )


def each(pair: Pair, scenario: Callable[[Timed], Any]) -> tuple[Any, Any]:
    """What becomes of a scenario on the reference and with us."""
    with ThreadPoolExecutor(2) as threads:
        played = threads.map(scenario, map(Timed, (pair.reference, pair.ours)))
        theirs, ours = played
    return theirs, ours


def both(pair: Pair, scenario: Callable[[Timed], Any]) -> Any:
    """What becomes of a scenario on either server, which must be the same."""
    theirs, ours = each(pair, scenario)
    assert ours == theirs
    return ours
