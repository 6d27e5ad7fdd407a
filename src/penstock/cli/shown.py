"""Messages and moments as commands show them."""

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

_CONTROL_CHARACTERS_MAX = 32


def moment(time: datetime | None) -> str:
    """In UTC, as the server writes it, and as SQL and other tools read it."""
    if time is None:
        return ""
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def as_data(
    seq: int,
    time: datetime | None,
    subject: str,
    payload: bytes,
    headers: Mapping[str, str] | None,
) -> dict[str, Any]:
    """A message as JSON; what is no text is base64 under another name."""
    shown: dict[str, Any] = {"seq": seq, "time": moment(time), "subject": subject}
    if headers:
        shown["headers"] = dict(headers)
    try:
        shown["data"] = payload.decode()
    except UnicodeDecodeError:
        shown["data_base64"] = base64.b64encode(payload).decode()
    return shown


def as_text(payload: bytes) -> str:
    """A payload on one line of a terminal: nothing in it moves the cursor."""
    try:
        text = payload.decode()
    except UnicodeDecodeError:
        return f"{len(payload)} bytes: {base64.b64encode(payload[:60]).decode()}"
    return "".join(_escaped(character) for character in text)


def _escaped(character: str) -> str:
    number = ord(character)
    is_control = number < _CONTROL_CHARACTERS_MAX or 0x7F <= number < 0xA0
    return character.encode("unicode_escape").decode() if is_control else character
