"""Accounts: every connection belongs to one, and messages never leave theirs.

There is one account for clients so far, the reference's global one; the kernel keeps a router for
each, so more accounts are more numbers, not more code.
"""

from collections.abc import Iterator
from typing import NamedTuple

from penstock.kernel.hub import Hub

GLOBAL_ACCOUNT_NAME = "$G"


class Account(NamedTuple):
    """A name for people, and the number of its routes in the kernel."""

    name: str
    number: int


class Accounts:
    """All accounts of a server by name."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._by_name: dict[str, Account] = {}
        self.global_account = self.add(GLOBAL_ACCOUNT_NAME)

    def add(self, name: str) -> Account:
        assert name not in self._by_name, f"account {name} exists"
        account = Account(name, self._hub.add_account())
        self._by_name[name] = account
        return account

    def __iter__(self) -> Iterator[Account]:
        return iter(self._by_name.values())

    def subscriptions(self) -> int:
        """How many listeners there are in all accounts, the server's own included."""
        return sum(self._hub.listeners(account.number) for account in self)
