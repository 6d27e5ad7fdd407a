"""The ports file: where a server that chose its own ports tells them to the one who started it.

It appears under its final name only when it is complete, so a reader never sees half of it.
"""

from pathlib import Path

import msgspec


class PortsFile:
    """`penstock_<pid>.ports` in the directory of `--ports_file_dir`."""

    def __init__(self, directory: Path, pid: int) -> None:
        self._path = directory / f"penstock_{pid}.ports"

    def write(self, urls: dict[str, list[str]]) -> None:
        """`urls` maps a kind of port (`nats`, `monitoring`) to its addresses."""
        unfinished = self._path.with_suffix(".unfinished")
        unfinished.write_bytes(msgspec.json.encode(urls))
        unfinished.replace(self._path)

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)
