"""Lengths of time, as parameters have them and Spark reads them: `30 seconds`."""

import re

from penstock.pipelines.catalog import ParameterError

_DURATION = re.compile(r"(\d{1,9}) (?:second|minute|hour|day|week)s?")


def duration(name: str, text: str, *, least: int = 1) -> str:
    """The text. Raises ParameterError."""
    match = _DURATION.fullmatch(text)
    if match is None or int(match[1]) < least:
        raise ParameterError(f"{name} is {text!r}; allowed: a time such as 30 seconds, 5 minutes")
    return text
