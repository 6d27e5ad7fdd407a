"""Which checks a message has to pass: those that its headers ask for.

A check names the headers without one of which it has nothing to say. Most messages have few control
headers, and mostly the same ones as others, so what was chosen for a set of them is remembered.
"""

import functools
import re
from typing import Generic, TypeVar

from penstock.streams.headers import CONTROL_PREFIX

Check = TypeVar("Check")

_NAME = re.compile(rb"\r\n(Nats-[^:\r]*):")  # a line without a colon hides no other
_NONE: frozenset[bytes] = frozenset()


class CheckTable(Generic[Check]):
    """Checks in their order, each with its headers; one without any is always asked."""

    def __init__(self, rows: tuple[tuple[tuple[bytes, ...], Check], ...]) -> None:
        self._rows = rows
        self._names = frozenset(name for names, _ in rows for name in names)
        self._about = functools.lru_cache(maxsize=256)(self._choose)

    def asked(self, message_headers: bytes) -> tuple[Check, ...]:
        """Those that can have something to say about a message with such headers."""
        if CONTROL_PREFIX not in message_headers:
            return self._about(_NONE)
        return self._about(self._names.intersection(_NAME.findall(message_headers)))

    def _choose(self, given: frozenset[bytes]) -> tuple[Check, ...]:
        rows = self._rows
        return tuple(check for names, check in rows if not names or not given.isdisjoint(names))
