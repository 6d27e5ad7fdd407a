"""Whole numbers of any length as text, and back.

Python's own conversions give up at 4,300 digits, and a counter may have more: those are taken in
halves, each within that limit.
"""

from operator import index

_DIGITS_MAX = 4000  # of one conversion; 4,300 is Python's limit as it comes
_BITS_PER_DIGIT = 3.3219


def number(text: str) -> int:
    """The number in a counter's message; ValueError if there is none."""
    if len(text) <= _DIGITS_MAX:
        return int(text)
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"not a whole number: {text[:50]}...")
    return sign * _joined(digits)


def signed(value: int) -> str:
    """A number as `Nats-Incr` wants it: with its sign, whatever it is."""
    value = index(value)
    length = int(value.bit_length() / _BITS_PER_DIGIT) + 1
    if length <= _DIGITS_MAX:
        return f"{value:+d}"
    digits = _split(abs(value), length).lstrip("0")
    return f"{'-' if value < 0 else '+'}{digits}"


def _joined(digits: str) -> int:
    if len(digits) <= _DIGITS_MAX:
        return int(digits)
    half = len(digits) // 2
    return _joined(digits[:-half]) * int(10**half) + _joined(digits[-half:])


def _split(value: int, length: int) -> str:
    """A number's digits, with zeros in front up to a length that it does not exceed."""
    if length <= _DIGITS_MAX:
        return str(value).zfill(length)
    half = length // 2
    front, back = divmod(value, 10**half)
    return _split(front, length - half) + _split(back, half)
