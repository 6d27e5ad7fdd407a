"""Patterns compared with patterns, many with many.

Each with each would take minutes for the thousands that fit into one request, and everybody would
wait. So both sides become tries, and one walk goes down both at once, along the tokens that agree;
what cannot meet is never compared. Wildcards can still be laid out so that nearly everything agrees
with nearly everything: the walk is bounded, and a request that needs more is refused. What a walk
over plain patterns takes is never too much: it grows as the patterns do, and so did reading them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from penstock.streams.draft import refused
from penstock.streams.subjects import REST, WILDCARD, collide

STEPS_MAX = 400_000  # about a tenth of a second, beside what plain patterns take
STEPS_FOR_A_NODE = 3  # of a plain pattern: the node, its token, its end
FEW = 3  # for so many, comparing each with each is cheaper than building a trie of the others

Trie = dict[str, Any]  # token to trie; the empty token is the end of a pattern

_END = ""
_NOTHING: Trie = {}  # below an end


class Steps:
    """What is left of the work that one request may cause; `reason` is why there is no more.

    It grows by what is compared, unless the same may be compared again and again.
    """

    def __init__(self, reason: str, *, grows: bool = True) -> None:
        self._left = STEPS_MAX
        self._reason = reason
        self._grows = grows

    def built(self, nodes: int) -> None:
        """A trie has so many."""
        if self._grows:
            self._left += STEPS_FOR_A_NODE * nodes
        else:
            self.take(nodes)

    def take(self, count: int) -> None:
        """Raises the `ApiError` 10052 if that is too much."""
        self._left -= count
        if self._left < 0:
            raise refused(self._reason)


def crossing(called: str) -> Steps:
    """For the comparisons of one list; `called` is what is in it."""
    return Steps(f"{called} cross too often to be compared: use fewer wildcards")


def are_nested(patterns: Sequence[str], count: int, steps: Steps) -> bool:
    """Whether one of the first `count` is part of another of all these valid patterns."""
    times = Counter(patterns)
    if any(times[pattern] > 1 for pattern in patterns[:count]):
        return True
    if not any(map(_is_wild, patterns)):
        return False
    return _Walk(steps).is_within(patterns[:count], patterns)


def meet(ours: Iterable[str], theirs: Iterable[str], steps: Steps) -> bool:
    """Whether some subject matches one of ours and one of theirs."""
    few, many = set(ours), set(theirs)
    if not few.isdisjoint(many):
        return True
    # Two plain patterns only match the same subject if they are the same.
    if not any(map(_is_wild, few)):
        many = set(filter(_is_wild, many))
    if not any(map(_is_wild, many)):
        few = set(filter(_is_wild, few))
    if min(len(few), len(many)) <= FEW:
        return any(collide(our, their) for our in few for their in many)
    return _Walk(steps).meet(few, many)


def first_meeting(patterns: Sequence[str], count: int, steps: Steps) -> int | None:
    """Which of the first `count` has a subject in common with another of all.

    Nearly always none has, so that is looked for first; then the first is looked for one by one.
    """
    if not count:
        return None
    patterns = [_compared(pattern) for pattern in patterns]
    times = Counter(patterns)
    is_wild = any(map(_is_wild, patterns))
    walk = _Walk(steps)
    if len(times) == len(patterns) and not (is_wild and walk.meet_themselves(patterns)):
        return None
    every = walk.trie(patterns) if is_wild else {}
    for at, pattern in enumerate(patterns[:count]):
        if times[pattern] > 1 or (is_wild and walk.meets_another(pattern, every)):
            return at
    return None


class _Walk:
    """One comparison."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def trie(self, patterns: Iterable[str]) -> Trie:
        """Of anything: what has an empty token only meets a `>` before that."""
        root: Trie = {}
        nodes = 1
        for pattern in patterns:
            node = root
            for token in _compared(pattern).split("."):
                if not token:
                    break
                if token not in node:
                    node[token] = {}
                    nodes += 1
                node = node[token]
            else:
                node[_END] = _NOTHING
        self._steps.built(nodes)
        return root

    def meet(self, ours: Iterable[str], theirs: Iterable[str]) -> bool:
        return self._meet(self.trie(ours), self.trie(theirs), False)

    def meet_themselves(self, patterns: Iterable[str]) -> bool:
        """Whether a subject matches two of these, which are all different."""
        every = self.trie(patterns)
        return self._meet(every, every, True)

    def meets_another(self, pattern: str, every: Trie) -> bool:
        """Whether a subject matches this one and another one of all."""
        return self._meet(self.trie((pattern,)), every, True)

    def _meet(self, ours: Trie, theirs: Trie, is_same: bool) -> bool:
        """Whether a pattern meets one of theirs; if `is_same`, one that is not the same pattern."""
        waiting = [(ours, theirs, is_same)]
        while waiting:
            our, their, is_same = waiting.pop()
            if _END in our and _END in their and not is_same:
                return True
            own = REST if is_same else _END
            if (REST in our and _goes_on(their, own)) or (REST in their and _goes_on(our, own)):
                return True
            self._steps.take(1 + min(len(our), len(their)))
            waiting += [(our[token], their[token], is_same) for token in _shared(our, their)]
            if WILDCARD in our:
                self._steps.take(len(their))
                below = our[WILDCARD]
                waiting += [(below, their[token], False) for token in _literals(their)]
            if WILDCARD in their and our is not their:  # if it is, that was the other way around
                self._steps.take(len(our))
                below = their[WILDCARD]
                waiting += [(our[token], below, False) for token in _literals(our)]
        return False

    def is_within(self, some: Iterable[str], every: Iterable[str]) -> bool:
        """Whether one of `some` is part of one of `every` that is not the same pattern."""
        waiting = [(self.trie(some), self.trie(every), True)]
        while waiting:
            inner, outer, is_same = waiting.pop()
            if _END in inner and _END in outer and not is_same:
                return True
            if REST in outer and _goes_on(inner, besides=REST if is_same else _END):
                return True
            self._steps.take(1 + min(len(inner), len(outer)))
            waiting += [(inner[token], outer[token], is_same) for token in _shared(inner, outer)]
            if WILDCARD in outer:
                self._steps.take(len(inner))
                below = outer[WILDCARD]
                waiting += [(inner[token], below, False) for token in _literals(inner)]
        return False


def _is_wild(pattern: str) -> bool:
    """Whether there may be a wildcard: one inside of a token is none."""
    return WILDCARD in pattern or REST in pattern


def _compared(pattern: str) -> str:
    """What matters of it: nothing behind a `>`, where a text may go on that is no pattern."""
    at = f".{pattern}.".find(f".{REST}.")
    return pattern if at < 0 else pattern[: at + 1]


def _shared(left: Trie, right: Trie) -> list[str]:
    """Tokens that both have, but the ends."""
    few, many = (left, right) if len(left) <= len(right) else (right, left)
    return [token for token in few if token in many and token not in (_END, REST)]


def _literals(node: Trie) -> list[str]:
    return [token for token in node if token not in (_END, WILDCARD, REST)]


def _goes_on(node: Trie, besides: str = _END) -> bool:
    """Whether there is another token, or one besides a certain one."""
    return any(token not in (_END, besides) for token in node)
