"""What can go wrong with a run, in one line."""

import re

_RAISED = re.compile(r"^(?:[\w.]+\.)?(\w+(?:Error|Exception)): (.+)$", re.MULTILINE)


class RunError(Exception):
    """Spark does not start, or a run has failed; the reason in one line."""


def reason(error: Exception) -> str:
    """Spark's pages in one line: what the innermost Python has raised, or their first line."""
    text = str(error).strip()
    raised = _RAISED.findall(text)
    if raised:
        return str(raised[-1][1])
    return text.splitlines()[0] if text else type(error).__name__
