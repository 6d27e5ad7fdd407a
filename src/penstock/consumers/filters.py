"""Filters compared with filters, many with many.

Each with each would take minutes for the thousands that fit into one request, and everybody would
wait. So both sides become tries, and one walk goes down both at once, along the tokens that agree;
what cannot meet is never compared. Wildcards can still be laid out so that nearly everything agrees
with nearly everything: the walk is bounded, and a request that needs more is refused.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from penstock.consumers.draft import refused
from penstock.streams.subjects import REST, WILDCARD

STEPS_MAX = 200_000  # of one walk: about a tenth of a second, and ten thousands of plain filters

Trie = dict[str, Any]  # token to trie; the empty token is the end of a pattern

_END = ""


def are_nested(filters: tuple[str, ...], count: int) -> bool:
    """Whether one of the first `count` is part of another of all these valid filters."""
    if len(filters) < 2:
        return False
    times = Counter(filters)
    if any(times[pattern] > 1 for pattern in filters[:count]):
        return True
    return _is_within(_trie(filters[:count]), _trie(filters))


def meet(ours: Iterable[str], theirs: Iterable[str]) -> bool:
    """Whether some subject matches one of ours and one of theirs."""
    steps = _Steps()
    waiting = [(_trie(ours), _trie(theirs))]
    while waiting:
        our, their = waiting.pop()
        if _END in our and _END in their:
            return True
        if (REST in our and _goes_on(their)) or (REST in their and _goes_on(our)):
            return True
        steps.take(min(len(our), len(their)))
        waiting += [(our[token], their[token]) for token in _shared(our, their)]
        for one, other, swapped in ((our, their, False), (their, our, True)):
            if WILDCARD in one:
                steps.take(len(other))
                below = [(one[WILDCARD], other[token]) for token in _literals(other)]
                waiting += [(b, a) for a, b in below] if swapped else below
    return False


def _is_within(some: Trie, every: Trie) -> bool:
    """Whether a pattern of `some` is part of one of `every` that is not the same pattern."""
    steps = _Steps()
    waiting = [(some, every, True)]
    while waiting:
        inner, outer, is_same = waiting.pop()
        if _END in inner and _END in outer and not is_same:
            return True
        if REST in outer and _goes_on(inner, besides=REST if is_same else _END):
            return True
        steps.take(min(len(inner), len(outer)))
        waiting += [(inner[token], outer[token], is_same) for token in _shared(inner, outer)]
        if WILDCARD in outer:
            steps.take(len(inner))
            waiting += [(inner[token], outer[WILDCARD], False) for token in _literals(inner)]
    return False


class _Steps:
    """What is left of a walk."""

    def __init__(self) -> None:
        self._left = STEPS_MAX

    def take(self, count: int) -> None:
        self._left -= count + 1
        if self._left < 0:
            raise refused("consumer subject filters are too many to be compared with each other")


def _trie(patterns: Iterable[str]) -> Trie:
    root: Trie = {}
    for pattern in patterns:
        node = root
        for token in pattern.split("."):
            node = node.setdefault(token, {})
        node[_END] = {}
    return root


def _shared(left: Trie, right: Trie) -> list[str]:
    """Tokens that both have, but the ends."""
    few, many = (left, right) if len(left) <= len(right) else (right, left)
    return [token for token in few if token in many and token not in (_END, REST)]


def _literals(node: Trie) -> list[str]:
    return [token for token in node if token not in (_END, WILDCARD, REST)]


def _goes_on(node: Trie, besides: str = _END) -> bool:
    """Whether there is another token, or one besides a certain one."""
    return any(token not in (_END, besides) for token in node)
