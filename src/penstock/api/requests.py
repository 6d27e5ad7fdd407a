"""What requests to the stream API may say, decoded strictly.

Bad JSON, a wrong type or an unknown field is 10025, as the reference has it in strict mode. Null
is as good as absent, and an empty payload stands for an empty object where nothing is required.
"""

from typing import Annotated, TypeVar

import msgspec

from penstock.model.api_errors import ApiError, Fault
from penstock.model.stream_request import parse_object

Natural = Annotated[int, msgspec.Meta(ge=0)]


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of all requests."""


class InfoRequest(Request, frozen=True, kw_only=True):
    """STREAM.INFO."""

    offset: int = 0
    deleted_details: bool = False
    subjects_filter: str = ""


class NamesRequest(Request, frozen=True, kw_only=True):
    """STREAM.NAMES and STREAM.LIST."""

    offset: int = 0
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


AnyRequest = TypeVar("AnyRequest", bound=Request)


def parse_request(payload: bytes, kind: type[AnyRequest]) -> AnyRequest:
    """The request in a payload; raises the `ApiError` 10025 for anything but a proper one."""
    text = payload.decode(errors="replace")
    try:
        fields = parse_object(text)
        given = {name.lower(): value for name, value in fields.items() if value is not None}
        return msgspec.convert(given, kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise invalid_json(str(error)) from None


def invalid_json(reason: str) -> ApiError:
    return Fault.INVALID_JSON.error(reason=reason)
