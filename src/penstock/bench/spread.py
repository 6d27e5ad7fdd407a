"""Samples of one figure, and those of two servers beside each other.

The speed of a machine drifts, so samples of two servers are taken in turns and compared as medians;
the ratio of each round by itself shows how far a single one might have been off.
"""

from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Spread:
    """The samples of one server for one figure."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.values)

    @property
    def least(self) -> float:
        return min(self.values)

    @property
    def most(self) -> float:
        return max(self.values)

    def as_data(self) -> dict[str, float]:
        return {"median": self.median, "min": self.least, "max": self.most}


@dataclass(frozen=True)
class Pair:
    """Both servers' samples of one figure; either may be missing."""

    ours: Spread | None
    theirs: Spread | None

    @property
    def ratio(self) -> float | None:
        """Median to median, ours : theirs."""
        if self.ours is None or self.theirs is None or not self.theirs.median:
            return None
        return self.ours.median / self.theirs.median

    @property
    def round_ratios(self) -> Spread | None:
        """Each round's own: what a reader with a single round might have seen."""
        if self.ours is None or self.theirs is None:
            return None
        pairs = zip(self.ours.values, self.theirs.values, strict=False)
        ratios = tuple(ours / theirs for ours, theirs in pairs if theirs)
        return Spread(ratios) if ratios else None
