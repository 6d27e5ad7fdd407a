"""Consumers of streams on a running server."""
