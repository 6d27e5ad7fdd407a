"""The fenced blocks of a document or a docstring, and what each is for.

| block | what becomes of it |
|---|---|
| `python` | run, with `await` at the top level; names stay for the next block of the document |
| `sh` | run by bash; see `shell.py` for servers, ports and the `nats` command |
| `text title="output"` | what the block before it prints; `...` stands for anything |
| with `title="x.py"` | a file of that name, for a command that comes later |
| `conf title="x.conf"` | the same, and `penstock serve -t` has to accept it |
| `json`, `text`, `http` | to be read |

Behind a comment `<!-- not tested: reason -->` a block is only read. Any other language is an error,
so that no example goes unnoticed. Sybil finds the blocks.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sybil import Document
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer

RUN = ("python", "sh", "conf")
READ_ONLY = ("json", "text", "http")
OUTPUT = "output"

_INFO = re.compile(r"(?P<language>[\w-]*)[ \t]*(?P<info>[^\n]*)$\n", re.MULTILINE)
_TITLE = re.compile(r'title="([^"]+)"')
_NOT_TESTED = re.compile(r"<!-- not tested: ([^>]+) -->\s*\Z")


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    path: Path
    line: int  # of its first line of content
    language: str
    title: str
    source: str
    not_tested: str  # why; empty if it is

    def __str__(self) -> str:
        return f"{self.path.name}:{self.line}"


def blocks_of(path: Path) -> list[Block]:
    """Of a Markdown document."""
    return blocks_in(path.read_text(), path)


def blocks_in(text: str, path: Path) -> list[Block]:
    """Of a text; the path is for whoever reads an error."""
    document = Document(text, str(path))
    for region in RawFencedCodeBlockLexer(_INFO)(document):
        region.evaluator = _nothing
        document.add(region)
    return list(_blocks(path, document))


def _nothing(_example: object) -> None:
    """Blocks are run in order by a session, not by sybil one by one."""


def _blocks(path: Path, document: Document) -> Iterator[Block]:
    for example in document.examples():
        region = example.region
        lexemes = region.lexemes
        title = _TITLE.search(lexemes["info"])
        reason = _NOT_TESTED.search(document.text, 0, region.start)
        yield Block(
            path=path,
            line=example.line + 1,
            language=lexemes["language"],
            title=title[1] if title else "",
            source=str(lexemes["source"]),
            not_tested=reason[1] if reason else "",
        )
