"""The front of `$JS.API`: which request goes to which handler, and how replies look.

One target takes all API subjects but the direct reads; a request to an unknown one is not answered,
as the reference. Replies wait behind the commit gate, since they tell of changes. A request about a
stream that has stopped is refused with its failure: what the stream knows may never be durable.
"""

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from penstock.api.clustering import SUBJECTS as CLUSTER_SUBJECTS
from penstock.api.clustering import refuse_alone
from penstock.api.consumers import METHODS as CONSUMER_METHODS
from penstock.api.consumers import ConsumerApi, UnansweredError
from penstock.api.streams import METHODS, StreamApi
from penstock.kernel.hub import SubjectIndex
from penstock.model.api_errors import ApiError, Fault
from penstock.model.errors import StorageError
from penstock.routing.services import Request
from penstock.server.jetstream.account import account_info
from penstock.server.jetstream.consumers.keeper import ConsumerKeeper
from penstock.server.jetstream.keeper import Keeper
from penstock.server.jetstream.losses import update_losses
from penstock.server.jetstream.parts import Parts
from penstock.server.jetstream.refusals import store_failed
from penstock.streams import headers
from penstock.streams.republish import Republished
from penstock.streams.versioning import is_level_served

PREFIX = "$JS.API."
# Not simply everything: direct reads and the next message of a consumer have listeners of their
# own, and where there is none the asker must hear that nobody listens.
PATTERNS = (
    "$JS.API.*",
    "$JS.API.STREAM.>",
    "$JS.API.META.>",
    "$JS.API.SERVER.>",
    "$JS.API.ACCOUNT.>",
    *(
        f"$JS.API.CONSUMER.{verb}.>"
        for verb in (
            "CREATE",
            "DURABLE",
            "NAMES",
            "LIST",
            "INFO",
            "DELETE",
            "PAUSE",
            "RESET",
            "UNPIN",
            "LEADER",
        )
    ),
)
REQUIRED_LEVEL = b"Nats-Required-Api-Level"
UNAUDITED = "stream_msg_get"  # unless it is refused, as the reference
PURGE = "stream_purge"
DELETION = "stream_delete"  # a stream that has stopped can still be deleted

Fields = dict[str, Any]
Handler = Callable[[str, bytes], Fields]  # of the name in the subject, and the payload
AskedHandler = Callable[[str, bytes, int], Fields]  # of the asking connection too


class Row(NamedTuple):
    """What answers a subject."""

    handler: AskedHandler
    kind: str
    refused: Fields  # what a refusal carries beside the error
    tokens: int  # of the subject, before the names in it


class ApiFront:
    """Dispatches requests and counts them."""

    def __init__(self, parts: Parts, keeper: Keeper) -> None:
        self._parts = parts
        self._keeper = keeper
        self._report = parts.context.logger.error
        self._total = 0
        self._errors = 0
        self._is_audited = False  # the request that was just answered
        self._index = SubjectIndex()
        self._rows: list[Row] = []
        self.add("INFO", self._account_info, "account_info", {})
        streams = StreamApi(keeper.registry, keeper, self._say)
        for subject, method, kind, refused in METHODS:
            self.add(subject, method.__get__(streams), kind, refused)
        consumers = ConsumerApi(ConsumerKeeper(keeper.turn_end, keeper.kept, strict=keeper.strict))
        for subject, consumer_method, kind, refused in CONSUMER_METHODS:
            self.add(subject, consumer_method.__get__(consumers), kind, refused)
        for subject, kind in CLUSTER_SUBJECTS:
            self.add(subject, refuse_alone, kind, {})

    def gate(self) -> contextlib.AbstractContextManager[None]:
        """Without a log, only errors and what is known of streams in memory is answered: that does
        not wait for another one."""
        commit = self._parts.commit
        is_open = commit is None or bool(commit.failure)
        return contextlib.nullcontext() if is_open else self._parts.gated()

    def answer(self, request: Request) -> bytes | None:
        found = self._index.find(request.frame.subject)
        if not found:
            return None
        row = self._rows[found[0]]
        fields: Fields = {"type": f"io.nats.jetstream.api.v1.{row.kind}_response"}
        self._total += 1
        try:
            fields |= self._handle(row, request)
        except UnansweredError:
            return None
        except ApiError as error:
            fields |= self._refused(row, error)
        except (OSError, StorageError) as error:
            subject = request.frame.subject.decode(errors="replace")
            self._report("Request %s failed: %s", subject, error)
            fields |= self._refused(row, store_failed(str(error)))
        self._is_audited = row.kind != UNAUDITED or "error" in fields
        return msgspec.json.encode(fields)

    def audit(self, request: Request, reply: bytes) -> None:
        """Behind the reply, as the reference."""
        if self._is_audited:
            frame = request.frame
            self._keeper.advisories.audit(frame.connection, frame.subject, request.payload, reply)

    def _refused(self, row: Row, error: ApiError) -> Fields:
        self._errors += 1
        return {"error": error.shown(), **row.refused}

    def _handle(self, row: Row, request: Request) -> Fields:
        level = headers.find(request.headers, REQUIRED_LEVEL) if request.headers else None
        if level and not is_level_served(level.decode(errors="replace")):
            raise Fault.API_LEVEL_TOO_LOW.error()
        names = request.frame.subject.decode(errors="replace").split(".")[row.tokens :]
        stream_name = names[0] if names else ""
        self._check_running(stream_name, row.kind)
        fields = row.handler(".".join(names), request.payload, request.frame.connection)
        self._write_out(stream_name)
        if row.kind == PURGE:
            self._keeper.purged.add(stream_name)
        return fields

    def _check_running(self, stream_name: str, kind: str) -> None:
        commit = self._parts.commit
        kept = self._keeper.kept.get(stream_name)
        if kept is None:
            if commit is not None and commit.failure:
                raise Fault.UNAVAILABLE.error()
            return
        can_go = kind == DELETION and (commit is None or not commit.failure)
        if kept.failure and not can_go:
            raise store_failed(kept.failure)
        update_losses(kept, self._report)

    def _write_out(self, stream_name: str) -> None:
        """Without a log, a change is told when it is in the files."""
        kept = self._keeper.kept.get(stream_name)
        if kept is not None and kept.ingest is not None and kept.ingest.lazy:
            kept.ingest.write_out()

    def _say(self, stream_name: str, copies: list[Republished]) -> None:
        self._keeper.kept[stream_name].say(copies)

    def _account_info(self, _name: str, _payload: bytes) -> Fields:
        """As the reference: of the requests before this one."""
        return account_info(self._keeper.registry, self._total - 1, self._errors)

    def add(self, subject: str, handler: Handler, kind: str, refused: Fields) -> None:
        """One more subject; `refused` is what a refusal carries beside the error."""

        def regardless_of_asker(name: str, payload: bytes, _asked_by: int) -> Fields:
            return handler(name, payload)

        self.add_asked(subject, regardless_of_asker, kind, refused)

    def add_asked(self, subject: str, handler: AskedHandler, kind: str, refused: Fields) -> None:
        """One more, whose handler wants to know who asks."""
        pattern = PREFIX + subject
        tokens = [token for token in pattern.split(".") if token not in ("*", ">")]
        self._index.insert(pattern.encode(), len(self._rows))
        self._rows.append(Row(handler, kind, refused, len(tokens)))
