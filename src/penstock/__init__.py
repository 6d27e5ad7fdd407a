"""penstock: a JetStream-compatible message server in Python with a small Rust kernel.

`Server` and `serve` run one inside of this process. They are loaded when they are first asked for:
`import penstock` itself costs nothing, whatever part of it a program then uses.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.embedded.errors import ServerStartError
    from penstock.embedded.server import Server
    from penstock.embedded.thread import ServerThread, serve
    from penstock.model.version import PENSTOCK_VERSION as __version__  # noqa: N811

__all__ = ["Server", "ServerStartError", "ServerThread", "__version__", "serve"]

_HOMES = {
    "Server": ("penstock.embedded.server", "Server"),
    "ServerStartError": ("penstock.embedded.errors", "ServerStartError"),
    "ServerThread": ("penstock.embedded.thread", "ServerThread"),
    "serve": ("penstock.embedded.thread", "serve"),
    "__version__": ("penstock.model.version", "PENSTOCK_VERSION"),
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    found = getattr(import_module(module), attribute)
    globals()[name] = found  # the next time it is there
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
