"""Geometry of a metric's nights: deltas as dots, the moving average, the limits of both charts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from crucible_batch.report import words
from crucible_batch.report.history import ALARMS, History, Night, Series
from crucible_batch.report.svg import STEPS, Plot, Tick, path, points, with_ticks

MOST_TICKS = 4
"""Marks of the vertical axis, beside its lower end."""


@dataclass(frozen=True)
class HistoryChart:
    """The nights of a metric; paths are empty where there is nothing to draw.

    Attributes:
        warming: Nights of the window, and those before it was full.
        usual: Nights on the charts without an alarm.
        alarms: Nights of an alarm.
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

    def dots(wanted: Callable[[str], bool]) -> str:
        found = [
            (plot.x(night.place), plot.y(night.delta))
            for night in series.nights
            if wanted(night.verdict) and night.delta is not None
        ]
        return points(found)

    def line(name: str) -> str:
        return _line(plot, ((night.place, getattr(night, name)) for night in series.nights))

    return HistoryChart(
        title=series.title,
        desc=_described(series.nights),
        plot=plot,
        warming=dots(lambda verdict: verdict == "warming_up"),
        usual=dots(lambda verdict: verdict == "ok"),
        alarms=dots(lambda verdict: verdict in ALARMS),
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
    step = next((step for step in STEPS if step >= (high - low) / MOST_TICKS), STEPS[-1])
    first, last = math.floor(low / step - 1e-9), math.ceil(high / step + 1e-9)
    plot = Plot(
        340, 168, 58, 10, 300, 132, (0.0, float(len(days) - 1)), (first * step, last * step)
    )
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
        path([(plot.x(place), plot.y(value)) for _, (place, value) in stretch])
        for _, stretch in stretches
    )


def _described(nights: Sequence[Night]) -> str:
    alarms = [night.as_of for night in nights if night.verdict in ALARMS]
    said = f"alarm on {words.listed(alarms)}" if alarms else "no alarm"
    return f"{words.count(len(nights), 'night')}, {said}; the numbers stand in the tables below."
