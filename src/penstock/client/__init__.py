"""The SDK: counters, atomic batches and linearizable reads on top of nats-py.

`JetStream` is nats-py's own context with more to it; it takes any connection of nats-py and shows
it as `connection`. Everything here speaks the protocol only, and works with every server that has
the feature. What there is stands in `public.py`, which is loaded with the first name that is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.client.public import *  # noqa: F403 -- its `__all__` says what


def __getattr__(name: str) -> object:
    if name.startswith("__") and name != "__all__":
        raise AttributeError(name)  # what Python asks every module for
    public = import_module("penstock.client.public")
    try:
        found = getattr(public, name)
    except AttributeError:
        raise AttributeError(f"module 'penstock.client' has no attribute {name!r}") from None
    globals()[name] = found  # the next time it is there
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *import_module("penstock.client.public").__all__})
