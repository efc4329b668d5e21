"""The interval of a run's mean: how far it would move with other items of the same kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucible_batch.errors import UsageError
from crucible_batch.exact import exact_sum
from crucible_batch.stats import verdict
from crucible_batch.stats.bca import Bounds
from crucible_batch.stats.comparison import DEFAULT_MIN_ITEMS, DEFAULT_RESAMPLES, DEFAULT_SEED
from crucible_batch.stats.grid import to_grid
from crucible_batch.stats.pairing import group_codes, summed, unit_places
from crucible_batch.stats.quantiles import t_quantile
from crucible_batch.stats.resampling import Units, mean_intervals
from crucible_batch.stats.row import rounded

ANALYTIC_UNITS = 200
"""From so many units on the BCa interval of a run mean is its limit."""

METHODS = ("bca", "t_cr1")

_MOST_CODES = 200_000


@dataclass(frozen=True)
class MeanInterval:
    """A mean over the values that exist, with its interval.

    Attributes:
        mean: Exactly rounded sum over count; None without values.
        n_values: Values that exist.
        n_units: Items or clusters they belong to.
        std_error: Cluster-robust (CR1) standard error of the mean; None with fewer than two units.
        ci_low: Lower bound; None with fewer than two units.
        ci_high: Upper bound.
        ci_method: ``bca``, ``bca_analytic`` or ``t_cr1``; None without an interval.
        ci_label: Trust by number of units, as in comparisons.
        degenerate: All units have the same mean: the interval is that value.
    """

    mean: float | None
    n_values: int
    n_units: int
    std_error: float | None
    ci_low: float | None
    ci_high: float | None
    ci_method: str | None
    ci_label: str
    degenerate: bool


def run_mean_interval(
    values: Any,
    clusters: Sequence[Any] | NDArray[Any] | None = None,
    *,
    method: str = "bca",
    confidence: float = 0.95,
    seed: int = DEFAULT_SEED,
    n_resamples: int = DEFAULT_RESAMPLES,
    min_items: int = DEFAULT_MIN_ITEMS,
    small_sample: int = verdict.SMALL_SAMPLE,
) -> MeanInterval:
    """Return the mean of a metric over results, and its interval over items or clusters.

    Row order and the names of clusters do not matter: units are ordered by their sums.

    Args:
        values: One number per result, NaN or None where the metric is not carried; shape (n,).
        clusters: What varies as one: the item of each result, or its cluster where clusters
            repeat. None: every result is a unit of its own.
        method: ``bca`` resamples units, and takes the limit from 200 units on; ``t_cr1`` is a t
            interval with n_units - 1 degrees of freedom on the cluster-robust error.
        confidence: Coverage, in (0, 1).
        seed: Root seed.
        n_resamples: Bootstrap resamples.
        min_items: Fewer units are labelled insufficient.
        small_sample: Fewer units are labelled a small sample.

    Raises:
        UsageError: If the method is unknown, lengths differ or a value is infinite.

    References:
        Efron & Tibshirani 1993, chapter 14; Miller 2024, appendix A (CR1).
    """
    if method not in METHODS:
        raise UsageError(f"No interval is called {method!r}", fix=f"Use {' or '.join(METHODS)}.")
    numbers = np.asarray(values, dtype=np.float64)
    codes = np.arange(numbers.size) if clusters is None else group_codes(clusters)
    if codes.shape != numbers.shape or np.isinf(numbers).any():
        raise UsageError(
            "A run mean needs finite values and one cluster for each",
            problems=[f"{numbers.size} values ({int(np.isinf(numbers).sum())} infinite), "
                      f"{codes.size} clusters"],
        )  # fmt: skip
    carried = ~np.isnan(numbers)
    numbers, codes = numbers[carried], codes[carried]
    grid = to_grid(numbers)
    units = _ordered(_added_up(grid.counts, codes))
    mean = exact_sum(numbers) / numbers.size if numbers.size else None
    n_units = units.sums.size
    found, degenerate, used, std_error = None, False, method, None
    if mean is not None and n_units > 1:
        deviations = units.deviations()
        degenerate = not deviations.any()
        std_error = grid.value(units.sd(deviations)) / math.sqrt(n_units)
        if method == "bca" and n_units >= ANALYTIC_UNITS:
            used = "bca_analytic"
        found = Bounds(mean, mean)
        if not degenerate and method == "t_cr1":
            reach = t_quantile(n_units - 1, (1 + confidence) / 2) * std_error
            found = Bounds(mean - reach, mean + reach)
        elif not degenerate:
            [[bounds]] = mean_intervals(
                [units],
                [confidence],
                n_resamples=n_resamples,
                seed=seed,
                analytic=[used == "bca_analytic"],
            )
            found = Bounds(grid.value(bounds.low), grid.value(bounds.high))
    return MeanInterval(
        mean=mean,
        n_values=numbers.size,
        n_units=n_units,
        std_error=None if std_error is None else rounded(std_error),
        ci_low=rounded(found.low) if found else None,
        ci_high=rounded(found.high) if found else None,
        ci_method=used if found else None,
        ci_label=verdict.ci_label(n_units, min_items, small_sample),
        degenerate=degenerate,
    )


def _added_up(counts: NDArray[np.int64], codes: NDArray[np.int64]) -> Units:
    """Add whole numbers up per unit, in any order of units."""
    if codes.size and (codes.min() < 0 or codes.max() > _MOST_CODES):
        codes = unit_places(codes, codes.size)
    # A slot per code is cheaper than sorting codes, where these are places among a run's items.
    units = summed(counts, codes)
    there = units.sizes > 0
    return units if there.all() else Units(units.sums[there], units.sizes[there])


def _ordered(units: Units) -> Units:
    order = np.lexsort((units.sizes, units.sums))
    return Units(units.sums[order], units.sizes[order])
