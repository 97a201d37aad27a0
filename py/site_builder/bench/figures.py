"""One line of the bench's table: two series of measurements and their ratios. Knows no browser."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from site_builder.paths import ROOT

PAGES = ROOT / "tests" / "bench"
"""The pages and scripts that measure."""


@dataclass(frozen=True)
class Figure:
    """Medians of both series, and the median, lowest and highest ratio of the pairs. `limit` is the most it may be."""

    name: str
    engine: str
    unit: str
    ours: float
    baseline: float
    ratio: float
    low: float
    high: float
    pairs: int
    limit: float | None = None


def figure_of(
    name: str, engine: str, unit: str, both: list[tuple[float, float]], limit: float | None
) -> Figure:
    """The line for pairs of (ours, baseline): `figure_of("ready", "Chromium", "ms", [(5.0, 10.0)], 0.3)` has ratio 0.5."""
    ratios = [a / b for a, b in both]
    mine, theirs = (statistics.median(values) for values in zip(*both, strict=True))
    return Figure(
        name,
        engine,
        unit,
        mine,
        theirs,
        statistics.median(ratios),
        min(ratios),
        max(ratios),
        len(both),
        limit,
    )
