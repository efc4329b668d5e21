"""The engine: many metrics over one frame per grain, one pass each, into long scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from crucible_batch.errors import ContractError
from crucible_batch.metrics.metric import Grain, Metric

SCORE_COLUMNS = {"metric": pl.String(), "value": pl.Float64(), "null_reason": pl.String()}
"""What stands in a score beside the key of its result."""


def score(
    frames: Mapping[str, pl.DataFrame], metrics: Iterable[Metric], key: Sequence[str]
) -> pl.DataFrame:
    """Score every result with every metric.

    Args:
        frames: One frame per grain, by the grain's name: one row per result, the key columns and
            the grain's columns. All frames hold the same results.
        metrics: What to compute, without repeats.
        key: Columns that name a result, e.g. `("item_id", "sample_index")`.

    Returns:
        key, metric, value, null_reason, sorted by key and then in the order of `metrics`. A value
        is null exactly where a null_reason stands.

    Raises:
        ContractError: A value is NaN, infinite, out of its declared range, or null without reason.
    """
    ordered = list(metrics)
    if not ordered:
        schema = {name: pl.String() for name in key} | SCORE_COLUMNS
        return pl.DataFrame(schema=schema)
    parts = [
        _score_grain(frames[grain.name], [m for m in ordered if m.grain is grain], key)
        for grain in dict.fromkeys(m.grain for m in ordered)
    ]
    names = pl.Enum([m.name for m in ordered])
    # An Enum sorts by its declared order, so one sort gives both the key and the metric order.
    return (
        pl.concat(parts)
        .with_columns(pl.col("metric").cast(names))
        .sort([*key, "metric"])
        .with_columns(pl.col("metric").cast(pl.String))
    )


def _score_grain(frame: pl.DataFrame, metrics: list[Metric], key: Sequence[str]) -> pl.DataFrame:
    """Long scores of the metrics of one grain; wide work first, unpivoted once."""
    index = frame.select(key)
    # Lazily, so that expressions which several metrics share are computed once.
    values = frame.lazy().select(m.value() for m in metrics).collect(engine="in-memory")
    reasons = frame.lazy().select(m.reason() for m in metrics).collect(engine="in-memory")
    _check(index, values, reasons, metrics)
    long_values = index.hstack(values).unpivot(
        index=list(key), variable_name="metric", value_name="value"
    )
    long_reasons = reasons.unpivot(value_name="null_reason").get_column("null_reason")
    return long_values.with_columns(long_reasons)


def _check(
    index: pl.DataFrame, values: pl.DataFrame, reasons: pl.DataFrame, metrics: list[Metric]
) -> None:
    """Refuse what no metric may publish; names the rows."""
    for metric in metrics:
        value, reason = values.get_column(metric.name), reasons.get_column(metric.name)
        low = metric.low if metric.low is not None else float("-inf")
        high = metric.high if metric.high is not None else float("inf")
        fine = value.is_finite() & (value >= low) & (value <= high)
        bad = ~fine.fill_null(value=True) | (value.is_null() != reason.is_not_null())
        if bad.any():
            rows = index.with_columns(value=value, null_reason=reason).filter(bad)
            raise ContractError(
                f"{metric.name} has {rows.height:,} values that break its declaration"
                f" (range {metric.low} to {metric.high}, null exactly with a reason)",
                problems=[str(row) for row in rows.iter_rows(named=True)],
                fix="Correct the rows named here; values are never clamped.",
            )


def grains(metrics: Iterable[Metric]) -> tuple[Grain, ...]:
    """The grains that `metrics` read: the frames a caller has to build."""
    return tuple(dict.fromkeys(metric.grain for metric in metrics))
