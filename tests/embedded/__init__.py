"""Servers inside of the test's own process."""
