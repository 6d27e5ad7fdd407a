"""What a publisher can ask of a stream besides storing a message, as keyword arguments.

Each is a header on the wire. A caller's own headers are never changed, only copied.
"""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Literal, TypedDict

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import NoRespondersError
from nats.js.errors import Error, NoStreamResponseError

from penstock.client.errors import api_error
from penstock.client.numbers import signed

_SHOWN_BYTES_MAX = 60


class Conditions(TypedDict, total=False):
    """Keyword arguments of everything that publishes: `JetStream.publish`, `Batch.publish` ...

    ```python
    await js.publish("orders.eu", b"paid", msg_id="order-7-paid", expected_stream="ORDERS")
    ```
    """

    msg_id: str
    """A second message with the same id within the stream's duplicate window is not stored."""
    ttl: float | timedelta | str
    """How long it lives: seconds, a timedelta, or as the server writes it, such as `"1h"`."""
    expected_stream: str
    """Refuse it if the subject belongs to another stream."""
    expected_last_sequence: int
    """Refuse it unless this is the stream's last sequence; 0 for an empty stream."""
    expected_last_subject_sequence: int
    """Refuse it unless this is the last sequence of its subject; 0 if there must be none."""
    expected_last_subject: str
    """The subject, wildcards included, that `expected_last_subject_sequence` is about."""
    expected_last_msg_id: str
    """Refuse it unless the stream's last message has this id."""
    rollup: Literal["sub", "all"]
    """Let it replace all earlier messages of its subject, or of the stream."""
    increment: int
    """What to add to a counter."""


def _ttl(value: Any) -> str:
    if isinstance(value, str):
        return value
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if seconds.is_integer():
        return str(int(seconds))
    least = 1 if seconds > 0 else -1  # zero would be no lifetime: the message would stay
    return f"{round(seconds * 1000) or least}ms"


_HEADERS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "msg_id": ("Nats-Msg-Id", str),
    "ttl": ("Nats-TTL", _ttl),
    "expected_stream": ("Nats-Expected-Stream", str),
    "expected_last_sequence": ("Nats-Expected-Last-Sequence", str),
    "expected_last_subject_sequence": ("Nats-Expected-Last-Subject-Sequence", str),
    "expected_last_subject": ("Nats-Expected-Last-Subject-Sequence-Subject", str),
    "expected_last_msg_id": ("Nats-Expected-Last-Msg-Id", str),
    "rollup": ("Nats-Rollup", str),
    "increment": ("Nats-Incr", signed),
}


def with_conditions(
    headers: dict[str, Any] | None, conditions: Conditions
) -> dict[str, Any] | None:
    """The headers to send; None if there are none."""
    if not conditions:
        return headers
    merged = dict(headers) if headers else {}
    for name, value in conditions.items():
        if name not in _HEADERS:
            raise TypeError(f"unexpected keyword argument {name!r}; there are {sorted(_HEADERS)}")
        header, text = _HEADERS[name]
        merged[header] = text(value)
    return merged


def told(message: Msg) -> dict[str, Any]:
    """What a server answers to a publish; raises what it refuses."""
    try:
        answer: Any = json.loads(message.data)
    except ValueError:
        answer = None
    if isinstance(answer, dict) and "error" in answer:
        raise api_error(answer["error"])
    if not isinstance(answer, dict) or "stream" not in answer:
        shown = message.data[:_SHOWN_BYTES_MAX]
        raise Error(f"something answers that is no stream, and says {shown!r}")
    return answer


async def store(
    connection: Client,
    subject: str,
    payload: bytes,
    headers: dict[str, Any] | None,
    timeout: float,
) -> dict[str, Any]:
    """Publishes to a stream, and returns what it answers."""
    try:
        answer = await connection.request(subject, payload, timeout=timeout, headers=headers)
    except NoRespondersError:
        raise NoStreamResponseError from None
    return told(answer)
