"""The pipelines there are: what each is for, what it takes, which tables it makes.

A pipeline is a folder with a spec file for Spark Declarative Pipelines, so `spark-pipelines run`
runs it as well as `penstock pipeline run`. Its parameters are Spark settings, `spark.penstock.` and
the name. Nothing here imports Spark: a list of pipelines needs none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

SETTING = "spark.penstock."
SPEC = "spark-pipeline.yaml"
SECRETS = ("user", "password", "token")


# What to do instead; docs/pipelines.md says more.
WAYS_IN = "put it into a context of the nats command and give context=NAME, or use creds or nkey"


class ParameterError(ValueError):
    """A parameter is missing, unknown, or not what it may be."""


@dataclass(frozen=True)
class Parameter:
    """What a pipeline is told. Without a default it must be given."""

    name: str
    help: str
    default: str | None = None

    @property
    def setting(self) -> str:
        return f"{SETTING}{self.name}"


@dataclass(frozen=True)
class Pipeline:
    """One folder beside this file."""

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    tables: Mapping[str, str]  # what each holds
    needs: tuple[str, ...]  # the streams that must be there, made of parameters

    @property
    def spec(self) -> Path:
        return Path(__file__).parent / self.name / SPEC

    def checked(self, given: Mapping[str, str]) -> dict[str, str]:
        """Every parameter with its value; an empty one is its default. Raises ParameterError."""
        known = {one.name: one for one in self.parameters}
        for name in given:
            if name in SECRETS:
                raise ParameterError(f"{name} cannot be a parameter: Spark shows those; {WAYS_IN}")
            if name not in known:
                near = get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
                raise ParameterError(f"{self.name} has no parameter {name!r} ({hint})")
        missing = [one.name for one in self.parameters if one.default is None]
        for name in missing:
            if not given.get(name):
                raise ParameterError(f"{self.name} needs {name}: {known[name].help}")
        return {name: given.get(name) or one.default or "" for name, one in known.items()}


# How a server is reached: options of format("jetstream"), for every pipeline the same. Those that
# are secrets themselves are not among them: Spark hides such settings, and shows plans.
CONNECTION = (
    Parameter(
        "servers", "URLs of servers, with commas; without, that of the context, or 4222 here", ""
    ),
    Parameter("context", "context of the nats command, or a file of one: it may have secrets", ""),
    Parameter("creds", "file with credentials", ""),
    Parameter("nkey", "file with the seed of an nkey", ""),
    Parameter("tls.ca", "file with the authorities to trust", ""),
    Parameter("tls.cert", "file with a certificate", ""),
    Parameter("tls.key", "file with the key of the certificate", ""),
    Parameter("tls.first", "whether to begin with TLS: true, false", ""),
    Parameter("domain", "JetStream domain", ""),
    Parameter("storeDir", "penstock's store directory, if Spark sees its files", ""),
)

PIPELINES = (
    Pipeline(
        "recount",
        "Counts counters again from their increments, with every stream they are sourced from",
        (
            Parameter("stream", "the stream of counters; those it is sourced from are found"),
            *CONNECTION,
        ),
        {
            "recount_counters": "every counter: stored and counted again, and the verdict",
            "recount_sources": "every origin of a counter: what was seen of it, and what it is",
            "recount_contributions": "what was added to every counter, by origin",
        },
        needs=("{stream}",),
    ),
    Pipeline(
        "rollup",
        "Windows of a stream, counted and summed, written back exactly once",
        (
            Parameter("stream", "the stream to be rolled up"),
            Parameter("target", "the stream that takes the results: counters, if it has them"),
            Parameter("by", "a result for each: all, subject, part:2, field:region", "subject"),
            Parameter("value", "field of a number: sum, min, max, avg of it", ""),
            Parameter("window", "how long a window is", "1 minute"),
            Parameter("delay", "how late a message may come", "10 seconds"),
            Parameter("time", "field of a time; without it, when a message was stored", ""),
            Parameter("subjects", "only these subjects, with commas and wildcards", ">"),
            Parameter("prefix", "subjects of results begin with it (rollup and the stream)", ""),
            Parameter("digits", "of values behind their point that counters keep", "0"),
            Parameter("sinkMode", "how it is kept exactly once: auto, batch, msgid", "auto"),
            Parameter("partitions", "of the windows; the first run decides", "4"),
            Parameter("maxOffsetsPerTrigger", "messages of one step", "500000"),
            Parameter("failOnDataLoss", "false: go on though messages are gone", "true"),
            *CONNECTION,
        ),
        {"rollup": "no table: results go to the target"},
        needs=("{stream}", "{target}"),
    ),
    Pipeline(
        "tables",
        "A KV bucket as a table of what it holds, and a table of everything that has happened",
        (
            Parameter("bucket", "the bucket; its stream is KV_ and this"),
            Parameter("table", "of what it holds; its history has _history behind it", ""),
            Parameter("catalog", "where the tables are, such as lake.kv; else where Spark is", ""),
            Parameter("method", "scan: the whole bucket each time; cdc: merge what is new", "scan"),
            Parameter("format", "of the tables; cdc needs one that Spark can MERGE", "parquet"),
            Parameter("maxOffsetsPerTrigger", "changes of one step of the history", "500000"),
            Parameter("failOnDataLoss", "true: fail if changes have gone unseen", "false"),
            *CONNECTION,
        ),
        {
            "kv_BUCKET": "every key that there is: value, revision, created",
            "kv_BUCKET_history": "every change that was seen: operation, reason, revision, value",
        },
        needs=("KV_{bucket}",),
    ),
    Pipeline(
        "acks",
        "Samples of acknowledgements: latency, redeliveries and slow consumers over time",
        (
            Parameter("stream", "the stream that has the samples"),
            Parameter("subjects", "of samples", "$JS.EVENT.METRIC.CONSUMER.ACK.>"),
            Parameter("window", "how long a window is", "1 minute"),
            Parameter("slow", "milliseconds of the 99th percentile that are too many", "1000"),
            Parameter("plot", "file for the plot: .png, .svg, .pdf; or none", "acks.png"),
            *CONNECTION,
        ),
        {
            "acks_samples": "every sample: when, whose, how long it took",
            "acks_latency": "every window of every consumer: percentiles, redeliveries",
            "acks_consumers": "every consumer: the same over all windows, and how many were slow",
        },
        needs=("{stream}",),
    ),
    Pipeline(
        "archive",
        "A stream as Parquet files by date, each message exactly once",
        (
            Parameter("stream", "the stream to be archived"),
            Parameter("path", "folder of the archive; this machine and all of Spark's see it"),
            Parameter("subjects", "only these subjects, with commas and wildcards", ">"),
            Parameter("maxOffsetsPerTrigger", "messages of one step", "1000000"),
            Parameter("maxBytesPerTrigger", "bytes of one step, about", "1073741824"),
            Parameter("failOnDataLoss", "false: go on though messages are gone", "true"),
            *CONNECTION,
        ),
        {"archive": "no table: Parquet files in path/messages"},
        needs=("{stream}",),
    ),
    Pipeline(
        "restore",
        "An archive published to a stream, in order and exactly once",
        (
            Parameter("path", "folder of the archive; this machine and all of Spark's see it"),
            Parameter("target", "the stream that takes the messages"),
            Parameter("subjects", "only these subjects, with commas and wildcards", ">"),
            Parameter("from", "the first sequence or date, such as 17 or 2026-01-31", ""),
            Parameter("to", "the last sequence or date", ""),
            Parameter("ttl", "lifetimes: keep (they begin anew), drop", "keep"),
            Parameter("sinkMode", "how it is kept exactly once: auto, batch, msgid", "auto"),
            Parameter("maxOffsetsPerTrigger", "messages of one step", "500000"),
            *CONNECTION,
        ),
        {"restore": "no table: messages go to the target"},
        needs=("{target}",),
    ),
)


def find(name: str) -> Pipeline | None:
    return next((one for one in PIPELINES if one.name == name), None)
