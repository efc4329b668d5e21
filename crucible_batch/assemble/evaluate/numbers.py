"""From the scores of a run to its numbers: means, counts, intervals, companions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crucible_batch.assemble.evaluate.collect import Collection
from crucible_batch.metrics.aggregate import (
    Interval,
    Row,
    aggregate_run_metrics,
    rows_of_column,
    table_of,
)
from crucible_batch.metrics.companions import SCHEMA, Companions, beside, summarise
from crucible_batch.metrics.grains import RANKING
from crucible_batch.metrics.grid import Codes, Floats, Grid
from crucible_batch.metrics.metric import Metric, RunMetric
from crucible_batch.settings import Settings
from crucible_batch.stats.run_mean import run_mean_interval
from crucible_batch.stats.verdict import ci_label

ON = ["slice_by", "slice", "metric"]
Slice = tuple[str, str]


def run_numbers(
    collection: Collection,
    grid: Grid,
    run_metrics: Iterable[RunMetric],
    plugin_run_metrics: Iterable[RunMetric],
    settings: Settings,
) -> pl.DataFrame:
    """Every metric overall and per slice, without the columns of the evaluation.

    Args:
        collection: The scored run.
        grid: Its expected results and slices.
        run_metrics: Numbers of a run, computed in every slice.
        plugin_run_metrics: Numbers other programs give for the whole run.
        settings: Seed, resamples and label limits.

    Returns:
        Rows of `run_metrics` by slice and metric, with companions where a metric has any.
    """
    label, interval = _label(settings), _interval(settings)
    members = {name: grid.results(items) for name, items in grid.slices.items()}

    means: list[Row] = []
    told: list[dict[str, object]] = []
    # One after the other: exact sums hold the interpreter, and threads would only take turns.
    for place, metric in enumerate(collection.metrics):
        values, column = collection.values(place), collection.column(place, grid)
        means += rows_of_column(metric, column, grid, interval=interval, label=label)
        if metric.grain is RANKING:
            told += _beside(collection.companions, metric, values, members, grid)
    outcomes = collection.outcomes
    parts = [
        table_of(means),
        aggregate_run_metrics(outcomes, run_metrics, grid, label=label),
        aggregate_run_metrics(outcomes, plugin_run_metrics, grid.overall(), label=label),
    ]
    beside_means = pl.DataFrame(told, schema={**dict.fromkeys(ON, pl.String()), **SCHEMA})
    return pl.concat(parts).join(beside_means, on=ON, how="left").sort(ON)


def _beside(
    companions: Companions,
    metric: Metric,
    values: Floats,
    members: Mapping[Slice, Codes],
    grid: Grid,
) -> list[dict[str, object]]:
    """Companions of one metric in every slice."""
    rows: list[dict[str, object]] = []
    done: dict[Slice, dict[str, float | int | None]] = {}
    for name, same in grid.first_alike.items():
        if same not in done:
            done[same] = summarise(beside(companions, metric, values, members[name]))
        slice_by, slice_ = name
        rows.append({"slice_by": slice_by, "slice": slice_, "metric": metric.name, **done[same]})
    return rows


def _label(settings: Settings) -> Callable[[int], str]:
    limits = settings.statistics
    return lambda n_units: ci_label(n_units, limits.min_items, limits.small_sample)


def _interval(
    settings: Settings,
) -> Callable[[NDArray[np.float64], NDArray[np.int64], bool], Interval]:
    statistics = settings.statistics

    def interval(
        values: NDArray[np.float64], units: NDArray[np.int64], is_headline: bool
    ) -> Interval:
        found = run_mean_interval(
            values,
            units,
            method="bca" if is_headline else "t_cr1",
            seed=statistics.seed,
            n_resamples=statistics.n_resamples,
            min_items=statistics.min_items,
            small_sample=statistics.small_sample,
        )
        return Interval(found.std_error, found.ci_low, found.ci_high, found.ci_method)

    return interval
