"""Consumers: whether one may exist, and how it is configured."""
