"""Archives of streams: folders of Parquet files that Spark writes and reads exactly once.

Spark finds this package by its name and registers `DefaultSource` itself, as it does with
`pyspark_jetstream`. A source that a session registers would do for any other query, but a run of a
declarative pipeline in Spark 4.3 stumbles over what such a source reports (UNKNOWN_RESPONSE).
"""

from pyspark_jetstream_archive.source import ArchiveSource as DefaultSource

__all__ = ["DefaultSource"]
