"""Restore: an archive published to a stream, in order and exactly once."""
