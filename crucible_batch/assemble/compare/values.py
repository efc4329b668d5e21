"""Per-item values of a scored run: the mean over the samples that carry a metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crucible_batch.metrics.grid import item_means
from crucible_batch.stats.comparison import MetricValues
from crucible_batch.stats.grid import differences, to_grid

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ItemValues:
    """One metric of one run over a list of items.

    Attributes:
        mean: Exactly rounded mean of the item's carried values; NaN where none is; shape (n,).
        noise: Sampling variance of that mean, s² / m; NaN with fewer than two values.
    """

    mean: Floats
    noise: Floats


def item_values(scores: pl.LazyFrame, items: pl.Series) -> Iterator[tuple[str, ItemValues]]:
    """Yield every metric of a scored run with its per-item values.

    Args:
        scores: item_id, sample_index, metric, value: every metric of every expected result.
        items: The items wanted, each once; an item the run does not expect is NaN.
    """
    wanted = items.to_frame("item_id").with_row_index("place")
    long = (
        scores.select("item_id", "sample_index", "metric", "value")
        .join(wanted.lazy(), on="item_id", how="inner")
        .filter(pl.col("value").is_not_null())
        .select("place", "sample_index", "metric", "value")
        .collect()
    )
    names = scores.select("metric").unique().sort("metric").collect()["metric"]
    parts: Mapping[tuple[object, ...], pl.DataFrame] = long.partition_by(
        "metric", as_dict=True, include_key=False
    )
    for name in names:
        part = parts.get((name,))
        yield name, _values(part if part is not None else long.clear(), len(items))


def item_deltas(
    metric: MetricValues, in_both: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], Floats]:
    """Which items are paired, and the delta of each: what the comparison tests.

    Args:
        metric: Values of both runs; shape (n,).
        in_both: Whether both runs have the item; shape (n,).

    Returns:
        A mask of shape (n,), and the deltas of the paired items: candidate - baseline, on the log
        scale ln(candidate) - ln(baseline) of items above 0; differences of rounding size are 0.
    """
    least = 0.0 if metric.scale == "log" else -np.inf
    is_paired = in_both & (metric.baseline > least) & (metric.candidate > least)
    old, new = metric.baseline[is_paired], metric.candidate[is_paired]
    if metric.scale == "log":
        old, new = np.log(old), np.log(new)
    return is_paired, differences(old, new)


def item_rows(
    items: pl.Series, values: Mapping[str, MetricValues], in_both: NDArray[np.bool_]
) -> pl.DataFrame:
    """Every pair of every metric, the largest delta of a metric first, equal ones by item.

    Args:
        items: The items; shape (n,).
        values: Values of both runs, by metric.
        in_both: Whether both runs have the item; shape (n,).

    Returns:
        item_id, rank (from 1 in each metric), baseline, candidate, delta, metric.
    """
    by_id = items.rank("ordinal").to_numpy()
    parts = []
    for one in values.values():
        is_paired, delta = item_deltas(one, in_both)
        places = np.flatnonzero(is_paired)
        order = np.lexsort((by_id[places], -np.abs(delta)))
        places = places[order]
        ranks = np.arange(1, len(places) + 1)
        parts.append((places, ranks, one.baseline[places], one.candidate[places], delta[order]))
    places, *numbers = (np.concatenate(column) for column in zip(*parts, strict=True))
    metric = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    return pl.DataFrame(
        {
            "item_id": items.gather(pl.Series(places)),
            **dict(zip(("rank", "baseline", "candidate", "delta"), numbers, strict=True)),
            "metric": pl.Series(list(values)).gather(pl.Series(metric)),
        }
    )


def sampling_variance(baseline: ItemValues, candidate: ItemValues, scale: str) -> Floats:
    """Variance of each item's delta that comes from its samples, on the scale of the delta.

    Args:
        baseline: Values of one run; shape (n,).
        candidate: Values of the other.
        scale: `linear` or `log`.

    Returns:
        s²_b / m_b + s²_c / m_c; of a logarithm each term over its squared mean (delta method).
        NaN where an item has one sample; shape (n,).
    """
    if scale == "linear":
        return baseline.noise + candidate.noise
    parts = []
    for one in (baseline, candidate):
        above = one.mean > 0
        parts.append(
            np.divide(one.noise, one.mean**2, out=np.full_like(one.noise, np.nan), where=above)
        )
    return parts[0] + parts[1]


def mean_delta(baseline: Floats, candidate: Floats) -> float | None:
    """Mean of candidate - baseline, made as `comparisons` makes it; None without any value."""
    grid = to_grid(differences(baseline, candidate))
    return grid.value(int(grid.counts.sum()), baseline.size) if baseline.size else None


def _values(rows: pl.DataFrame, n_items: int) -> ItemValues:
    place = rows["place"].to_numpy()
    sample = rows["sample_index"].to_numpy()
    width = int(sample.max()) + 1 if sample.size else 1
    table = np.full((n_items, width), np.nan)
    table[place, sample] = rows["value"].to_numpy()
    return ItemValues(item_means(table), _noise(table))


def _noise(table: Floats) -> Floats:
    """Sampling variance of each row's mean."""
    carried = ~np.isnan(table)
    count = carried.sum(axis=1)
    centred = np.where(carried, table - item_means(table)[:, np.newaxis], 0.0)
    squares = np.square(centred).sum(axis=1)
    known = count > 1
    divisor = np.where(known, (count - 1) * count, 1)
    noise: Floats = np.where(known, squares / divisor, np.nan)
    return noise
