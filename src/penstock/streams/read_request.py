"""What a read asks for: the one request of STREAM.MSG.GET, DIRECT.GET and DIRECT_LEADER.GET.

The fields go by our names here and by the API's on the wire; `given` says which of them a request
uses, in the API's names, so that rules can be tables of names. Reading is strict for the API and
lenient for direct gets, as the reference: there an unknown field passes.
"""

from typing import Annotated

import msgspec

from penstock.model.api_errors import ApiError, Fault
from penstock.model.reading import UINT64_MAX, parse_object
from penstock.model.timestamps import canonical, unix_ns
from penstock.streams.reads import Wanted

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

Int64 = Annotated[int, msgspec.Meta(ge=INT64_MIN, le=INT64_MAX)]
Sequence = Annotated[int, msgspec.Meta(ge=0)]  # up to 2^64 - 1: `parse_read_request` sees to that

MOMENTS = ("start_time", "up_to_time")
SEQUENCES = ("seq", "up_to_seq")
WAYS = frozenset({"seq", "last_by_subj", "next_by_subj", "start_time"})  # to name one message
# No two of a pair in one request. What is not here goes together: next_by_subj filters from seq
# or start_time on.
CONTRADICTIONS = (
    frozenset({"seq", "last_by_subj"}),
    frozenset({"seq", "start_time"}),
    frozenset({"start_time", "last_by_subj"}),
    frozenset({"last_by_subj", "next_by_subj"}),
)


class ReadRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One or many messages."""

    sequence: Sequence = msgspec.field(name="seq", default=0)
    last_of: str = msgspec.field(name="last_by_subj", default="")
    next_of: str = msgspec.field(name="next_by_subj", default="")
    batch: Int64 = 0
    bytes_max: Int64 = msgspec.field(name="max_bytes", default=0)
    time_ns: Int64 | None = msgspec.field(name="start_time", default=None)
    last_of_each: tuple[str, ...] = msgspec.field(name="multi_last", default=())
    up_to_sequence: Sequence = msgspec.field(name="up_to_seq", default=0)
    up_to_ns: Int64 | None = msgspec.field(name="up_to_time", default=None)
    headerless: bool = msgspec.field(name="no_hdr", default=False)

    def given(self) -> frozenset[str]:
        """The fields that ask for something; a negative number asks for nothing."""
        asks = {
            "seq": self.sequence > 0,
            "last_by_subj": bool(self.last_of),
            "next_by_subj": bool(self.next_of),
            "batch": self.batch > 0,
            "max_bytes": self.bytes_max > 0,
            "start_time": self.time_ns is not None,
            "multi_last": bool(self.last_of_each),
            "up_to_seq": self.up_to_sequence > 0,
            "up_to_time": self.up_to_ns is not None,
        }
        return frozenset(name for name, asked in asks.items() if asked)

    def wanted(self) -> Wanted:
        """The message to read, or the first of a batch."""
        return Wanted(self.sequence, self.last_of.encode(), self.next_of.encode(), self.time_ns)


def parse_read_request(payload: bytes, *, strict: bool) -> ReadRequest:
    """The request in a payload; raises the `ApiError` 10025 for anything but a proper one."""
    text = payload.decode(errors="replace")
    try:
        fields = {name.lower(): value for name, value in parse_object(text).items()}
        given = {name: value for name, value in fields.items() if value is not None}
        if not strict:
            given = {name: given[name] for name in given if name in KNOWN}
        return msgspec.convert(_settled(given), ReadRequest)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _not_json(str(error)) from None


def _settled(given: dict[str, object]) -> dict[str, object]:
    """With moments as numbers, and null in a list as the empty text, as the reference reads it."""
    settled = given | {name: _moment_ns(given[name]) for name in MOMENTS if name in given}
    for name in SEQUENCES:
        value = given.get(name)
        if isinstance(value, int) and value > UINT64_MAX:
            raise _not_json(f"{name} is not a sequence")
    if isinstance(patterns := given.get("multi_last"), list):
        settled["multi_last"] = ["" if pattern is None else pattern for pattern in patterns]
    return settled


def _moment_ns(value: object) -> int:
    moment = canonical(value) if isinstance(value, str) else None
    if moment is None:
        raise _not_json("not a moment as RFC 3339 writes it")
    # No message is that old or that new. The reference wraps around: from 9999 on is from 1816 on.
    return min(max(unix_ns(moment), INT64_MIN), INT64_MAX)


def _not_json(reason: str) -> ApiError:
    return Fault.INVALID_JSON.error(reason=reason)


KNOWN = frozenset(field.encode_name for field in msgspec.structs.fields(ReadRequest))
