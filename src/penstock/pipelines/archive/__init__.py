"""Archive: a stream as Parquet files by date, each message exactly once."""
