"""Two-sided sign-flip permutation test on a sum: exact where possible, else Monte Carlo.

p = P(|Σ s_i d_i| >= |Σ d_i|) over all 2^n sign vectors s (Smucker, Allan & Carterette 2007). Units
that did not change are left out before anything is drawn, so they can never change p.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crucible_batch.stats.grid import exact_floats, smallest_weights
from crucible_batch.stats.sign_products import count_by_product
from crucible_batch.stats.streams import UNITS_PER_WORD, sign_words

MEET_IN_THE_MIDDLE = 30
"""Up to this many non-zero units every sign vector is looked at."""

_COUNTABLE = 52
"""Up to this many units the number of sign vectors is an exact float64."""

_LEAST_POWER = sys.float_info.min_exp - 1

_BITS = 12
_SUBSETS = (np.arange(2 ** (_BITS // 2))[:, np.newaxis] >> np.arange(_BITS // 2) & 1).astype(float)
"""Row i holds the bits of i; shape (64, 6)."""

_MANY = 8
"""From so many tests on one product beats many look-ups."""


class SignFlips(NamedTuple):
    """One metric's input to the test, non-zero units only, in canonical order.

    Attributes:
        sums: Change of each unit in grid units, whole numbers; shape (n,).
        steps: The same in steps of a common lattice; shape (n,), or None without one.
        tolerance: Sums this close are ties: half a grid unit per item that changed.
    """

    sums: NDArray[np.int64]
    steps: NDArray[np.int64] | None
    tolerance: float


class PValue(NamedTuple):
    """A two-sided p, how it was found, and the least it could have been."""

    p: float
    method: str
    attainable: float


def sign_flip_tests(tests: Sequence[SignFlips], *, n_resamples: int, seed: int) -> list[PValue]:
    """Return the p of each test; those that need Monte Carlo share one set of sign vectors.

    Each p is what the test alone would give. Memory is O(n_resamples * number of tests).
    """
    exact = [_exact_p(test) for test in tests]
    hard = [test for test, p in zip(tests, exact, strict=True) if p is None]
    drawn = iter(monte_carlo_p(hard, n_resamples=n_resamples, seed=seed))
    reported = []
    for test, p in zip(tests, exact, strict=True):
        least = min(1.0, math.ldexp(1.0, max(1 - test.sums.size, _LEAST_POWER)))
        if p is None:
            least = max(least, 1 / (n_resamples + 1))
            reported.append(PValue(next(drawn), "monte_carlo", least))
        else:
            reported.append(PValue(max(p, sys.float_info.min), "exact", least))
    return reported


def _exact_p(test: SignFlips) -> float | None:
    if not test.sums.size:
        return 1.0
    small = None if test.steps is None else smallest_weights(test.steps)
    if test.steps is not None and small is not None:
        weights, divisor = small
        return lattice_p(weights, abs(int(test.steps.sum())) // divisor)
    if test.sums.size <= MEET_IN_THE_MIDDLE:
        return meet_in_the_middle_p(test.sums, test.tolerance)
    return None


def lattice_p(weights: NDArray[np.int64], observed: int) -> float:
    """Return the exact p for whole weights, by dynamic programming over their sums.

    With X the sum of the weights that got a plus, |Σ s_i w_i| >= T is X >= (W + T) / 2 or its
    mirror image. Equal weights enter together as a binomial. Counts are exact up to 52 units;
    above that, probabilities too far out to reach p in float64 are cut away.

    Args:
        weights: |d_i| in lattice steps, >= 1; shape (n,), n >= 1.
        observed: T = |Σ d_i| in the same steps.
    """
    if observed == 0:
        return 1.0
    countable = weights.size <= _COUNTABLE
    spread = math.sqrt(float(np.sum(weights.astype(np.float64) ** 2)))
    deviations = math.sqrt((observed / spread) ** 2 + 80.0) + 1.0
    law, start, middle = np.ones(1), 0, 0.0
    for step, n_units in zip(*map(_integers, np.unique_counts(weights)), strict=True):
        first, binomial = _binomial(n_units, deviations, as_counts=countable)
        law, start = _convolved(law, binomial, step), start + step * first
        middle += step * n_units / 2
        cut = max(0, math.floor(middle - deviations * spread / 2) - start)
        law, start = law[cut : law.size - cut], start + cut
    threshold = (int(weights.sum()) + observed) // 2
    tail = float(math.fsum(law[threshold - start :].tolist()))
    return min(1.0, 2 * tail / (math.ldexp(1.0, weights.size) if countable else 1.0))


def _integers(values: NDArray[np.int64]) -> list[int]:
    return [int(value) for value in values]


def _binomial(n: int, deviations: float, *, as_counts: bool) -> tuple[int, NDArray[np.float64]]:
    """Return the law of n fair coins within some deviations of its middle, and its first point."""
    first = max(0, math.floor(n / 2 - deviations * math.sqrt(n) / 2))
    if as_counts:
        return first, np.array([math.comb(n, k) for k in range(first, n - first + 1)], float)
    k = np.arange((n + 1) // 2, n - first)
    upper = np.concatenate([np.ones(1), np.cumprod((n - k) / (k + 1.0))])
    law = np.concatenate([upper[::-1] if n % 2 else upper[:0:-1], upper])
    return first, law / math.fsum(law.tolist())


def _convolved(
    law: NDArray[np.float64], binomial: NDArray[np.float64], step: int
) -> NDArray[np.float64]:
    """Return the law of a sum, the points of `binomial` being `step` apart."""
    out = np.zeros(law.size + step * (binomial.size - 1))
    if binomial.size <= law.size:
        for k, probability in enumerate(binomial):
            out[k * step : k * step + law.size] += probability * law
    else:
        reach = step * (binomial.size - 1) + 1
        for k, probability in enumerate(law):
            out[k : k + reach : step] += probability * binomial
    return out


def meet_in_the_middle_p(sums: NDArray[np.int64], tolerance: float) -> float:
    """Return the exact p by looking at all sign vectors as pairs of two halves.

    Args:
        sums: Whole numbers, none zero; shape (n,), 1 <= n <= 30.
        tolerance: Sums within it of the observed one count as equal.
    """
    bound = math.ceil(abs(int(sums.sum())) - tolerance)
    if bound <= 0:
        return 1.0
    # Both signs of the first unit give the same |sum|: half of the vectors are enough.
    half = (sums.size + 1) // 2
    left = _signed_sums(sums[:1], sums[1:half])
    right = np.sort(_signed_sums(np.zeros(1, np.int64), sums[half:]))
    above = right.size - np.searchsorted(right, bound - left, side="left")
    below = np.searchsorted(right, -bound - left, side="right")
    return math.ldexp(int(above.sum()) + int(below.sum()), 1 - sums.size)


def _signed_sums(start: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
    for value in values:
        start = np.concatenate([start + value, start - value])
    return start


def monte_carlo_p(tests: Sequence[SignFlips], *, n_resamples: int, seed: int) -> list[float]:
    """Return (b + 1) / (B + 1) of each test, b the sign vectors at least as extreme.

    The +1 counts the observed signs themselves, so p is never 0 (Phipson & Smyth 2010). Memory is
    O(n_resamples * number of tests) above one float64 copy of the sums.
    """
    sums, bounds = [], []
    for test in tests:
        values, unit = exact_floats(test.sums, float(np.abs(test.sums).sum(dtype=np.float64)))
        sums.append(values)
        bounds.append(abs(values.sum()) - test.tolerance / unit)
    count = count_by_product if len(sums) >= _MANY else _count_by_lookup
    n_extreme = count(sums, bounds, n_resamples=n_resamples, seed=seed)
    return [(n + 1) / (n_resamples + 1) for n in n_extreme]


def _count_by_lookup(
    sums: Sequence[NDArray[np.float64]], bounds: Sequence[float], *, n_resamples: int, seed: int
) -> list[int]:
    """Return what `count_by_product` does, faster for few tests.

    Twelve signs are one look-up in a table of the 4,096 sums they can make.
    """
    totals = [np.zeros(n_resamples) for _ in sums]
    picked = np.empty(n_resamples)
    bits = np.empty((UNITS_PER_WORD // _BITS, n_resamples), dtype=np.uint64)
    longest = max((values.size for values in sums), default=0)
    for group, start in enumerate(range(0, longest, UNITS_PER_WORD)):
        words = sign_words(group, n_resamples, seed)
        for place, row in enumerate(bits[: -(-(longest - start) // _BITS)]):
            np.right_shift(words, np.uint64(place * _BITS), out=row)
            np.bitwise_and(row, np.uint64(2**_BITS - 1), out=row)
        for values, total in zip(sums, totals, strict=True):
            for place, table in enumerate(_tables(values[start : start + UNITS_PER_WORD])):
                np.take(table, bits[place].view(np.int64), out=picked, mode="clip")
                np.add(total, picked, out=total)
    return [
        int(np.count_nonzero(np.abs(2 * total - values.sum()) >= bound))
        for values, total, bound in zip(sums, totals, bounds, strict=True)
    ]


def _tables(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the subset sums of every twelve values; shape (ceil(n / 12), 4096)."""
    n_tables = -(-values.size // _BITS)
    padded = np.zeros((2 * n_tables, _BITS // 2))
    padded.reshape(-1)[: values.size] = values
    halves: NDArray[np.float64] = padded @ _SUBSETS.T
    tables = halves[1::2, :, np.newaxis] + halves[0::2, np.newaxis, :]
    return tables.reshape(n_tables, 2**_BITS)
