"""Subject transforms: `orders.*` to `shard.{{partition(3,1)}}.$1`.

`compiled` turns source and destination into a list of steps, one for each token of the
destination; each step reads the tokens of a subject and gives bytes. Everything that can be wrong
is found there, in the reference's words, so applying never fails. Subjects are bytes: the
functions count bytes, as the reference, even where that cuts a character. A step may leave a
token empty; whoever publishes or stores the outcome checks it, as every subject that is emitted.
"""

import itertools
import re
from collections.abc import Callable
from typing import NamedTuple

from penstock.streams import subjects

Tokens = list[bytes]
Draw = Callable[[int], int]  # a random number from 0 up to, not including, its argument
Step = Callable[[Tokens], bytes]

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
_BLANKS = r"[\t\n\f\r ]*"
_MUSTACHE = re.compile(rf"\{{\{{{_BLANKS}([A-Za-z]+){_BLANKS}\((.*)\){_BLANKS}\}}\}}")
_COMMA = re.compile(rf",{_BLANKS}")
_INTEGER = re.compile(r"([+-]?)0*(\d{1,19})", re.ASCII)  # int() refuses 4,300 digits and more


class MappingError(Exception):
    """Source and destination make no transform; the text says why."""


def _bad_destination(reason: str, token: str = "") -> MappingError:
    where = f" in {token}" if token else ""
    return MappingError(f"invalid mapping destination: {reason}{where}")


class Transform:
    """A compiled transform."""

    def __init__(self, source: str, steps: list[Step], takes_rest: bool) -> None:
        self._source = source.encode().split(b".")
        self._steps = steps
        self._rest_at = len(self._source) - 1 if takes_rest else None
        wild = (b"*", b">")
        self._literals = [one for one in enumerate(self._source) if one[1] not in wild]

    def apply(self, subject: bytes) -> bytes | None:
        """The new subject, or None if this one does not match the source."""
        tokens = subject.split(b".")
        if not self._matches(tokens):
            return None
        parts = [step(tokens) for step in self._steps]
        if self._rest_at is not None:
            parts += tokens[self._rest_at :]
        return b".".join(parts)

    def _matches(self, tokens: Tokens) -> bool:
        if b"" in tokens or b"*" in tokens or b">" in tokens:
            return False
        if self._rest_at is not None:
            if len(tokens) <= self._rest_at:
                return False
        elif len(tokens) != len(self._source):
            return False
        return all(tokens[at] == token for at, token in self._literals)


def validated(source: str, destination: str) -> Transform | None:
    """As `compiled`, with the closer look at the destination that configurations get."""
    ended = False
    for token in destination.split(".") if destination else ():
        if not token or ended:
            raise _bad_destination("invalid transform", token)
        if _is_mustache(token):
            if _function_of(token) is None:
                raise _bad_destination("unknown function", token)
        elif token == subjects.REST:
            ended = True
        elif not subjects.BLANKS.isdisjoint(token):
            raise _bad_destination("invalid transform")
    return compiled(source, destination)


def compiled(source: str, destination: str, draw: Draw | None = None) -> Transform | None:
    """The transform; None if there is no destination. No source is the same as `>`.

    `draw` is the chance behind `random`; without one its numbers are spread evenly.
    """
    if not destination:
        return None
    source = source or subjects.REST
    from_tokens, to_tokens = source.split("."), destination.split(".")
    takes_rest = from_tokens[-1] == subjects.REST
    if (
        not _is_well_formed(from_tokens)
        or not _is_well_formed(to_tokens)
        or subjects.WILDCARD in to_tokens
        or takes_rest != (to_tokens[-1] == subjects.REST)
    ):
        raise MappingError("invalid subject")
    wildcards = [at for at, token in enumerate(from_tokens) if token == subjects.WILDCARD]
    named = to_tokens[:-1] if takes_rest else to_tokens
    places = Places(wildcards, not wildcards and not takes_rest, draw or spread())
    steps = [_step(token, places) for token in named]
    return Transform(source, steps, takes_rest)


def _is_well_formed(tokens: list[str]) -> bool:
    return all(tokens) and subjects.REST not in tokens[:-1]


def _is_mustache(token: str) -> bool:
    return len(token) > 4 and token.startswith("{{") and token.endswith("}}")


class Places(NamedTuple):
    """What every call of one transform shares."""

    wildcards: list[int]  # where in the source the wildcards stand
    literal: bool  # the source has no wildcard of any kind
    draw: Draw


class Call(NamedTuple):
    """One token of a destination that is not plain text."""

    token: str
    arguments: list[str]
    places: Places

    def position(self, number: int) -> int:
        """Where the wildcard of this number, counted from 1, stands in the source."""
        wildcards, literal, _ = self.places
        if literal or number > len(wildcards):
            at = self.token if literal else f"{self.token}: [{number}]"
            raise _bad_destination("wildcard index out of range", at)
        return wildcards[number - 1] if number > 0 else 0  # as the reference for 0 and less

    def integer(self, number: int, low: int = INT64_MIN, high: int = INT64_MAX) -> int:
        value = _int64(self.arguments[number].strip(" "))
        if value is None or not low <= value <= high:
            raise self.wrong_argument()
        return value

    def expect(self, count: int) -> None:
        if len(self.arguments) < count or self.arguments == [""]:
            raise _bad_destination("not enough arguments passed to the function", self.token)
        if len(self.arguments) > count:
            raise _bad_destination("too many arguments passed to the function", self.token)

    def wrong_argument(self) -> MappingError:
        return _bad_destination("function argument is invalid or in the wrong format", self.token)


