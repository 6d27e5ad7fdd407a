"""What clients are told when a store fails: what went wrong, but not where.

Paths are for whoever reads the server's log; the kernel's errors name them before the last colon,
Python's behind it.
"""

from penstock.model.api_errors import ApiError, Fault


def store_failed(failure: str) -> ApiError:
    return Fault.STREAM_STORE_FAILED.error(reason=reason_of(failure))


def reason_of(failure: str) -> str:
    """The failure without its path, in one line."""
    if failure.startswith("[Errno "):
        text = failure.partition("] ")[2].partition(": ")[0]
    else:
        text = failure.rpartition(": ")[2]
    return f"the store failed: {' '.join(text.split())}"
