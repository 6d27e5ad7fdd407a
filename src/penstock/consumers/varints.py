"""Numbers of seven bits a byte, as ledgers and the reference's files of consumers have them."""

_BITS_MAX = 70  # ten bytes: 64 bits fit


def read_number(data: bytes, at: int) -> tuple[int, int]:
    """The number at a place, and the place behind it. Raises IndexError where the data ends, and
    ValueError if there is no end to the number."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
        if shift >= _BITS_MAX:
            raise ValueError("a number is too large")


def signed(value: int) -> int:
    """The number that may be below zero, of which the lowest bit tells."""
    return value >> 1 ^ -(value & 1)
