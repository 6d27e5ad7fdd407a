"""The language by example: what each piece of text means, and what is said about a wrong one."""

from datetime import UTC, datetime
from typing import Any

import pytest

from penstock.config.expansion import read_text
from penstock.config.problems import ConfigError
from penstock.config.tree import Block, Node


def plain(value: Any) -> Any:
    """The tree without positions."""
    if isinstance(value, Node):
        return plain(value.value)
    if isinstance(value, Block):
        return {entry.key: plain(entry.node) for entry in value.entries.values()}
    if isinstance(value, tuple):
        return [plain(node) for node in value]
    return value


def tree(text: str) -> Any:
    return plain(read_text(text, "test.conf", {}))


def error(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        tree(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("# nothing but a comment", {}),
        ("// so is this\n\n  # and this", {}),
        ("port 4222", {"port": 4222}),
        ("port: 4222", {"port": 4222}),
        ("port = 4222", {"port": 4222}),
        ("port=4222", {"port": 4222}),
        ("a 1\nb 2\r\nc 3", {"a": 1, "b": 2, "c": 3}),
        ("a 1; b 2, c 3", {"a": 1, "b": 2, "c": 3}),
        ("a { b { c 1 } }", {"a": {"b": {"c": 1}}}),
        ("a\n{\n  b: 1\n}\n", {"a": {"b": 1}}),
        ("a = {\n  b = 1 # why\n  // why not\n  c = 2\n}", {"a": {"b": 1, "c": 2}}),
        ("a{b 1}", {"a": {"b": 1}}),
        ("a {}\nb []", {"a": {}, "b": []}),
        ('{"a": 1, "b": {"c": [true, false]}, }', {"a": 1, "b": {"c": [True, False]}}),
        ("'quoted key': 1, \"another: one\": 2", {"quoted key": 1, "another: one": 2}),
        ("a: [1, 2, 3]", {"a": [1, 2, 3]}),
        ("a [\n  x\n  y # last\n]", {"a": ["x", "y"]}),
        ("a [\n  {b 1}\n  {b 2},\n]", {"a": [{"b": 1}, {"b": 2}]}),
        ("a [[1, 2], [3]]", {"a": [[1, 2], [3]]}),
        ("a 1\na 2", {"a": 2}),
        ("include: 1", {"include": 1}),
    ],
)
def test_structure(text: str, expected: Any) -> None:
    assert tree(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1),
        ("-1", -1),
        ("1k", 1000),
        ("1kb", 1024),
        ("1Ki", 1024),
        ("1KiB", 1024),
        ("8M", 8_000_000),
        ("8MB", 8 << 20),
        ("1g", 10**9),
        ("1gib", 1 << 30),
        ("2t", 2 * 10**12),
        ("1pb", 1 << 50),
        ("1e", 10**18),
        ("1.5", 1.5),
        ("-0.25", -0.25),
        ("true", True),
        ("YES", True),
        ("On", True),
        ("False", False),
        ("no", False),
        ("OFF", False),
        ("2026-01-31T23:59:59Z", datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC)),
        ("word", "word"),
        ("2s", "2s"),
        ("1kx", "1kx"),
        ("127.0.0.1:4222", "127.0.0.1:4222"),
        (":4222", ":4222"),
        ("nats://host:4222", "nats://host:4222"),
        ("#secret", "#secret"),
        ("truthful", "truthful"),
        ("./data", "./data"),
        ('"double \\"quoted\\" \\t\\x41"', 'double "quoted" \tA'),
        ('"\\xc3\\xa9"', "é"),
        ("'single \\n quoted'", "single \\n quoted"),
        ('"two\nlines"', "two\nlines"),
        ("back\\\\slash", "back\\slash"),
        ("(\n  text (of) any kind {\n)", "\n  text (of) any kind {\n"),
        (
            "$2a$11$0123456789012345678901",
            "$2a$11$0123456789012345678901",
        ),
    ],
)
def test_values(text: str, expected: Any) -> None:
    value = tree(f"key: {text}\nnext: 1")
    assert value == {"key": expected, "next": 1}
    assert type(value["key"]) is type(expected)


def test_a_hash_is_a_value_after_a_key_and_a_comment_in_an_array() -> None:
    assert tree("password: #secret # a comment") == {"password": "#secret"}
    assert tree("a [ #comment\n 1 ]") == {"a": [1]}


def test_every_value_remembers_its_place() -> None:
    block = read_text("\n  port: 4222\n", "dir/test.conf", {})
    entry = block.entries["port"]
    assert str(entry.position) == "dir/test.conf:2:3"
    assert str(entry.node.position) == "dir/test.conf:2:9"
    assert entry.node.text == "4222"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", "1:2: the last key has no value: add one after it"),
        ("a =", "1:4: the last key has no value: add one after it"),
        ("a =\nb 1", "2:1: the key above has no value: write one on its line, before 'b'"),
        ("a {\n b 1", "2:5: a block is not closed: add '}'"),
        ("{ a 1", "1:6: a block is not closed: add '}'"),
        ("a [1,", "1:6: an array is not closed: add ']'"),
        ("a [1", "1:5: an array or block is not closed: add ']' or '}'"),
        ("a 1 }", "1:5: unexpected '}'"),
        ("}", "1:1: expected a key, found '}'"),
        ("= 1", "1:1: expected a key, found '='"),
        ("a: ]", "1:4: expected a value, found ']'"),
        ("a: {b 1]", "1:8: "),
        ("a: [1, , 2]", "1:8: expected a value or ']', found ','"),
        ("a: [1 2]", "1:7: expected the end of the line after the value"),
        ("a: two words", "1:8: expected the end of the line after the value"),
        ('a: "open', "1:4: the string that starts here is not closed"),
        ("a: 'open", "1:4: the string that starts here is not closed"),
        ('"open', "1:1: the string that starts here is not closed"),
        ("a: (open\n)x", "1:4: the text that starts here is not closed"),
        ('a: "\\q"', "1:4: '\\\\q' is not an escape"),
        ('a: "\\xff"', "1:4: with its escapes the text is not UTF-8"),
        ("a: 1kbb", "1:4: unknown unit 'kbb'"),
        ("a: 9223372036854775808", "1:4: the integer does not fit into 64 bits"),
        ("a: 16e", "1:4: the integer does not fit into 64 bits"),
        ("a: " + "9" * 10_000, "1:4: the integer does not fit into 64 bits"),
        ("a: 2026-02-30T00:00:00Z", "1:4: '2026-02-30T00:00:00Z' is not a date-time"),
        ("a: \0", "1:4: a NUL byte: this is not a text file"),
        ("include 5", "1:9: include needs the name of a file, found '5'"),
        ("include ", "1:8: include needs the name of a file"),
    ],
)
def test_errors_say_what_and_where(text: str, expected: str) -> None:
    assert error(text).startswith(f"test.conf:{expected}")


def test_an_error_does_not_repeat_a_password() -> None:
    assert "horse" not in error("password: correct horse battery")


def test_nesting_is_bounded() -> None:
    assert "nested deeper than 64" in error("a " + "[" * 65 + "]" * 65)
    assert tree("a " + "[" * 64 + "]" * 64)
    assert "nested deeper than 64" in error("a " + "{a " * 20_000 + "1" + "}" * 20_000)
    assert "not closed" in error("a " + "[" * 20_000)


def test_size_is_bounded() -> None:
    assert "larger than" in error("a " + "x" * (4 << 20))
