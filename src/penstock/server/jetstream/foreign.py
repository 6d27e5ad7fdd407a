"""Streams of nats-server in a store directory: `<account>/streams/<name>/meta.inf`.

They are left alone, and nothing serves them: whoever moves from one server to the other by giving
it the same directory is told, or would find all streams gone without a word.
"""

from pathlib import Path

HINT = "nats-server's streams, which are not served; they move with backups (docs/migrating.md)"


def foreign_accounts(root: Path) -> list[Path]:
    """The folders of accounts that have some."""
    folders = (path for path in sorted(root.iterdir()) if path.is_dir())
    return [path for path in folders if any(path.glob("streams/*/meta.inf"))]
