"""How a pipeline is told to reach the server, without anybody seeing a secret.

What a pipeline is told becomes options in Spark's plans, which a UI and an event log may show. So
passwords and tokens go there by the name of a context, which Spark's driver reads. If they come
from flags or variables, a context is written for as long as the run takes, for this user's eyes:
that reaches a driver on this machine and no other.
"""

import contextlib
import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.cli.access import FIELD_OF_CONTEXT, Access, resolved
from penstock.cli.exits import CommandError, ExitCode

_PARAMETERS = {  # of how to connect, and the flags they stand for
    "servers": "server",
    "context": "context",
    "creds": "creds",
    "nkey": "nkey",
    "tls.ca": "tlsca",
    "tls.cert": "tlscert",
    "tls.key": "tlskey",
    "tls.first": "tlsfirst",
    "domain": "js_domain",
}
_FILES = ("creds", "nkey", "tlsca", "tlscert", "tlskey")
_PRIVATE = ("user", "password", "token", "jwt", "seed")
_UNNAMED = ("js_api_prefix", "inbox_prefix")  # which no parameter has


def with_parameters(access: Access, parameters: dict[str, str]) -> Access:
    """The same access, with the parameters that are flags too; they are taken out."""
    changes: dict[str, Any] = {}
    for name, field in _PARAMETERS.items():
        if value := parameters.pop(name, ""):
            changes[field] = _truth(name, value) if field == "tlsfirst" else value
    return replace(access, **changes)


def _truth(name: str, value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise CommandError(f"{name} is {value!r}; allowed: true, false", "", ExitCode.USAGE)
    return value.lower() == "true"


@contextlib.contextmanager
def connection_parameters(given: Access, *, is_elsewhere: bool) -> Iterator[dict[str, str]]:
    """What a pipeline is told, for as long as it runs; Spark may be elsewhere."""
    found = resolved(given)
    if not _is_private(found):
        yield _shown(found)
    elif found.context and not _is_private(given):
        files = {} if is_elsewhere else _relative_files(found)
        yield {"context": found.context, **files, **_shown(replace(given, context=""))}
    elif is_elsewhere:
        problem = "a Spark that is elsewhere cannot be told a password or token"
        hint = "make a context of the same name here and where its driver runs, and use --context"
        raise CommandError(problem, hint, ExitCode.USAGE)
    else:
        with tempfile.TemporaryDirectory(prefix="penstock-") as folder:  # for this user alone
            file = Path(folder) / "context.json"
            file.write_text(json.dumps(_fields(found)))
            yield {"context": str(file)}


def _is_private(access: Access) -> bool:
    """Whether it has what cannot be a parameter."""
    is_named = any(getattr(access, field) for field in (*_PRIVATE, *_UNNAMED))
    return is_named or "@" in access.server


def _shown(access: Access) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, field in _PARAMETERS.items():
        value = getattr(access, field)
        if value and field != "context":
            found[name] = "true" if value is True else _absolute(field, value)
    return found


def _relative_files(access: Access) -> dict[str, str]:
    """Of a context: they are where this command runs, which Spark's driver does not."""
    named = {name: getattr(access, field) for name, field in _PARAMETERS.items() if field in _FILES}
    return {
        name: str(Path(path).absolute())
        for name, path in named.items()
        if path and not Path(path).is_absolute()
    }


def _fields(access: Access) -> dict[str, str | bool]:
    """As a context has them."""
    names = {field: FIELD_OF_CONTEXT.get(field, field) for field in Access.__dataclass_fields__}
    found = {name: getattr(access, field) for field, name in names.items()}
    for field in _FILES:
        found[names[field]] = _absolute(field, found[names[field]])
    return {name: found[name] for name in found if name not in ("context", "timeout")}


def _absolute(field: str, value: str) -> str:
    """Spark loads definitions in a directory of their own."""
    return str(Path(value).expanduser().absolute()) if value and field in _FILES else value
