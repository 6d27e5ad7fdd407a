"""The data source that Spark knows as "jetstream": who reads, who writes, and what a row is.

Spark makes one of these for every `load` and `save`, in a Python worker, and asks it for its schema
before it plans anything. So whatever can be said about wrong options is said here, before a job.
"""

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from pyspark_jetstream.options import check, is_with_headers, read_options, stream_read_options
from pyspark_jetstream.rows import row_type


class JetStreamSource(DataSource):
    """`format("jetstream")`."""

    @classmethod
    def name(cls) -> str:
        return "jetstream"

    def schema(self) -> StructType:
        check(self.options)
        return row_type(is_with_headers(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        from pyspark_jetstream.batch_reader import batch_reader

        return batch_reader(read_options(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from pyspark_jetstream.stream_reader import RefusingReader, StreamReader

        try:
            return StreamReader(stream_read_options(self.options), schema)
        except ValueError as refusal:
            return RefusingReader(refusal)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from pyspark_jetstream.sink import batch_writer

        writer: DataSourceWriter = batch_writer(self.options, schema, overwrite)
        return writer

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from pyspark_jetstream.sink import stream_writer

        writer: DataSourceStreamWriter = stream_writer(self.options, schema, overwrite)
        return writer
