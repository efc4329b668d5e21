"""Geometry of a metric's nights: deltas as dots, the moving average, the limits of both charts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from crucible_batch.report import words
from crucible_batch.report.history import ALARMS, History, Night, Series
from crucible_batch.report.svg import Plot, Tick, dots, path, points, step_of, with_ticks

LEFT, WIDTH = 52, 216
"""Where the nights begin, and the pixels they have."""

MOST_TICKS = 2
"""Marks of the vertical axis, beside its lower end."""


@dataclass(frozen=True)
class HistoryChart:
    """The nights of a metric; paths are empty where there is nothing to draw.

    Attributes:
        warming: Nights of the window, and those before it was full.
        usual: Nights on the charts without an alarm.
        alarms: Nights of an alarm, as triangles.
        gaps: Nights that are not comparable, on the axis.
        ewma: The moving average.
        center: Mean of the window.
        slide: Limit of the moving average.
        drop: Limit of a single night.
        zero: Where the baseline is; None when it lies outside.
    """

    title: str
    desc: str
    plot: Plot
    warming: str
    usual: str
    alarms: str
    gaps: str
    ewma: str
    center: str
    slide: str
    drop: str
    zero: float | None


def history_charts(history: History) -> tuple[HistoryChart, ...]:
    """Lay out every series over the same nights."""
    return tuple(_chart(series, history.nights) for series in history.series)


def _chart(series: Series, nights: Sequence[str]) -> HistoryChart:
    plot = _plot(series.nights, nights)
    low, high = plot.y_range

    def places(wanted: Callable[[str], bool]) -> list[tuple[float, float]]:
        return [
            _place(plot, night.place, night.delta)
            for night in series.nights
            if wanted(night.verdict) and night.delta is not None
        ]

    def line(name: str) -> str:
        return _line(plot, ((night.place, getattr(night, name)) for night in series.nights))

    return HistoryChart(
        title=series.title,
        desc=_described(series.nights),
        plot=plot,
        warming=dots(places(lambda verdict: verdict == "warming_up")),
        usual=dots(places(lambda verdict: verdict == "ok")),
        alarms="".join(map(_triangle, places(lambda verdict: verdict in ALARMS))),
        gaps=points(
            (plot.x(night.place), plot.bottom)
            for night in series.nights
            if night.verdict == "not_comparable"
        ),
        ewma=line("ewma"),
        center=line("center"),
        slide=line("slide_limit"),
        drop=line("drop_limit"),
        zero=plot.y(0.0) if low <= 0 <= high else None,
    )


def _plot(nights: Sequence[Night], days: Sequence[str]) -> Plot:
    """The area: as many nights as the report has, as high as the highest number of this metric."""
    known = [
        value
        for night in nights
        for value in (night.delta, night.ewma, night.slide_limit, night.drop_limit, night.center)
        if value is not None
    ]
    low, high = min([0.0, *known]), max([0.0, *known])
    step = step_of(high - low, MOST_TICKS)
    first, last = math.floor(low / step - 1e-9), math.ceil(high / step + 1e-9)
    # Whole pixels from night to night, so that nights stand evenly.
    right = LEFT + WIDTH // (len(days) - 1) * (len(days) - 1)
    nights_span, span = (0.0, float(len(days) - 1)), (first * step, last * step)
    plot = Plot(304, 158, LEFT, 8, right, 122, nights_span, span)
    # A day is as wide as the whole tick: the two ends are enough to count from.
    ends = (Tick(plot.x(0), days[0]), Tick(plot.x(len(days) - 1), days[-1]))
    shown = 2 if step >= 0.01 else 3
    ticks = (Tick(plot.y(k * step), words.signed(k * step, shown)) for k in range(first, last + 1))
    return with_ticks(plot, ends, tuple(ticks))


def _line(plot: Plot, places: Iterable[tuple[int, float | None]]) -> str:
    """A line through what is known, broken where nights are missing."""
    known = [(place, value) for place, value in places if value is not None]
    stretches = groupby(enumerate(known), key=lambda pair: pair[1][0] - pair[0])
    return "".join(
        path(_bends([_place(plot, night, value) for _, (night, value) in stretch]))
        for _, stretch in stretches
    )


def _place(plot: Plot, night: int, value: float) -> tuple[float, float]:
    """Whole pixels, which take half the bytes; the tables have the numbers."""
    return plot.x(night), float(round(plot.y(value)))


def _bends(places: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """The same line without places in the middle of a level stretch."""
    inner = [
        here
        for before, here, after in zip(places, places[1:], places[2:], strict=False)
        if not before[1] == here[1] == after[1]
    ]
    return [places[0], *inner, *places[1:][-1:]]


def _triangle(place: tuple[float, float]) -> str:
    """A mark that points down, its middle at the place."""
    x, y = place
    return f"M{x - 5:g} {y - 4:g}h10l-5 9z"


def _described(nights: Sequence[Night]) -> str:
    alarms = [night.as_of for night in nights if night.verdict in ALARMS]
    said = f"alarm on {words.listed(alarms)}" if alarms else "no alarm"
    return f"{words.count(len(nights), 'night')}, {said}"
