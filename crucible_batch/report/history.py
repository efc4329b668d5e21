"""Metrics night after night: deltas to the baseline, and the limits of their charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import polars as pl

from crucible_batch.report import words
from crucible_batch.report.facts import KPIS, Catalog, badge
from crucible_batch.report.figures import Badge, Figure
from crucible_batch.report.inputs import ReportInputs
from crucible_batch.report.lines import Row

CHARTED = (*KPIS, "mean_truthfulness")
"""The headline metrics, in the order of the page."""

MOST_NIGHTS = 40
"""Nights that are charted, the newest ones."""

TOLD_NIGHTS = 7
"""Nights whose numbers stand in a table."""

MOST_SLICES = 4
"""Slices in alarm that are listed, those that moved most."""

MARKS = {
    "ok": words.Mark("✓", "ok", "good"),
    "slide": words.Mark("↘", "slide", "bad"),
    "drop": words.Mark("▼", "drop", "bad"),
    "warming_up": words.Mark("…", "warming up", "muted"),
    "not_comparable": words.Mark("■", "not comparable", "warn"),
}
ALARMS = ("drop", "slide")


class Night(NamedTuple):
    """A night of one metric; null is not known yet, or not comparable."""

    place: int
    as_of: str
    delta: float | None
    ewma: float | None
    slide_limit: float | None
    drop_limit: float | None
    center: float | None
    verdict: str


@dataclass(frozen=True)
class Series:
    """The chart of a metric over all items; `place` of a night counts from 0 over all metrics."""

    metric: str
    title: str
    nights: tuple[Night, ...]


@dataclass(frozen=True)
class Standing:
    """Where a metric stands on its charts in the newest night; a slice only when in alarm."""

    title: str
    where: str
    delta: Figure
    ewma: Figure
    slide_limit: Figure
    drop_limit: Figure
    center: Figure
    sigma: Figure
    lag1: Figure
    n_baseline_nights: int
    verdict: Badge


@dataclass(frozen=True)
class NightCell:
    """The delta of a metric in a night, marked when its chart raised an alarm."""

    delta: Figure
    alarm: Badge | None


@dataclass(frozen=True)
class NightRow:
    """A night with a cell per charted metric."""

    as_of: str
    run_id: str
    cells: tuple[NightCell, ...]


@dataclass(frozen=True)
class History:
    """The nights since the baseline was pinned.

    Attributes:
        said: What the newest night says, in words; empty where nobody told.
        n_nights: Nights there are.
        nights: When each charted night was, oldest first.
        titles: Names of the charted metrics.
        series: A chart per metric.
        standings: The newest night, metric by metric; none while the window fills.
        rows: The newest nights, newest first.
        n_left_out: Further slices in alarm.
        never: Headline metrics that no night could compare.
    """

    said: tuple[str, ...]
    n_nights: int
    nights: tuple[str, ...]
    titles: tuple[str, ...]
    series: tuple[Series, ...]
    standings: tuple[Standing, ...]
    rows: tuple[NightRow, ...]
    n_left_out: int
    never: str


def history(inputs: ReportInputs, catalog: Catalog) -> History | None:
    """The charts of the headline metrics; None when no night is charted."""
    frame = inputs.nightly_metrics
    if frame.is_empty():
        return None
    instants = frame["as_of"].unique().sort().to_list()
    shown = instants[-MOST_NIGHTS:]
    charted = frame.filter(
        pl.col("slice_by") == "all", pl.col("as_of").is_in(shown), pl.col("metric").is_in(CHARTED)
    )
    nights = charted.sort("as_of", "candidate_run_id").rows(named=True)
    told = {row["metric"] for row in nights}
    measured = {row["metric"] for row in nights if row["delta"] is not None}
    metrics = [name for name in CHARTED if name in measured]
    newest = frame.filter(pl.col("as_of") == instants[-1])
    alarms = _slices_in_alarm(newest)
    standing = [
        *(row for name in metrics for row in nights if _is(row, name, instants[-1])),
        *alarms[:MOST_SLICES],
    ]
    return History(
        said=inputs.charts_said,
        n_nights=len(instants),
        nights=tuple(map(_day, shown)),
        titles=tuple(map(catalog.title, metrics)),
        series=tuple(_series(name, nights, shown, catalog) for name in metrics)
        if len(shown) > 1
        else (),
        standings=tuple(_standing(row, catalog) for row in standing if row["center"] is not None),
        rows=_rows(nights, shown[-TOLD_NIGHTS:], metrics),
        n_left_out=max(0, len(alarms) - MOST_SLICES),
        never=catalog.titles(name for name in CHARTED if name in told - measured),
    )


def _series(
    metric: str, nights: Sequence[Row], shown: Sequence[datetime], catalog: Catalog
) -> Series:
    return Series(
        metric,
        catalog.title(metric),
        tuple(
            Night(
                shown.index(row["as_of"]),
                _day(row["as_of"]),
                *(row[name] for name in Night._fields[2:]),
            )
            for row in nights
            if row["metric"] == metric
        ),
    )


def _slices_in_alarm(newest: pl.DataFrame) -> Sequence[Row]:
    """Slices in alarm, those that moved most first; one that is the whole set is not told again."""
    whole = newest.filter(pl.col("slice_by") == "all").select("metric", of_all="delta")
    found = newest.filter(pl.col("slice_by") != "all", pl.col("verdict").is_in(ALARMS))
    size = pl.col("delta").abs()
    ordered = (
        found.join(whole, on="metric", how="left")
        .filter(pl.col("delta").ne_missing(pl.col("of_all")))
        .sort(size, "metric", "slice_by", "slice", descending=[True, *[False] * 3])
    )
    return ordered.rows(named=True)


def _standing(row: Row, catalog: Catalog) -> Standing:
    is_whole = row["slice_by"] == "all"
    named = ("delta", "ewma", "slide_limit", "drop_limit", "center")
    return Standing(
        title=catalog.title(row["metric"]),
        where="" if is_whole else f"{row['slice_by']} = {row['slice']}",
        **{name: Figure(row[name], words.signed(row[name])) for name in named},
        sigma=Figure(row["sigma"], words.decimal(row["sigma"])),
        lag1=Figure(row["lag1"], words.signed(row["lag1"], 2)),
        n_baseline_nights=row["n_baseline_nights"],
        verdict=badge(MARKS[row["verdict"]]),
    )


def _rows(
    nights: Sequence[Row], told: Sequence[datetime], metrics: Sequence[str]
) -> tuple[NightRow, ...]:
    cells = {(row["as_of"], row["metric"]): row for row in nights}
    runs = {row["as_of"]: row["candidate_run_id"] for row in nights}
    return tuple(
        NightRow(
            f"{as_of:%Y-%m-%d %H:%M}",
            runs[as_of],
            tuple(_cell(cells.get((as_of, name))) for name in metrics),
        )
        for as_of in reversed(told)
        if as_of in runs
    )


def _cell(row: Row | None) -> NightCell:
    if row is None:
        return NightCell(Figure(None, words.DASH), None)
    alarm = badge(MARKS[row["verdict"]]) if row["verdict"] in ALARMS else None
    return NightCell(Figure(row["delta"], words.signed(row["delta"])), alarm)


def _is(row: Row, metric: str, as_of: datetime) -> bool:
    return bool(row["metric"] == metric and row["as_of"] == as_of)


def _day(as_of: datetime) -> str:
    return f"{as_of:%Y-%m-%d}"
