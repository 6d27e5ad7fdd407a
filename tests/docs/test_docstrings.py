"""Every public name has a docstring with an example, and every example runs."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import penstock
from penstock import client
from tests.docs.blocks import Block, blocks_in
from tests.docs.given import given
from tests.docs.session import ExampleError, Session


def public(module: ModuleType) -> Iterator[tuple[str, object]]:
    """The names that a module exports, and the public methods of its classes."""
    for name in module.__all__:
        if name == "__version__":
            continue
        thing = getattr(module, name)
        yield f"{module.__name__}.{name}", thing
        if inspect.isclass(thing):
            for method, member in vars(thing).items():
                if not method.startswith("_") and (
                    callable(member) or inspect.isdatadescriptor(member)
                ):
                    yield f"{module.__name__}.{name}.{method}", member


def blocks(name: str, thing: object) -> list[Block]:
    return blocks_in(inspect.getdoc(thing) or "", Path(name))


PUBLIC = dict(entry for module in (penstock, client) for entry in public(module))
EXAMPLES = {
    f"{name}-{number}": block
    for name, thing in PUBLIC.items()
    for number, block in enumerate(blocks(name, thing), 1)
}


@pytest.mark.parametrize("name", PUBLIC)
def test_it_is_documented(name: str) -> None:
    thing = PUBLIC[name]
    assert inspect.getdoc(thing), "there is no docstring"
    is_property = isinstance(thing, property) or inspect.ismemberdescriptor(thing)
    is_short = name.rpartition(".")[2] in {"start", "stop"}  # the class shows them
    assert blocks(name, thing) or is_property or is_short, "there is no example"


def play(block: Block, folder: Path) -> None:
    with Session(folder) as session:
        session.provide(given())
        session.play([block])


@pytest.mark.parametrize("name", EXAMPLES)
def test_its_example_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    thing = PUBLIC[name.rpartition("-")[0]]
    if not (inspect.isclass(thing) and issubclass(thing, Exception)):
        play(EXAMPLES[name], tmp_path)
        return
    raised: list[type] = []  # what an example catches must have been raised

    def note(error: Exception, *arguments: Any, **named: Any) -> None:
        raised.append(type(error))
        made(error, *arguments, **named)

    made = thing.__init__
    monkeypatch.setattr(thing, "__init__", note)
    play(EXAMPLES[name], tmp_path)
    assert any(issubclass(error, thing) for error in raised)


def test_an_example_that_fails_is_noticed(tmp_path: Path) -> None:
    text = "```python\nawait js.publish('orders.eu')\nassert False, 'on purpose'\n```\n"
    (block,) = blocks_in(text, Path("failing"))
    with pytest.raises(ExampleError, match="on purpose"):
        play(block, tmp_path)
