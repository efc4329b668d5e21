"""Random splits of pooled counts into two samples, the same bits on every machine.

A permutation of n + m labelled elements matters only through how many elements of each category
fall into the second sample. These counts are drawn directly, by inverting the hypergeometric
distribution with `+ - * /` only, which IEEE 754 rounds alike everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from crucible_batch.errors import UsageError
from crucible_batch.stats.streams import BLOCK, PERMUTATIONS, raw_words

_CELLS = 1 << 20
"""Most probabilities that are held at once."""

_SPREAD, _MARGIN = 10, 30
"""Values further from the mode than 10 sd + 30 have less than 1e-20 of the mass."""


def split_counts(
    pooled: Sequence[int], n_second: int, n_splits: int, seed: int
) -> Iterator[NDArray[np.int64]]:
    """Split pooled counts at random into two samples of fixed size, many times.

    A split depends on (pooled, n_second, place of the split, seed) alone: more splits begin with
    the same ones.

    Args:
        pooled: Elements of each category in both samples together; each >= 0.
        n_second: Size of the second sample, at most the sum of `pooled`.
        n_splits: Number of splits, at most `BLOCK`.
        seed: Root seed.

    Yields:
        For each category in turn, how many of its elements fall into the second sample;
        shape (n_splits,). Memory: O(n_splits + 2^20 numbers).

    Raises:
        UsageError: More splits than one stream gives, or a sample larger than the pool.
    """
    n_left = int(sum(pooled))
    if n_splits > BLOCK or not 0 <= n_second <= n_left:
        raise UsageError(
            f"{n_splits:,} splits of {n_left:,} elements into a sample of {n_second:,}",
            fix=f"ask for at most {BLOCK:,} splits, and for no more elements than there are.",
        )
    wanted = np.full(n_splits, n_second, dtype=np.int64)
    for place, count in enumerate(pooled):
        drawn = _draws(int(count), n_left, wanted, _uniform(seed, place, n_splits))
        wanted -= drawn
        n_left -= int(count)
        yield drawn


def _uniform(seed: int, place: int, n: int) -> NDArray[np.float64]:
    """Multiples of 2^-53 in [0, 1)."""
    words = raw_words(seed, PERMUTATIONS, place, n) >> np.uint64(11)
    return words.astype(np.float64) * np.float64(2.0**-53)


def _draws(
    count: int, n_left: int, wanted: NDArray[np.int64], uniform: NDArray[np.float64]
) -> NDArray[np.int64]:
    """How many of `wanted` elements, taken from `n_left`, are among a category's `count`."""
    drawn = np.empty_like(wanted)
    sizes, which = np.unique(wanted, return_inverse=True)
    order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[order], np.arange(sizes.size), side="right")
    reach = _reach(count, n_left, sizes)
    rows = max(1, _CELLS // (2 * reach + 1))
    for first in range(0, sizes.size, rows):
        lowest, cumulative = _distributions(count, n_left, sizes[first : first + rows], reach)
        for row, (low, mass) in enumerate(zip(lowest, cumulative, strict=True), start=first):
            own = order[ends[row - 1] if row else 0 : ends[row]]
            # Below the whole mass, so that the value found always has mass of its own.
            target = np.minimum(uniform[own] * mass[-1], np.nextafter(mass[-1], 0.0))
            drawn[own] = low + np.searchsorted(mass, target, side="right")
    return drawn


def _reach(count: int, n_left: int, sizes: NDArray[np.int64]) -> int:
    """How far from the mode a distribution is followed; the same for all sizes."""
    share = count / max(n_left, 1)
    widest = max(float(size) * (1 - size / max(n_left, 1)) for size in sizes.tolist())
    spread = math.ceil(_SPREAD * math.sqrt(widest * share * (1 - share)) + _MARGIN)
    return min(spread, count, int(sizes[-1]))


def _distributions(
    count: int, n_left: int, sizes: NDArray[np.int64], reach: int
) -> tuple[list[int], NDArray[np.float64]]:
    """Lowest value and cumulative mass of each size's distribution around its mode.

    P(x + 1) / P(x) = (count - x)(size - x) / ((x + 1)(n_left - count - size + x + 1)), and the mass
    of the mode is set to 1: neither logarithms nor factorials are needed.
    """
    mode = (sizes + 1) * (count + 1) // (n_left + 2)
    mode = np.clip(mode, np.maximum(0, sizes + count - n_left), np.minimum(sizes, count))
    others = (n_left - count - sizes)[:, None].astype(np.float64)
    size, steps = sizes[:, None].astype(np.float64), np.arange(reach, dtype=np.float64)
    above, below = mode[:, None] + steps, mode[:, None] - steps
    up = (count - above) * (size - above) / ((above + 1) * (others + above + 1))
    down = below * (others + below) / ((count - below + 1) * (size - below + 1))
    mass = np.ones((sizes.size, 2 * reach + 1))
    mass[:, reach + 1 :] = np.cumprod(up, axis=1)
    mass[:, :reach] = np.cumprod(down, axis=1)[:, ::-1]
    return (mode - reach).tolist(), np.cumsum(mass, axis=1)
