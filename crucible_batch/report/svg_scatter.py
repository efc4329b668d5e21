"""Geometry of the square charts: baseline against candidate, confidence against accuracy."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from crucible_batch.report.model import BinRow, HeadToHead
from crucible_batch.report.svg import Plot, Tick, points, short, with_ticks


class Blob(NamedTuple):
    """Marks of one look: path data of points, drawn with round ends."""

    d: str
    size: float
    tone: str


@dataclass(frozen=True)
class Scatter:
    """Baseline against candidate, or confidence against accuracy."""

    plot: Plot
    blobs: tuple[Blob, ...]


def scatter(chart: HeadToHead) -> Scatter:
    """Lay out items by baseline and candidate; items at one place make one larger mark."""
    span = (chart.low, chart.high if chart.high > chart.low else chart.low + 1.0)
    plot = _square(span)
    held = Counter((plot.x(pair.baseline), plot.y(pair.candidate)) for pair in chart.pairs)
    tones: dict[tuple[float, float], str] = {}
    for pair in chart.pairs:
        sign = (pair.candidate > pair.baseline) - (pair.candidate < pair.baseline)
        if chart.higher_is_better is False:
            sign = -sign
        tone = {1: "good", 0: "muted", -1: "bad"}[sign]
        tones[plot.x(pair.baseline), plot.y(pair.candidate)] = (
            "muted" if chart.higher_is_better is None else tone
        )
    return Scatter(plot, _blobs([(place, n, tones[place]) for place, n in held.items()]))


def reliability(rows: Sequence[BinRow]) -> Scatter:
    """Lay out bins by mean confidence and accuracy as marks of their size, the run's in violet."""
    plot = _square((0.0, 1.0))
    marks = [
        (
            (plot.x(one.confidence.value or 0.0), plot.y(one.accuracy.value or 0.0)),
            one.n,
            "muted" if side else "run",
        )
        for row in rows
        for side, one in enumerate(row.sides)
        if one is not None
    ]
    return Scatter(plot, _blobs(marks))


def _blobs(marks: Iterable[tuple[tuple[float, float], int, str]]) -> tuple[Blob, ...]:
    """Marks grouped by look; the area of a mark grows with what it stands for, up to a limit."""
    groups: dict[tuple[float, str], list[tuple[float, float]]] = {}
    for place, n, tone in marks:
        size = min(24.0, 5.0 + 3.0 * round(math.sqrt(n) - 1))
        groups.setdefault((size, tone), []).append(place)
    # Large marks first, so that none hides a small one.
    ordered = sorted(groups.items(), key=lambda group: (-group[0][0], group[0][1]))
    return tuple(Blob(points(sorted(places)), size, tone) for (size, tone), places in ordered)


def _square(span: tuple[float, float]) -> Plot:
    plot = Plot(340, 340, 52, 12, 326, 286, span, span)
    low, high = span
    values = [low + (high - low) * k / 4 for k in range(5)]
    x_ticks = tuple(Tick(plot.x(value), short(value)) for value in values)
    y_ticks = tuple(Tick(plot.y(value), short(value)) for value in values)
    return with_ticks(plot, x_ticks, y_ticks)
