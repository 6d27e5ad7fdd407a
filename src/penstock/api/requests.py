"""What requests to the stream API may say, decoded strictly.

Bad JSON, a wrong type or an unknown field is 10025, as the reference has it in strict mode. Null
is as good as absent, and an empty payload stands for an empty object where nothing is required.
Requests that need not say anything are read only if they look like an object or a list: also
here as the reference, which takes no notice of what else is sent to it.
"""

from typing import TypeVar

import msgspec

from penstock.model.api_errors import Fault
from penstock.model.reading import UINT64_MAX, parse_object
from penstock.model.stream_config import Int64, Natural

_BLANKS = b" \t\r\n"


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of all requests."""


class InfoRequest(Request, frozen=True, kw_only=True):
    """STREAM.INFO."""

    offset: Int64 = 0
    deleted_details: bool = False
    subjects_filter: str = ""


class NamesRequest(Request, frozen=True, kw_only=True):
    """STREAM.NAMES and STREAM.LIST."""

    offset: Int64 = 0
    subject: str = ""


class PurgeRequest(Request, frozen=True, kw_only=True):
    """STREAM.PURGE."""

    seq: Natural = 0
    keep: Natural = 0
    filter: str = ""


class DeleteRequest(Request, frozen=True, kw_only=True):
    """STREAM.MSG.DELETE; erasing the bytes is the default."""

    seq: Natural = 0
    no_erase: bool = False


class PageRequest(Request, frozen=True, kw_only=True):
    """CONSUMER.NAMES and CONSUMER.LIST."""

    offset: Int64 = 0


class PauseRequest(Request, frozen=True, kw_only=True):
    """CONSUMER.PAUSE."""

    pause_until: str | None = None


class LenientRequest(Request, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """Requests that the reference reads by other means than the rest."""


class ResetRequest(LenientRequest, frozen=True, kw_only=True):
    """CONSUMER.RESET."""

    seq: Natural = 0


class UnpinRequest(LenientRequest, frozen=True, kw_only=True):
    """CONSUMER.UNPIN."""

    group: str = ""


AnyRequest = TypeVar("AnyRequest", bound=Request)


def parse_request(payload: bytes, kind: type[AnyRequest]) -> AnyRequest:
    """The request in a payload; raises the `ApiError` 10025 for anything but a proper one."""
    text = payload.decode(errors="replace")
    try:
        fields = parse_object(text)
        given = {name.lower(): value for name, value in fields.items() if value is not None}
        if any(isinstance(value, int) and value > UINT64_MAX for value in given.values()):
            raise Fault.INVALID_JSON.error(reason="a number is too large")
        return msgspec.convert(given, kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Fault.INVALID_JSON.error(reason=str(error)) from None


def parse_optional_request(payload: bytes, kind: type[AnyRequest]) -> AnyRequest:
    """The request of a payload that may as well say nothing."""
    is_json = payload.lstrip(_BLANKS)[:1] in (b"{", b"[")
    return parse_request(payload, kind) if is_json else kind()


def is_empty(payload: bytes) -> bool:
    """Whether a payload says nothing: no bytes, or an object without fields."""
    try:
        return not payload or msgspec.json.decode(payload) == {}
    except (ValueError, RecursionError):  # no JSON, or no UTF-8 in it
        return False
