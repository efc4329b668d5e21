"""Distributions that are samples: answers of runs and verdicts of a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

import numpy as np
import polars as pl

from crucible_batch.assemble.baselines import LATEST, PINNED, finished_runs, resolve_baseline
from crucible_batch.assemble.drift.corpus import shifted
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.settings import Settings
from crucible_batch.settings.thresholds import Threshold
from crucible_batch.sql import query
from crucible_batch.stats.distances import Distance
from crucible_batch.stats.shift import shift
from crucible_batch.store import Snapshot, Workspace
from crucible_batch.watch.measured import Measured

N_BINS = 10
NO_BASELINE = "no_pinned_baseline"
SEVERAL = "several_pinned_baselines"
NO_RUN = "no_run_to_compare"
NOT_SCORED = "not_scored"
NO_DECISIONS = "no_decisions"

Counts = Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Sides:
    """Counts of categories on both sides, and what both are about.

    Attributes:
        reason: Why there is nothing to count.
    """

    reference: Counts
    current: Counts
    labels: Mapping[str, str]
    reason: str | None = None


class Distributions:
    """What a scan reads of samples; runs and decisions are read once, when a rule first needs them.

    Args:
        workspace: Where the scores of runs are.
        lake: What is visible.
        settings: Windows, baseline and seed.
        as_of: The time the scan speaks of.
    """

    def __init__(
        self, workspace: Workspace, lake: Snapshot, settings: Settings, as_of: datetime
    ) -> None:
        self._workspace, self._lake, self._settings = workspace, lake, settings
        self._as_of = as_of
        self._runs: tuple[str, str] | str | None = None

    def measure(self, rule: Threshold) -> list[Measured]:
        """Measure what a rule of metric `distribution` asks for.

        Raises:
            UnknownNameError: The baseline of the settings is not there.
            UsageError: It is `latest-succeeded`, which is another run every night.
        """
        distance = cast("Distance", rule.distance)  # a distribution has one
        return [self._held_against(one, distance) for one in self._sides(rule)]

    def _sides(self, rule: Threshold) -> list[Sides]:
        if rule.of == "policy_verdict":
            return policy_sides(
                self._lake, self._settings, self._as_of, by_surface=rule.by == "surface"
            )
        runs = self._both_runs()
        if isinstance(runs, str):
            return [Sides(reference={}, current={}, labels={}, reason=runs)]
        reference, current = (self._values(str(rule.of), run) for run in runs)
        if reference is None or current is None:
            return [Sides(reference={}, current={}, labels={}, reason=NOT_SCORED)]
        counted = binned(reference, current) if rule.of == "confidence" else None
        before, now = counted or (_counted(reference), _counted(current))
        return [Sides(reference=before, current=now, labels={})]

    def _held_against(self, sides: Sides, distance: Distance) -> Measured:
        if sides.reason is not None:
            return Measured(value=None, labels=sides.labels, reason=sides.reason)
        found = shift(sides.reference, sides.current, distance, seed=self._settings.statistics.seed)
        return Measured(
            value=found.distance,
            labels=sides.labels,
            n_reference=found.n_reference,
            n_current=found.n_current,
            support=min(found.n_reference, found.n_current),
            critical=found.critical,
            reason=found.reason,
        )

    def _both_runs(self) -> tuple[str, str] | str:
        """Baseline and newest run; or why there are none."""
        if self._runs is None:
            self._runs = both_runs(self._lake, self._settings.drift.baseline, self._as_of)
        return self._runs

    def _values(self, of: str, run: str) -> pl.Series | None:
        """The value of every result of a run that has one and is no error; None: not scored."""
        if of == "error_class":
            rows = self._workspace.table("result_metrics").filter(pl.col("run_id") == run)
            names = rows.collect_schema().names()
            found = rows.select("error_class").collect() if of in names else pl.DataFrame()
            return found["error_class"].drop_nulls() if found.height else None
        results = self._lake.read("results", subject=run).filter(pl.col("error").is_null())
        return results.select(of).drop_nulls().collect()[of]


def both_runs(lake: Snapshot, baseline: str, as_of: datetime) -> tuple[str, str] | str:
    """The baseline of the settings, and the newest other finished run of its golden set.

    Args:
        lake: What is visible.
        baseline: A run id or `pinned:NAME`; empty: the only pin there is.
        as_of: Runs that finished later do not exist yet.

    Returns:
        Both runs; or the reason why there are none.

    Raises:
        UnknownNameError: No run or pin has the name.
        UsageError: The name is `latest-succeeded`.
    """
    if baseline == LATEST:
        raise UsageError(
            f"drift.baseline is {LATEST}, which is another run every night",
            fix=f"name a run, or {PINNED}NAME after `crucible baseline pin NAME RUN`.",
        )
    if not baseline:
        pins = lake.read("baselines").select(pl.col("name").unique()).collect()["name"].to_list()
        if len(pins) != 1:
            return SEVERAL if pins else NO_BASELINE
        baseline = f"{PINNED}{pins[0]}"
    try:
        reference = resolve_baseline(lake, baseline, golden_set="", candidate="")
    except UnknownNameError as error:
        fix = f"drift.baseline in the settings names it. {error.fix}"
        raise UnknownNameError(error.kind, error.name, error.known, fix=fix) from error
    runs = finished_runs(lake)
    golden_set = runs.filter(pl.col("run_id") == reference)["golden_set"].item()
    newest = runs.filter(
        pl.col("golden_set") == golden_set,
        pl.col("run_id") != reference,
        pl.col("status").is_in(["succeeded", "degraded"]),
        pl.col("finished_at") <= as_of,
    )
    return (reference, str(newest["run_id"][0])) if newest.height else NO_RUN


def policy_sides(
    lake: Snapshot, settings: Settings, as_of: datetime, *, by_surface: bool
) -> list[Sides]:
    """Verdicts of the window up to a scan, against those of the days before it.

    Args:
        lake: What is visible.
        settings: `drift.window_days` and `drift.reference_days`.
        as_of: End of the window.
        by_surface: One pair of sides for each surface; all surfaces together otherwise.
    """
    start = shifted(as_of, -timedelta(days=settings.drift.window_days))
    earliest = shifted(start, -timedelta(days=settings.drift.reference_days))
    decisions = (
        lake.read("policy_decisions")
        .filter(pl.col("created_at") > earliest, pl.col("created_at") <= as_of)
        .select("surface", "verdict", "created_at")
        .collect()
    )
    times = {"as_of": as_of, "window_start": start, "reference_start": earliest}
    counts = query("policy_counts", {"decisions": decisions}, times)
    if counts.is_empty():  # also of a fan-out: a policy that says nothing any more is not silent
        return [Sides(reference={}, current={}, labels={}, reason=NO_DECISIONS)]
    surfaces = counts["surface"].unique().sort().to_list() if by_surface else [None]
    return [
        Sides(
            reference=_verdicts(counts, "reference", surface),
            current=_verdicts(counts, "current", surface),
            labels={} if surface is None else {"surface": surface},
        )
        for surface in surfaces
    ]


def _verdicts(counts: pl.DataFrame, side: str, surface: str | None) -> Counts:
    own = counts.filter(pl.col("side") == side)
    if surface is not None:
        own = own.filter(pl.col("surface") == surface)
    totals = own.group_by("verdict").agg(n=pl.col("n").sum())
    return dict(totals.sort("verdict").iter_rows())


def binned(reference: pl.Series, current: pl.Series) -> tuple[Counts, Counts]:
    """Numbers of both sides in ten bins of equal mass of the reference.

    The upper edges of the first nine bins are the reference's values of rank ceil(n j / 10); equal
    edges are one, so ties make fewer bins. The last bin has no upper edge.
    """
    ordered = np.sort(reference.to_numpy())
    places = [-(-ordered.size * part // N_BINS) - 1 for part in range(1, N_BINS)]
    edges = np.unique(ordered[places]) if ordered.size else ordered

    def counted(values: pl.Series) -> Counts:
        bins = np.searchsorted(edges, values.to_numpy(), side="left")
        numbers, counts = np.unique(bins, return_counts=True)
        return {f"{b:02}": int(n) for b, n in zip(numbers.tolist(), counts, strict=True)}

    return counted(reference), counted(current)


def _counted(values: pl.Series) -> Counts:
    """How often each value occurs; a truth value by its name."""
    counts = values.value_counts(sort=False).sort(values.name)
    return {str(value).lower(): n for value, n in counts.iter_rows()}
