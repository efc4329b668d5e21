"""Geometry of the charts: numbers to coordinates and path data; the templates draw them.

Coordinates are rounded to a tenth of a pixel, so that the same model gives the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from crucible_batch.report import words
from crucible_batch.report.figures import Point, Tie
from crucible_batch.report.model import Compared, Curve

MOST_CIRCLES = 110
"""With more marks they are drawn as one path: a dot takes 10 bytes instead of 37."""

MOST_TITLES = 60
"""With more circles they carry no title: it takes twice the bytes of the circle itself."""

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
    """A row of a forest or league plot; places are None where there is no number."""

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


def curve_chart(curves: Sequence[Curve]) -> CurveChart:
    """Lay out the curves; the points of the run are marked, its baseline is a line."""
    highest = max(0.05, *(point.risk for curve in curves for point in curve.points))
    step = step_of(highest, 5)
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
    circles: tuple[Dot, ...] = ()
    if marked and few:
        titled = len(places) <= MOST_TITLES
        circles = tuple(
            Dot(x, y, _dot_title(point) if titled else "")
            for (x, y), point in zip(places, curve.points, strict=True)
        )
    return CurveLine(
        is_baseline=curve.is_baseline,
        # Many marks make the line themselves.
        line=path(places) if few or not marked else "",
        dots=circles,
        marks=dots(places) if marked and not few else "",
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
    step = step_of(high - low, 6)
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


def step_of(span: float, most: int) -> float:
    """The distance between ticks that makes about `most` of them over a span."""
    least = span / most
    return next((step for step in STEPS if step >= least), 0.0) or 10.0 ** math.ceil(
        math.log10(least)
    )


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


def dots(places: Sequence[tuple[float, float]]) -> str:
    """Path data of dots one after another: as `points`, in steps, which take fewer bytes."""
    if not places:
        return ""
    steps = (
        f"m{_step(x1 - x0)}{' ' if y1 >= y0 else ''}{_step(y1 - y0)}h0"
        for (x0, y0), (x1, y1) in pairwise(places)
    )
    (x, y), *_ = places
    return f"M{x:g} {y:g}h0" + "".join(steps)


def points(places: Iterable[tuple[float, float]]) -> str:
    """Path data of dots, which round ends make visible."""
    return "".join(f"M{x:g} {y:g}h0" for x, y in places)


def short(value: float) -> str:
    """A number with up to three decimals, without trailing zeros."""
    return words.minus(f"{value:.3f}".rstrip("0").rstrip(".")) or "0"
