"""Rollup: windowed aggregates of a stream, written back exactly once."""
