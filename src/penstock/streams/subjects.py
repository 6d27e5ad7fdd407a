"""Subjects and patterns compared with each other, as configurations need it.

Text in, bool out; the router matches messages in the kernel. A pattern is dot-separated tokens,
where `*` stands for one token and a final `>` for one or more. The empty text is no subject, but
it occurs in configurations (a filter that was not given), so every function takes it.
"""

WILDCARD = "*"
REST = ">"
WILDCARDS = frozenset((WILDCARD, REST))
BLANKS = frozenset("\t\n\f\r ")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\v": "\\v"}


def is_valid(pattern: str) -> bool:
    """Whether this is a subject, wildcards allowed."""
    tokens = pattern.split(".")
    return all(tokens) and REST not in tokens[:-1] and BLANKS.isdisjoint(pattern)


def is_literal(subject: str) -> bool:
    """Whether the tokens name one subject: none is empty, none is a wildcard."""
    return all(token not in ("", WILDCARD, REST) for token in subject.split("."))


def collide(left: str, right: str) -> bool:
    """Whether some subject matches both."""
    if left == right:
        return True
    ours, theirs = _split_alike(left, right)
    for our, their in zip(ours, theirs, strict=False):
        if not our or not their:
            return False
        if REST in (our, their):
            return True
        if our != their and WILDCARD not in (our, their):
            return False
    return len(ours) == len(theirs)


def is_subset(inner: str, outer: str) -> bool:
    """Whether `outer` matches whatever `inner` matches."""
    ours, theirs = _split_alike(inner, outer)
    for our, their in zip(ours, theirs, strict=False):
        if their == REST:
            return True
        if not our or not their or our == REST:
            return False
        if their not in (WILDCARD, our):
            return False
    return len(ours) == len(theirs)


def _split_alike(left: str, right: str) -> tuple[list[str], list[str]]:
    """The tokens of both; what the longer has beyond the shorter stays together, so that a very
    long one can be compared with very many short ones."""
    if len(left) > len(right):
        theirs = right.split(".")
        return left.split(".", len(theirs)), theirs
    ours = left.split(".")
    return ours, right.split(".", len(ours))


def quoted(text: str) -> str:
    """As the reference puts a subject into an error."""
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    number = ord(character)
    if number < 0x80:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
