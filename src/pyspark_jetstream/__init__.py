"""Streams as Spark tables: `spark.read.format("jetstream")`, and the same for streams and writes.

Spark finds this package by its name and registers `DefaultSource` itself; there is nothing to call.
"""

from pyspark_jetstream.source import JetStreamSource as DefaultSource

__all__ = ["DefaultSource"]
