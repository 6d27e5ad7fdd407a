"""What can go wrong with a measurement."""


class BenchError(Exception):
    """Something could not be measured: a server did not start, or did not do what it must."""
