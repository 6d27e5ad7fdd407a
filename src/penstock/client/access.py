"""Which API a read goes to: the rules of ADR-56, and what they need to know of a stream.

A linearizable read goes to the leader (DIRECT_LEADER.GET), or is an error if the stream is known
not to allow it. Any other goes to DIRECT.GET where the stream has `allow_direct` or a
`read_consistency`, and to STREAM.MSG.GET where it has neither.

What a stream allows is in its information. That is asked for once and remembered; it is asked for
again before a read is refused for it, and after nobody answered. Who may not ask is left with not
knowing: then a linearizable read is tried anyway.
"""

import enum
import json
from typing import NamedTuple

from nats.aio.client import Client
from nats.errors import NoRespondersError, TimeoutError

from penstock.client.errors import LinearizableReadsNotEnabledError, api_error
from penstock.client.subjects import stream_name

DEFAULT = "default"


class Api(enum.Enum):
    """The three ways to read a message, by their subjects."""

    LEADER = "DIRECT_LEADER.GET"
    DIRECT = "DIRECT.GET"
    STREAM = "STREAM.MSG.GET"


class Access(NamedTuple):
    """What a stream allows; None where that is not known."""

    allow_direct: bool | None
    read_consistency: str | None

    @property
    def api(self) -> Api:
        """For a read that need not be linearizable."""
        consistent = self.read_consistency not in (None, DEFAULT)
        return Api.DIRECT if self.allow_direct or consistent else Api.STREAM

    @property
    def may_be_linearizable(self) -> bool:
        """True also if it is not known."""
        return self.read_consistency != DEFAULT


UNKNOWN = Access(None, None)


class AccessBook:
    """What is known of the streams of one connection."""

    def __init__(self, connection: Client, prefix: str, timeout: float) -> None:
        self._connection = connection
        self._prefix = prefix
        self._timeout = timeout
        self._known: dict[str, Access] = {}

    async def api(self, stream: str, *, linearizable: bool) -> Api:
        """Where a read of this stream goes; raises if it may not be linearizable and should."""
        access = self._known.get(stream) or await self.look(stream)
        if not linearizable:
            return access.api
        if not access.may_be_linearizable:
            access = await self.look(stream)  # it may have been enabled meanwhile
        if not access.may_be_linearizable:
            raise LinearizableReadsNotEnabledError(stream)
        return Api.LEADER

    async def is_managed_now(self, asked: Api, stream: str) -> bool:
        """Whether nobody answered because direct reads were turned off meanwhile."""
        if asked is not Api.DIRECT:
            return False
        return await self.api(stream, linearizable=False) is Api.STREAM

    async def look(self, stream: str) -> Access:
        """Asks what a stream allows; raises `NotFoundError` if there is none."""
        subject = f"{self._prefix}.STREAM.INFO.{stream_name(stream)}"
        try:
            answer = await self._connection.request(subject, timeout=self._timeout)
        except (NoRespondersError, TimeoutError):
            return self._known.setdefault(stream, UNKNOWN)
        told = json.loads(answer.data)
        if "error" in told:
            self._known.pop(stream, None)
            raise api_error(told["error"])
        self.note(stream, told["config"])
        return self._known[stream]

    def note(self, stream: str, config: dict[str, object]) -> None:
        """A stream's configuration, as a server has told it."""
        consistency = str(config.get("read_consistency") or DEFAULT)
        self._known[stream] = Access(bool(config.get("allow_direct")), consistency)

    def forget(self, stream: str) -> None:
        """The next read asks again."""
        self._known.pop(stream, None)
