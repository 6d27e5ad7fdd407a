"""A connection for code that waits: nats-py in a thread of its own, asked from outside.

The thread keeps the connection alive (it answers pings and connects again after a break) while
Spark is busy with something else; `run` hands it a coroutine and waits for the outcome. A driver
tries to connect once, so that a wrong address is told at once; an executor has patience, since its
server may be starting again.
"""

import asyncio
import contextlib
import json
import ssl
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self, TypeVar

import nats
from nats.aio.client import Client, RawCredentials
from nats.errors import AuthorizationError, NoRespondersError, NoServersError
from nats.errors import TimeoutError as NatsTimeoutError

from penstock.kernel.columns import Answers
from pyspark_jetstream.connection_options import ConnectionOptions
from pyspark_jetstream.tap import attach

T = TypeVar("T")

CONNECT_SECONDS = 5
CLOSE_SECONDS = 2.0
REQUEST_SECONDS = 30.0  # long enough for a server to be restarted
RECONNECT_SECONDS = 1
PATIENCE_SECONDS = 60
NO_MESSAGE = 10037  # that was asked for
_STREAM_NOT_FOUND = 10059
_PARTS_OF_CREDS = ("BEGIN NATS USER JWT", "BEGIN USER NKEY SEED")


class NotConnectedError(Exception):
    """There is no connection, and why."""


class ApiError(Exception):
    """A server has refused a request."""

    def __init__(self, place: str, error: dict[str, Any]) -> None:
        self.code = int(error.get("err_code", 0))
        super().__init__(f"{place}: {error.get('description', 'refused')} ({self.code})")


class StreamNotFoundError(ApiError):
    """There is no such stream."""


class Connection:
    """One connection, from `with` to the end of it."""

    def __init__(self, options: ConnectionOptions, *, patience: bool = False) -> None:
        self.options = options
        self._patience = patience
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="jetstream", daemon=True
        )
        self._broken: Callable[[Exception | None], None] = _unheard
        self.client = Client()

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self.run(self._connect())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Does it in the thread of the connection; raises what it raises."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """The same without waiting."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def api(self, place: str, request: object = None) -> dict[str, Any]:
        """One request to the JetStream API, such as STREAM.INFO.ORDERS."""
        return self.run(self.ask(place, request))

    async def ask(self, place: str, request: object = None) -> dict[str, Any]:
        """The same for who is in the thread already."""
        subject = f"{self.options.api}.{place}"
        payload = b"" if request is None else json.dumps(request).encode()
        try:
            answer = await self.client.request(subject, payload, timeout=REQUEST_SECONDS)
        except NoRespondersError:
            hint = "no JetStream there: enable it (-js), or give the option domain"
            raise NotConnectedError(f"nobody answers {subject} at {self.shown}; {hint}") from None
        except NatsTimeoutError:
            late = f"{subject} was not answered by {self.shown} in {REQUEST_SECONDS:.0f} s"
            raise NotConnectedError(late) from None
        told: dict[str, Any] = json.loads(answer.data)
        if "error" in told:
            is_missing = told["error"].get("err_code") == _STREAM_NOT_FOUND
            raise (StreamNotFoundError if is_missing else ApiError)(place, told["error"])
        return told

    def tap(
        self,
        answers: Answers,
        over: Callable[[Exception | None], None],
        broken: Callable[[Exception | None], None],
    ) -> None:
        """Messages to an inbox go to the kernel from now on. In the thread of the connection."""
        attach(self.client, answers, over)
        self._broken = broken

    @property
    def shown(self) -> str:
        """The servers, without passwords."""
        return ", ".join(url.rsplit("@", 1)[-1] for url in self.options.servers)

    async def _connect(self) -> None:
        later: dict[str, Any] = {
            "allow_reconnect": True,
            "max_reconnect_attempts": PATIENCE_SECONDS // RECONNECT_SECONDS,
            "reconnect_time_wait": RECONNECT_SECONDS,
        }
        at_once: dict[str, Any] = {
            "allow_reconnect": False,
            "max_reconnect_attempts": 1,  # it knows no fewer than two tries
            "reconnect_time_wait": 0,
        }
        try:
            await self.client.connect(
                list(self.options.servers),
                name="pyspark_jetstream",
                connect_timeout=CONNECT_SECONDS,
                error_cb=_ignore,
                reconnected_cb=self._reconnected,
                closed_cb=self._closed,
                **(later if self._patience else at_once),
                **_credentials(self.options),
            )
        except (OSError, NoServersError, nats.errors.Error) as error:
            raise NotConnectedError(self._refusal(error)) from error
        except ModuleNotFoundError as error:
            needed = f"options nkey and creds need the package {error.name}: pip install nkeys"
            raise NotConnectedError(needed) from error
        self.client.options.update(later)

    async def _reconnected(self) -> None:
        self._broken(None)

    async def _closed(self) -> None:
        self._broken(NotConnectedError(f"the connection to {self.shown} is gone"))

    def _refusal(self, error: Exception) -> str:
        text = str(error) or type(error).__name__
        if isinstance(error, AuthorizationError) or "authorization" in text.lower():
            return f"{self.shown} does not let us in: see user, password, token, nkey, creds"
        if isinstance(error, ssl.SSLError):
            return f"no TLS with {self.shown}: {text}; tls.ca names who is trusted"
        return f"no server answers at {self.shown} (option servers): {text}"

    def _end(self) -> None:
        """Nothing is left: no task, no socket, no thread."""
        try:
            self.run(self._wind_up())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _wind_up(self) -> None:
        self._broken = _unheard
        transport: Any = self.client._transport  # nats-py leaves it open if it was not let in
        if self.client.is_connected or self.client.is_reconnecting:
            with contextlib.suppress(TimeoutError):  # a server that does not say goodbye
                await asyncio.wait_for(self.client.close(), CLOSE_SECONDS)
        if transport is not None:
            transport.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0)  # for sockets that close with the next turn of the loop


def _unheard(_fault: Exception | None) -> None:
    """Nobody waits for answers."""


async def _ignore(_error: Exception) -> None:
    """What concerns a request is raised by it."""


def _credentials(options: ConnectionOptions) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if options.user:
        given |= {"user": options.user, "password": options.password}
    if options.token:
        given["token"] = options.token
    if options.nkey:
        _check_seed(options.nkey)
        given["nkeys_seed_str"] = options.nkey
    if options.creds:
        if not all(part in options.creds for part in _PARTS_OF_CREDS):
            raise NotConnectedError("the file of option creds has no user's token and seed")
        given["user_credentials"] = RawCredentials(options.creds)
    if options.inbox_prefix:
        given["inbox_prefix"] = options.inbox_prefix
    if options.tls_ca or options.tls_cert or options.tls_first:
        given |= {"tls": _tls(options), "tls_handshake_first": options.tls_first}
    return given


def _check_seed(text: str) -> None:
    import nkeys

    try:
        nkeys.from_seed(bytearray(text.strip().encode())).wipe()
    except nkeys.NkeysError as error:
        told = "the file of option nkey has no seed, which begins with SU"
        raise NotConnectedError(f"{told}: {error}") from None


def _tls(options: ConnectionOptions) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=options.tls_ca or None)
        if options.tls_cert:
            context.load_cert_chain(options.tls_cert, options.tls_key or None)
    except (OSError, ssl.SSLError) as error:
        files = [one for one in (options.tls_ca, options.tls_cert, options.tls_key) if one]
        told = f"the files of tls.* cannot be used ({', '.join(files)}): {error}"
        raise NotConnectedError(told) from None
    return context
