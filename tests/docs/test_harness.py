"""An example that is wrong makes its document red; one that is right does not.

Each case is a small document. Without these tests, examples that are never run would pass too.
"""

from pathlib import Path

import pytest

from tests.docs import shell
from tests.docs.blocks import blocks_of
from tests.docs.session import ExampleError, Session, matches

RIGHT = {
    "what is printed": """
```python
import penstock
server = await penstock.Server().start()
print("listens:", server.is_running)
```
```text title="output"
listens: True
```
""",
    "names stay": """
```python
number = 41
```
words
```python
number += 1
print(number)
```
```text title="output"
42
```
""",
    "a file for a command": """
```python title="hello.py"
print("hello")
```
```sh
python hello.py
```
```text title="output"
hello
```
""",
    "a command with a server": """
```sh
penstock serve -js -sd data -m 8222
```
```sh
python -c 'import urllib.request as r; print(r.urlopen("http://localhost:8222/healthz").read())'
```
```text title="output"
b'{"status":"ok"}...'
```
""",
    "a configuration": """
```conf title="server.conf"
port: 4222
```
""",
    "what is only read": """
<!-- not tested: it would take a week -->
```sh
sleep 604800
```
""",
}

WRONG = {
    "another output": """
```python
print(1)
```
```text title="output"
2
```
""",
    "no output": """
```python
```
```text title="output"
2
```
""",
    "more output": """
```sh
printf '2\\n3\\n'
```
```text title="output"
2
```
""",
    "an exception": """
```python
import penstock
penstock.no_such_thing
```
""",
    "an exception behind an await": """
```python
import asyncio
await asyncio.sleep(0)
raise ValueError
```
""",
    "no Python": """
```python
this is not Python
```
""",
    "a refused publish": """
```python
import nats, penstock
server = await penstock.Server().start()
connection = await nats.connect(server.url)
await connection.jetstream().publish("nobody.stores.this", b"")
```
""",
    "a failing command": """
```sh
false
```
""",
    "a failing command among others": """
```sh
false
true
```
""",
    "a failing command in a pipe": """
```sh
false | true
```
""",
    "an unknown command": """
```sh
penstock no-such-command
```
""",
    "an unknown target": """
```sh
make no-such-target
```
""",
    "a server with a wrong flag": """
```sh
penstock serve --no-such-flag
```
""",
    "an unknown key": """
```conf title="server.conf"
no_such_key: 1
```
""",
    "a file that nobody uses": """
```python title="hello.py"
print("hello")
```
""",
    "no language": """
```
make test
```
""",
    "an unknown language": """
```pyhton
print(1)
```
""",
    "a block in a list": """
- words

    ```python
    assert False
    ```
""",
    "a block without an end": """
```python
assert False
""",
}


def play(text: str, directory: Path) -> Session:
    path = directory / "document.md"
    path.write_text(text)
    with Session(directory) as session:
        session.play(blocks_of(path))
    return session


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_right(text: str, tmp_path: Path) -> None:
    assert not play(text, tmp_path).missing


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_wrong(text: str, tmp_path: Path) -> None:
    with pytest.raises(ExampleError, match=r"document\.md:\d+"):
        play(text, tmp_path)


def test_an_error_names_its_line(tmp_path: Path) -> None:
    with pytest.raises(ExampleError, match=r"document\.md\", line 3"):
        play("```python\n\nraise ValueError\n```\n", tmp_path)


def test_a_missing_command_is_told_with_all_that_may_build_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell, "find_nats", lambda: None)
    text = "```sh\necho first\n```\n```sh\nnats --version\n```\n```sh\nfalse\n```\n"
    told = play(text, tmp_path).missing
    assert [line.split(":")[1] for line in told] == ["5", "8"]
    assert "make interop" in told[0]


@pytest.mark.parametrize(
    ("documented", "printed", "is_right"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("a\n...\n", "a\n", True),
        ("at ...: x\n", "at 12:00: x\n", True),
        ("a   \n", "a\n", True),
        ("a\n", "a\nb\n", False),
        ("a\n...\nd\n", "a\nb\n", False),
        ("a.c\n", "abc\n", False),
        ("a ... c\n", "a b\nc\n", False),
        ("", "a\n", False),
    ],
)
def test_matches(documented: str, printed: str, is_right: bool) -> None:
    assert matches(documented, printed) is is_right
