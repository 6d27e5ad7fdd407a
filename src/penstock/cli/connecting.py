"""A connection for a command, and what can go wrong with it, in words that help.

One try, no reconnect: a command is run by somebody who can run it again.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.cli.access import Access, resolved
from penstock.cli.exits import CommandError, ExitCode
from penstock.contexts import credentials

if TYPE_CHECKING:
    import ssl

    from penstock.client import JetStream

T = TypeVar("T")

_STREAM_NOT_FOUND = 10059
_NO_JETSTREAM = (10039, 10076)  # for the account, for the server
_NEAR = 3
_CLOSING_SECONDS_MAX = 0.5
_PREFIX = "$JS.API"


def run(access: Access, work: "Callable[[JetStream], Awaitable[T]]") -> T:
    """Connects, does the work and closes, whatever happens."""
    import asyncio

    found = resolved(access)

    async def connected() -> T:
        async with connection(found) as js:
            try:
                return await work(js)
            except Exception as error:
                raise await explained(error, js) from error

    try:
        return asyncio.run(connected())
    except ModuleNotFoundError as error:
        if error.name == "nkeys":
            hint = "pip install 'nats-py[nkeys]'"
            raise CommandError("creds and nkeys need the package nkeys", hint) from None
        raise


@asynccontextmanager
async def connection(access: Access) -> "AsyncIterator[JetStream]":
    import asyncio

    from nats.aio.client import Client

    from penstock.client import JetStream

    told: list[Exception] = []

    async def note(error: Exception) -> None:
        """What concerns a request is raised by it; why there is no connection is told here."""
        told.append(error)

    options = _options(access) | {"error_cb": note, "name": "penstock cli"}
    client = Client()
    try:
        await client.connect(access.urls, **options)
    except ModuleNotFoundError:
        raise
    except Exception as error:
        # The first is of a client that has not even begun; behind a handshake that failed, a close
        # would wait for ever.
        with suppress(AssertionError, TimeoutError):
            await asyncio.wait_for(client.close(), _CLOSING_SECONDS_MAX)
        raise _refused(told[-1] if told else error, access) from error
    try:
        domain, prefix = access.js_domain, access.js_api_prefix or _PREFIX
        if domain:
            prefix = f"$JS.{domain}.API"
        yield JetStream(client, timeout=access.seconds, prefix=prefix)
    finally:
        await client.close()


def _options(access: Access) -> dict[str, Any]:
    from nats.aio.client import RawCredentials

    options: dict[str, Any] = {
        "allow_reconnect": False,
        "max_reconnect_attempts": 1,  # nats-py would try again for two minutes
        "reconnect_time_wait": 0,
        "connect_timeout": access.seconds,
    }
    options |= _escaped_user(access.urls[0])
    if access.user:
        options |= {"user": access.user, "password": access.password}
    if access.token:
        options["token"] = access.token
    if access.creds:
        options["user_credentials"] = access.creds
    if access.nkey:
        options["nkeys_seed"] = access.nkey
    if access.jwt and access.seed:
        options["user_credentials"] = RawCredentials(credentials(access.jwt, access.seed))
    if access.inbox_prefix:
        options["inbox_prefix"] = access.inbox_prefix
    if access.tlsca or access.tlscert or access.tlsfirst:
        options["tls"] = _tls(access)
        options["tls_handshake_first"] = access.tlsfirst
    return options


def _escaped_user(url: str) -> dict[str, Any]:
    """A user and password of an URL that has to be unescaped, which nats-py does not do."""
    from urllib.parse import unquote, urlsplit

    user, at, _ = urlsplit(url if "://" in url else f"nats://{url}").netloc.rpartition("@")
    if not at or "%" not in user:
        return {}
    name, colon, password = (unquote(part) for part in user.partition(":"))
    return {"user": name, "password": password} if colon else {"token": name}


def _tls(access: Access) -> "ssl.SSLContext":
    import ssl

    try:
        context = ssl.create_default_context(cafile=access.tlsca or None)
        if access.tlscert:
            context.load_cert_chain(access.tlscert, access.tlskey or None)
    except (OSError, ssl.SSLError) as error:
        raise CommandError(f"the files for TLS cannot be used: {error}") from None
    return context


def _refused(error: Exception, access: Access) -> CommandError:
    """Why there is no connection."""
    import ssl

    from nats.errors import AuthorizationError, Error, NoServersError

    text = str(error) or type(error).__name__
    if isinstance(error, AuthorizationError) or "authorization" in text.lower():
        hint = "give --user and --password, --token, --creds or --nkey, or a --context"
        problem = f"{access.shown} does not let us in"
    elif isinstance(error, ssl.SSLError):
        problem = f"no TLS with {access.shown}: {error.reason or text}"
        hint = "--tlsca names the authorities to trust"
    elif isinstance(error, OSError | TimeoutError | NoServersError):
        problem = f"no server answers at {access.shown}"
        hint = "start one with 'penstock serve -js', or say where it is with --server or --context"
        if access.tlsfirst:
            hint = "--tlsfirst is for servers that begin with TLS; others tell first who they are"
    elif isinstance(error, Error):
        problem, hint = f"{access.shown}: {text.removeprefix('nats: ')}", ""
    else:
        problem, hint = f"{access.shown}: {text}", "see penstock COMMAND --help for the flags"
    return CommandError(problem, hint, ExitCode.NO_CONNECTION)


async def explained(error: Exception, js: "JetStream") -> Exception:
    """What a request came to, if it is anything that people can act on."""
    from nats.errors import ConnectionClosedError, Error, NoRespondersError
    from nats.errors import TimeoutError as NatsTimeoutError
    from nats.js.errors import APIError, ServiceUnavailableError

    if isinstance(error, CommandError):
        return error
    reason = getattr(error, "err_code", None)
    is_silent = isinstance(error, NoRespondersError | ServiceUnavailableError) and not reason
    if is_silent or reason in _NO_JETSTREAM:
        hint = "start it with -js (jetstream {} in its configuration), or see --js-domain"
        return CommandError("the server has no JetStream for us", hint)
    if isinstance(error, NatsTimeoutError | TimeoutError):
        return CommandError("the server did not answer in time", "--timeout gives it more")
    if isinstance(error, APIError):
        code = f" [{error.err_code}]" if error.err_code else ""
        is_missing = error.err_code == _STREAM_NOT_FOUND
        exit_code = ExitCode.NOT_FOUND if error.code == 404 else ExitCode.FAILED
        hint = await _streams_hint(js) if is_missing else ""
        return CommandError(f"{error.description}{code}", hint, exit_code)
    if isinstance(error, Error):
        if isinstance(error, ConnectionClosedError):
            hint = "see whether it still runs, and try again"
            error = CommandError("the server has gone meanwhile", hint, ExitCode.NO_CONNECTION)
        else:
            error = CommandError(str(error).removeprefix("nats: "))
    return error


async def _streams_hint(js: "JetStream") -> str:
    known = await stream_names(js)
    return f"there are: {', '.join(known[:10])}" if known else "there is no stream at all"


async def unknown_stream(js: "JetStream", name: str) -> CommandError:
    known = await stream_names(js)
    near = get_close_matches(name.lower(), [one.lower() for one in known], n=_NEAR, cutoff=0.5)
    meant = [one for one in known if one.lower() in near]
    if meant:
        hint = f"did you mean {' or '.join(meant)}?"
    else:
        hint = f"there are: {', '.join(known[:10])}" if known else "there is no stream at all"
    return CommandError(f"there is no stream {name!r}", hint, ExitCode.NOT_FOUND)


async def api(js: "JetStream", place: str, request: object = None) -> dict[str, Any]:
    """One request to the JetStream API; the answer as it is, with fields nobody knows yet."""
    from penstock.client.errors import api_error

    payload = b"" if request is None else json.dumps(request).encode()
    answer = await js.connection.request(f"{js._prefix}.{place}", payload, timeout=js.timeout)
    told: dict[str, Any] = json.loads(answer.data)
    if "error" in told:
        raise api_error(told["error"])
    return told


async def stream_info(js: "JetStream", name: str, **request: object) -> dict[str, Any]:
    """As the server tells it. Raises CommandError with near names if there is none."""
    from nats.js.errors import NotFoundError

    check_name(name)
    try:
        return await api(js, f"STREAM.INFO.{name}", request or None)
    except NotFoundError:
        raise await unknown_stream(js, name) from None


def check_name(name: str) -> None:
    if not name or any(character in name for character in " .*>/\\\t\r\n"):
        problem = f"{name!r} cannot be the name of a stream"
        raise CommandError(problem, "names have no blanks, dots or wildcards", ExitCode.USAGE)


async def pages(js: "JetStream", place: str, field: str, **request: object) -> list[Any]:
    """All rows of an answer that comes in pages."""
    rows: list[Any] = []
    while True:
        told = await api(js, place, {**request, "offset": len(rows)})
        page = told.get(field) or []
        rows += page
        if not page or len(rows) >= told.get("total", 0):
            return rows


async def stream_names(js: "JetStream") -> list[str]:
    try:
        return sorted(await pages(js, "STREAM.NAMES", "streams"))
    except Exception:  # only a hint needs them
        return []
