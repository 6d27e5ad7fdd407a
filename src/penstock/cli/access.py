"""Where a server is and how to be let in: flags first, then the environment, then a context.

The flags and variables are those of the `nats` CLI. A flag replaces what the context says about the
same thing and nothing else. The context is the one of --context, of NATS_CONTEXT, or the selected
one, in this order.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock import contexts
from penstock.cli.exits import CommandError, ExitCode

DEFAULT_URL = "nats://127.0.0.1:4222"
_PANEL = "Connection"
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_DURATION = re.compile(rf"(?:{_PART.pattern})+|\d+(?:\.\d+)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_SECONDS_MAX = 100 * 365 * 86_400  # no calendar has to begin earlier


@dataclass(frozen=True)
class Access:
    """Everything it takes to connect. Empty text is for what nobody has said."""

    server: str = ""
    context: str = ""
    user: str = ""
    password: str = ""
    token: str = ""
    creds: str = ""
    nkey: str = ""
    jwt: str = ""
    seed: str = ""
    tlscert: str = ""
    tlskey: str = ""
    tlsca: str = ""
    tlsfirst: bool = False
    js_domain: str = ""
    js_api_prefix: str = ""
    inbox_prefix: str = ""
    timeout: str = ""

    @property
    def urls(self) -> list[str]:
        return [url.strip() for url in (self.server or DEFAULT_URL).split(",") if url.strip()]

    @property
    def shown(self) -> str:
        """The servers without what they may have of a password."""
        return ", ".join(re.sub(r"^(\w+://)?.*@", r"\1", url) for url in self.urls)

    @property
    def seconds(self) -> float:
        return duration(self.timeout or "5s", "--timeout")


def duration(text: str, flag: str) -> float:
    """Seconds, from what people write: 5s, 1m30s, 200ms; a number alone is seconds."""
    seconds = 0.0
    if _DURATION.fullmatch(text):
        parts = _PART.findall(text)
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts or [(text, "s")])
    if not 0 < seconds < _SECONDS_MAX:
        raise CommandError(
            f"{flag} is {text!r}, which is no duration", "write 500ms, 5s, 2m or 1h", ExitCode.USAGE
        )
    return seconds


FIELD_OF_CONTEXT = {  # where the two have different names
    "server": "url",
    "tlscert": "cert",
    "tlskey": "key",
    "tlsca": "ca",
    "tlsfirst": "tls_first",
    "js_domain": "jetstream_domain",
    "js_api_prefix": "jetstream_api_prefix",
    "jwt": "user_jwt",
    "seed": "user_seed",
}
_FILES = ("creds", "nkey", "tlscert", "tlskey", "tlsca")


def resolved(given: Access, environment: Mapping[str, str] = os.environ) -> Access:
    """What was given, with what the context has for the rest. Raises CommandError."""
    name = given.context or contexts.selected(environment)
    fields = _fields(name, environment) if name else {}
    changes: dict[str, Any] = {"context": name}
    for field in Access.__dataclass_fields__:
        told = fields.get(FIELD_OF_CONTEXT.get(field, field))
        if told and not getattr(given, field) and field not in ("context", "timeout"):
            changes[field] = told
    access = replace(given, **changes)
    if access.user and not access.password and not access.token:
        access = replace(access, user="", token=access.user)  # as the nats CLI has it
    return _with_files(access)


def _fields(name: str, environment: Mapping[str, str]) -> dict[str, Any]:
    try:
        return contexts.load(name, environment)
    except contexts.ContextError as error:
        code = ExitCode.NOT_FOUND if error.is_missing else ExitCode.FAILED
        raise CommandError(error.problem, error.hint, code) from None


def _with_files(access: Access) -> Access:
    changes: dict[str, Any] = {}
    for field in _FILES:
        if text := getattr(access, field):
            path = Path(text).expanduser()
            if not path.is_file():
                flag = field.replace("_", "-")
                raise CommandError(
                    f"the file of --{flag} is missing: {path}", "", ExitCode.NOT_FOUND
                )
            changes[field] = str(path)
    return replace(access, **changes)


def _complete_context(incomplete: str) -> list[str]:
    return [name for name in contexts.names(os.environ) if name.startswith(incomplete)]


def _option(
    field: str, help_text: str, *, metavar: str = "", variable: str = "", short: str = ""
) -> Parameter:
    flag = f"--{field.replace('_', '-')}"
    is_switch = isinstance(getattr(Access, field), bool)
    option = typer.Option(
        *([flag, short] if short else [flag]),
        help=help_text,
        envvar=variable or None,
        metavar=metavar or None,
        show_envvar=bool(variable),
        show_default=False,
        rich_help_panel=_PANEL,
        autocompletion=_complete_context if field == "context" else None,
    )
    kind: Any = bool if is_switch else str
    return Parameter(
        field,
        Parameter.KEYWORD_ONLY,
        default=getattr(Access, field),
        annotation=Annotated[kind, option],
    )


def options() -> list[Parameter]:
    """The flags that every command has which speaks to a server."""
    return [
        _option("server", "URLs, with commas", metavar="URL", variable="NATS_URL", short="-s"),
        _option("context", "Context of the nats CLI", metavar="NAME", variable="NATS_CONTEXT"),
        _option("user", "User, or token", metavar="USER", variable="NATS_USER"),
        _option("password", "Password", metavar="PASSWORD", variable="NATS_PASSWORD"),
        _option("token", "Token", metavar="TOKEN", variable="NATS_TOKEN"),
        _option("creds", "Credentials", metavar="FILE", variable="NATS_CREDS"),
        _option("nkey", "Seed of an nkey", metavar="FILE", variable="NATS_NKEY"),
        _option("tlscert", "Certificate", metavar="FILE", variable="NATS_CERT"),
        _option("tlskey", "Key of the certificate", metavar="FILE", variable="NATS_KEY"),
        _option("tlsca", "Authorities to trust", metavar="FILE", variable="NATS_CA"),
        _option("tlsfirst", "Begin with TLS"),
        _option("js_domain", "JetStream domain", metavar="DOMAIN"),
        _option("timeout", "For each answer: 5s", metavar="DURATION", variable="NATS_TIMEOUT"),
    ]
