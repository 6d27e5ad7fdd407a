"""What a pull request asks for: nothing, a number, or JSON.

As the reference, anything that is neither JSON nor a number asks for one message; JSON has to be
right, but may hold fields that nobody knows. What the consumer does not allow is refused by the
first of `CHECKS` that objects, so moving a line changes what clients read.
"""

import functools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from penstock.consumers import statuses
from penstock.model.consumer_config import ConsumerConfig, PriorityPolicy
from penstock.streams.durations import duration_text

INT64_MAX = 2**63 - 1
PRIORITY_MAX = 9
REMEMBERED_BYTES_MAX = 256  # of a request that may come again in the same words
REMEMBERED_MAX = 1024
_BLANKS = " \t\n\v\f\r\x85\xa0"
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")


class Preference(NamedTuple):
    """Which of several clients is to be served; a request that is no JSON has none."""

    group: str = ""
    min_pending: int = 0
    min_ack_pending: int = 0
    id: str = ""
    priority: int = 0


class PullRequest(NamedTuple):
    """One request; 0 is no limit, for the durations none."""

    batch: int = 1
    max_bytes: int = 0
    no_wait: bool = False
    expires_ns: int = 0
    heartbeat_ns: int = 0
    preference: Preference | None = None


class Refusal(NamedTuple):
    """The status that a request gets instead of messages."""

    headers: bytes


# Fields of the JSON, each with its kind.
_NUMBERS = ("expires", "batch", "max_bytes", "idle_heartbeat", "min_pending", "min_ack_pending")
_KINDS: dict[str, type] = {
    **dict.fromkeys((*_NUMBERS, "priority"), int),
    "no_wait": bool,
    "group": str,
    "id": str,
}


def parse_pull(body: bytes) -> PullRequest | Refusal:
    """The request in a payload, or why it is none. Clients mostly say the same again."""
    return _remembered(body) if len(body) <= REMEMBERED_BYTES_MAX else _parse(body)


def _parse(body: bytes) -> PullRequest | Refusal:
    text = body.decode(errors="replace").strip(_BLANKS)
    if not text.startswith("{"):
        whole = int(text) if _WHOLE.fullmatch(text) else None
        return PullRequest(batch=whole if whole is not None and _is_int64(whole) else 1)
    try:
        fields = _fields(text)
    except ValueError as error:
        return Refusal(statuses.bad_request(f"json: {error}"))
    request = _from_fields(fields)
    if request.heartbeat_ns > 0 and _as_int64(request.heartbeat_ns * 2) > request.expires_ns:
        return Refusal(statuses.bad_request("heartbeat value too large"))
    return request._replace(heartbeat_ns=max(0, request.heartbeat_ns))


def _as_int64(number: int) -> int:
    """As it wraps around in the reference."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


_remembered = functools.lru_cache(REMEMBERED_MAX)(_parse)


def _fields(text: str) -> dict[str, Any]:
    """The known fields; raises ValueError if the text is no JSON or a field is of another kind."""
    try:
        decoded = msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.MsgspecError, RecursionError, ValueError):
        raise ValueError("this is no object") from None
    found: dict[str, Any] = {}
    for name, value in decoded.items():
        kind = _KINDS.get(name.lower())
        if kind is None or value is None:
            continue
        if type(value) is not kind or (kind is int and not _is_int64(value)):
            raise ValueError(f"{name.lower()} is no {kind.__name__}")
        found[name.lower()] = value
    return found


def _from_fields(fields: dict[str, Any]) -> PullRequest:
    names = Preference._fields
    return PullRequest(
        batch=fields.get("batch", 0),
        max_bytes=max(0, fields.get("max_bytes", 0)),
        no_wait=fields.get("no_wait", False),
        expires_ns=fields.get("expires", 0),
        heartbeat_ns=fields.get("idle_heartbeat", 0),
        preference=Preference(**{name: fields[name] for name in names if name in fields}),
    )


def _is_int64(value: Any) -> bool:
    return bool(-INT64_MAX - 1 <= value <= INT64_MAX)


class Asked(NamedTuple):
    """A request with what it is checked against."""

    request: PullRequest
    config: ConsumerConfig
    pin: str  # who has the pin now


Check = Callable[[Asked], bytes | None]


def batch_is_small(asked: Asked) -> bytes | None:
    limit = asked.config.max_batch
    if 0 < limit < asked.request.batch:
        return statuses.exceeded(f"MaxRequestBatch of {limit}")
    return None


def expires_soon(asked: Asked) -> bytes | None:
    limit = asked.config.max_expires
    if 0 < limit < asked.request.expires_ns:
        return statuses.exceeded(f"MaxRequestExpires of {duration_text(limit)}")
    return None


def bytes_are_few(asked: Asked) -> bytes | None:
    limit = asked.config.max_bytes
    if 0 < limit < asked.request.max_bytes:
        return statuses.exceeded(f"MaxRequestMaxBytes of {limit}")
    return None


def preference_suits_policy(asked: Asked) -> bytes | None:
    preference, policy = asked.request.preference, asked.config.priority_policy
    if preference is None:
        return None
    has_minimum = preference.min_pending != 0 or preference.min_ack_pending != 0
    if has_minimum and policy is not PriorityPolicy.OVERFLOW:
        return statuses.bad_request("Not a Overflow Priority consumer")
    if preference.id and policy is not PriorityPolicy.PINNED_CLIENT:
        return statuses.bad_request("Not a Pinned Client Priority consumer")
    if not 0 <= preference.priority <= PRIORITY_MAX:
        return statuses.bad_request(f"Priority must be between 0 and {PRIORITY_MAX}")
    return None


def group_is_known(asked: Asked) -> bytes | None:
    preference, config = asked.request.preference, asked.config
    if preference is None or config.priority_policy is PriorityPolicy.NONE:
        return None
    if not preference.group:
        return statuses.bad_request("Priority Group missing")
    if preference.group not in config.priority_groups:
        return statuses.bad_request("Invalid Priority Group")
    if asked.pin and preference.id not in ("", asked.pin):
        return statuses.PIN_MISMATCH
    return None


CHECKS: tuple[Check, ...] = (
    batch_is_small,
    expires_soon,
    bytes_are_few,
    preference_suits_policy,
    group_is_known,
)


def first_refusal(asked: Asked) -> Refusal | None:
    """What the first check that objects has to say."""
    for check in CHECKS:
        if (headers := check(asked)) is not None:
            return Refusal(headers)
    return None
