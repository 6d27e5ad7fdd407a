"""The samples as a table for people and as JSON for later."""

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.measure import Metric, Row, Series, Target
from penstock.bench.spread import Spread

HEADINGS = ("", "penstock", "reference", "ratio", "rounds", "target")


def _rate(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:.2f} M/s"
    return f"{value / 1e3:.1f} k/s"


UNITS: dict[str, Callable[[float], str]] = {
    "per second": _rate,
    "us": lambda value: f"{value:.2f} us" if value < 10 else f"{value:.0f} us",
    "B": lambda value: f"{value:,.0f} B",
    "kB": lambda value: f"{value:,.1f} kB" if value < 1000 else f"{value:,.0f} kB",
    "share": lambda value: f"{value:.2f}",
    "s": lambda value: f"{value:.2f} s",
    "yes": lambda value: "yes" if value == 1 else "no" if value == 0 else f"{value:.1f}",
}


def _cell(metric: Metric, spread: Spread | None) -> str:
    if spread is None:
        return "-"
    show = UNITS[metric.unit]
    least, middle, most = show(spread.least), show(spread.median), show(spread.most)
    return middle if least == most else f"{middle} ({least} - {most})"


def _target(target: Target | None, metric: Metric, verdict: bool | None) -> str:
    if target is None:
        return ""
    outcome = "not judged" if verdict is None else "met" if verdict else "MISSED"
    if target.of == "ratio":
        return f"ratio {target.bound} {target.value:g}: {outcome}"
    if metric.unit == "yes":
        return f"in every round: {outcome}"
    return f"{target.bound} {UNITS[metric.unit](target.value)}: {outcome}"


def _line(row: Row) -> tuple[str, ...]:
    rounds = row.round_ratios
    spread = f"{rounds.least:.2f} - {rounds.most:.2f}" if rounds else ""
    compares = row.metric.unit != "yes" and row.ratio is not None
    return (
        row.metric.label,
        _cell(row.metric, row.ours),
        _cell(row.metric, row.theirs),
        f"{row.ratio:.2f}" if compares else "",
        spread if compares else "",
        _target(row.metric.target, row.metric, row.verdict),
    )


def table(all_series: Sequence[Series]) -> str:
    """One block for each benchmark; median (smallest - largest) for each server."""
    blocks = [(series, [_line(row) for row in series.rows()]) for series in all_series]
    lines = [HEADINGS, *(line for _, block in blocks for line in block)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]

    def laid_out(line: tuple[str, ...]) -> str:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        return "  ".join(cells).rstrip()

    text = [laid_out(HEADINGS)]
    for series, block in blocks:
        text += ["", f"{series.benchmark.name}: {series.benchmark.title}"]
        text += [laid_out(line) for line in block]
        text += [f"  could not measure: {fault}" for fault in series.faults]
    return "\n".join(text)


def _figures(spread: Spread | None) -> dict[str, float] | None:
    return None if spread is None else spread.as_data()


def as_json(series: Series) -> dict[str, Any]:
    metrics = {
        row.metric.key: {
            "label": row.metric.label,
            "unit": row.metric.unit,
            "penstock": _figures(row.ours),
            "reference": _figures(row.theirs),
            "ratio": row.ratio,
            "ratio_of_rounds": _figures(row.round_ratios),
            "target": _target(row.metric.target, row.metric, row.verdict) or None,
            "met": row.verdict,
        }
        for row in series.rows()
    }
    return {
        "title": series.benchmark.title,
        "metrics": metrics,
        "samples": series.samples,
        "faults": series.faults,
    }
