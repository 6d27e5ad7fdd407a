"""Stored messages as servers show them: with headers that say where it is stored, or as JSON."""

from base64 import b64decode
from datetime import UTC, datetime
from typing import Any

from nats.aio.msg import Msg
from nats.js.api import RawStreamMsg
from nats.js.errors import APIError, NotFoundError

from penstock.client.errors import ApiLevelError

_STATUSES: dict[int, type[APIError]] = {404: NotFoundError, 412: ApiLevelError}


def check_status(answer: Msg) -> None:
    """Raises what a status says. A stored message may have a header of that name, too."""
    headers = answer.headers or {}
    if "Status" not in headers or "Nats-Sequence" in headers:
        return
    status, description = int(headers["Status"]), headers.get("Description", "").strip()
    raise _STATUSES.get(status, APIError)(code=status, description=description)


def from_direct(answer: Msg) -> RawStreamMsg:
    """A message as the direct APIs send it."""
    headers = answer.headers or {}
    return RawStreamMsg(
        subject=headers["Nats-Subject"],
        seq=int(headers["Nats-Sequence"]),
        data=answer.data,
        headers=headers,
        stream=headers["Nats-Stream"],
        time=_moment(headers["Nats-Time-Stamp"]),
    )


def from_managed(stream: str, told: dict[str, Any]) -> RawStreamMsg:
    """A message as the API for management describes it."""
    return RawStreamMsg(
        subject=told["subject"],
        seq=told["seq"],
        data=b64decode(told.get("data", "")),
        headers=_headers(b64decode(told["hdrs"])) if "hdrs" in told else None,
        stream=stream,
        time=_moment(told["time"]),
    )


def _moment(text: str) -> datetime:
    """Of a second's fraction Python keeps six digits."""
    return datetime.fromisoformat(text).astimezone(UTC)


def _headers(raw: bytes) -> dict[str, str]:
    """By name; of several with one name the last counts, as in nats-py."""
    headers = {}
    for line in raw.decode(errors="replace").split("\r\n")[1:]:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip()] = value.strip()
    return headers
