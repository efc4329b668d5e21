"""Aggregation: the scores of results become the numbers of a run, overall and per slice.

Every mean is one exactly rounded sum over the values of its results, and stands beside the counts
it rests on. Intervals come from outside, so that this room knows no resampling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crucible_batch.errors import ContractError
from crucible_batch.exact import exact_mean, exact_sum
from crucible_batch.metrics.answer_grains import KEY
from crucible_batch.metrics.answer_nulls import first_reason
from crucible_batch.metrics.metric import Declaration, Metric, RunMetric
from crucible_batch.metrics.nulls import REASON, RESULT_NULLS, Kind
from crucible_batch.metrics.run_function import RunFunction

SCORED, NOT_APPLICABLE, MISSING, ERRORED = range(4)
"""What a score is counted as; an errored one counts as missing too."""

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


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


@dataclass(frozen=True, kw_only=True)
class Row:
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
    name: {"str": pl.String(), "int": pl.Int64()}.get(kind.split(" ")[0], pl.Float64())
    for name, kind in Row.__annotations__.items()
}


@dataclass(frozen=True, eq=False)
class Grid:
    """The expected results of a run: items by samples, and which items are in which slice.

    Attributes:
        keys: item_id and sample_index of every expected result, sorted.
        samples_n: Samples per item.
        slices: Name to the positions of its items, ascending.
        units: The unit of every item: itself, or its cluster where cluster ids repeat.
    """

    keys: pl.DataFrame
    samples_n: int
    slices: dict[tuple[str, str], Codes]
    units: Codes

    @staticmethod
    def of(items: pl.DataFrame, slices: pl.DataFrame, samples_n: int) -> Grid:
        """Lay out the expected results.

        Args:
            items: `golden_items`, one row per active item: item_id and cluster_id are read.
            slices: slice_by, slice, item_id: every item in every slice it belongs to.
            samples_n: Samples per item.
        """
        ordered = items.select("item_id", "cluster_id").sort("item_id")
        samples = pl.DataFrame(
            {"sample_index": range(samples_n)}, schema={"sample_index": pl.Int64}
        )
        places = ordered.select("item_id").with_row_index("place")
        members = slices.join(places, on="item_id").sort("slice_by", "slice", "place")
        groups = members.group_by("slice_by", "slice", maintain_order=True).agg("place")
        return Grid(
            keys=ordered.select("item_id").join(samples, how="cross").sort(KEY),
            samples_n=samples_n,
            slices={(by, name): np.asarray(at, np.int64) for by, name, at in groups.iter_rows()},
            units=_units(ordered["cluster_id"]),
        )


def _units(clusters: pl.Series) -> Codes:
    """Codes of clusters, a null being one of its own; of items when no cluster repeats."""
    own = np.arange(len(clusters), dtype=np.int64)
    if not clusters.drop_nulls().is_duplicated().any():
        return own
    codes = clusters.rank("dense").cast(pl.Int64).to_numpy()
    return np.where(clusters.is_null().to_numpy(), own + len(clusters) + 1, codes).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Column:
    """One metric of every expected result.

    Attributes:
        values: Shape (items, samples); NaN where the metric is not carried.
        standing: SCORED, NOT_APPLICABLE, MISSING or ERRORED, same shape.
        item_means: Exactly rounded mean of the values of each item; NaN without any.
    """

    values: Floats
    standing: Codes
    item_means: Floats


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
    rows = []
    for (name,), frame in _by_metric(scores, declared):
        column = _column(str(name), frame, grid)
        metric = declared[str(name)]
        rows += [
            _mean_row(metric, column, grid, slice_name, interval, label)
            for slice_name in grid.slices
        ]
    return _table(rows)


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
    ordered = _aligned("the outcomes", outcomes, grid)
    rows = []
    for metric in metrics:
        function = metric.function
        nulls = function.nulls if isinstance(function, RunFunction) else RESULT_NULLS
        standing = _standing(
            ordered.select(first_reason(nulls).alias("null_reason")).to_series()
        ).reshape(-1, grid.samples_n)
        for slice_name, items in grid.slices.items():
            inside = (items[:, None] * grid.samples_n + np.arange(grid.samples_n)).ravel()
            rows.append(
                _row(
                    metric,
                    slice_name,
                    standing[items],
                    grid.units[items],
                    label,
                    mean=function(ordered[inside]),
                )
            )
    return _table(rows)


def error_classes(
    classes: pl.DataFrame, slices: pl.DataFrame, names: Sequence[str]
) -> pl.DataFrame:
    """Count error classes over every slice.

    Args:
        classes: item_id and error_class of every expected result; null is no class.
        slices: slice_by, slice, item_id.
        names: The classes; one without a result is counted 0.

    Returns:
        slice_by, slice, error_class, n, share (of the classified results), sorted by slice, in
        the order of `names`; a slice without any classified result has no rows.
    """
    counted = (
        slices.join(classes.drop_nulls("error_class"), on="item_id")
        .group_by("slice_by", "slice", "error_class")
        .agg(n=pl.len().cast(pl.Int64))
    )
    order = pl.DataFrame({"error_class": names}).with_row_index("order")
    every = counted.select("slice_by", "slice").unique().join(order, how="cross")
    on = ["slice_by", "slice", "error_class"]
    filled = every.join(counted, on=on, how="left").with_columns(pl.col("n").fill_null(0))
    total = pl.col("n").sum().over("slice_by", "slice")
    shares = filled.with_columns(share=pl.col("n") / total).sort("slice_by", "slice", "order")
    return shares.select(*on, "n", "share")


def _by_metric(
    scores: pl.DataFrame, declared: dict[str, Metric]
) -> Iterable[tuple[tuple[object, ...], pl.DataFrame]]:
    """The scores of every declared metric."""
    parts = scores.partition_by("metric", as_dict=True, include_key=False)
    return ((name, frame) for name, frame in parts.items() if name[0] in declared)


def _aligned(what: str, frame: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """`frame` in the order of the expected results.

    Raises:
        ContractError: It does not hold exactly the expected results.
    """
    if frame.select(KEY).equals(grid.keys):
        return frame
    ordered = frame.sort(KEY)
    if not ordered.select(KEY).equals(grid.keys):
        raise ContractError(
            f"{what} are not those of the {grid.keys.height:,} expected results",
            problems=[f"{frame.height:,} rows, {frame.select(KEY).n_unique():,} distinct results"],
            fix="Score every expected result (items times samples) exactly once.",
        )
    return ordered


def _column(name: str, frame: pl.DataFrame, grid: Grid) -> Column:
    """One metric as arrays over the expected results."""
    ordered = _aligned(f"the scores of {name}", frame, grid)
    shape = (-1, grid.samples_n)
    values = ordered["value"].to_numpy().astype(np.float64).reshape(shape)
    standing = _standing(ordered["null_reason"]).reshape(shape)
    return Column(values=values, standing=standing, item_means=_item_means(values))


_STANDING_OF = {
    name: NOT_APPLICABLE if reason.kind is Kind.NOT_APPLICABLE else MISSING
    for name, reason in REASON.items()
} | {"errored": ERRORED}


def _standing(reasons: pl.Series) -> Codes:
    """What each null reason is counted as; no reason is SCORED."""
    codes = reasons.replace_strict(_STANDING_OF, default=SCORED, return_dtype=pl.Int64)
    return codes.fill_null(SCORED).to_numpy().astype(np.int64)


def _item_means(values: Floats) -> Floats:
    """Mean over the samples of each item that carry the metric."""
    if values.shape[1] == 1:
        return values[:, 0]
    carried = ~np.isnan(values)
    means = [exact_mean(row[kept].tolist()) for row, kept in zip(values, carried, strict=True)]
    return np.array([np.nan if mean is None else mean for mean in means], dtype=np.float64)


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
    numbers = values.tolist()
    worst, best = _bounds(metric, numbers, int(np.isin(standing, (MISSING, ERRORED)).sum()))
    return _row(
        metric,
        slice_name,
        standing,
        grid.units[items],
        label,
        mean=exact_mean(numbers),
        item_mean=exact_mean(of_items[~np.isnan(of_items)].tolist()),
        worst_case=worst,
        best_case=best,
        interval=interval(values, units, metric.headline and slice_name == ("all", "all")),
    )


def _bounds(
    metric: Metric, values: list[float], n_missing: int
) -> tuple[float | None, float | None]:
    """The mean if every missing value were the worst or the best of the declared range."""
    count = len(values) + n_missing
    if metric.low is None or metric.high is None or not count:
        return None, None
    low, high = (exact_sum([*values, n_missing * end]) / count for end in (metric.low, metric.high))
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
    std_error, ci_low, ci_high, ci_method = astuple(interval or Interval())
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
        std_error=std_error,
        ci_low=ci_low,
        ci_high=ci_high,
        ci_method=ci_method,
        ci_label=label(len(np.unique(units[carrying]))),
    )


def _table(rows: list[Row]) -> pl.DataFrame:
    """Rows as a frame, sorted by slice and metric."""
    frame = pl.DataFrame([astuple(row) for row in rows], schema=SCHEMA, orient="row")
    return frame.sort("slice_by", "slice", "metric")
