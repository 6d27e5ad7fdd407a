"""Contexts of the `nats` CLI: where a server is and how to be let in, under a name.

Its files are read as they are (`nats context add`, `nats context select`): one JSON file for each
context below `nats/context`, and `nats/context.txt` with the name of the selected one, all below
XDG_CONFIG_HOME or ~/.config. A name with a slash in it is a file of that form anywhere. penstock
writes none of them, except one for the length of a run (`cli/pipeline_access.py`).

Both the command and Spark's source read them, and neither knows the other: this file is below both.
"""

import json
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

UNSUPPORTED = {
    "nsc": "export the user with 'nsc generate creds' and give the file with --creds",
    "socks_proxy": "connect without the proxy, or through a tunnel",
}


class ContextError(Exception):
    """A context that is not there, or cannot be used, and what to do about it."""

    def __init__(self, problem: str, hint: str = "", *, is_missing: bool = False) -> None:
        super().__init__(f"{problem} ({hint})" if hint else problem)
        self.problem = problem
        self.hint = hint
        self.is_missing = is_missing


def folder(environment: Mapping[str, str]) -> Path:
    home = environment.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "nats"


def selected(environment: Mapping[str, str]) -> str:
    """The name that `nats context select` has noted; empty for none."""
    try:
        return (folder(environment) / "context.txt").read_text().strip()
    except OSError:
        return ""


def names(environment: Mapping[str, str]) -> list[str]:
    return sorted(path.stem for path in (folder(environment) / "context").glob("*.json"))


def load(name: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a context that are set. Raises ContextError."""
    path = folder(environment) / "context" / f"{name}.json"
    if is_file := "/" in name:
        path = Path(name).expanduser()
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        if is_file:
            raise ContextError(f"there is no context {path}", is_missing=True) from None
        raise _unknown(name, environment) from None
    except (OSError, ValueError) as error:
        raise ContextError(f"context {name} cannot be read: {path}: {error}") from None
    if not isinstance(found, dict):
        raise ContextError(f"context {name} cannot be read: {path}: it is no JSON object")
    fields = {field: value for field, value in found.items() if value}
    for field, value in fields.items():
        if not isinstance(value, str | bool):
            raise ContextError(f"context {name} cannot be read: {path}: {field} is no text")
    for field, hint in UNSUPPORTED.items():
        if field in fields:
            raise ContextError(f"context {name} uses {field}, which is not supported", hint)
    return fields


def credentials(jwt: str, seed: str) -> str:
    """The text of a credentials file, of what a context may have instead of one."""
    return (
        f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )


def _unknown(name: str, environment: Mapping[str, str]) -> ContextError:
    known = names(environment)
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"nats context add makes one; looked for in {folder(environment) / 'context'}"
    if near or known:
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(known)}"
    return ContextError(f"there is no context {name!r}", hint, is_missing=True)
