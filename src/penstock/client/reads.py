"""Reading stored messages: one, a row of them, or the last of many subjects.

`access.py` says where a read goes. The direct APIs answer with the message itself, its place in
the headers; many messages come to an inbox of their own, until a status ends them. A server sends
as much as its limits allow and says what is left, so long reads go on behind the last message that
came. Where a stream allows no direct reads, the same is done message by message.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import NoRespondersError, TimeoutError
from nats.js.api import RawStreamMsg
from nats.js.errors import APIError, Error, NotFoundError

from penstock.client.access import AccessBook, Api
from penstock.client.errors import (
    ApiLevelError,
    LinearizableReadUnavailableError,
    api_error,
)
from penstock.client.inbox import asked
from penstock.client.messages import check_status, from_direct, from_managed
from penstock.client.subjects import stream_name

PAGE = 1000  # messages of one request
SUBJECTS_MAX = 1024  # answers to one request for the last of many subjects
SUBJECTS_BYTES_MAX = 256 * 1024  # of the subjects in one request, well below any payload limit
_END = "204"
_TOO_MANY = 413
_NO_RESPONDERS = "503"

Request = dict[str, Any]


@dataclass
class _Left:
    """What a server has not sent of what was asked for."""

    pending: int = 0
    up_to: int = 0


class Reads:
    """Reads of one connection."""

    def __init__(self, connection: Client, prefix: str, timeout: float) -> None:
        self._connection = connection
        self._prefix = prefix
        self._timeout = timeout
        self.access = AccessBook(connection, prefix, timeout)

    async def one(
        self, stream: str, request: Request, *, linearizable: bool = False, direct: bool = False
    ) -> RawStreamMsg:
        """The message that a request names; `NotFoundError` if there is none."""
        if direct and not linearizable:
            api = Api.DIRECT
        else:
            api = await self.access.api(stream, linearizable=linearizable)
        if api is not Api.STREAM:
            try:
                answer = await self._direct(api, stream, request)
            except NoRespondersError:
                if direct or not await self.access.is_managed_now(api, stream):
                    raise
            else:
                check_status(answer)
                return from_direct(answer)
        return await self._managed(stream, request)

    async def last_payload(self, stream: str, subject: str, *, linearizable: bool = False) -> bytes:
        """What the last message of a subject holds, without its headers where the server can."""
        api = await self.access.api(stream, linearizable=linearizable)
        if api is not Api.STREAM:
            try:
                answer = await self._direct(api, stream, {"last_by_subj": subject, "no_hdr": True})
            except NoRespondersError:
                if not await self.access.is_managed_now(api, stream):
                    raise
            else:
                check_status(answer)
                return answer.data
        return (await self._managed(stream, {"last_by_subj": subject})).data or b""

    async def row(
        self,
        stream: str,
        request: Request,
        *,
        limit: int | None = None,
        linearizable: bool = False,
    ) -> AsyncGenerator[RawStreamMsg, None]:
        """Messages from a place on, in the order of their sequences, until there are no more."""
        api = await self.access.api(stream, linearizable=linearizable)
        if api is Api.STREAM:
            row = self._managed_row(stream, request, limit)
        else:
            row = self._direct_row(api, stream, request, limit)
        async with aclosing(row) as messages:
            async for message in messages:
                yield message

    async def last_of_each(
        self, stream: str, patterns: Sequence[str], request: Request, *, linearizable: bool = False
    ) -> AsyncGenerator[RawStreamMsg, None]:
        """The last message of every subject that one of the patterns matches."""
        if not patterns:
            return
        api = await self.access.api(stream, linearizable=linearizable)
        if api is Api.STREAM and request:
            api = (await self.access.look(stream)).api  # it may have been enabled meanwhile
        if api is Api.STREAM:
            if request:
                raise Error(f"reads up to a sequence or a time need allow_direct on {stream}")
            async for subject in self.subjects(stream, patterns):
                try:
                    yield await self._managed(stream, {"last_by_subj": subject})
                except NotFoundError:
                    continue  # it went meanwhile
            return
        try:
            async for message in self._multi(api, stream, patterns, request):
                yield message
        except APIError as error:
            if error.code != _TOO_MANY:
                raise
            async for names in _portions(self.subjects(stream, patterns)):
                async for message in self._multi(api, stream, names, request):
                    yield message

    async def subjects(self, stream: str, patterns: Sequence[str]) -> AsyncGenerator[str, None]:
        """The subjects of a stream that one of the patterns matches, each once."""
        seen: set[str] = set()
        for pattern in patterns:
            offset, total = 0, 1
            while offset < total:
                asked_for = {"subjects_filter": pattern, "offset": offset}
                told = await self._api(f"STREAM.INFO.{stream_name(stream)}", asked_for)
                page = told["state"].get("subjects") or {}
                for subject in page:
                    if subject not in seen:
                        seen.add(subject)
                        yield subject
                total = told.get("total", 0) if page else 0
                offset += len(page)

    async def _direct_row(
        self, api: Api, stream: str, request: Request, limit: int | None
    ) -> AsyncGenerator[RawStreamMsg, None]:
        left = limit
        while left is None or left > 0:
            page = PAGE if left is None else min(left, PAGE)
            rest, last = _Left(), 0
            answers = self._answers(api, stream, {**request, "batch": page}, rest)
            async with aclosing(answers) as messages:
                async for message in messages:
                    yield message
                    last = message.seq or 0
                    left = None if left is None else left - 1
            if not rest.pending or not last:
                return
            request = {name: value for name, value in request.items() if name != "start_time"}
            request["seq"] = last + 1

    async def _managed_row(
        self, stream: str, request: Request, limit: int | None
    ) -> AsyncGenerator[RawStreamMsg, None]:
        left = limit
        while left is None or left > 0:
            try:
                message = await self._managed(stream, request)
            except NotFoundError:
                return
            yield message
            left = None if left is None else left - 1
            request = {name: value for name, value in request.items() if name != "start_time"}
            request["seq"] = (message.seq or 0) + 1

    async def _multi(
        self, api: Api, stream: str, patterns: Sequence[str], request: Request
    ) -> AsyncGenerator[RawStreamMsg, None]:
        """One request, and as many more as the server's limits make necessary."""
        request = {**request, "multi_last": list(patterns)}
        while True:
            rest, last = _Left(), 0
            async with aclosing(self._answers(api, stream, request, rest)) as messages:
                async for message in messages:
                    yield message
                    last = message.seq or 0
            if not rest.pending or not last:
                return
            request = {name: value for name, value in request.items() if name != "up_to_time"}
            request |= {"seq": last + 1, "up_to_seq": rest.up_to}

    async def _answers(
        self, api: Api, stream: str, request: Request, rest: _Left
    ) -> AsyncGenerator[RawStreamMsg, None]:
        """The messages that answer one request; none is no error."""
        subject, payload = self._asked(api, stream, request)
        async with asked(self._connection, subject, payload) as inbox:
            while True:
                try:
                    answer = await inbox.next(self._timeout)
                except TimeoutError:
                    raise self._unanswered(api, stream, TimeoutError()) from None
                headers = answer.headers or {}
                if "Nats-Sequence" in headers:
                    if "Nats-Num-Pending" not in headers:
                        raise ApiLevelError(description="the server sends one message at a time")
                    yield from_direct(answer)
                    continue
                status = headers.get("Status")
                if status == _NO_RESPONDERS:
                    raise self._unanswered(api, stream, NoRespondersError())
                if status == _END:
                    rest.pending = int(headers.get("Nats-Num-Pending", 0))
                    rest.up_to = int(headers.get("Nats-UpTo-Sequence", 0))
                    return
                try:
                    check_status(answer)
                except NotFoundError:
                    return

    async def _direct(self, api: Api, stream: str, request: Request) -> Msg:
        subject, payload = self._asked(api, stream, request)
        try:
            return await self._connection.request(subject, payload, timeout=self._timeout)
        except (NoRespondersError, TimeoutError) as error:
            raise self._unanswered(api, stream, error) from None

    def _asked(self, api: Api, stream: str, request: Request) -> tuple[str, bytes]:
        """Subject and payload. What to read goes into the subject, where permissions see it."""
        place = f"{self._prefix}.{api.value}.{stream_name(stream)}"
        last_of = request.get("last_by_subj")
        if last_of and "*" not in last_of and ">" not in last_of:
            request = {name: value for name, value in request.items() if name != "last_by_subj"}
            place = f"{place}.{last_of}"
        return place, json.dumps(request).encode() if request else b""

    def _unanswered(self, api: Api, stream: str, error: Exception) -> Exception:
        self.access.forget(stream)
        return LinearizableReadUnavailableError(stream) if api is Api.LEADER else error

    async def _managed(self, stream: str, request: Request) -> RawStreamMsg:
        """By the API for management, which every stream has."""
        told = (await self._api(f"STREAM.MSG.GET.{stream_name(stream)}", request))["message"]
        return from_managed(stream, told)

    async def _api(self, place: str, request: Request) -> dict[str, Any]:
        payload = json.dumps(request).encode()
        subject = f"{self._prefix}.{place}"
        answer = await self._connection.request(subject, payload, timeout=self._timeout)
        told: dict[str, Any] = json.loads(answer.data)
        if "error" in told:
            raise api_error(told["error"])
        return told


async def _portions(subjects: AsyncIterator[str]) -> AsyncGenerator[list[str], None]:
    """As many subjects at a time as one request may have."""
    portion: list[str] = []
    size = 0
    async for subject in subjects:
        if len(portion) == SUBJECTS_MAX or size + len(subject) > SUBJECTS_BYTES_MAX:
            yield portion
            portion, size = [], 0
        portion.append(subject)
        size += len(subject)
    if portion:
        yield portion
