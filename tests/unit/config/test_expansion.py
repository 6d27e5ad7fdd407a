"""Variables and includes: where a name is looked for, whose keys they become, and the bounds."""

from pathlib import Path
from typing import Any

import pytest

from penstock.config.bounds import CONFIG_BYTES_MAX
from penstock.config.expansion import read_file, read_text
from penstock.config.problems import ConfigError
from tests.unit.config.test_syntax import plain


def tree(text: str, **environment: str) -> Any:
    return plain(read_text(text, "test.conf", environment))


def error(text: str, **environment: str) -> str:
    with pytest.raises(ConfigError) as caught:
        tree(text, **environment)
    return str(caught.value)


def write(directory: Path, **files: str) -> None:
    for name, text in files.items():
        (directory / f"{name}.conf").write_text(text)


def load(directory: Path) -> Any:
    return plain(read_file(directory / "main.conf", {}))


def load_error(directory: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        load(directory)
    return str(caught.value).replace(str(directory), "DIR")


@pytest.mark.parametrize(
    ("text", "environment", "expected"),
    [
        ("a 1\nb $a", {}, {"a": 1, "b": 1}),
        ("a 1\nb { c $a }", {}, {"a": 1, "b": {"c": 1}}),
        ("a 1\nb { a 2, c $a }", {}, {"a": 1, "b": {"a": 2, "c": 2}}),
        ("a {x 1}\nb $a", {}, {"a": {"x": 1}, "b": {"x": 1}}),
        ("a 1\nb [$a, $a]", {}, {"a": 1, "b": [1, 1]}),
        ("a 1\na 2\nb $a", {}, {"a": 2, "b": 2}),
        ("b $A", {"A": "42"}, {"b": 42}),
        ("b $A", {"A": "word"}, {"b": "word"}),
        ("b $A", {"A": "'42'"}, {"b": "42"}),
        ("b $A", {"A": "true"}, {"b": True}),
        ("b $A", {"A": "[1, {c: 2}]"}, {"b": [1, {"c": 2}]}),
        ("b $A", {"A": ""}, {"b": ""}),
        ("b $A", {"A": "$B", "B": "7"}, {"b": 7}),
        ("A 1\nb $A", {"A": "2"}, {"A": 1, "b": 1}),
        ("b '$A'", {"A": "2"}, {"b": "$A"}),
    ],
)
def test_variables(text: str, environment: dict[str, str], expected: Any) -> None:
    assert tree(text, **environment) == expected


@pytest.mark.parametrize(
    ("text", "environment", "expected"),
    [
        ("a $b", {}, "test.conf:1:3: variable $b is not defined: give the key b before this line"),
        ("a $b\nb 1", {}, "test.conf:1:3: variable $b is not defined"),
        ("c { b 1 }\na $b", {}, "test.conf:2:3: variable $b is not defined"),
        ("a $", {}, "test.conf:1:3: variable $ is not defined"),
        ("a $B", {"B": "$B"}, "environment variable B:1:1: variable $B refers to itself"),
        ("a $B", {"B": "$C", "C": "$B"}, "environment variable C:1:1: variable $B refers to"),
        ("a $B", {"B": "{ open"}, "environment variable B:1:7: the last key has no value"),
        ("a $B", {"B": "{ include x }"}, "environment variable B:1:11: an environment variable"),
    ],
)
def test_variables_that_can_not_be_replaced(
    text: str, environment: dict[str, str], expected: str
) -> None:
    assert error(text, **environment).startswith(expected)


def test_the_value_of_a_variable_stands_where_it_is_named() -> None:
    block = read_text("a 1\nb $a", "test.conf", {})
    assert str(block.entries["b"].node.position) == "test.conf:2:3"
    assert block.entries["a"].used
    assert not block.entries["b"].used


def test_variables_can_not_nest_what_was_written_flat() -> None:
    lines = ["v0 {x 1}"] + [f"v{n} {{x $v{n - 1}}}" for n in range(1, 1000)]
    assert "nested deeper than 64" in error("\n".join(lines))
    chain = {f"V{n}": f"{{x {'{x ' * 20} $V{n + 1} {'}' * 20} }}" for n in range(16)}
    assert "nested deeper than 64" in error("a $V0", **chain)
    assert "refers to itself" in error("a $V0", **{f"V{n}": f"$V{n + 1}" for n in range(10_000)})


def test_an_included_file_gives_its_keys_to_the_block(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    write(
        tmp_path,
        main="a 1\ninclude ./parts/one.conf\nb { include 'parts/two.conf'; e 5 }\nf $c",
    )
    write(tmp_path / "parts", one='c 3\ninclude "two.conf"', two="d 4")
    assert load(tmp_path) == {"a": 1, "c": 3, "d": 4, "b": {"d": 4, "e": 5}, "f": 3}


def test_the_last_one_wins_between_files(tmp_path: Path) -> None:
    write(tmp_path, main="a 1\ninclude other.conf\nb 3", other="a 2\nb 2")
    assert load(tmp_path) == {"a": 2, "b": 3}


def test_an_included_file_has_its_own_scope(tmp_path: Path) -> None:
    write(tmp_path, main="a 1\ninclude other.conf", other="b $a")
    assert load_error(tmp_path).startswith("DIR/other.conf:1:3: variable $a is not defined")


@pytest.mark.parametrize(
    ("main", "other", "expected"),
    [
        ("include none.conf", "", "DIR/main.conf:1:9: can not read 'DIR/none.conf': No such file"),
        ("include /other.conf\nb", "a 1", "DIR/main.conf:2:2: the last key has no value"),
        ("include '/'", "", "DIR/main.conf:1:9: include needs the name of a file"),
        ("a 1\ninclude main.conf", "", "DIR/main.conf:2:9: 'DIR/main.conf' includes itself"),
        ("include other.conf", "include main.conf", "DIR/other.conf:1:9: 'DIR/main.conf' includes"),
        ("include other.conf", "a: [", "DIR/other.conf:1:5: an array is not closed"),
        ("include .", "", "DIR/main.conf:1:9: can not read 'DIR': Is a directory"),
    ],
)
def test_includes_that_can_not_be_read(
    tmp_path: Path, main: str, other: str, expected: str
) -> None:
    write(tmp_path, main=main, other=other)
    assert load_error(tmp_path).startswith(expected)


def test_a_chain_of_includes_is_bounded(tmp_path: Path) -> None:
    write(tmp_path, main="include f0.conf")
    write(tmp_path, **{f"f{n}": f"include f{n + 1}.conf" for n in range(20)})
    assert "more than 16 files include one another" in load_error(tmp_path)


def test_many_includes_are_bounded_together(tmp_path: Path) -> None:
    part = CONFIG_BYTES_MAX // 4
    write(tmp_path, main="include other.conf\n" * 5, other="#" * part)
    assert load_error(tmp_path).startswith("DIR/main.conf:4:9: the configuration is larger than")


def test_nesting_is_counted_through_includes(tmp_path: Path) -> None:
    def nested(following: str) -> str:
        return "a " + "{ b " * 30 + f"{{ include {following}.conf }}" + "}" * 30

    write(tmp_path, main=nested("f0"))
    write(tmp_path, f0=nested("f1"), f1=nested("f2"), f2="a 1")
    assert "nested deeper than 64" in load_error(tmp_path)


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "main.conf").write_bytes(b"a 1\nb \xff")
    assert load_error(tmp_path) == "DIR/main.conf:2:3: not UTF-8: this is not a text file"


def test_a_link_is_the_file_it_names(tmp_path: Path) -> None:
    write(tmp_path, main="include link.conf")
    (tmp_path / "link.conf").symlink_to("main.conf")
    assert "includes itself" in load_error(tmp_path)
    write(tmp_path, main="include loop.conf")
    (tmp_path / "loop.conf").symlink_to("loop.conf")
    assert "can not read" in load_error(tmp_path)


def test_an_environment_that_is_not_text() -> None:
    assert tree("a $A", A="\udcff") == {"a": "\udcff"}
    assert "is not UTF-8" in error("a $A", A="\udcff\\n")


def test_a_byte_order_mark_is_not_part_of_the_first_key(tmp_path: Path) -> None:
    (tmp_path / "main.conf").write_bytes(b"\xef\xbb\xbfa 1")
    assert load(tmp_path) == {"a": 1}
