"""The stream part of `$JS.API`: one method for each subject, found through one table.

A method takes the stream's name and the payload and returns the fields of the reply, or raises an
`ApiError`. What must happen outside (stores, routes, advisories) is asked of the `Keeper`.
"""

import base64
from collections.abc import Callable
from typing import Any, Protocol

from penstock.api.requests import (
    DeleteRequest,
    InfoRequest,
    NamesRequest,
    PurgeRequest,
    is_empty,
    parse_optional_request,
    parse_request,
)
from penstock.api.stream_info import SUBJECTS_SHOWN_MAX, show_deleted, show_stream
from penstock.model.api_errors import ApiError, Fault
from penstock.model.limits import SEQUENCE_START_MAX
from penstock.model.stream_config import Storage, StreamConfig
from penstock.model.stream_request import parse_stream_request
from penstock.model.timestamps import rfc3339
from penstock.streams import departures
from penstock.streams.purging import EVERYTHING
from penstock.streams.read_request import (
    CONTRADICTIONS,
    WAYS,
    ReadRequest,
    parse_read_request,
)
from penstock.streams.reads import Wanted, find
from penstock.streams.registry import Registry
from penstock.streams.republish import Republished
from penstock.streams.resources import Surroundings
from penstock.streams.stream import Stream
from penstock.streams.updates import UpdateState, check_update
from penstock.streams.validation import check_create

NAMES_SHOWN_MAX = 1024  # of one STREAM.NAMES, as the reference
LIST_SHOWN_MAX = 256  # of one STREAM.LIST, as the reference

Fields = dict[str, Any]


class Keeper(Protocol):
    """Whoever owns stores, routes and the clock."""

    server_name: str
    strict: bool  # whether a field that nobody knows is refused

    def now_ns(self) -> int: ...
    def surroundings(self) -> Surroundings: ...
    def create(self, config: StreamConfig) -> Stream: ...
    def update(self, stream: Stream, config: StreamConfig) -> None: ...
    def delete(self, stream: Stream) -> None: ...


Say = Callable[[str, list[Republished]], None]  # lets others hear of what a stream stored by itself


class StreamApi:
    """Handlers of `$JS.API.STREAM.*`."""

    def __init__(self, registry: Registry, keeper: Keeper, say: Say) -> None:
        self.registry = registry
        self.keeper = keeper
        self.say = say

    def create(self, name: str, payload: bytes) -> Fields:
        request = parse_stream_request(payload, self.keeper.strict)
        config = _checked(check_create(name, request, self.keeper.surroundings()))
        stream = self.registry.find(name) or self.keeper.create(config)
        return {**show_stream(stream, self.keeper.now_ns()), "did_create": True}

    def update(self, name: str, payload: bytes) -> Fields:
        request = parse_stream_request(payload, self.keeper.strict)
        existing = self.registry.find(name)
        state = UpdateState()
        if existing is not None:
            state = UpdateState(existing.store.state().messages, existing.audience.bounds())
        config = _checked(check_update(name, request, state, self.keeper.surroundings()))
        stream = self.registry.require(name)
        self.keeper.update(stream, config)
        return show_stream(stream, self.keeper.now_ns())

    def info(self, name: str, payload: bytes) -> Fields:
        request = parse_optional_request(payload, InfoRequest)
        stream = self.registry.require(name)
        fields = _NO_PAGE | show_stream(stream, self.keeper.now_ns())
        fields["cluster"] = {"leader": self.keeper.server_name}
        if request.subjects_filter:
            fields |= self._subjects(stream, request, fields["state"])
        if request.deleted_details and (deleted := show_deleted(stream)):
            fields["state"]["deleted"] = deleted
        return fields

    def _subjects(self, stream: Stream, request: InfoRequest, state: Fields) -> Fields:
        pattern = request.subjects_filter.encode()
        offset = max(0, request.offset)
        found = stream.store.subjects(pattern, 0, 2**63)
        if not found:
            return {}
        page = found[offset : offset + SUBJECTS_SHOWN_MAX]
        if page:
            state["subjects"] = {subject.decode(errors="replace"): count for subject, count in page}
        return {"total": len(found), "offset": offset, "limit": SUBJECTS_SHOWN_MAX}

    def delete(self, name: str, payload: bytes) -> Fields:
        if not is_empty(payload):
            raise Fault.PAYLOAD_NOT_EMPTY.error()
        self.keeper.delete(self.registry.require(name))
        return {"success": True}

    def purge(self, name: str, payload: bytes) -> Fields:
        request = parse_optional_request(payload, PurgeRequest)
        if request.seq and request.keep:
            raise Fault.BAD_REQUEST.error()
        stream = self.registry.require(name)
        if stream.config.sealed:
            raise Fault.STREAM_SEALED.error()
        if stream.config.deny_purge:
            raise Fault.PURGE_FAILED.error(reason="stream purge not permitted")
        pattern = request.filter.encode()
        if pattern in EVERYTHING and request.seq > SEQUENCE_START_MAX:  # numbering goes on there
            reason = f"purge sequence must be <= {SEQUENCE_START_MAX}"
            raise Fault.PURGE_FAILED.error(reason=reason)
        now_ns = self.keeper.now_ns()
        stream.audience.purging()
        gone = departures.purge(stream, pattern, request.seq, request.keep, now_ns)
        stream.catch_up()  # a purge below a sequence to come moves the last one
        stream.has_begun |= pattern in EVERYTHING and not request.keep and request.seq != 1
        stream.audience.purged(request.filter)
        self.say(name, gone.copies)
        return {"success": True, "purged": gone.messages}

    def get(self, name: str, payload: bytes) -> Fields:
        if not payload:
            raise Fault.BAD_REQUEST.error()
        request = parse_read_request(payload, strict=True)
        asked = wanted(request)  # before the stream is looked up: a bad request is 10003 anyway
        record = find(self.registry.require(name).store, asked)
        if record is None:
            raise Fault.MESSAGE_UNKNOWN.error()
        message: Fields = {"subject": record.subject.decode(errors="replace")}
        message["seq"] = record.sequence
        if record.headers and not request.headerless:
            message["hdrs"] = base64.b64encode(record.headers).decode()
        if record.payload:
            message["data"] = base64.b64encode(record.payload).decode()
        message["time"] = rfc3339(record.time_ns)
        return {"message": message}

    def remove(self, name: str, payload: bytes) -> Fields:
        if is_empty(payload):
            raise Fault.BAD_REQUEST.error()
        request = parse_request(payload, DeleteRequest)
        stream = self.registry.require(name)
        if stream.config.sealed:
            raise Fault.STREAM_SEALED.error()
        if stream.config.deny_delete:
            raise Fault.MESSAGE_DELETE_FAILED.error(reason="message delete not permitted")
        now_ns, erase = self.keeper.now_ns(), not request.no_erase
        gone = departures.remove(stream, request.seq, now_ns, erase=erase)
        if not gone.messages:
            raise _not_removed(stream, request.seq)
        self.say(name, gone.copies)
        return {"success": True}

    def names(self, _name: str, payload: bytes) -> Fields:
        request, streams = self._listed(payload)
        page = streams[request.offset : request.offset + NAMES_SHOWN_MAX]
        shown_names = [stream.config.name for stream in page] or None
        return _page(streams, request.offset, NAMES_SHOWN_MAX, shown_names)

    def listing(self, _name: str, payload: bytes) -> Fields:
        request, streams = self._listed(payload)
        page = streams[request.offset : request.offset + LIST_SHOWN_MAX]
        now_ns = self.keeper.now_ns()
        rows = [show_stream(stream, now_ns, with_versions=False) for stream in page]
        return _page(streams, request.offset, LIST_SHOWN_MAX, rows)

    def _listed(self, payload: bytes) -> tuple[NamesRequest, list[Stream]]:
        request = parse_optional_request(payload, NamesRequest)
        subject = request.subject
        streams = self.registry.listening(subject) if subject else [*self.registry]
        offset = min(max(0, request.offset), len(streams))
        return NamesRequest(offset=offset, subject=subject), streams


