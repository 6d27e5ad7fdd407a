"""Shared vocabulary: limits, errors, versions."""
