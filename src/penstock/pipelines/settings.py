"""What a pipeline was told, as its definitions read it.

`penstock pipeline run` loads the definitions in its own process and tells them there (`given`):
nothing of it is a setting of Spark. With plain `spark-pipelines`, parameters are settings of the
session. Spark Connect says of a setting whose name or value looks like a secret that there is none,
so a default would take its place without a word; `SET` shows that it is there and hidden, which is
an error here. Of many `--conf`, pyspark 4.3 keeps the last part of those that its launcher hands
over in the environment, so ours are read from there as well.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

from pyspark.sql import DataFrame, SparkSession

from penstock.pipelines.catalog import CONNECTION, SECRETS, SETTING, ParameterError, Pipeline
from penstock.pipelines.checking import check
from penstock.pipelines.paths import check_absolute

_LAUNCHED = "PYSPARK_REMOTE_INIT_CONF_"
_HIDDEN = "*********(redacted)"  # what Spark shows in the place of a secret

_given: ContextVar[Mapping[str, str] | None] = ContextVar("given", default=None)


@contextlib.contextmanager
def given(values: Mapping[str, str]) -> Iterator[None]:
    """Definitions that are loaded meanwhile are told this, whatever the session's settings are."""
    before = _given.set(values)
    try:
        yield
    finally:
        _given.reset(before)


class Settings:
    """The parameters of one pipeline in one session."""

    def __init__(self, spark: SparkSession, pipeline: Pipeline) -> None:
        self._spark = spark
        told = _given.get()
        if told is None:
            told = _of_session(spark, {one.name for one in pipeline.parameters})
            check_absolute(told)
        self._values = pipeline.checked(told)
        check(pipeline, self._values)

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    @property
    def connection(self) -> dict[str, str]:
        """Options of format("jetstream"); only those that were given."""
        return {one.name: self[one.name] for one in CONNECTION if self[one.name]}

    def messages(self, *streams: str, columns: str, **options: str) -> DataFrame:
        """What is in these streams now; only these columns are read."""
        read = self._spark.read.format("jetstream").options(**self.connection, **options)
        read = read.option("stream", ",".join(streams)).option("includeHeaders", "true")
        return read.schema(columns).load()


def _of_session(spark: SparkSession, names: set[str]) -> dict[str, str]:
    """A session may have settings of other pipelines too: what is no parameter is left out."""
    with ThreadPoolExecutor(1) as elsewhere:  # Spark allows no commands in the thread that defines
        rows = elsewhere.submit(lambda: spark.sql("SET").collect()).result()
    told = _of_command_line(os.environ)
    told |= {key: value for key, value in rows if value != _HIDDEN or key not in told}
    known = {f"{SETTING}{name}": name for name in (*names, *SECRETS)}
    found = {name: told[key] for key, name in known.items() if key in told}
    for name, value in found.items():
        if value == _HIDDEN and name not in SECRETS:  # those are refused in any case
            raise ParameterError(
                f"Spark hides {SETTING}{name}, since its name or value matches its "
                "spark.redaction.regex: give it another value, or the session another "
                "spark.redaction.regex, or use penstock pipeline run"
            )
    return found


def _of_command_line(environment: Mapping[str, str]) -> dict[str, str]:
    """Every `--conf` of spark-pipelines."""
    found: dict[str, str] = {}
    for number in range(int(environment.get(f"{_LAUNCHED}LEN", "0"))):
        found |= json.loads(environment[f"{_LAUNCHED}{number}"])
    return found
