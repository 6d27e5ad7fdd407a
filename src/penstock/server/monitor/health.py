"""/healthz: is this server fit for work?

Any part of the server may add a check; it is asked on every request and answers with the problems
it knows of, none if all is well. One problem is enough for 503. The first one is shown, or all of
them with `details`, in the reference's shape.
"""

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import NamedTuple

import msgspec

from penstock.server.monitor.query import Query
from penstock.wire.info import ServerInfo


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong; `kind` is one of the reference's: CONNECTION, JETSTREAM, STREAM."""

    kind: str = msgspec.field(name="type")
    account: str = ""
    stream: str = ""
    consumer: str = ""
    error: str


class HealthQuery(NamedTuple):
    """What the asker wants to know. A check looks only at what concerns it."""

    jetstream_enabled_only: bool
    jetstream_server_only: bool
    jetstream_meta_only: bool
    details: bool
    account: str
    stream: str
    consumer: str

    @classmethod
    def read(cls, query: Query) -> "HealthQuery":
        deprecated = query.boolean("js-enabled")
        return cls(
            jetstream_enabled_only=query.boolean("js-enabled-only") or deprecated,
            jetstream_server_only=query.boolean("js-server-only"),
            jetstream_meta_only=query.boolean("js-meta-only"),
            details=query.boolean("details"),
            account=query.text("account"),
            stream=query.text("stream"),
            consumer=query.text("consumer"),
        )


class _Body(msgspec.Struct, omit_defaults=True):
    status: str
    error: str = ""
    errors: tuple[Problem, ...] = ()


class Report(NamedTuple):
    """The answer to one request."""

    status_code: HTTPStatus
    problems: tuple[Problem, ...]
    details: bool

    @property
    def summary(self) -> str:
        return "; ".join(problem.error for problem in self.problems)

    def body(self) -> bytes:
        if not self.problems:
            return msgspec.json.encode(_Body("ok"))
        if self.details:
            return msgspec.json.encode(_Body("error", errors=self.problems))
        unavailable = self.status_code is HTTPStatus.SERVICE_UNAVAILABLE
        status = "unavailable" if unavailable else "error"
        return msgspec.json.encode(_Body(status, error=self.problems[0].error))


Check = Callable[[HealthQuery], Iterable[Problem]]


class Health:
    """All checks of a server."""

    def __init__(self) -> None:
        self._checks: list[Check] = []

    def add(self, check: Check) -> None:
        self._checks.append(check)

    def report(self, query: HealthQuery) -> Report:
        if misfit := _misfit(query):
            problem = Problem(kind="BAD_REQUEST", error=misfit)
            return Report(HTTPStatus.BAD_REQUEST, (problem,), query.details)
        problems = tuple(problem for check in self._checks for problem in check(query))
        code = HTTPStatus.SERVICE_UNAVAILABLE if problems else HTTPStatus.OK
        return Report(code, problems, query.details)


def lame_duck(info: ServerInfo) -> Iterable[Problem]:
    """A server about to go takes no new connections: balancers should send nobody here."""
    if info.lame_duck_mode:
        yield Problem(kind="CONNECTION", error="lame duck mode: no new connections are accepted")


def _misfit(query: HealthQuery) -> str:
    if query.stream and not query.account:
        return '"account" must not be empty when checking stream health'
    if query.consumer and not query.stream:
        return '"stream" must not be empty when checking consumer health'
    return ""
