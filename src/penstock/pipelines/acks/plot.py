"""Latency and redeliveries of consumers over time, as a picture.

The slowest consumers and their latest windows: more than a few lines are not told apart. matplotlib
draws without a display and without state of its own (`Figure`, not `pyplot`).
"""

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it

CONSUMERS_MAX = 6
WINDOWS_MAX = 2000  # of all consumers together

Lines = dict[tuple[str, str], list[Row]]


def draw(windows: DataFrame, slowest: Sequence[Row], slow_ms: float, path: Path) -> str:
    """Where the plot is, or why there is none."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 -- it may be missing
    except ImportError:
        return "none: pip install matplotlib"
    lines = _lines(windows, [(row.stream, row.consumer) for row in slowest[:CONSUMERS_MAX]])
    figure = Figure(figsize=(10, 6), layout="constrained")
    latency, redelivered = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    for (stream, consumer), rows in lines.items():
        times = [row.start for row in rows]
        (line,) = latency.plot(
            times, [row.p99_ms for row in rows], marker=".", label=f"{stream} {consumer}"
        )
        colour = line.get_color()
        latency.plot(times, [row.p50_ms for row in rows], color=colour, linestyle=":", marker=".")
        redelivered.plot(times, [row.redelivered for row in rows], color=colour, marker=".")
    latency.axhline(slow_ms, color="grey", linewidth=0.8, label="slow")
    latency.set(yscale="log", ylabel="ms (p99; p50 dotted)", title="acknowledgements")
    latency.legend(loc="upper left", fontsize="small")
    redelivered.set(ylabel="redelivered", ylim=(0, None))
    figure.autofmt_xdate()
    try:
        figure.savefig(path)
    except OSError as error:  # the tables are there all the same
        return f"none: {path.absolute()}: {error.strerror}"
    return str(path.absolute())


def _lines(windows: DataFrame, names: Sequence[tuple[str, str]]) -> Lines:
    lines: Lines = {name: [] for name in names}
    is_one = F.concat_ws("/", "stream", "consumer").isin([f"{one}/{two}" for one, two in names])
    latest = windows.where(is_one).orderBy(F.desc("start")).limit(WINDOWS_MAX).collect()
    for row in reversed(latest):
        lines[row.stream, row.consumer].append(row)
    return lines