def _int64(text: str) -> int | None:
    match = _INTEGER.fullmatch(text)
    value = int(match[1] + match[2]) if match else INT64_MAX + 1
    return value if INT64_MIN <= value <= INT64_MAX else None


def _step(token: str, places: Places) -> Step:
    if token.startswith("$") and _int64(token[1:]) is not None:
        return _copy(Call(token, [token[1:]], places))
    if not _is_mustache(token):
        text = token.encode()
        return lambda _tokens: text
    function = _function_of(token)
    if function is None:
        raise _bad_destination("unknown function", token)
    name, arguments = function
    return FUNCTIONS[name](Call(token, arguments, places))


def _function_of(token: str) -> tuple[str, list[str]] | None:
    match = _MUSTACHE.search(token)
    if match is None or match[1] not in SPELLINGS:
        return None
    return SPELLINGS[match[1]], _COMMA.split(match[2])


def _copy(call: Call) -> Step:
    call.expect(1)
    at = call.position(call.integer(0))
    return lambda tokens: tokens[at]


def _partition(call: Call) -> Step:
    buckets = call.integer(0, high=INT32_MAX) & 0xFFFFFFFF
    numbers = [call.integer(n) for n in range(1, len(call.arguments))]
    chosen = [] if call.places.literal else [call.position(number) for number in numbers]

    def step(tokens: Tokens) -> bytes:
        key = b"".join(tokens[at] for at in chosen) if chosen else b".".join(tokens)
        return b"%d" % (fnv1a(key) % buckets if buckets else 0)

    return step


def _random(call: Call) -> Step:
    if len(call.arguments) != 1:
        raise _bad_destination("not enough arguments passed to the function", call.token)
    limit, draw = abs(call.integer(0, high=INT32_MAX)), call.places.draw
    return lambda _tokens: b"%d" % (draw(limit) if limit else 0)


def _split(call: Call) -> Step:
    call.expect(2)
    number, delimiter = call.integer(0), call.arguments[1]
    if " " in delimiter:
        raise call.wrong_argument()
    at, mark = call.position(number), delimiter.encode()

    def step(tokens: Tokens) -> bytes:
        return b".".join(piece for piece in _pieces(tokens[at], mark) if piece)

    return step


def _pieces(token: bytes, mark: bytes) -> list[bytes]:
    if mark:
        return token.split(mark)
    characters = token.decode(errors="surrogateescape")
    return [character.encode(errors="surrogateescape") for character in characters]


def _sized(cut: Callable[[bytes, int], bytes]) -> Callable[[Call], Step]:
    """A function of a wildcard and a size; a token no longer than the size stays as it is."""

    def build(call: Call) -> Step:
        call.expect(2)
        number, size = call.integer(0), call.integer(1, INT32_MIN, INT32_MAX)
        at = call.position(number)

        def step(tokens: Tokens) -> bytes:
            token = tokens[at]
            return cut(token, size) if 0 < size < len(token) else token

        return step

    return build


def _slice(token: bytes, size: int, first: int) -> bytes:
    head = [token[:first]] if first else []
    return b".".join(head + [token[at : at + size] for at in range(first, len(token), size)])


FUNCTIONS: dict[str, Callable[[Call], Step]] = {
    "wildcard": _copy,
    "partition": _partition,
    "random": _random,
    "split": _split,
    "splitfromleft": _sized(lambda token, size: token[:size] + b"." + token[size:]),
    "splitfromright": _sized(lambda token, size: token[:-size] + b"." + token[-size:]),
    "slicefromleft": _sized(lambda token, size: _slice(token, size, 0)),
    "slicefromright": _sized(lambda token, size: _slice(token, size, len(token) % size)),
    "left": _sized(lambda token, size: token[:size]),
    "right": _sized(lambda token, size: token[-size:]),
}


def _spellings(*words: str) -> dict[str, str]:
    """Each word may begin with a capital, and that is all."""
    choices = [(word, word.capitalize()) for word in words]
    return {"".join(spelled): "".join(words) for spelled in itertools.product(*choices)}


SPELLINGS: dict[str, str] = {
    **_spellings("wildcard"),
    **_spellings("partition"),
    **_spellings("random"),
    **_spellings("split"),
    **_spellings("split", "from", "left"),
    **_spellings("split", "from", "right"),
    **_spellings("slice", "from", "left"),
    **_spellings("slice", "from", "right"),
    **_spellings("left"),
    **_spellings("right"),
}


def spread() -> Draw:
    """Numbers that cover a range evenly and are the same in every run (a Weyl sequence)."""
    turns = itertools.count(1)
    return lambda limit: ((next(turns) * 0x9E3779B9) & 0xFFFFFFFF) * limit >> 32


def fnv1a(key: bytes) -> int:
    """The 32-bit FNV-1a hash: partitions are part of what clients rely on."""
    value = 0x811C9DC5
    for byte in key:
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value
