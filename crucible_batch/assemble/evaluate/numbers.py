"""From the scores of a run to its numbers: means, counts, intervals, companions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crucible_batch.assemble.evaluate.collect import Collection
from crucible_batch.metrics.aggregate import Interval, aggregate_column, aggregate_run_metrics
from crucible_batch.metrics.companions import summarise
from crucible_batch.metrics.grains import RANKING
from crucible_batch.metrics.grid import Grid
from crucible_batch.metrics.metric import RunMetric
from crucible_batch.settings import Settings
from crucible_batch.stats.run_mean import run_mean_interval
from crucible_batch.stats.verdict import ci_label

ON = ["slice_by", "slice", "metric"]


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
    distinct, names = _distinct(grid)

    def numbers(place: int) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        metric = collection.metrics[place]
        column = collection.column(place, grid)
        means = aggregate_column(metric, column, grid, interval=interval, label=label)
        if metric.grain is not RANKING:
            return means, None
        return means, summarise(collection.companions_of(metric), distinct)

    with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
        done = list(pool.map(numbers, range(len(collection.metrics))))
    parts = [means for means, _ in done]
    beside = pl.concat(companions for _, companions in done if companions is not None)
    found = beside.drop("slice_by").rename({"slice": "group"})
    beside = names.join(found, on="group", how="inner").drop("group")
    outcomes = collection.outcomes
    parts.append(aggregate_run_metrics(outcomes, run_metrics, grid, label=label))
    parts.append(aggregate_run_metrics(outcomes, plugin_run_metrics, grid.overall(), label=label))
    rows = pl.concat(parts)
    return rows.join(beside, on=ON, how="left").sort(ON)


def _distinct(grid: Grid) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Slices by the place of their items, those of the same items once; and what each is called.

    Returns:
        slice_by, slice, item_id (a place); and slice_by, slice, group (the `slice` above).
    """
    groups: dict[bytes, str] = {}
    parts, names = [], []
    for (slice_by, name), items in grid.slices.items():
        same = items.tobytes()
        if same not in groups:
            groups[same] = str(len(groups))
            places = pl.DataFrame({"item_id": pl.Series(items, dtype=pl.UInt32)})
            parts.append(
                places.select(
                    pl.lit("-").alias("slice_by"), slice=pl.lit(groups[same]), item_id="item_id"
                )
            )
        names.append((slice_by, name, groups[same]))
    schema = {"slice_by": pl.String(), "slice": pl.String(), "group": pl.String()}
    return pl.concat(parts), pl.DataFrame(names, schema=schema, orient="row")


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
