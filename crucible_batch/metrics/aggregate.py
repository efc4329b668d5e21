"""Aggregation: the scores of results become the numbers of a run, overall and per slice.

Every mean is one exactly rounded sum over the values of its results, and stands beside the counts
it rests on. Intervals come from outside, so that this room knows no resampling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, get_args, get_type_hints

import numpy as np
import polars as pl

from crucible_batch.exact import exact_mean, exact_sum
from crucible_batch.metrics.answer_nulls import first_reason
from crucible_batch.metrics.grid import (
    ALL,
    ERRORED,
    MISSING,
    NOT_APPLICABLE,
    SCORED,
    Codes,
    Column,
    Floats,
    Grid,
    aligned,
    column_of,
    standings,
)
from crucible_batch.metrics.metric import Declaration, Metric, RunMetric
from crucible_batch.metrics.nulls import RESULT_NULLS, Null
from crucible_batch.metrics.run_function import RunFunction


@dataclass(frozen=True)
class Interval:
    """An interval of a mean, as `run_metrics` has it; nulls where there is none."""

    std_error: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    ci_method: str | None = None


IntervalOf = Callable[[Floats, Codes, bool], Interval]
"""(values per result, code of the unit of each, whether it is a headline overall) to interval.

A unit is an item, or a cluster where cluster ids repeat. All arrays have the shape (n_scored,);
order carries no meaning.
"""

LabelOf = Callable[[int], str]
"""Number of units to `ci_label`."""


class Row(NamedTuple):
    """A row of `run_metrics`, without what the evaluation and the judgments add."""

    slice_by: str
    slice: str
    metric: str
    mean: float | None
    item_mean: float | None
    n_expected: int
    n_scored: int
    n_items: int
    n_not_applicable: int
    n_missing: int
    n_errored: int
    coverage: float | None
    worst_case: float | None
    best_case: float | None
    std_error: float | None
    ci_low: float | None
    ci_high: float | None
    ci_method: str | None
    ci_label: str


SCHEMA = {
    name: {str: pl.String(), int: pl.Int64()}.get((get_args(kind) or (kind,))[0], pl.Float64())
    for name, kind in get_type_hints(Row).items()
}


def aggregate(
    scores: pl.DataFrame,
    metrics: Iterable[Metric],
    grid: Grid,
    *,
    interval: IntervalOf,
    label: LabelOf,
) -> pl.DataFrame:
    """Average result metrics over every slice.

    Args:
        scores: item_id, sample_index, metric, value, null_reason: every metric of every expected
            result, in any order.
        metrics: The declarations of the metrics.
        grid: The expected results and their slices.
        interval: Makes the interval of a mean.
        label: Says how far to trust so many units.

    Returns:
        The columns of `Row`, sorted by slice and metric.

    Raises:
        ContractError: The scores of a metric are not those of the expected results.
    """
    declared = {metric.name: metric for metric in metrics}
    rows: list[Row] = []
    for (name,), frame in _by_metric(scores, declared):
        column = column_of(str(name), frame, grid)
        rows += rows_of_column(declared[str(name)], column, grid, interval=interval, label=label)
    return table_of(rows)


def rows_of_column(
    metric: Metric, column: Column, grid: Grid, *, interval: IntervalOf, label: LabelOf
) -> list[Row]:
    """Average one metric over every slice; see `aggregate`."""
    rows: list[Row] = []
    done: dict[tuple[tuple[str, str], bool], Row] = {}
    for name in grid.slices:
        same = (grid.first_alike[name], metric.headline and name == ALL)
        if same not in done:
            done[same] = _mean_row(metric, column, grid, name, interval, label)
        rows.append(done[same]._replace(slice_by=name[0], slice=name[1]))
    return rows


def aggregate_run_metrics(
    outcomes: pl.DataFrame, metrics: Iterable[RunMetric], grid: Grid, *, label: LabelOf
) -> pl.DataFrame:
    """Compute run metrics over every slice; their number stands in `mean`, bounds are null.

    Args:
        outcomes: The `outcome` grain with its key, one row per expected result.
        metrics: What to compute.
        grid: The expected results and their slices.
        label: Says how far to trust so many units.

    Returns:
        The columns of `Row`, sorted by slice and metric.

    Raises:
        ContractError: `outcomes` are not the expected results.
    """
    ordered = aligned("the outcomes", outcomes, grid)
    standing_of: dict[tuple[Null, ...], Codes] = {}
    rows = []
    for metric in metrics:
        ruled = metric.function if isinstance(metric.function, RunFunction) else None
        nulls = ruled.nulls if ruled else RESULT_NULLS
        # Metrics share their null rules, and each set of rules is tried once.
        if nulls not in standing_of:
            reasons = ordered.select(first_reason(nulls).alias("null_reason")).to_series()
            standing_of[nulls] = standings(reasons).reshape(-1, grid.samples_n)
        standing = standing_of[nulls]
        number = ruled.number if ruled else metric.function
        done: dict[tuple[str, str], Row] = {}
        for name, items in grid.slices.items():
            same = grid.first_alike[name]
            if same not in done:
                inside = grid.results(items)
                if ruled:
                    inside = inside[standing[items].ravel() == SCORED]
                mean = number(ordered[inside])
                units = grid.units[items]
                done[same] = _row(metric, name, standing[items], units, label, mean=mean)
            rows.append(done[same]._replace(slice_by=name[0], slice=name[1]))
    return table_of(rows)


def _by_metric(
    scores: pl.DataFrame, declared: dict[str, Metric]
) -> Iterable[tuple[tuple[object, ...], pl.DataFrame]]:
    """The scores of every declared metric."""
    parts = scores.partition_by("metric", as_dict=True, include_key=False)
    return ((name, frame) for name, frame in parts.items() if name[0] in declared)


def _mean_row(
    metric: Metric,
    column: Column,
    grid: Grid,
    slice_name: tuple[str, str],
    interval: IntervalOf,
    label: LabelOf,
) -> Row:
    """One metric in one slice."""
    items = grid.slices[slice_name]
    standing = column.standing[items]
    scored = standing == SCORED
    values = column.values[items][scored]
    units = np.broadcast_to(grid.units[items][:, None], scored.shape)[scored]
    of_items = column.item_means[items]
    mean = exact_mean(values)
    worst, best = _bounds(metric, values, mean, int((standing >= MISSING).sum()))
    return _row(
        metric,
        slice_name,
        standing,
        grid.units[items],
        label,
        mean=mean,
        item_mean=mean if grid.samples_n == 1 else exact_mean(of_items[~np.isnan(of_items)]),
        worst_case=worst,
        best_case=best,
        interval=_within(metric, interval(values, units, metric.headline and slice_name == ALL)),
    )


def _within(metric: Metric, interval: Interval) -> Interval:
    """The part of an interval that lies in the declared range of the metric.

    A symmetric interval (`t_cr1`, the analytic limit) knows no range: beside a mean near 1 it ends
    above 1. No true mean lies there, so what is cut off takes nothing from the coverage. Values
    are never cut, and the standard error stays as it is.
    """
    if interval.ci_low is None or interval.ci_high is None:
        return interval
    low = interval.ci_low if metric.low is None else max(interval.ci_low, metric.low)
    high = interval.ci_high if metric.high is None else min(interval.ci_high, metric.high)
    return replace(interval, ci_low=low, ci_high=high)


def _bounds(
    metric: Metric, values: Floats, mean: float | None, n_missing: int
) -> tuple[float | None, float | None]:
    """The mean if every missing value were the worst or the best of the declared range."""
    count = len(values) + n_missing
    if metric.low is None or metric.high is None or not count:
        return None, None
    if not n_missing:
        return mean, mean
    low, high = (
        exact_sum(np.append(values, n_missing * end)) / count for end in (metric.low, metric.high)
    )
    return (high, low) if metric.better == "lower" else (low, high)


def _row(
    metric: Declaration,
    slice_name: tuple[str, str],
    standing: Codes,
    units: Codes,
    label: LabelOf,
    *,
    mean: float | None,
    item_mean: float | None = None,
    worst_case: float | None = None,
    best_case: float | None = None,
    interval: Interval | None = None,
) -> Row:
    """A row with its counts; `standing` has the shape (items of the slice, samples)."""
    counts = np.bincount(standing.ravel(), minlength=4)
    scored = int(counts[SCORED])
    missing = int(counts[MISSING] + counts[ERRORED])
    carrying = (standing == SCORED).any(axis=1)
    spread = interval or Interval()
    return Row(
        slice_by=slice_name[0],
        slice=slice_name[1],
        metric=metric.name,
        mean=mean,
        item_mean=item_mean,
        n_expected=standing.size,
        n_scored=scored,
        n_items=int(carrying.sum()),
        n_not_applicable=int(counts[NOT_APPLICABLE]),
        n_missing=missing,
        n_errored=int(counts[ERRORED]),
        coverage=scored / (scored + missing) if scored + missing else None,
        worst_case=worst_case,
        best_case=best_case,
        std_error=spread.std_error,
        ci_low=spread.ci_low,
        ci_high=spread.ci_high,
        ci_method=spread.ci_method,
        ci_label=label(int((np.bincount(units[carrying]) > 0).sum())),
    )


def table_of(rows: list[Row]) -> pl.DataFrame:
    """Rows as a frame, sorted by slice and metric."""
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    return frame.sort("slice_by", "slice", "metric")
