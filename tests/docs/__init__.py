"""The documentation as a test: every example of it runs."""
