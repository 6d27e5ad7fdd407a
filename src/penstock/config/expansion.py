"""Files to one tree: includes read, variables replaced, every value with its position.

The walk is top-down and in the order of the text, because a variable names a key that was given
before it, in the same block or in one around it; after those comes the environment, whose text is
read as if it stood after the key. An included file has its own scope, as in the reference, and its
keys then belong to the block that includes it. Depth, bytes and cycles are bounded here.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from lark import Token, Tree

from penstock.config.bounds import (
    CONFIG_BYTES_MAX,
    INCLUDE_DEPTH_MAX,
    NESTING_MAX,
    VARIABLE_DEPTH_MAX,
)
from penstock.config.literals import inner, scalar
from penstock.config.problems import ConfigError, Position, config_error, cut
from penstock.config.syntax import parse, position_at, position_of
from penstock.config.tree import Block, Entry, Node

BCRYPT = re.compile(r"\$2[abxy]\$")  # a hash may stand unquoted: it is no variable
BYTE_ORDER_MARK = "\ufeff"

Files: TypeAlias = tuple[tuple[int, int], ...]  # device and inode: names can be links


def read_file(path: Path, environment: Mapping[str, str]) -> Block:
    """The tree of the file at `path` and of all it includes."""
    return Expansion(environment).file(path, included_at=None, chain=(), depth=0)


def read_text(text: str, file: str, environment: Mapping[str, str]) -> Block:
    """The tree of a text that is already in memory; includes are relative to `file`."""
    expansion = Expansion(environment)
    expansion.charge(len(text.encode(errors="replace")), Position(file, 1, 1))
    return expansion.document(text, Path(file), files=(), depth=0)


class Expansion:
    """One reading of a configuration, with what it has used of its bounds."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.bytes_left = CONFIG_BYTES_MAX

    def charge(self, size_bytes: int, position: Position | None) -> None:
        self.bytes_left -= size_bytes
        if self.bytes_left < 0:
            message = f"the configuration is larger than {CONFIG_BYTES_MAX} bytes, includes counted"
            raise config_error(position, message)

    def file(self, path: Path, included_at: Position | None, chain: Files, depth: int) -> Block:
        """`chain` holds the files that led to this one, the outermost first."""
        try:
            with path.open("rb") as source:
                status = os.fstat(source.fileno())
                data = source.read(self.bytes_left + 1)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise config_error(included_at, f"can not read {str(path)!r}: {reason}") from None
        identity = (status.st_dev, status.st_ino)
        if identity in chain:
            raise config_error(included_at, f"{str(path)!r} includes itself")
        self.charge(len(data), included_at or Position(str(path), 1, 1))
        try:
            text = data.decode().removeprefix(BYTE_ORDER_MARK)
        except UnicodeDecodeError as error:
            before = data[: error.start].decode()
            position = position_at(before, len(before), str(path))
            raise config_error(position, "not UTF-8: this is not a text file") from None
        return self.document(text, path, (*chain, identity), depth)

    def document(self, text: str, path: Path, files: Files, depth: int) -> Block:
        syntax = parse(text, str(path), "document")
        return Walk(self, path, files).block(syntax, (), depth)

    def variable(self, name: str, position: Position, chain: tuple[str, ...], depth: int) -> Node:
        """The value of the environment variable `name`; `chain` holds those that led to it."""
        if name in chain or len(chain) >= VARIABLE_DEPTH_MAX:
            raise config_error(position, f"variable ${cut(name)} refers to itself")
        text = self.environment.get(name)
        if text is None:
            message = (
                f"variable ${cut(name)} is not defined: give the key {cut(name)} before this line, "
                "or set the environment variable"
            )
            raise config_error(position, message)
        self.charge(len(text.encode(errors="replace")), position)
        label = f"environment variable {cut(name)}"
        children = parse(text, label, "setting").children
        if not children:
            return Node(value="", position=position)
        walk = Walk(self, Path(label), None, (*chain, name))
        return moved(walk.value(children[0], (), depth), position)


