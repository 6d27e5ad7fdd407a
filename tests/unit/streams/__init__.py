"""Unit tests of streams."""
