"""Comparing two runs item by item: delta, BCa interval, exact p, verdict.

Several metrics of the same two runs share their draws, and each gets the numbers it would have
alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucible_batch.errors import UsageError
from crucible_batch.stats import pairing
from crucible_batch.stats.comparison import (
    DEFAULT_MIN_ITEMS,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    MetricValues,
    PairedComparison,
    Settings,
)
from crucible_batch.stats.grid import Grid, lattice, to_grid
from crucible_batch.stats.pairing import Order, Paired
from crucible_batch.stats.resampling import ANALYTIC_UNITS, Units, mean_intervals
from crucible_batch.stats.row import Tested, described
from crucible_batch.stats.signflip import SignFlips, sign_flip_tests


def paired_comparison(
    items: Iterable[Any],
    baseline: Any,
    candidate: Any,
    *,
    clusters: Iterable[Any] | None = None,
    seed: int = DEFAULT_SEED,
    n_resamples: int = DEFAULT_RESAMPLES,
    confidence: float = 0.95,
    min_items: int = DEFAULT_MIN_ITEMS,
    margin: float | None = None,
    higher_is_better: bool | None = True,
    ci_method: str = "auto",
) -> PairedComparison:
    """Compare one metric of two runs, item by item.

    1. Items carried by both runs are paired; delta = candidate - baseline, per item.
    2. Differences of rounding size become 0; the rest are held as integers (see `grid`).
    3. BCa bootstrap of the mean delta; from 5,000 units on its limit (`ci_method`).
    4. Two-sided sign-flip p, exact wherever possible.
    5. The verdict, from p and interval together. p_adjusted = p: there is no family of one.

    The result does not depend on row order; swapping the runs mirrors it exactly.

    Args:
        items: Item ids, each once; length n.
        baseline: Value of each item in the baseline; NaN or None = not carried; shape (n,).
        candidate: Value of each item in the candidate.
        clusters: Cluster of each item, None = a cluster of its own. When any cluster covers two
            paired items, whole clusters are resampled and flipped.
        seed: Root seed of both resamplers.
        n_resamples: Bootstrap resamples, and sign vectors where p is not exact. Memory is
            O(n_resamples) above the arrays. At least 2 / (1 - confidence): each tail of the
            interval holds one.
        confidence: Coverage of the interval, in (0, 1).
        min_items: Fewest units that allow a verdict.
        margin: Smallest difference that matters, on the scale of the metric; > 0.
        higher_is_better: Direction of the metric, None when it has none.
        ci_method: ``auto``, ``bca`` or ``bca_analytic``.

    Returns:
        The row of `comparisons`. All equal deltas give the interval [d, d] and `degenerate`; one
        pair gives p = 1 and no interval; no pair gives nothing but counts.

    Raises:
        ContractError: If an item is repeated or has no id, a value is infinite or no number, or a
            missing cluster is spelled out as text; names the item or row.
        UsageError: If lengths differ or an option is out of range.

    References:
        Efron & Tibshirani 1993, eqs. 14.9-14.15 (BCa); Smucker, Allan & Carterette 2007
        (randomization test); Phipson & Smyth 2010 (the +1 in p); Miller 2024 (clusters).
    """
    settings = Settings(seed, n_resamples, confidence, min_items, ci_method=ci_method)
    values = MetricValues(baseline, candidate, higher_is_better, margin=margin)
    if clusters is not None:
        clusters = list(clusters)
        pairing.refuse_spelled_out(clusters)
    return paired_many(items, {"": values}, clusters=clusters, settings=settings)[""]


def paired_many(
    items: Iterable[Any],
    metrics: Mapping[str, MetricValues],
    *,
    clusters: Iterable[Any] | None = None,
    in_baseline: Any = None,
    in_candidate: Any = None,
    settings: Settings | None = None,
) -> dict[str, PairedComparison]:
    """Compare many metrics of two runs; metrics with equally many units share their draws.

    Every metric gets exactly the numbers `paired_comparison` gives it alone, but for the unit,
    which is decided once: clusters, when any of them covers two items paired for any metric.

    Args:
        items: Item ids of either run, each once; length n.
        metrics: Values by metric name.
        clusters: Cluster of each item, None = a cluster of its own.
        in_baseline: Whether the baseline has the item at all; shape (n,). None: it has all.
        in_candidate: Whether the candidate has the item at all.
        settings: Seed, resamples, confidence, limits, interval method and unit.

    Returns:
        A comparison by metric name, in the order of `metrics`, with p_adjusted = p_value; see
        `with_adjusted_p` for the verdict of a family.

    Raises:
        ContractError: If an item is repeated or a value infinite; names the item.
        UsageError: If lengths differ or an option is out of range.
    """
    settings = settings or Settings()
    order = pairing.canonical_order(items)
    has_baseline = pairing.presence(in_baseline, order)
    has_candidate = pairing.presence(in_candidate, order)
    paired = [
        pairing.pair(metric, order, has_baseline & has_candidate) for metric in metrics.values()
    ]
    codes = _shared_clusters(clusters, order, paired, settings.unit)
    return {
        name: described(
            one,
            test,
            settings,
            unit="item" if codes is None else "cluster",
            n_only_baseline=int(np.count_nonzero(has_baseline & ~has_candidate)),
            n_only_candidate=int(np.count_nonzero(has_candidate & ~has_baseline)),
        )
        for name, one, test in zip(metrics, paired, _test(paired, codes, settings), strict=True)
    }


def _shared_clusters(
    clusters: Iterable[Any] | None, order: Order, metrics: list[Paired], unit: str
) -> NDArray[np.int64] | None:
    """Return the cluster of each item, or None when the unit is the item."""
    if unit == "cluster" and clusters is None:
        raise UsageError(
            "unit = 'cluster', but no clusters were given",
            fix="Give a cluster per item, or leave the unit to 'auto'.",
        )
    if clusters is None or unit == "item":
        return None
    codes = pairing.cluster_codes(clusters, order)
    if unit == "cluster" or any(pairing.covers_two(codes, one.is_paired) for one in metrics):
        return codes
    return None


def _test(
    metrics: list[Paired], codes: NDArray[np.int64] | None, settings: Settings
) -> list[Tested]:
    """Resample all metrics together; those of equal deltas (MRR and MRR@10, say) once."""
    keys = [(one.delta.tobytes(), one.is_paired.tobytes()) for one in metrics]
    distinct = dict(zip(keys, metrics, strict=True))
    found = _test_distinct(list(distinct.values()), codes, settings)
    tested = dict(zip(distinct, found, strict=True))
    return [tested[key] for key in keys]


def _test_distinct(
    metrics: list[Paired], codes: NDArray[np.int64] | None, settings: Settings
) -> list[Tested]:
    tested, flips = [], []
    for one in metrics:
        grid = to_grid(one.delta)
        places = pairing.unit_places(
            None if codes is None else codes[one.is_paired], one.delta.size
        )
        units = pairing.summed(grid.counts, places)
        flips.append(_sign_flips(one.delta, grid, units, places))
        deviations = units.deviations() if units.sums.size else np.zeros(0)
        tested.append(Tested(grid, units, deviations, flips[-1].sums.size))
    p_values = sign_flip_tests(flips, n_resamples=settings.n_resamples, seed=settings.seed)
    many = [k for k, test in enumerate(tested) if test.units.sums.size > 1]
    methods = [_ci_method(tested[k].units.sums.size, settings.ci_method) for k in many]
    intervals = mean_intervals(
        [tested[k].units for k in many],
        (settings.confidence, 0.9),
        n_resamples=settings.n_resamples,
        seed=settings.seed,
        analytic=[method == "bca_analytic" for method in methods],
    )
    for k, method, found in zip(many, methods, intervals, strict=True):
        tested[k] = tested[k]._replace(intervals=tuple(found), ci_method=method)
    return [
        test._replace(p=p) if test.units.sums.size else test
        for test, p in zip(tested, p_values, strict=True)
    ]


def _ci_method(n_units: int, asked: str) -> str:
    if asked != "auto":
        return asked
    return "bca_analytic" if n_units >= ANALYTIC_UNITS else "bca"


def _sign_flips(
    delta: NDArray[np.float64], grid: Grid, units: Units, places: NDArray[np.intp]
) -> SignFlips:
    """Return the units that changed; where a lattice exists it says which did not."""
    n_units = units.sums.size
    n_changed = np.bincount(places[grid.counts != 0], minlength=n_units)
    steps = lattice(delta) if n_units else None
    if steps is None:
        changed = np.abs(units.sums) > n_changed / 2
        return SignFlips(units.sums[changed], None, float(n_changed[changed].sum()) / 2)
    by_unit = pairing.summed(steps, places).sums
    changed = by_unit != 0
    tolerance = float(n_changed[changed].sum()) / 2
    return SignFlips(units.sums[changed], by_unit[changed], tolerance)
