"""One night in one word: what the charts and the anchors say together, since when, and where.

Pure: charts of every cell (metric and slice) in, one verdict out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from crucible_batch.watch.charts import LAG1_WARNING, Point, chart

ALL = "all"


class Cell(NamedTuple):
    """A metric in a slice; in the whole set where both are `all`."""

    metric: str
    slice_by: str = ALL
    slice: str = ALL

    @property
    def is_whole(self) -> bool:
        """Whether it is of the whole set."""
        return self.slice_by == ALL


@dataclass(frozen=True, kw_only=True)
class Watched:
    """What is charted.

    Attributes:
        directions: Whether higher is better, by metric; metrics without a direction have no chart.
        headline: The metrics that decide the night's verdict, and have charts in slices too.
        judged: Metrics that rest on a judge.
    """

    directions: Mapping[str, bool]
    headline: Sequence[str]
    judged: Collection[str]


@dataclass(frozen=True, kw_only=True)
class NightVerdict:
    """What a night says.

    Attributes:
        verdict: ok, slide, drop, judge_changed, not_comparable or warming_up.
        cell: Metric and slice concerned.
        since: Place of the night since when, of a slide or drop.
    """

    verdict: str
    cell: Cell | None = None
    since: int | None = None


def chart_tonight(
    nights: Sequence[Mapping[Cell, float | None]], watched: Watched, *, baseline_nights: int
) -> dict[Cell, Point]:
    """Chart every cell of the last night.

    Args:
        nights: Comparable deltas by cell, one mapping per night since the pin, tonight's last.
        watched: What is charted.
        baseline_nights: Nights of the window.

    Returns:
        Where tonight stands on each chart, by cell in order.
    """
    cells = [
        cell
        for cell in sorted(nights[-1])
        if cell.metric in watched.directions and (cell.is_whole or cell.metric in watched.headline)
    ]
    return {
        cell: chart(
            [night.get(cell) for night in nights],
            higher_is_better=watched.directions[cell.metric],
            baseline_nights=baseline_nights,
        )[-1]
        for cell in cells
    }


def decide(
    points: Mapping[Cell, Point], watched: Watched, *, judge_moved: bool, judge_differs: bool
) -> NightVerdict:
    """Say in one word what the night says; the first that applies.

    A headline metric got worse: slide or drop; while the judge is in doubt, only one that does not
    rest on it. The judge moved, or is another one than the baseline's: judge_changed. No headline
    metric is comparable; all of them are warming up; ok.

    Args:
        points: Tonight's place on the charts; none where nothing is charted.
        watched: What is charted.
        judge_moved: What the anchors say.
        judge_differs: Judged metrics are not comparable, because the two runs have two judges.
    """
    whole = {cell: point for cell, point in points.items() if is_headline(cell, watched)}
    alarms = {cell: point for cell, point in whole.items() if point.is_alarm}
    judge_changed = judge_moved or judge_differs
    free = {cell: point for cell, point in alarms.items() if cell.metric not in watched.judged}
    if alarms and (free or not judge_changed):
        return _alarm(free if judge_changed else alarms, points)
    if judge_changed:
        return NightVerdict(verdict="judge_changed", cell=_worst(alarms) if alarms else None)
    comparable = [point for point in whole.values() if point.verdict != "not_comparable"]
    if not comparable:
        return NightVerdict(verdict="not_comparable")
    warm = any(point.verdict == "ok" for point in comparable)
    return NightVerdict(verdict="ok" if warm else "warming_up")


def is_headline(cell: Cell, watched: Watched) -> bool:
    """Whether a chart decides the night's verdict."""
    return cell.is_whole and cell.metric in watched.headline


def restless(points: Mapping[Cell, Point], watched: Watched) -> list[Cell]:
    """Headline metrics whose nights resemble the night before: their alarms are more frequent."""
    return [
        cell
        for cell, point in points.items()
        if is_headline(cell, watched)
        and point.center is not None
        and (point.center.lag1 or 0.0) > LAG1_WARNING
    ]


def _alarm(alarms: Mapping[Cell, Point], points: Mapping[Cell, Point]) -> NightVerdict:
    """The worst alarm, and the slice with an alarm of its own that is farther beyond its limit."""
    whole = _worst(alarms)
    slices = {
        cell: point
        for cell, point in points.items()
        if cell.metric == whole.metric
        and not cell.is_whole
        and point.is_alarm
        and point.excess > alarms[whole].excess
    }
    return NightVerdict(
        verdict=alarms[whole].verdict,
        cell=_worst(slices) if slices else whole,
        since=alarms[whole].since,
    )


def _worst(alarms: Mapping[Cell, Point]) -> Cell:
    """Drops before slides, then the farthest beyond its limit, then by name."""
    return min(
        alarms, key=lambda cell: (alarms[cell].verdict != "drop", -alarms[cell].excess, cell)
    )
