"""A measured figure, and how the figures are shown: one table."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Figure:
    """One row. `measured` is what was seen, `value` what is compared with `bound` (0: nothing)."""

    what: str
    measured: str
    value: float = 0.0
    bound: float = 0.0
    unit: str = ""

    @property
    def verdict(self) -> str:
        """Return True if the bound of the design is kept."""
        if not self.bound:
            return ""
        return "ok" if self.value <= self.bound else "MISSED"

    @property
    def row(self) -> tuple[str, str, str, str]:
        """Return the cells of the table."""
        bound = f"{self.bound:g} {self.unit}".strip() if self.bound else ""
        return (self.what, self.measured, bound, self.verdict)


def percentile(seconds: Sequence[float], share: float) -> float:
    """Return the value that `share` of all lie at or below; the largest of a few is their p99."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def spread(what: str, seconds: Sequence[float], bound_ms: float) -> Figure:
    """Show p50 and p99 of many measurements; the bound is for p99."""
    p50, p99 = statistics.median(seconds) * 1e3, percentile(seconds, 0.99) * 1e3
    return Figure(what, f"p50 {p50:.1f} ms, p99 {p99:.1f} ms", p99, bound_ms, "ms at p99")


def ratio(what: str, ours: Sequence[float], theirs: Sequence[float], bound: float) -> Figure:
    """Show the ratio of the medians of two things that took turns in the same run."""
    own, other = statistics.median(ours) * 1e3, statistics.median(theirs) * 1e3
    measured = f"{own / other:.2f} ({own:.1f} ms to {other:.1f} ms)"
    return Figure(what, measured, own / other, bound, "of the SDK's")


def table(figures: Sequence[Figure]) -> str:
    """Lay the figures out as one Markdown table."""
    rows = [("what", "measured", "bound", ""), *(figure.row for figure in figures)]
    widths = [max(3, *(len(row[at]) for row in rows)) for at in range(4)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    lines.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
    return "\n".join(lines)
