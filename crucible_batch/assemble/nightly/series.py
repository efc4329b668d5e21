"""The series a night is charted in: the comparisons of the nights since the pin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from crucible_batch.assemble.baselines import PINNED
from crucible_batch.assemble.nightly import judging, steps
from crucible_batch.assemble.nightly.night import Night
from crucible_batch.metrics import catalog
from crucible_batch.metrics.plugins import plugin_metrics
from crucible_batch.settings import Settings
from crucible_batch.store import Snapshot, pair_name
from crucible_batch.watch.night import Cell, Watched, is_headline


@dataclass(frozen=True, kw_only=True)
class Compared:
    """The comparison of one night.

    Attributes:
        as_of: The night.
        baseline: Run compared with.
        candidate: Run of the night.
        rows: Its deltas by cell.
        blocked: Why they are not comparable, by cell; absent where they are.
    """

    as_of: datetime
    baseline: str
    candidate: str
    rows: Mapping[Cell, float | None]
    blocked: Mapping[Cell, str]

    def reasons(self, watched: Watched) -> set[str]:
        """Why headline metrics are not comparable."""
        return {why for cell, why in self.blocked.items() if is_headline(cell, watched)}

    @property
    def comparable(self) -> dict[Cell, float | None]:
        """Deltas that may be charted."""
        return {cell: None if cell in self.blocked else d for cell, d in self.rows.items()}


def what_is_watched(snapshot: Snapshot, settings: Settings) -> Watched:
    """The metrics with a direction, plugin metrics included."""
    declared = snapshot.read("plugin_metrics").drop("_commit").collect()
    known = catalog.for_ks(settings.scoring.ks)
    metrics = (*known, *plugin_metrics(declared.select("metric"), declared))
    return Watched(
        directions={m.name: m.better == "higher" for m in metrics if m.better != "none"},
        headline=[m.name for m in metrics if m.headline and m.better != "none"],
        judged={m.name for m in metrics if m.uses_judge},
    )


def series_of(night: Night, snapshot: Snapshot, baseline: str, candidate: str) -> list[Compared]:
    """The nights since the pin, tonight's last."""
    before = nights_since_the_pin(night, snapshot, baseline)
    runs = [*before.select("as_of", "candidate_run_id").iter_rows(), (night.as_of, candidate)]
    return [_compared(night, baseline, run, as_of) for as_of, run in runs]


def nights_since_the_pin(night: Night, snapshot: Snapshot, baseline: str) -> pl.DataFrame:
    """Earlier nights with this baseline and no other in between, written after its pin.

    When a pin was made is told by its commit, not by a clock: a backfill does nights long past.
    """
    nights = steps.nights_so_far(snapshot, night).filter(pl.col("as_of") < night.as_of)
    other = nights.filter(pl.col("baseline_run_id").ne_missing(baseline))["as_of"]
    if len(other):
        nights = nights.filter(pl.col("as_of") > other[-1])
    if night.config.baseline.startswith(PINNED):
        name = night.config.baseline.removeprefix(PINNED)
        pins = snapshot.read("baselines").filter(pl.col("name") == name)
        last = pins.sort("seq").collect()["_commit"][-1]
        nights = nights.filter(pl.col("_commit") > last)
    return nights


def _compared(night: Night, baseline: str, run: str, as_of: datetime) -> Compared:
    path = night.opened().layout.mart("comparisons", pair_name(baseline, run))
    if not path.is_file():
        judging.compare(night, baseline, run)
    columns = ["metric", "slice_by", "slice", "delta", "blocked_reason"]
    rows = pl.read_parquet(path, columns=columns, glob=False)
    found = [(Cell(*row[:3]), *row[3:]) for row in rows.select(columns).iter_rows()]
    return Compared(
        as_of=as_of,
        baseline=baseline,
        candidate=run,
        rows={cell: delta for cell, delta, _ in found},
        blocked={cell: reason for cell, _, reason in found if reason is not None},
    )
