"""Moments as the API writes them: RFC 3339 text, to the nanosecond.

Python's datetime stops at microseconds, so a moment is kept as its text in one canonical form
(fraction without trailing zeros, Z for an offset of zero; that is how the reference echoes it),
and turned into nanoseconds since 1970 where it is compared.
"""

import datetime
import functools
import re

_MOMENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)
_EPOCH_DAYS = datetime.date(1970, 1, 1).toordinal()


def canonical(text: str) -> str | None:
    """The same moment in the one form we keep, or None if the text is not a moment."""
    match = _MOMENT.fullmatch(text)
    if match is None or _unix_ns(match) is None:
        return None
    fraction = (match[7] or "")[:9].rstrip("0")
    offset = f"{match[8]}{match[9]}:{match[10]}" if match[8] else "+00:00"
    zone = "Z" if offset[1:] == "00:00" else offset
    return text[:19] + (f".{fraction}" if fraction else "") + zone


def unix_ns(moment: str) -> int:
    """Nanoseconds since 1970 of a canonical moment."""
    match = _MOMENT.fullmatch(moment)
    assert match is not None, moment
    nanoseconds = _unix_ns(match)
    assert nanoseconds is not None, moment
    return nanoseconds


def rfc3339(time_ns: int) -> str:
    """The canonical text of nanoseconds since 1970."""
    seconds, fraction_ns = divmod(time_ns, 1_000_000_000)
    fraction = f".{fraction_ns:09}".rstrip("0") if fraction_ns else ""
    return f"{_second(seconds)}{fraction}Z"


@functools.lru_cache(maxsize=1024)  # what is shown together has often happened together
def _second(seconds: int) -> str:
    days, seconds = divmod(seconds, 86_400)
    date = datetime.date.fromordinal(_EPOCH_DAYS + days).isoformat()
    return f"{date}T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _unix_ns(match: re.Match[str]) -> int | None:
    year, month, day, hour, minute, second = (int(match[group]) for group in range(1, 7))
    offset_hours, offset_minutes = int(match[9] or 0), int(match[10] or 0)
    if hour > 23 or minute > 59 or second > 59 or offset_hours > 23 or offset_minutes > 59:
        return None
    try:
        days = datetime.date(year, month, day).toordinal() - _EPOCH_DAYS
    except ValueError:
        return None
    offset_seconds = (offset_hours * 60 + offset_minutes) * 60 * (-1 if match[8] == "-" else 1)
    seconds = ((days * 24 + hour) * 60 + minute) * 60 + second - offset_seconds
    return seconds * 1_000_000_000 + int((match[7] or "")[:9].ljust(9, "0"))
