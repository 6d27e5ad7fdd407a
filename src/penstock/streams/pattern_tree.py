"""Many patterns compared with one at a time, without comparing each with each."""

from collections.abc import Iterable, Iterator

from penstock.streams.subjects import REST, WILDCARD


class PatternTree:
    """Patterns by their tokens."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._root = _Node()
        for pattern in patterns:
            node = self._root
            for token in pattern.split("."):
                node = node.below.setdefault(token, _Node())
            node.ends += 1

    def collides_twice(self, pattern: str) -> bool:
        """Whether at least two of the patterns have a subject in common with this valid one."""
        found = 0
        for ends in self._colliding(pattern.split(".")):
            found += ends
            if found >= 2:
                return True
        return False

    def _colliding(self, tokens: list[str]) -> Iterator[int]:
        waiting = [(self._root, 0)]
        while waiting:
            node, at = waiting.pop()
            if at >= len(tokens):
                yield node.ends
                if at > len(tokens):  # below the `>` of the pattern, everything collides
                    waiting += [(child, at) for child in node.below.values()]
            elif tokens[at] == REST:
                waiting += [(child, len(tokens) + 1) for child in node.below.values()]
            else:
                waiting += [(child, at + 1) for child in node.met_by(tokens[at])]
                if REST in node.below:
                    waiting.append((node.below[REST], len(tokens) + 1))


class _Node:
    def __init__(self) -> None:
        self.below: dict[str, _Node] = {}
        self.ends = 0  # patterns that end here

    def met_by(self, token: str) -> list["_Node"]:
        """Where a token leads that is not `>`."""
        if token == WILDCARD:
            return [child for other, child in self.below.items() if other not in ("", REST)]
        return [self.below[other] for other in (token, WILDCARD) if other in self.below]
