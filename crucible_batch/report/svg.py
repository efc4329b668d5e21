"""Geometry of the charts: numbers to coordinates and path data; the templates draw them.

Coordinates are rounded to a tenth of a pixel, so that the same model gives the same bytes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from crucible_batch.report import words
from crucible_batch.report.figures import Point, Tie
from crucible_batch.report.model import BinRow, Compared, Curve, HeadToHead

MOST_CIRCLES = 60
"""With more marks they are drawn as one path, without titles: a dot takes 13 bytes, not 110."""

STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0)
"""Distances between ticks that people count in."""


class Tick(NamedTuple):
    """A mark of an axis."""

    at: float
    text: str


class Dot(NamedTuple):
    """A mark of the curve with what it says on hovering."""

    x: float
    y: float
    title: str


class Blob(NamedTuple):
    """Marks of one look: path data of points, drawn with round ends."""

    d: str
    size: float
    tone: str


@dataclass(frozen=True)
class Plot:
    """A plotting area with two linear scales."""

    width: int
    height: int
    left: int
    top: int
    right: int
    bottom: int
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    x_ticks: tuple[Tick, ...] = ()
    y_ticks: tuple[Tick, ...] = ()

    def x(self, value: float) -> float:
        """Horizontal place of a value."""
        low, high = self.x_range
        return round(self.left + (value - low) / (high - low) * (self.right - self.left), 1)

    def y(self, value: float) -> float:
        """Vertical place of a value; larger is higher."""
        low, high = self.y_range
        return round(self.bottom - (value - low) / (high - low) * (self.bottom - self.top), 1)


@dataclass(frozen=True)
class CurveLine:
    """One run's curve: its line, its marks (dots or one path), and bars that show ties."""

    is_baseline: bool
    line: str
    dots: tuple[Dot, ...]
    marks: str
    ties: str


@dataclass(frozen=True)
class CurveChart:
    """Risk over coverage."""

    plot: Plot
    lines: tuple[CurveLine, ...]


@dataclass(frozen=True)
class Whisker:
    """A row of the forest plot; places are None where there is no number."""

    title: str
    y: float
    low: float | None
    high: float | None
    at: float | None
    text: str
    tone: str
    glyph: str
    is_dim: bool


@dataclass(frozen=True)
class Forest:
    """Deltas with intervals on one axis."""

    plot: Plot
    zero: float
    rows: tuple[Whisker, ...]


@dataclass(frozen=True)
class Scatter:
    """Baseline against candidate, or confidence against accuracy."""

    plot: Plot
    blobs: tuple[Blob, ...]


def curve_chart(curves: Sequence[Curve]) -> CurveChart:
    """Lay out the curves; the points of the run are marked, its baseline is a line."""
    highest = max(0.05, *(point.risk for curve in curves for point in curve.points))
    step = next(step for step in STEPS if step >= highest / 5)
    top = step * math.ceil(highest / step - 1e-9)
    plot = Plot(640, 306, 56, 12, 616, 250, (0.0, 1.0), (0.0, top))
    x_ticks = tuple(Tick(plot.x(k / 5), words.percent(k / 5)) for k in range(6))
    n_ticks = round(top / step)
    y_ticks = tuple(Tick(plot.y(k * step), short(k * step)) for k in range(n_ticks + 1))
    lines = tuple(_curve_line(plot, curve) for curve in curves)
    return CurveChart(with_ticks(plot, x_ticks, y_ticks), lines)


def _curve_line(plot: Plot, curve: Curve) -> CurveLine:
    marked = not curve.is_baseline
    places = [(plot.x(point.coverage), plot.y(point.risk)) for point in curve.points]
    few = len(places) <= MOST_CIRCLES
    dots: tuple[Dot, ...] = ()
    if marked and few:
        dots = tuple(
            Dot(x, y, _dot_title(point)) for (x, y), point in zip(places, curve.points, strict=True)
        )
    return CurveLine(
        is_baseline=curve.is_baseline,
        line=path(places),
        dots=dots,
        marks=points(places) if marked and not few else "",
        ties="".join(_tie_bar(plot, tie, curve.n_pairs) for tie in curve.ties) if marked else "",
    )


def _dot_title(point: Point) -> str:
    confidence, risk = short(point.confidence), words.decimal(point.risk)
    return f"{point.item_id}: confidence {confidence}, risk {risk}"


def _tie_bar(plot: Plot, tie: Tie, n: int) -> str:
    """A bar under the axis, over the coverage that results of one confidence take up."""
    start, end = plot.x((tie.first - 1) / n), plot.x(tie.last / n)
    # A pixel is left free, so that neighbouring blocks stay apart.
    return f"M{start:g} {plot.bottom + 6}h{max(end - start - 1, 0.6):g}"


def forest(rows: Sequence[Compared]) -> Forest:
    """Lay out the deltas of `rows` over one axis that holds every interval and zero."""
    ends = [
        end for row in rows for end in (row.ci_low, row.ci_high, row.delta.value) if end is not None
    ]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    step = next((step for step in STEPS if step >= (high - low) / 6), STEPS[-1])
    first, last = math.floor(low / step - 1e-9), math.ceil(high / step + 1e-9)
    bottom = 10 + 30 * len(rows)
    plot = Plot(740, bottom + 52, 168, 8, 520, bottom, (first * step, last * step), (0.0, 1.0))
    ticks = tuple(
        Tick(plot.x(k * step), words.signed(k * step, 2 if step >= 0.01 else 3))
        for k in range(first, last + 1)
    )
    whiskers = tuple(_whisker(plot, row, 24.0 + 30 * k) for k, row in enumerate(rows))
    return Forest(with_ticks(plot, ticks, ()), plot.x(0.0), whiskers)


def _whisker(plot: Plot, row: Compared, y: float) -> Whisker:
    low, high, at = (
        None if value is None else plot.x(value)
        for value in (row.ci_low, row.ci_high, row.delta.value)
    )
    text = f"{row.delta.text} {row.interval}" if row.ci_low is not None else row.delta.text
    return Whisker(
        title=row.title,
        y=y,
        low=low,
        high=high,
        at=at,
        text=text,
        tone=row.verdict.tone,
        glyph=row.verdict.glyph,
        is_dim=row.is_dim,
    )


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


def with_ticks(plot: Plot, x_ticks: tuple[Tick, ...], y_ticks: tuple[Tick, ...]) -> Plot:
    """The same area with marks on its axes."""
    return Plot(**{**vars(plot), "x_ticks": x_ticks, "y_ticks": y_ticks})


def path(places: Sequence[tuple[float, float]]) -> str:
    """Path data of a line; it starts with a dot, so that a single point is seen.

    Steps are relative, which takes a third fewer bytes; places lie on a grid of a tenth, so they
    do not drift.
    """
    (x, y), *_ = places
    steps = (
        f"l{_step(x1 - x0)}{' ' if y1 >= y0 else ''}{_step(y1 - y0)}"
        for (x0, y0), (x1, y1) in pairwise(places)
    )
    return f"M{x:g} {y:g}h0" + "".join(steps)


def _step(value: float) -> str:
    return f"{round(value, 1) + 0.0:g}"


def points(places: Iterable[tuple[float, float]]) -> str:
    """Path data of dots, which round ends make visible."""
    return "".join(f"M{x:g} {y:g}h0" for x, y in places)


def short(value: float) -> str:
    """A number with up to three decimals, without trailing zeros."""
    return words.minus(f"{value:.3f}".rstrip("0").rstrip(".")) or "0"
