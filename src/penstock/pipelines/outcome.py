"""What came of a run, for people and for programs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """A table, what is wrong in a few lines, and figures."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    is_right: bool = True
    problems: Sequence[str] = ()
    facts: dict[str, object] = field(default_factory=dict)

    def as_data(self) -> dict[str, Any]:
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        data = {"right": self.is_right, "rows": rows, "problems": list(self.problems)}
        return data | self.facts
