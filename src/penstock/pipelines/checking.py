"""Whether parameters can be what they are, before a Spark is there to say so.

What each pipeline makes of its own is in its `terms.py`. Parameters that become options of Spark's
reads and writes have one meaning in all pipelines, and are checked as those check them. How a
server is reached is left out: files of credentials may be where Spark is, and not here. Nothing is
asked of a server or looked for in a folder.
"""

from collections.abc import Callable, Mapping

from penstock.pipelines.acks.terms import terms_of as acks
from penstock.pipelines.archive.terms import folder
from penstock.pipelines.catalog import ParameterError, Pipeline
from penstock.pipelines.restore.terms import terms_of as restore
from penstock.pipelines.rollup.terms import terms_of as rollup
from penstock.pipelines.tables.terms import terms_of as tables
from pyspark_jetstream.option_values import OptionError, at_least, flag, subjects
from pyspark_jetstream_archive.folder import ArchiveError

Told = Mapping[str, str]
Check = Callable[[Told], object]

_TERMS: Mapping[str, Check] = {
    "acks": acks,
    "archive": lambda told: folder(told["path"]),
    "restore": restore,
    "rollup": rollup,
    "tables": tables,
}
_OPTIONS: Mapping[str, Check] = {
    "failOnDataLoss": lambda told: flag(told, "failOnDataLoss", default=True),
    "maxBytesPerTrigger": lambda told: at_least(told, "maxBytesPerTrigger", 1, default=1),
    "maxOffsetsPerTrigger": lambda told: at_least(told, "maxOffsetsPerTrigger", 1, default=1),
    "subjects": lambda told: subjects(told, "subjects"),
}


def check(pipeline: Pipeline, told: Told) -> None:
    """Every parameter is there, with its value or its default. Raises ParameterError."""
    try:
        if pipeline.name in _TERMS:
            _TERMS[pipeline.name](told)
        for name in told.keys() & _OPTIONS.keys():
            _OPTIONS[name](told)
    except OptionError as error:
        raise ParameterError(str(error).removeprefix("option ")) from None
    except ArchiveError as error:
        raise ParameterError(str(error)) from None
