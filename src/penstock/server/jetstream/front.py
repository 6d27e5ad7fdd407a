"""The front of `$JS.API`: which request goes to which handler, and how replies look.

One target takes all API subjects but the direct reads; a request to an unknown one is not answered,
as the reference. Replies wait behind the commit gate, since they tell of changes.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from penstock.api.streams import METHODS, StreamApi
from penstock.kernel.hub import SubjectIndex
from penstock.model.api_errors import ApiError, Fault
from penstock.routing.services import Request
from penstock.streams import headers
from penstock.streams.versioning import is_level_served

PREFIX = "$JS.API."
PATTERNS = ("$JS.API.INFO", "$JS.API.STREAM.>", "$JS.API.CONSUMER.>")
REQUIRED_LEVEL = b"Nats-Required-Api-Level"

Handler = Callable[[str, bytes], dict[str, Any]]


class ApiFront:
    """Dispatches requests and counts them."""

    def __init__(self, streams: StreamApi, account: Handler) -> None:
        self.total = 0
        self.errors = 0
        self._index = SubjectIndex()
        self._handlers: list[tuple[Handler, str]] = []
        self._add("INFO", account, "account_info")
        for subject, method, kind in METHODS:
            self._add(subject, method.__get__(streams), kind)

    def answer(self, request: Request) -> bytes | None:
        found = self._index.find(request.frame.subject)
        if not found:
            return None
        handler, kind = self._handlers[found[0]]
        fields: dict[str, Any] = {"type": f"io.nats.jetstream.api.v1.{kind}_response"}
        try:
            fields |= self._handle(handler, request)
        except ApiError as error:
            self.errors += 1
            fields["error"] = error.shown()
            if kind == "stream_info":
                fields |= {"total": 0, "offset": 0, "limit": 0}
        self.total += 1
        return msgspec.json.encode(fields)

    def _handle(self, handler: Handler, request: Request) -> dict[str, Any]:
        level = headers.find(request.headers, REQUIRED_LEVEL) if request.headers else None
        if level and not is_level_served(level.decode(errors="replace")):
            raise Fault.API_LEVEL_TOO_LOW.error()
        subject = request.frame.subject.decode(errors="replace")
        return handler(subject.rsplit(".", 1)[1], request.payload)

    def _add(self, subject: str, handler: Handler, kind: str) -> None:
        self._index.insert((PREFIX + subject).encode(), len(self._handlers))
        self._handlers.append((handler, kind))