class Walk:
    """The walk through the syntax tree of one text."""

    def __init__(
        self,
        expansion: Expansion,
        path: Path,
        files: Files | None,
        variables: tuple[str, ...] = (),
    ) -> None:
        self.expansion = expansion
        self.path = path
        self.files = files  # this file and those that include it; None in an environment variable
        self.variables = variables  # the environment variables being read

    def position(self, token: Token) -> Position:
        return position_of(token, str(self.path))

    def block(self, syntax: Tree[Token], scopes: tuple[Block, ...], depth: int) -> Block:
        block = Block({})
        for child in syntax.children:
            if isinstance(child, Tree):
                self.entry(child, block, (*scopes, block), depth)
        return block

    def entry(
        self, syntax: Tree[Token], block: Block, scopes: tuple[Block, ...], depth: int
    ) -> None:
        key = syntax.children[0]
        assert isinstance(key, Token)
        if key.type in ("PATH", "QUOTED_PATH"):
            for included in self.include(key, depth).entries.values():
                block.assign(included)
            return
        name = inner(key) if key.type == "QUOTED_KEY" else str(key)
        node = self.value(syntax.children[1], scopes, depth)
        block.assign(Entry(key=name, position=self.position(key), node=node))

    def include(self, token: Token, depth: int) -> Block:
        position = self.position(token)
        name = inner(token) if token.type == "QUOTED_PATH" else str(token)
        if not name.strip("/"):
            raise config_error(position, "include needs the name of a file")
        if self.files is None:
            raise config_error(position, "an environment variable can not include a file")
        # Relative to this file even with a leading slash, as in the reference.
        path = self.path.parent / name.lstrip("/")
        if len(self.files) > INCLUDE_DEPTH_MAX:
            raise config_error(position, f"more than {INCLUDE_DEPTH_MAX} files include one another")
        return self.expansion.file(path, position, self.files, depth)

    def value(self, syntax: Tree[Token] | Token, scopes: tuple[Block, ...], depth: int) -> Node:
        if isinstance(syntax, Tree):
            return self.compound(syntax, scopes, depth + 1)
        if syntax.type == "VARIABLE":
            return self.variable(syntax, scopes, depth)
        value = scalar(syntax, str(self.path))
        return Node(value=value, position=self.position(syntax), text=str(syntax))

    def compound(self, syntax: Tree[Token], scopes: tuple[Block, ...], depth: int) -> Node:
        opening = syntax.children[0]
        assert isinstance(opening, Token)
        position = self.position(opening)
        if depth > NESTING_MAX:
            raise too_deep(position)
        value: Block | tuple[Node, ...]
        if syntax.data == "block":
            value = self.block(syntax, scopes, depth)
            below = [entry.node.height for entry in value.entries.values()]
        else:
            value = tuple(self.value(child, scopes, depth) for child in syntax.children[1:])
            below = [node.height for node in value]
        height = 1 + max(below, default=0)
        if height > NESTING_MAX:  # variables can nest what was written flat
            raise too_deep(position)
        return Node(value=value, position=position, height=height)

    def variable(self, token: Token, scopes: tuple[Block, ...], depth: int) -> Node:
        position = self.position(token)
        if BCRYPT.match(token):
            return Node(value=str(token), position=position, text=str(token))
        name = token[1:]
        for scope in reversed(scopes):
            if (entry := scope.entries.get(name)) is not None:
                entry.used = True
                return moved(entry.node, position)
        return self.expansion.variable(name, position, self.variables, depth)


def moved(node: Node, position: Position) -> Node:
    return Node(value=node.value, position=position, text=node.text, height=node.height)


def too_deep(position: Position) -> ConfigError:
    return config_error(position, f"blocks and arrays are nested deeper than {NESTING_MAX}")
