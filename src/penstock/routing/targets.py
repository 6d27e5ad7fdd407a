"""Targets: parts of the server that listen to subjects, such as services and streams.

A target listens under patterns of an account like a subscriber, but its messages come to Python as
runs: positions in the kernel's list of picked frames, in order of arrival, after core fan-out.
"""

from typing import Protocol

from penstock.kernel.hub import Hub
from penstock.routing.accounts import Account


class Target(Protocol):
    """Whoever takes runs."""

    def take(self, start: int, end: int) -> None:
        """Handles the picked frames `start..end`. A frame that fails must not stop the others."""


class Targets:
    """Which target stands behind which number. Numbers of removed targets are used again, but not
    in the same turn: its runs were cut before, and must not reach somebody else."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._table: list[Target | None] = []
        self._free: list[int] = []
        self._leaving: list[int] = []  # removed in this turn

    def begin_turn(self) -> None:
        if self._leaving:
            self._free += self._leaving
            self._leaving = []

    def add(self, target: Target) -> int:
        if self._free:
            number = self._free.pop()
            self._table[number] = target
        else:
            number = len(self._table)
            self._table.append(target)
        return number

    def remove(self, number: int) -> None:
        """After its last pattern was removed."""
        self._table[number] = None
        self._leaving.append(number)

    def listen(self, number: int, account: Account, pattern: bytes) -> None:
        added = self._hub.add_target(account.number, pattern, number)
        assert added, f"not a pattern: {pattern!r}"

    def ignore(self, number: int, account: Account, pattern: bytes) -> None:
        removed = self._hub.remove_target(account.number, pattern, number)
        assert removed, f"target {number} does not listen to {pattern!r}"

    def take(self, number: int, start: int, end: int) -> None:
        target = self._table[number]
        if target is not None:  # removed earlier in the same turn
            target.take(start, end)
