"""Where the results of a rollup go, and in which form: the target's configuration decides."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from penstock.pipelines.catalog import ParameterError
from penstock.pipelines.rollup.terms import Terms
from penstock.pipelines.rollup.windows import as_increments, as_messages, windows
from pyspark_jetstream.connection import Connection, StreamNotFoundError
from pyspark_jetstream.options import read_options
from pyspark_jetstream.sink_subjects import covers

_BATCH, _MSGID = "batch", "msgid"


@dataclass(frozen=True)
class Target:
    """A stream to be written to."""

    is_counter: bool
    mode: str  # of the sink

    def results(self, messages: DataFrame, terms: Terms) -> DataFrame:
        """The rows to be written. Batches have a ledger and want no ids of rows."""
        found = windows(messages, terms, is_whole=self.is_counter)
        rows = as_increments(found, terms) if self.is_counter else as_messages(found, terms)
        if self.mode == _BATCH:
            return rows.select("subject", "incr" if self.is_counter else "data")
        return rows


def target_of(connection: Mapping[str, str], terms: Terms, mode: str) -> Target:
    """Asks the server. Raises ParameterError."""
    options = read_options({**connection, "stream": terms.target})
    with Connection(options.connection) as server:
        try:
            config = server.api(f"STREAM.INFO.{terms.target}")["config"]
        except StreamNotFoundError:
            problem = f"target is {terms.target!r}, and there is no such stream"
            raise ParameterError(f"{problem} on {server.shown}") from None
    is_counter = bool(config.get("allow_msg_counter"))
    _check_subjects(terms, config.get("subjects") or [], is_counter)
    if mode == "auto":
        mode = _BATCH if config.get("allow_atomic") else _MSGID
    return Target(is_counter, mode)


def _check_subjects(terms: Terms, patterns: list[str], is_counter: bool) -> None:
    """Told before the first window is finished, not after."""
    for subject in _subjects(terms, is_counter):
        if not any(covers(pattern, subject) for pattern in patterns):
            wanted = ",".join((*patterns, subject))
            raise ParameterError(
                f"target {terms.target} does not listen to {subject}: nats stream edit "
                f"{terms.target} --subjects '{wanted}'; or name a prefix that it listens to"
            )


def _subjects(terms: Terms, is_counter: bool) -> list[str]:
    """Patterns of what the results' subjects can be."""
    if any(key.kind == "subject" for key in terms.keys):
        return [f"{terms.prefix}.>"]
    subject = ".".join([terms.prefix, *("*" for _ in terms.keys)])
    if not is_counter:
        return [subject]
    return [f"{subject}.count", *([f"{subject}.sum"] if terms.value else [])]
