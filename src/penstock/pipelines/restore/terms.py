"""What a restore is told: its parameters, read and checked.

Everything that changes which messages are published is in the restore's name, and with it in the
place of its checkpoint: another selection is another restore, which begins at its beginning.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.pipelines.archive.terms import folder
from penstock.pipelines.catalog import ParameterError
from pyspark_jetstream.options import SINK_MODES
from pyspark_jetstream_archive.folder import Archive
from pyspark_jetstream_archive.selection import Selection, selection_of

LIFETIMES = ("keep", "drop")
CHOSEN = ("subjects", "from", "to")


@dataclass(frozen=True)
class Terms:
    """Of one restore."""

    path: Path
    target: str
    chosen: Mapping[str, str]  # as they were given
    keeps_ttl: bool
    mode: str

    def selection(self, archive: Archive) -> Selection:
        return selection_of(self.chosen, archive.head.stream)

    def name(self, archive: Archive) -> str:
        """Of the flow, its sink and its checkpoint."""
        told = json.dumps([archive.head.id, self.target, dict(self.chosen), self.keeps_ttl])
        digest = hashlib.sha256(told.encode()).hexdigest()[:8]
        return re.sub(r"\W", "_", f"restore_{self.target}_{digest}").lower()


def terms_of(told: Mapping[str, str]) -> Terms:
    """Raises ParameterError, ArchiveError."""
    for name, allowed in (("ttl", LIFETIMES), ("sinkMode", SINK_MODES)):
        if told[name] not in allowed:
            raise ParameterError(f"{name} is {told[name]!r}; allowed: {', '.join(allowed)}")
    chosen = {name: told[name] for name in CHOSEN}
    selection_of(chosen, "")
    path = folder(told["path"])
    return Terms(path, told["target"], chosen, told["ttl"] == "keep", told["sinkMode"])
