"""Which path shows which page, and what a reply looks like.

A page is a function from the parameters to JSON. Paths are exact, under the configured base path;
only reading is allowed. Counters of requests are kept for /varz, without the base path, and an
alias counts as the page it stands for.
"""

import html
from collections import Counter
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from http import HTTPStatus
from typing import Protocol

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from penstock.model import version
from penstock.server.app import Server
from penstock.server.monitor.connz import connz
from penstock.server.monitor.health import Health, HealthQuery
from penstock.server.monitor.process_usage import CpuGauge
from penstock.server.monitor.query import Query, QueryError
from penstock.server.monitor.subsz import subsz
from penstock.server.monitor.varz import varz

JSON = "application/json"
TITLES = {
    "/varz": "General",
    "/connz": "Connections",
    "/subsz": "Subscriptions",
    "/healthz": "Health",
}
ALIASES = {"/subscriptionsz": "/subsz"}
METHODS = ("GET", "HEAD")


class Face(Protocol):
    """What the pages need of the monitor: where it listens, and who knows of troubles."""

    host: str
    port: int
    health: Health


class Pages:
    """The ASGI application of one server's monitor."""

    def __init__(self, server: Server, face: Face) -> None:
        self._server = server
        self._face = face
        self._cpu = CpuGauge()
        self._requests: Counter[str] = Counter()
        self._base_path = server.options.http_base_path.rstrip("/")
        pages: dict[str, Callable[[Query], Awaitable[Response]]] = {
            "/": self._index,
            "/varz": self._varz,
            "/connz": self._connz,
            "/subsz": self._subsz,
            "/healthz": self._healthz,
        }
        self._pages = pages
        self._names = {self._base_path + name: name for name in pages if name != "/"}
        self._names |= {self._base_path + alias: name for alias, name in ALIASES.items()}
        self._names[self._base_path or "/"] = "/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._answer(scope)
        response.headers["Date"] = formatdate(usegmt=True)
        await response(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response:
        name = self._names.get(scope["path"])
        if name is None:
            return _refusal(HTTPStatus.NOT_FOUND, "404 page not found\n")
        if scope["method"] not in METHODS:
            refusal = _refusal(HTTPStatus.METHOD_NOT_ALLOWED, "Method Not Allowed\n")
            refusal.headers["Allow"] = ", ".join(METHODS)
            return refusal
        self._requests[name] += 1
        try:
            return await self._pages[name](Query(scope["query_string"]))
        except QueryError as error:
            return _refusal(HTTPStatus.BAD_REQUEST, str(error))

    async def _varz(self, _query: Query) -> Response:
        face = self._face
        shown = await varz(self._server, (face.host, face.port), self._requests, self._cpu)
        return _json(HTTPStatus.OK, shown)

    async def _connz(self, query: Query) -> Response:
        return _json(HTTPStatus.OK, await connz(self._server, query))

    async def _subsz(self, query: Query) -> Response:
        return _json(HTTPStatus.OK, await subsz(self._server, query))

    async def _healthz(self, query: Query) -> Response:
        report = self._face.health.report(HealthQuery.read(query))
        if report.status_code != HTTPStatus.OK:
            self._server.context.logger.warning("Healthcheck failed: %s", report.summary)
        return _json(report.status_code, report.body())

    async def _index(self, _query: Query) -> Response:
        # Relative, so that the links hold behind a proxy that adds a prefix of its own.
        links = "\n".join(
            f'<li><a href="{html.escape("." + self._base_path + name)}">{title}</a> '
            f"<code>{name}</code></li>"
            for name, title in TITLES.items()
        )
        server_name = html.escape(self._server.context.info.server_name)
        text = (
            '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">'
            "<title>penstock</title></head>\n<body>\n"
            f"<h1>penstock {version.PENSTOCK_VERSION}</h1>\n"
            f"<p>{server_name}, compatible with nats-server {version.REFERENCE_VERSION}</p>\n"
            f"<ul>\n{links}\n</ul>\n</body>\n</html>\n"
        )
        return Response(text, media_type="text/html")


def _json(status_code: int, body: bytes) -> Response:
    headers = {"Access-Control-Allow-Origin": "*"}
    return Response(body, status_code, headers, media_type=JSON)


def _refusal(status_code: int, text: str) -> Response:
    headers = {"X-Content-Type-Options": "nosniff"}
    return Response(text, status_code, headers, media_type="text/plain")
