"""The front of `$JS.API`: which request goes to which handler, and how replies look.

One target takes all API subjects but the direct reads; a request to an unknown one is not answered,
as the reference. Replies wait behind the commit gate, since they tell of changes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from penstock.api.clustering import SUBJECTS as CLUSTER_SUBJECTS
from penstock.api.clustering import refuse_alone
from penstock.api.consumers import METHODS as CONSUMER_METHODS
from penstock.api.consumers import ConsumerApi
from penstock.api.streams import METHODS, StreamApi
from penstock.kernel.hub import SubjectIndex
from penstock.model.api_errors import ApiError, Fault
from penstock.routing.services import Request
from penstock.streams import headers
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

Fields = dict[str, Any]
Handler = Callable[[str, bytes], Fields]  # of the name in the subject, and the payload
AskedHandler = Callable[[str, bytes, int], Fields]  # of the asking connection too
Audit = Callable[[int, bytes, bytes, bytes], None]  # connection, subject, request, reply


class Row(NamedTuple):
    """What answers a subject."""

    handler: AskedHandler
    kind: str
    refused: Fields  # what a refusal carries beside the error
    tokens: int  # of the subject, before the names in it


class ApiFront:
    """Dispatches requests and counts them."""

    def __init__(self, streams: StreamApi, account: Handler, audit: Audit) -> None:
        self.total = 0
        self.errors = 0
        self._audit = audit
        self._index = SubjectIndex()
        self._rows: list[Row] = []
        self.add("INFO", account, "account_info", {})
        for subject, method, kind, refused in METHODS:
            self.add(subject, method.__get__(streams), kind, refused)
        consumers = ConsumerApi(streams.registry)
        for subject, consumer_method, kind, refused in CONSUMER_METHODS:
            self.add(subject, consumer_method.__get__(consumers), kind, refused)
        for subject, kind in CLUSTER_SUBJECTS:
            self.add(subject, refuse_alone, kind, {})

    def answer(self, request: Request) -> bytes | None:
        found = self._index.find(request.frame.subject)
        if not found:
            return None
        row = self._rows[found[0]]
        fields: Fields = {"type": f"io.nats.jetstream.api.v1.{row.kind}_response"}
        self.total += 1
        try:
            fields |= self._handle(row, request)
        except ApiError as error:
            self.errors += 1
            fields |= {"error": error.shown(), **row.refused}
        reply = msgspec.json.encode(fields)
        if row.kind != UNAUDITED or "error" in fields:
            self._audit(request.frame.connection, request.frame.subject, request.payload, reply)
        return reply

    def _handle(self, row: Row, request: Request) -> Fields:
        level = headers.find(request.headers, REQUIRED_LEVEL) if request.headers else None
        if level and not is_level_served(level.decode(errors="replace")):
            raise Fault.API_LEVEL_TOO_LOW.error()
        tokens = request.frame.subject.decode(errors="replace").split(".")
        name = ".".join(tokens[row.tokens :])
        return row.handler(name, request.payload, request.frame.connection)

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
