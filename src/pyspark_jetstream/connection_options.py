"""Where the servers are and how to be let in: options, or a context that has them.

Spark shows options: a Connect server has every plan in its UI and its event log, word for word, so
a secret has no business there. `context` names a file of the `nats` CLI that has everything;
`creds` and `nkey` name files too. All of them are read here, which is on the driver. What they hold
travels to the executors inside of the pickled reader or writer, which nothing prints, so executors
need no such file. Those of TLS are the exception, since Python's TLS takes paths.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from penstock import contexts
from pyspark_jetstream.option_values import OptionError, Options, flag, words

CONNECTION = (
    "servers",
    "user",
    "password",
    "token",
    "nkey",
    "creds",
    "context",
    "tls.ca",
    "tls.cert",
    "tls.key",
    "tls.first",
    "domain",
)
DEFAULT_SERVER = "nats://127.0.0.1:4222"

_OF_CONTEXT = {  # as a context calls them
    "servers": "url",
    "tls.ca": "ca",
    "tls.cert": "cert",
    "tls.key": "key",
    "tls.first": "tls_first",
    "domain": "jetstream_domain",
}
_DOMAIN = re.compile(r"[^\s.*>]+")
_WAYS = ("user", "token", "nkey", "creds")


@dataclass(frozen=True)
class ConnectionOptions:
    """Empty text is for what nobody has said. Secrets are in no `repr`: errors show those."""

    servers: tuple[str, ...] = field(repr=False)  # may have a password in front of an @
    user: str
    password: str = field(repr=False)
    token: str = field(repr=False)
    nkey: str = field(repr=False)  # the seed
    creds: str = field(repr=False)  # the text of a credentials file
    tls_ca: str
    tls_cert: str
    tls_key: str
    tls_first: bool
    domain: str
    api_prefix: str = ""
    inbox_prefix: str = ""

    @property
    def api(self) -> str:
        return f"$JS.{self.domain}.API" if self.domain else self.api_prefix or "$JS.API"


def connection_options(options: Options) -> ConnectionOptions:
    """Reads the files that are named. Raises OptionError."""
    context = _context(options)
    found = _Found(options, context)
    ways = [name for name in _WAYS if found[name]]
    if len(ways) > 1:
        raise OptionError(ways[1], "...", f"one way to be let in; there is {ways[0]} too")
    if found["password"] and not found["user"]:
        raise OptionError("user", None, "a name, since there is a password")
    if found["tls.key"] and not found["tls.cert"]:
        raise OptionError("tls.cert", None, "a file, since there is tls.key")
    if found["domain"] and not _DOMAIN.fullmatch(found["domain"]):
        raise OptionError("domain", found["domain"], "one word: no blanks, dots or wildcards")
    servers = {name: found[name] for name in ("servers",) if name in options or found[name]}
    return ConnectionOptions(
        servers=words(servers, "servers", DEFAULT_SERVER),
        user=found["user"],
        password=found["password"],
        token=found["token"],
        nkey=_text_of("nkey", found["nkey"]),
        creds=_text_of("creds", found["creds"]) or found.credentials,
        tls_ca=_at_home(found["tls.ca"]),
        tls_cert=_at_home(found["tls.cert"]),
        tls_key=_at_home(found["tls.key"]),
        tls_first=flag({"tls.first": found["tls.first"] or "false"}, "tls.first", default=False),
        domain=found["domain"],
        api_prefix=str(context.get("jetstream_api_prefix", "")),
        inbox_prefix=str(context.get("inbox_prefix", "")),
    )


class _Found:
    """An option, or what the context has in its place."""

    def __init__(self, options: Options, context: Mapping[str, str | bool]) -> None:
        self._options = options
        self._context = dict(context)
        others = (context.get("password"), context.get("token"), options.get("password"))
        if context.get("user") and not any(others):
            self._context["token"] = self._context.pop("user")  # as the nats CLI has it

    def __getitem__(self, name: str) -> str:
        if name in self._options:
            return self._options[name]
        told = self._context.get(_OF_CONTEXT.get(name, name), "")
        return str(told).lower() if isinstance(told, bool) else told

    @property
    def credentials(self) -> str:
        jwt, seed = self._context.get("user_jwt"), self._context.get("user_seed")
        return contexts.credentials(str(jwt), str(seed)) if jwt and seed else ""


def _context(options: Options) -> dict[str, str | bool]:
    name = options.get("context")
    if not name:
        return {}
    try:
        return contexts.load(name, os.environ)
    except contexts.ContextError as error:
        allowed = "a context of the nats command, or a file of one, that Spark's driver has"
        raise OptionError("context", name, f"{allowed}: {error}") from None


def _at_home(path: str) -> str:
    return str(Path(path).expanduser()) if path else ""


def _text_of(name: str, path: str) -> str:
    if not path:
        return ""
    try:
        return Path(path).expanduser().read_text()
    except (OSError, UnicodeDecodeError) as error:
        allowed = "a file that Spark's driver can read"
        raise OptionError(name, path, f"{allowed}: {error}") from None