def wanted(request: ReadRequest) -> Wanted:
    """Which message a request asks for; 10003 if it asks for none, for two, or for many."""
    given = request.given()
    if given & {"batch", "max_bytes"} or not given & WAYS:
        raise Fault.BAD_REQUEST.error()
    if any(pair <= given for pair in CONTRADICTIONS):
        raise Fault.BAD_REQUEST.error()
    return request.wanted()


def _not_removed(stream: Stream, sequence: int) -> ApiError:
    """Why there was nothing to remove, in the reference's words."""
    state = stream.store.state()
    if stream.config.storage is Storage.MEMORY:
        return Fault.SEQUENCE_UNKNOWN.error(sequence=sequence)
    if sequence > state.sequence_last:
        return Fault.MESSAGE_DELETE_FAILED.error(reason="stream store EOF")
    if sequence < state.sequence_first:
        return Fault.MESSAGE_DELETE_FAILED.error(reason="no message found")
    return Fault.SEQUENCE_UNKNOWN.error(sequence=sequence)


def _checked(answer: ApiError | StreamConfig) -> StreamConfig:
    if isinstance(answer, ApiError):
        raise answer
    return answer


def _page(streams: list[Stream], offset: int, limit: int, rows: object) -> Fields:
    return {"total": len(streams), "offset": offset, "limit": limit, "streams": rows}


Method = Callable[[StreamApi, str, bytes], Fields]

_NO_PAGE: Fields = {"total": 0, "offset": 0, "limit": 0}

# Subject without `$JS.API.`, the method, the middle of the reply's type, and what a refusal
# carries beside the error.
METHODS: tuple[tuple[str, Method, str, Fields], ...] = (
    ("STREAM.CREATE.*", StreamApi.create, "stream_create", {}),
    ("STREAM.UPDATE.*", StreamApi.update, "stream_update", {}),
    ("STREAM.INFO.*", StreamApi.info, "stream_info", _NO_PAGE),
    ("STREAM.DELETE.*", StreamApi.delete, "stream_delete", {}),
    ("STREAM.PURGE.*", StreamApi.purge, "stream_purge", {"purged": 0}),
    ("STREAM.MSG.GET.*", StreamApi.get, "stream_msg_get", {}),
    ("STREAM.MSG.DELETE.*", StreamApi.remove, "stream_msg_delete", {}),
    ("STREAM.NAMES", StreamApi.names, "stream_names", _NO_PAGE | {"streams": None}),
    ("STREAM.LIST", StreamApi.listing, "stream_list", _NO_PAGE | {"streams": []}),
)
