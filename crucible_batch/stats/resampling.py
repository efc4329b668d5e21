"""Bootstrap of unit means, many metrics on the same draws, and of any statistic of the units.

A unit is an item, or a cluster of items. Totals of resamples are sums of whole numbers below 2^53,
hence exact: how the work is batched, and which other metrics take part, changes no bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crucible_batch.errors import UsageError
from crucible_batch.exact import exact_sum
from crucible_batch.stats import bca
from crucible_batch.stats.bca import Bounds
from crucible_batch.stats.grid import exact_floats, exact_product
from crucible_batch.stats.streams import BLOCK, index_blocks

FEW_COLUMNS = 2
"""Up to this many columns are gathered item by item; more share a table of counts."""

ANALYTIC_UNITS = 5_000
"""From so many units on `auto` takes the limit of the BCa interval."""

Statistic = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""From how often each unit was drawn, (rows, n_units), to one value per row; NaN = undefined."""


class Units(NamedTuple):
    """Values of one metric added up per unit, in canonical order.

    Attributes:
        sums: Sum of the values of the unit, in grid units; shape (n,).
        sizes: Number of values of the unit, >= 1; shape (n,).
    """

    sums: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @property
    def mean(self) -> float:
        """The mean over values, not over units, in grid units."""
        return int(self.sums.sum()) / int(self.sizes.sum())

    def deviations(self) -> NDArray[np.float64]:
        """Sum of each unit minus mean times size; all zero when no unit differs; shape (n,).

        Means of units within half a grid unit of the overall mean do not differ.
        """
        off = self.sums - self.mean * self.sizes
        return np.zeros_like(off) if np.all(np.abs(off) <= self.sizes / 2) else off

    def sd(self, deviations: NDArray[np.float64]) -> float:
        """√n times the standard error of the mean; n >= 2 units.

        Sample standard deviation for single values; for clusters √n times the CR1 error
        √(n / (n - 1) Σv²) / M, M the number of values (Miller 2024, appendix A).
        """
        squares = exact_sum(deviations * deviations)
        return math.sqrt(squares / (self.sums.size - 1)) * self.sums.size / int(self.sizes.sum())

    def influences(self, deviations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Leaving one unit out moves the mean by -v_g / (M - m_g); centred; shape (n,)."""
        rest = int(self.sizes.sum()) - self.sizes
        moves = deviations / rest
        return moves - exact_sum(moves) / moves.size


def mean_intervals(
    metrics: Sequence[Units],
    confidences: Sequence[float],
    *,
    n_resamples: int,
    seed: int,
    analytic: Sequence[bool],
) -> list[list[Bounds]]:
    """Return the BCa intervals of several means, metrics of one length sharing their draws.

    Swapping the runs mirrors every bound exactly: a metric whose mean is below zero is resampled
    negated and turned back.

    Args:
        metrics: Each with n >= 2 units.
        confidences: Coverages, each in (0, 1).
        n_resamples: Bootstrap resamples. Memory is O(n_resamples * number of metrics).
        seed: Root seed.
        analytic: For each metric, whether to take the limit instead of resampling.

    Returns:
        For each metric one interval per confidence, in grid units.
    """
    oriented = [_orientation(units) for units in metrics]
    facing = [Units(u.sums * sign, u.sizes) for u, sign in zip(metrics, oriented, strict=True)]
    bounds: list[list[Bounds]] = [[] for _ in metrics]
    by_length: dict[int, list[int]] = {}
    for place, (units, limit) in enumerate(zip(facing, analytic, strict=True)):
        deviations = units.deviations()
        if not deviations.any():
            bounds[place] = [Bounds(units.mean, units.mean) for _ in confidences]
        elif limit:
            a = bca.acceleration(units.influences(deviations))
            sizes = units.sizes.astype(np.float64)
            shifts = [bca.limit_interval(deviations, sizes, a, c) for c in confidences]
            bounds[place] = [Bounds(units.mean + s.low, units.mean + s.high) for s in shifts]
        else:
            by_length.setdefault(units.sums.size, []).append(place)
    for places in by_length.values():
        together = [facing[place] for place in places]
        drawn = _resampled(together, confidences, n_resamples=n_resamples, seed=seed)
        for place, found in zip(places, drawn, strict=True):
            bounds[place] = found
    return [
        found if sign > 0 else [bound.mirrored() for bound in found]
        for found, sign in zip(bounds, oriented, strict=True)
    ]


def _orientation(units: Units) -> int:
    """Return the sign of the mean, of the first unit that is not zero when the mean is zero."""
    total = int(units.sums.sum())
    if total == 0:
        total = int(units.sums[np.argmax(units.sums != 0)])
    return -1 if total < 0 else 1


def _resampled(
    metrics: Sequence[Units], confidences: Sequence[float], *, n_resamples: int, seed: int
) -> Iterator[list[Bounds]]:
    columns, units = [], []
    for metric in metrics:
        most = float(np.max(np.abs(metric.sums))) * metric.sums.size
        sums, unit = exact_floats(metric.sums, most)
        columns.append(sums)
        units.append(unit)
        if _is_ragged(metric):
            columns.append(metric.sizes.astype(np.float64))
    totals = iter(resampled_totals(columns, n_resamples=n_resamples, seed=seed))
    for metric, unit in zip(metrics, units, strict=True):
        sums = next(totals)
        sizes = next(totals) if _is_ragged(metric) else float(metric.sizes.sum())
        off = sums * unit - metric.mean * sizes
        tolerance = np.asarray(sizes) / 2
        n_below = int(np.count_nonzero(off < -tolerance))
        n_tied = int(np.count_nonzero(np.abs(off) <= tolerance))
        z0 = bca.bias_correction(n_below, n_tied, n_resamples)
        a = bca.acceleration(metric.influences(metric.deviations()))
        replicates = np.sort(sums * unit / sizes)
        yield [bca.percentile_interval(replicates, z0, a, c) for c in confidences]


def _is_ragged(metric: Units) -> bool:
    return bool(metric.sizes.min() != metric.sizes.max())


def resampled_totals(
    columns: Sequence[NDArray[np.float64]], *, n_resamples: int, seed: int
) -> list[NDArray[np.float64]]:
    """Return the sum of every column over every resample; shape (n_resamples,) each.

    Args:
        columns: Whole numbers of the same units; shape (n,) each, n >= 1.
        n_resamples: Number of resamples.
        seed: Root seed.
    """
    n_units = columns[0].size
    if len(columns) <= FEW_COLUMNS:
        totals = [np.empty(n_resamples) for _ in columns]
        row = 0
        gathered = np.empty((max(1, BLOCK // n_units), n_units))
        for drawn in index_blocks(n_units, n_resamples, seed):
            for column, total in zip(columns, totals, strict=True):
                picked = np.take(column, drawn, out=gathered[: len(drawn)], mode="clip")
                total[row : row + len(drawn)] = np.einsum("ij->i", picked)
            row += len(drawn)
        return totals
    table, row = np.column_stack(columns), 0
    sums = np.empty((n_resamples, len(columns)))
    for counts in count_blocks(n_units, n_resamples, seed):
        sums[row : row + len(counts)] = exact_product(counts, table)
        row += len(counts)
    return list(sums.T)


def count_blocks(n_units: int, n_resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield how often each unit was drawn in each resample; shape (rows, n_units).

    The next block is written over the last one.
    """
    space = np.empty((max(1, BLOCK // n_units), n_units))
    for drawn in index_blocks(n_units, n_resamples, seed):
        np.add(drawn, np.arange(len(drawn))[:, np.newaxis] * n_units, out=drawn)
        counts = np.bincount(drawn.ravel(), minlength=drawn.size)
        np.copyto(space[: len(drawn)], counts.reshape(drawn.shape))
        yield space[: len(drawn)]


def statistic_interval(
    statistic: Statistic,
    n_units: int,
    *,
    confidences: Sequence[float],
    n_resamples: int,
    seed: int,
) -> tuple[float, list[Bounds]]:
    """Return a statistic of all units and its BCa intervals, the units resampled jointly.

    For numbers per run that are no mean of items. The draws are those of `mean_intervals`.
    Resamples in which the statistic is undefined are left out.

    Args:
        statistic: From counts, (rows, n_units), to values, (rows,), NaN where undefined. It must
            treat each row by itself.
        n_units: Number of units.
        confidences: Coverages, each in (0, 1).
        n_resamples: Bootstrap resamples. Memory is O(n_resamples + a block of counts).
        seed: Root seed.

    Returns:
        The observed value (NaN where undefined) and one interval per confidence; none with fewer
        than two units, or when the statistic is undefined for all units or in half the resamples.

    Raises:
        UsageError: If there are no units.
    """
    if n_units < 1:
        raise UsageError("A statistic of no units was asked for", fix="Give at least one unit.")
    observed = float(statistic(np.ones((1, n_units)))[0])
    if n_units < 2 or not np.isfinite(observed):
        return observed, []
    sign = -1.0 if observed < 0 else 1.0
    blocks = count_blocks(n_units, n_resamples, seed)
    replicates = sign * np.concatenate([statistic(counts) for counts in blocks])
    replicates = np.sort(replicates[np.isfinite(replicates)])
    if replicates.size <= n_resamples / 2:
        return observed, []
    left_out = sign * np.concatenate([statistic(counts) for counts in _leave_one_out(n_units)])
    left_out = left_out[np.isfinite(left_out)]
    influences = exact_sum(left_out) / max(left_out.size, 1) - left_out
    tolerance = 1e-12 * max(1.0, abs(observed))
    n_below = int(np.count_nonzero(replicates < sign * observed - tolerance))
    n_tied = int(np.count_nonzero(np.abs(replicates - sign * observed) <= tolerance))
    z0 = bca.bias_correction(n_below, n_tied, replicates.size)
    a = bca.acceleration(np.where(np.abs(influences) <= tolerance, 0.0, influences))
    bounds = [bca.percentile_interval(replicates, z0, a, c) for c in confidences]
    return observed, [bound if sign > 0 else bound.mirrored() for bound in bounds]


def _leave_one_out(n_units: int) -> Iterator[NDArray[np.float64]]:
    rows = max(1, BLOCK // n_units)
    for start in range(0, n_units, rows):
        counts = np.ones((min(rows, n_units - start), n_units))
        counts[np.arange(len(counts)), start + np.arange(len(counts))] = 0.0
        yield counts
