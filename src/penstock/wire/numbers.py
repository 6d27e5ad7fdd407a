"""The one checked parser for numbers from the wire: `int()` takes signs, blanks, underscores and
digits of other scripts, and stops at 4,300 digits."""

_DIGITS_MAX = 9  # as the kernel, and as the reference


def parse_size(text: bytes) -> int | None:
    """One to nine ASCII digits, or None."""
    if not 0 < len(text) <= _DIGITS_MAX or not text.isdigit():
        return None
    return int(text)
