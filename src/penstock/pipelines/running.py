"""Runs a pipeline in a Spark session, as `spark-pipelines run` does, and tells how far it is.

Any number of pipelines can run in a session, one after the other. A run is the spec's definitions,
registered as a graph with Spark, and Spark's own events until it is done.
"""

import contextlib
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pyspark.pipelines import cli
from pyspark.pipelines.spark_connect_graph_element_registry import SparkConnectGraphElementRegistry
from pyspark.pipelines.spark_connect_pipeline import create_dataflow_graph, start_run
from pyspark.sql import SparkSession

from penstock.pipelines.catalog import Pipeline
from penstock.pipelines.errors import RunError, reason
from penstock.pipelines.settings import given

_COMPLETED = re.compile(r"Flow .* has COMPLETED")

Told = Callable[[str], None]
"""Called with every event of Spark."""


def run(
    spark: SparkSession,
    pipeline: Pipeline,
    values: Mapping[str, str],
    storage: str,
    told: Told,
) -> None:
    """Runs it to the end. Raises RunError."""
    spec = replace(cli.load_pipeline_spec(pipeline.spec), storage=storage)
    try:
        graph = create_dataflow_graph(spark, spec.catalog, spec.database, dict(spec.configuration))
        registry = SparkConnectGraphElementRegistry(spark, graph)
        # It tells which files it loads.
        with given(values), contextlib.redirect_stdout(io.StringIO()):
            cli.register_definitions(pipeline.spec, registry, spec, spark, graph)
        for event in start_run(spark, graph, [], False, [], False, spec.storage):
            _tell(event, told)
    except Exception as error:  # of Spark, of a server, of the definitions
        raise RunError(reason(error)) from error


def _tell(result: Mapping[str, Any], told: Told) -> None:
    if "pipeline_event_result" in result:
        told(result["pipeline_event_result"].event.message)


def is_completed(event: str) -> bool:
    """Whether a table is done."""
    return _COMPLETED.search(event) is not None
