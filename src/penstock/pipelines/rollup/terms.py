"""What a rollup is told to do: its parameters, read and checked.

Everything that changes which numbers come out is in the rollup's name, and with it in the place of
its checkpoint: another window or another key is another rollup, which begins at the beginning.

A token of a subject is called a part: Spark Connect hides settings whose value has the word token
in it (`spark.redaction.regex`), also from whoever has set them.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from penstock.pipelines.catalog import ParameterError
from penstock.pipelines.durations import duration
from pyspark_jetstream.options import SINK_MODES

DIGITS_MAX = 9  # what the numbers have behind their point
PARTITIONS_MAX = 10_000  # each has a store of its own

_NUMBER = re.compile(r"[0-9]{1,9}")
_KEY = re.compile(r"subject|part:[1-9]\d*|field:.+")


@dataclass(frozen=True)
class Key:
    """What results are told apart by: a `subject`, or a `part` (token) of it, or a `field`."""

    kind: str
    place: str = ""  # a token's number from 1 on, a field's JSON path


@dataclass(frozen=True)
class Terms:
    """Of one rollup."""

    stream: str
    subjects: str
    target: str
    prefix: str  # what the subjects of results begin with
    keys: tuple[Key, ...]  # none: all messages together
    value: str  # JSON path of a number; empty: messages are counted and nothing else
    time: str  # JSON path of a time; empty: when the message was stored
    window: str
    delay: str
    digits: int  # of values behind their point, in counters

    @property
    def name(self) -> str:
        """Of the flow, its sink and its checkpoint."""
        told = json.dumps(asdict(self), sort_keys=True)
        digest = hashlib.sha256(told.encode()).hexdigest()[:8]
        return re.sub(r"\W", "_", f"rollup_{self.stream}_{self.target}_{digest}").lower()


def terms_of(told: Mapping[str, str]) -> Terms:
    """Raises ParameterError."""
    for name, least, most in (("digits", 0, DIGITS_MAX), ("partitions", 1, PARTITIONS_MAX)):
        number = told[name]
        if not (_NUMBER.fullmatch(number) and least <= int(number) <= most):
            raise ParameterError(f"{name} is {number!r}; allowed: {least} to {most}")
    if told["sinkMode"] not in SINK_MODES:
        allowed = ", ".join(SINK_MODES)
        raise ParameterError(f"sinkMode is {told['sinkMode']!r}; allowed: {allowed}")
    if told["target"] == told["stream"]:
        raise ParameterError(f"target is {told['target']!r}, the stream itself; name another one")
    return Terms(
        stream=told["stream"],
        subjects=told["subjects"],
        target=told["target"],
        prefix=told["prefix"] or f"rollup.{told['stream']}",
        keys=_keys(told["by"]),
        value=_path(told["value"]),
        time=_path(told["time"]),
        window=duration("window", told["window"]),
        delay=duration("delay", told["delay"], least=0),
        digits=int(told["digits"]),
    )


def _keys(text: str) -> tuple[Key, ...]:
    if text == "all":
        return ()
    keys = []
    for part in text.split(","):
        if not _KEY.fullmatch(part):
            allowed = "all, subject, part:2, field:customer.region; several with commas"
            raise ParameterError(f"by is {part!r}; allowed: {allowed}")
        kind, _, place = part.partition(":")
        keys.append(Key(kind, _path(place) if kind == "field" else place))
    return tuple(keys)


def _path(text: str) -> str:
    return text if not text or text.startswith("$") else f"$.{text}"
