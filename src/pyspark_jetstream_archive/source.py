"""The data source that Spark knows as "jetstream_archive": streaming reads and writes of archives.

Options of writes: `path`, `session`, `failOnDataLoss` (of the read that rows come from). Options
of reads: `path`, `subjects`, `from`, `to`, `maxOffsetsPerTrigger`, and `increments`: whether the
column `incr` has what to add to counters.
"""

from pathlib import Path

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, DataSourceStreamWriter
from pyspark.sql.types import StringType, StructType

from pyspark_jetstream.rows import row_type
from pyspark_jetstream_archive.folder import Archive, ArchiveError

FORMAT = "jetstream_archive"


class ArchiveSource(DataSource):
    """`format("jetstream_archive")`."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        return row_type(with_headers=True).add("incr", StringType())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from pyspark_jetstream_archive.reader import ArchiveReader
        from pyspark_jetstream_archive.selection import selection_of

        if schema != self.schema():
            raise ArchiveError("an archive is read with all of its columns: drop .schema()")
        options, stream = self.options, Archive(self._path).head.stream
        chosen = {name: options.get(name, "") for name in ("subjects", "from", "to")}
        return ArchiveReader(
            self._path,
            selection_of(chosen, stream),
            int(options.get("maxOffsetsPerTrigger", "0")),
            options.get("increments", "false") == "true",
        )

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from pyspark_jetstream_archive.writer import COLUMNS, begin

        if schema.fieldNames() != [*COLUMNS]:
            raise ArchiveError(f"an archive has the columns {', '.join(COLUMNS)}")
        if overwrite:
            raise ArchiveError("an archive is only added to: use the output mode append")
        is_lossless = self.options.get("failOnDataLoss", "true") == "true"
        session = self.options.get("session", "")
        writer: DataSourceStreamWriter = begin(self._path, session, is_lossless)
        return writer

    @property
    def _path(self) -> Path:
        if not self.options.get("path"):
            raise ArchiveError("option path is missing; allowed: the folder of an archive")
        return Path(self.options["path"])
