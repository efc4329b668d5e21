"""How many sign vectors are extreme, for many tests at once.

A float32 product is twice as fast as one in float64 but holds only 24 bits. So each test's numbers
are first rounded to multiples of a power of two that do fit; what the rounding can do to a sum is
known exactly, and the few sums too close to their bound to be told are made again in full.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from crucible_batch.stats.grid import exact_product
from crucible_batch.stats.streams import UNITS_PER_WORD, sign_words

_WORDS, _ROWS = 16, 256
"""Words and resamples of one product: its operands stay in the cache."""

_EXACT_FLOAT32 = 2**24
"""float32 holds every integer up to here."""

_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1, bitorder="little")
"""Row i holds the bits of i, lowest first; shape (256, 8)."""

Floats = NDArray[np.float64]


def count_by_product(
    sums: Sequence[Floats], bounds: Sequence[float], *, n_resamples: int, seed: int
) -> list[int]:
    """Return, for each test, how many sign vectors give ``|Σ s_i d_i| >= bound``.

    Args:
        sums: d of each test, whole numbers whose absolute sum stays below 2^53; shapes (n_t,).
        bounds: One number per test.
        n_resamples: Sign vectors drawn, the same for all tests.
        seed: Root seed.
    """
    units = np.array([_unit(values) for values in sums])
    rounded = [np.rint(values / unit) for values, unit in zip(sums, units, strict=True)]
    off = np.array(
        [
            np.abs(values - unit * near).sum()
            for values, near, unit in zip(sums, rounded, units, strict=True)
        ]
    )
    totals = np.array([near.sum() for near in rounded])
    size = np.abs(_plus_sums(rounded, n_resamples, seed) * 2 - totals) * units
    surely = size >= bounds + off
    unsure = (size >= bounds - off) & ~surely
    counts = np.count_nonzero(surely, axis=0)
    rows = [np.flatnonzero(column) for column in unsure.T]
    plus = _plus_sums_of(rows, sums, n_resamples, seed)
    for test, (values, again) in enumerate(zip(sums, plus, strict=True)):
        counts[test] += np.count_nonzero(np.abs(2 * again - values.sum()) >= bounds[test])
    return [int(count) for count in counts]


def _unit(values: Floats) -> float:
    """Return the least power of two whose multiples nearest to `values` sum exactly in float32."""
    block = _WORDS * UNITS_PER_WORD
    starts = np.arange(0, values.size, block)
    most = float(np.add.reduceat(np.abs(values), starts).max())
    unit = 1.0
    while most / unit + block / 2 >= _EXACT_FLOAT32:
        unit *= 2.0
    return unit


def _plus_sums(sums: Sequence[Floats], n_resamples: int, seed: int) -> Floats:
    """Return the sums of the units that got a plus; shape (n_resamples, tests)."""
    totals = np.zeros((n_resamples, len(sums)))
    bits = _BITS.astype(np.float32)
    pluses = np.empty((_ROWS, 8 * _WORDS, 8), np.float32)
    for groups, words in _blocks(sums, n_resamples, seed):
        columns = _columns(sums, groups).astype(np.float32)
        for row in range(0, n_resamples, _ROWS):
            eights = words[row : row + _ROWS]
            here = pluses[: eights.shape[0], : eights.shape[1]]
            np.take(bits, eights, axis=0, out=here, mode="clip")
            totals[row : row + _ROWS] += exact_product(here.reshape(len(here), -1), columns)
    return totals


def _plus_sums_of(
    rows: Sequence[NDArray[np.intp]], sums: Sequence[Floats], n_resamples: int, seed: int
) -> list[Floats]:
    """Return the sums of the units that got a plus in some resamples of each test."""
    totals = [np.zeros(len(some)) for some in rows]
    if not any(len(some) for some in rows):
        return totals
    bits = _BITS.astype(np.float64)
    for groups, words in _blocks(sums, n_resamples, seed):
        columns = _columns(sums, groups)
        for some, column, total in zip(rows, columns.T, totals, strict=True):
            for first in range(0, len(some), _ROWS):
                chosen = bits[words[some[first : first + _ROWS]]]
                pluses = chosen.reshape(len(chosen), -1)
                # Not BLAS, which would wait for a second thread.
                total[first : first + _ROWS] += np.einsum("ij,j->i", pluses, column)
    return totals


def _blocks(
    sums: Sequence[Floats], n_resamples: int, seed: int
) -> Iterator[tuple[range, NDArray[np.uint8]]]:
    """Yield some words of signs at a time: their numbers, and their bytes by resample."""
    n_words = -(-max(values.size for values in sums) // UNITS_PER_WORD)
    for start in range(0, n_words, _WORDS):
        groups = range(start, min(start + _WORDS, n_words))
        words = [sign_words(group, n_resamples, seed).astype("<u8", copy=False) for group in groups]
        yield groups, np.stack(words, axis=1).view(np.uint8)


def _columns(sums: Sequence[Floats], groups: range) -> Floats:
    """Return the units of some words, a test per column, 64 rows per word."""
    columns = np.zeros((len(groups), 64, len(sums)))
    units = np.zeros((len(groups), UNITS_PER_WORD))
    for column, values in enumerate(sums):
        own = values[groups.start * UNITS_PER_WORD : groups.stop * UNITS_PER_WORD]
        units.reshape(-1)[: own.size] = own
        units.reshape(-1)[own.size :] = 0.0
        columns[:, :UNITS_PER_WORD, column] = units
    return columns.reshape(-1, len(sums))
