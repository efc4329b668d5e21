"""What a night says, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from crucible_batch.assemble.anchors.standing import JudgeStanding
from crucible_batch.assemble.anchors.status import drift_words
from crucible_batch.assemble.nightly.night import Night
from crucible_batch.assemble.nightly.said import Said
from crucible_batch.assemble.nightly.series import Compared
from crucible_batch.report import words
from crucible_batch.store import pair_name
from crucible_batch.watch.charts import LAG1_WARNING, Point
from crucible_batch.watch.judge_drift import Drift
from crucible_batch.watch.night import Cell, NightVerdict, Watched, is_headline, restless

MOST_MOVED = 10
"""Items that are named when a metric got worse."""

Judges = Sequence[tuple[JudgeStanding, Drift]]
"""The judges that were asked about the anchors in a night, and where they stand."""


def moved(judges: Judges) -> list[tuple[JudgeStanding, Drift]]:
    """Judges that moved, by enough anchors or by their own word."""
    return [(s, d) for s, d in judges if d.alarm and (d.is_enough or d.new_models)]


def said_of_judges(judges: Judges) -> Said | None:
    """The line of a judge that moved, since the first night of its alarm."""
    for standing, drift in moved(judges):
        quiet_nights = [one.as_of for one in standing.drifts if not one.alarm]
        since = next(
            one.as_of
            for one in standing.drifts
            if one.alarm and (not quiet_nights or one.as_of > quiet_nights[-1])
        )
        return Said("judge_changed", since, why=f"{standing.judge}: {drift_words(drift)}")
    return None


def said(
    night: Night,
    verdict: NightVerdict,
    points: Mapping[Cell, Point],
    watched: Watched,
    series: Sequence[Compared],
    judges: Judges,
    *,
    baseline_nights: int,
) -> Said:
    """The verdict of a night with its place, date and reasons.

    Args:
        night: The night.
        verdict: What it says.
        points: Tonight's place on the charts.
        watched: What is charted.
        series: The nights since the pin, tonight's last.
        judges: The judges of the anchors.
        baseline_nights: Nights of a full window.
    """
    cell = verdict.cell
    where: dict[str, Any] = {} if cell is None else cell._asdict()
    if verdict.verdict == "judge_changed":
        told = said_of_judges(judges)
        told = told or Said("judge_changed", why="the two runs were judged by different judges")
        return told._replace(**where)
    if verdict.verdict == "warming_up":
        whole = [point for at, point in points.items() if is_headline(at, watched)]
        n_so_far = max(point.n_baseline_nights for point in whole)
        return Said("warming_up", why=f"{n_so_far}/{baseline_nights} comparable nights")
    if cell is None:
        return Said(verdict.verdict, why=", ".join(sorted(series[-1].reasons(watched))))
    since = None if verdict.since is None else series[verdict.since].as_of
    return Said(
        verdict.verdict,
        since,
        **where,
        why=_why(points[cell]),
        more=(_most_moved(night, series[-1], cell.metric), *_warnings(points, watched)),
    )


def _why(point: Point) -> str:
    if point.verdict == "drop":
        return f"delta {words.signed(point.delta)}, limit {words.signed(point.drop_limit)}"
    return f"moving average {words.signed(point.ewma)}, limit {words.signed(point.slide_limit)}"


def _most_moved(night: Night, tonight: Compared, metric: str) -> str:
    pair = pair_name(tonight.baseline, tonight.candidate)
    rows = pl.read_parquet(night.opened().layout.mart("comparison_items", pair), glob=False)
    named = rows.filter(pl.col("metric") == metric, pl.col("rank") <= MOST_MOVED).sort("rank")
    items = named.select("item_id", "delta").iter_rows()
    return f"moved most: {', '.join(f'{item} {words.signed(delta)}' for item, delta in items)}"


def _warnings(points: Mapping[Cell, Point], watched: Watched) -> list[str]:
    names = [cell.metric for cell in restless(points, watched)]
    if not names:
        return []
    return [
        f"nights resemble the night before (lag-1 autocorrelation above {LAG1_WARNING}): "
        f"{', '.join(names)}; false alarms of these are more frequent"
    ]
