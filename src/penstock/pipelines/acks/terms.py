"""What a look at acknowledgements is told: its parameters, read and checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.pipelines.catalog import ParameterError
from penstock.pipelines.durations import duration

PLOTS = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Terms:
    """Of one run."""

    stream: str
    subjects: str
    window: str
    slow_ms: float
    plot: Path | None


def terms_of(told: Mapping[str, str]) -> Terms:
    """Raises ParameterError."""
    return Terms(
        told["stream"],
        told["subjects"],
        duration("window", told["window"]),
        _milliseconds(told["slow"]),
        _file(told["plot"]),
    )


def _milliseconds(text: str) -> float:
    try:
        slow_ms = float(text)
    except ValueError:
        slow_ms = 0.0
    if not 0 < slow_ms < float("inf"):
        raise ParameterError(f"slow is {text!r}; allowed: milliseconds, more than 0")
    return slow_ms


def _file(text: str) -> Path | None:
    if text == "none":
        return None
    if Path(text).suffix not in PLOTS:
        raise ParameterError(f"plot is {text!r}; allowed: a file ({', '.join(PLOTS)}), or none")
    return Path(text)
