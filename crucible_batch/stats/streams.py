"""Random numbers that stay the same: raw 64-bit words, one independent stream per block.

Only `BitGenerator.random_raw` is used, the part of numpy.random with a stream guarantee. Every
block has its own `SeedSequence(seed, spawn_key=(STREAM_VERSION, purpose, block))`, so no number
depends on what else was drawn, in which order, or by how many workers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import PCG64DXSM, SeedSequence
from numpy.typing import NDArray

STREAM_VERSION = 1
"""Changes whenever the same seed would give other resamples; stands in every row."""

BLOCK = 65_536
"""Most elements that one stream is asked for."""

BOOTSTRAP, SIGN_FLIPS, PERMUTATIONS = 0, 1, 2
"""The purposes of a stream."""

UNITS_PER_WORD = 60
"""Sign bits used of a 64-bit word: five lookups of 12 bits."""

_LOW = np.uint64(0xFFFF_FFFF)
_HALF = np.uint64(32)


def raw_words(seed: int, purpose: int, block: int, n_words: int) -> NDArray[np.uint64]:
    """Return the first `n_words` words of one block's stream; shape (n_words,)."""
    sequence = SeedSequence(seed, spawn_key=(STREAM_VERSION, purpose, block))
    return PCG64DXSM(sequence).random_raw(n_words)


def _indices(words: NDArray[np.uint64], n_items: int, out: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Turn each word into two numbers below `n_items`, in `out`; shape (2 * n_words,).

    Multiply-shift on 32 bits: no index is more than n / 2^32 of itself too likely.
    """
    np.bitwise_and(words, _LOW, out=out[: words.size])
    np.right_shift(words, _HALF, out=out[words.size :])
    np.multiply(out, np.uint64(n_items), out=out)
    np.right_shift(out, _HALF, out=out)
    return out.view(np.int64)


def index_blocks(n_items: int, n_resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield bootstrap draws with replacement, whole resamples at a time.

    The draws are a function of (n_items, resample, seed) alone, so every metric with the same
    number of units shares them. Up to `BLOCK` items a block holds as many whole resamples as fit;
    above that a resample is made of several blocks. Memory is O(BLOCK + n_items).

    Args:
        n_items: Units drawn from, and drawn per resample; >= 1.
        n_resamples: Number of resamples in total.
        seed: Root seed.

    Yields:
        Positions below `n_items`; shape (resamples of this block, n_items). The next block is
        written over them.
    """
    if n_items > BLOCK:
        n_parts = -(-n_items // BLOCK)
        out = np.empty((n_parts, BLOCK), dtype=np.uint64)
        for resample in range(n_resamples):
            for part, row in enumerate(out, start=resample * n_parts):
                _indices(raw_words(seed, BOOTSTRAP, part, BLOCK // 2), n_items, row)
            yield out.view(np.int64).reshape(1, -1)[:, :n_items]
        return
    rows = BLOCK // n_items
    n_words = -(-rows * n_items // 2)
    space = np.empty(2 * n_words, dtype=np.uint64)
    for block, start in enumerate(range(0, n_resamples, rows)):
        drawn = _indices(raw_words(seed, BOOTSTRAP, block, n_words), n_items, space)
        n_rows = min(rows, n_resamples - start)
        yield drawn[: n_rows * n_items].reshape(n_rows, n_items)


def sign_words(group: int, n_resamples: int, seed: int) -> NDArray[np.uint64]:
    """Return the sign bits of one group of `UNITS_PER_WORD` units; shape (n_resamples,).

    Bit j of word r is the sign of unit ``group * UNITS_PER_WORD + j`` in resample r, whatever
    the number of units, so that metrics of any length share the words.
    """
    per_group = -(-n_resamples // BLOCK)
    parts = [
        raw_words(seed, SIGN_FLIPS, group * per_group + part, min(BLOCK, n_resamples - start))
        for part, start in enumerate(range(0, n_resamples, BLOCK))
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
