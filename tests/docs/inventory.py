"""A pytest plugin that lists the scenarios in which both servers are asked the same.

`--collect-only -p tests.docs.inventory --inventory FILE` writes one row for each: the file, the
name, and where the two answers differ on purpose, why. A scenario counts once, however many tests
pytest makes of it. What differs is found where it is written: `only penstock` in a scenario file,
`Differs` and `Different` in its steps, a row with an answer of `theirs`, and functions that compare
each server's answer by itself.
"""

import ast
import inspect
import json
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.parity.conftest import CaseItem
from tests.parity.notation import Only
from tests.parity.servers import REFERENCE, Implementation
from tests.parity.streams_peer import Differs

ROOT = Path(__file__).parent.parent.parent
NESTING_MAX = 4  # of steps in the parameters of a test
AS_NAMED = "as its name says"
ADVISORY = "the advisory has the type that the specification names, and one of its reasons"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--inventory", type=Path, help="where to write the list of scenarios")


def pytest_collection_finish(session: pytest.Session) -> None:
    rows = [row for item in session.items if (row := row_of(item)) is not None]
    session.config.getoption("--inventory").write_text(json.dumps(rows))


def row_of(item: pytest.Item) -> dict[str, str] | None:
    """None for the half of a scenario that is the reference's."""
    row = {"file": item.path.relative_to(ROOT).as_posix(), "name": item.name, "why": ""}
    if isinstance(item, CaseItem):
        if item.implementation is REFERENCE:
            return None
        return row | {"name": item.case.name, "why": why_in_file(item)}
    assert isinstance(item, pytest.Function)
    parameters = list(item.callspec.params.values()) if hasattr(item, "callspec") else []
    if any(isinstance(one, Implementation) and one is REFERENCE for one in parameters):
        return None
    return row | {"why": next(why_in_parameters(parameters), "") or why_in_function(item.function)}


def why_in_file(item: CaseItem) -> str:
    found = [one.text for one in item.case.items if isinstance(one, Only) and one.name]
    return next((text.partition(": ")[2] for text in found if ": " in text), "")


def why_in_parameters(values: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(values, Differs):
        if values.reference != values.ours:
            yield codes(values.reference, values.ours)
    elif hasattr(values, "why"):
        yield codes(values.reference, values.ours)
    elif (theirs := getattr(values, "theirs", None)) is not None:
        yield codes(theirs, getattr(values, "code", 0))
    elif depth < NESTING_MAX and isinstance(values, list | tuple):
        for value in values:
            yield from why_in_parameters(value, depth + 1)


def codes(theirs: Any, ours: Any) -> str:
    return f"nats-server: {theirs or 'accepted'}, penstock: {ours or 'accepted'}"


@cache
def why_in_function(function: Callable[..., Any]) -> str:
    """The test's own words, if it compares each answer by itself."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = {ast.unparse(call.func): call for call in calls}
    if "abandoned" in called:
        return ADVISORY
    if "each" in called or ("Differs" in called and differing(called["Differs"])):
        return inspect.getdoc(function) or AS_NAMED
    return ""


def differing(call: ast.Call) -> bool:
    """Whether a `Differs` names two codes; with one twice only the words differ."""
    theirs, ours = (ast.unparse(argument) for argument in call.args[1:3])
    return theirs != ours
