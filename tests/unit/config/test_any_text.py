"""Properties: any text gives options or a ConfigError, and what is written is read back."""

import json
import string
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.config.bounds import NESTING_MAX
from penstock.config.expansion import read_text
from penstock.config.problems import ConfigError
from penstock.config.schema import READERS, loads
from penstock.config.unsupported import TOP_LEVEL_KEYS
from tests.unit.config.test_syntax import plain

ENVIRONMENT = {"WORD": "word", "LIST": "[1, $WORD]", "LOOP": "$LOOP", "BROKEN": "{"}

# Pieces that mean something, so that random text reaches more than the first error.
PIECES = st.sampled_from(
    [
        *"{}[](),;=:#'\"\\$\n\r\t -.0",
        *("include ", "//", "\n)\n", "\\x4", "kb", "2s", "1.5", "true", "a", "b 1\n", "é", "\0"),
        *("$a", "$WORD", "$LIST", "$LOOP", "$BROKEN", "$2a$", "9" * 30),
        *("port", "authorization", "users", "user", "password", "jetstream", "limits", "tls"),
    ]
)


@settings(deadline=None, max_examples=300)
@given(st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=40).map("".join)))
@example("a " + "[" * 5000)
@example("a " + "{a " * 5000)
@example("a " + '"' * 5000)
@example("a (" + "\n )" * 5000)
def test_any_text_gives_options_or_an_error_with_a_place(text: str) -> None:
    try:
        loads(text, "any.conf", ENVIRONMENT)
    except ConfigError as error:
        for problem in error.problems:
            assert problem.position is not None
            assert problem.position.line >= 1
            assert problem.position.column >= 1
            assert "\n" not in str(problem)


VALUES = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-(2**63) + 1, 2**63 - 1),
        st.text(max_size=8).filter(lambda text: "\0" not in text),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(string.ascii_letters, min_size=1, max_size=6), inner, max_size=4),
    ),
    max_leaves=12,
)


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(sorted(READERS | TOP_LEVEL_KEYS)), VALUES)
def test_any_value_of_a_known_key_is_taken_or_refused(key: str, value: Any) -> None:
    text = f"{key}: {written(value)}"
    try:
        loads(text, "any.conf", {})
    except ConfigError as error:
        assert all(problem.position is not None for problem in error.problems)


@settings(deadline=None, max_examples=200)
@given(st.dictionaries(st.text(string.ascii_letters, min_size=1, max_size=6), VALUES, max_size=5))
def test_what_is_written_is_read_back(value: dict[str, Any]) -> None:
    assert plain(read_text(written(value), "any.conf", {})) == value
    lines = "\n".join(f"{key} {written(item)}" for key, item in value.items())
    assert plain(read_text(lines, "any.conf", {})) == value


def written(value: Any) -> str:
    """As JSON, with the escapes this language has."""
    match value:
        case dict():
            return "{" + ", ".join(f'"{key}": {written(item)}' for key, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(written(item) for item in value) + "]"
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case _:
            return json.dumps(value)


def test_the_deepest_value_is_within_what_python_walks() -> None:
    text = "jetstream " + "{ limits " * (NESTING_MAX - 1) + "{}" + "}" * (NESTING_MAX - 1)
    try:
        loads(text, "any.conf", {})
    except ConfigError as error:
        assert "unknown field" in str(error)
