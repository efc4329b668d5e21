"""The bias-corrected and accelerated bootstrap interval: formulas only, no random numbers.

Source: Efron & Tibshirani 1993, chapter 14. Letters are theirs: z0 the bias correction, a the
acceleration, alpha the level at which a percentile of the replicates is read.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crucible_batch.exact import exact_sum
from crucible_batch.stats.quantiles import normal_level, normal_quantile

_EXTREME = 40.0
"""A normal quantile whose level is 0 or 1 in float64."""


class Bounds(NamedTuple):
    """Both ends of an interval."""

    low: float
    high: float

    def mirrored(self) -> Bounds:
        """Return the interval of the negated statistic."""
        return Bounds(-self.high + 0.0, -self.low + 0.0)


def bias_correction(n_below: int, n_tied: int, n_resamples: int) -> float:
    """Return z0 (eq. 14.14), replicates equal to the observed value counting as half below it."""
    share = (n_below + n_tied / 2) / n_resamples
    share = min(max(share, 0.5 / n_resamples), 1 - 0.5 / n_resamples)
    return normal_quantile(share)


def acceleration(influences: NDArray[np.float64]) -> float:
    """Return a = Σu³ / (6 (Σu²)^1.5) (eq. 14.15); 0 when nothing varies.

    Args:
        influences: u = jackknife mean minus leave-one-out value, up to a common positive factor;
            for the mean of n values that is value minus mean, so no n × n table is needed.
    """
    largest = float(np.max(np.abs(influences), initial=0.0))
    if largest == 0.0:
        return 0.0
    u = influences / largest
    total = exact_sum(u * u)
    return exact_sum(u * u * u) / (6 * total * math.sqrt(total))


def levels(z0: float, a: float, confidence: float) -> tuple[float, float]:
    """Return the two corrected normal quantiles z0 + (z0 + z) / (1 - a (z0 + z)) (eq. 14.10)."""
    z = normal_quantile((1 + confidence) / 2)
    return _corrected(z0, a, -z), _corrected(z0, a, z)


def _corrected(z0: float, a: float, z: float) -> float:
    shrink = 1 - a * (z0 + z)
    if shrink <= 0:  # past the pole the level is the extreme one
        return math.copysign(_EXTREME, z0 + z)
    return z0 + (z0 + z) / shrink


def percentile_interval(
    replicates: NDArray[np.float64], z0: float, a: float, confidence: float
) -> Bounds:
    """Return the replicates at the corrected levels (eq. 14.9), interpolated as numpy "linear".

    Args:
        replicates: Sorted; shape (n_resamples,).
        z0: Bias correction.
        a: Acceleration.
        confidence: Coverage, in (0, 1).
    """
    low, high = levels(z0, a, confidence)
    return Bounds(
        _quantile(replicates, normal_level(low)), _quantile(replicates, normal_level(high))
    )


def _quantile(replicates: NDArray[np.float64], level: float) -> float:
    place = level * (replicates.size - 1)
    below = min(int(place), replicates.size - 1)
    lower = float(replicates[below])
    upper = float(replicates[min(below + 1, replicates.size - 1)])
    return lower + (place - below) * (upper - lower)


def limit_interval(
    deviations: NDArray[np.float64], sizes: NDArray[np.float64], a: float, confidence: float
) -> Bounds:
    """Return the BCa interval for many resamples of many units, around an observed ratio of 0.

    The replicate Σv*/Σm* is at most t exactly when Σ(v - t m)* <= 0, a plain sum. With its first
    Edgeworth term z0 = a (Efron & Tibshirani 1993, section 14.3) and its quantile at z is
    w = z + a (z² - 1) standard deviations (Cornish & Fisher 1938). The bound t solves
    t n m̄ = w √(n var(v - t m)); for equal sizes that is t = w sd(v) / (m̄ √n).

    Args:
        deviations: v_g = sum of the unit minus ratio times its size, summing to 0; shape (n,).
        sizes: m_g, items per unit; shape (n,).
        a: Acceleration.
        confidence: Coverage, in (0, 1).
    """
    total = exact_sum(sizes)
    centred = sizes - total / sizes.size
    v_v = exact_sum(deviations * deviations)
    v_m = exact_sum(deviations * centred)
    m_m = exact_sum(centred * centred)
    bounds = []
    for z in levels(a, a, confidence):
        w = z + a * (z * z - 1)
        curve = total * total - w * w * m_m
        if curve <= 0:  # one unit outweighs all others: sizes as if fixed
            bounds.append(w * math.sqrt(v_v) / total)
            continue
        root = math.sqrt(w * w * v_m * v_m + curve * v_v)
        bounds.append((w * root - w * w * v_m) / curve)
    return Bounds(*bounds)
