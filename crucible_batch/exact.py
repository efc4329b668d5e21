"""The one place where a published sum or mean is made.

`math.fsum` rounds once, so the result does not depend on the order of the values, on threads or on
how rows were split over files; `sum`, `polars.mean` and `avg` do (polars#25163, duckdb#4270).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CHUNK = 65_536

_FEW = 1_000
"""Values that are added up one by one as quickly."""

_SAFE = 2.0**900
"""Larger values, and those below the inverse, are not split: a part might overflow or vanish."""


def exact_sum(values: Iterable[float] | NDArray[Any]) -> float:
    """Return the exactly rounded sum; 0.0 for no values. IEEE -0.0 becomes 0.0.

    Args:
        values: Numbers; an array is added up several times as fast as a list, in O(1) memory.
    """
    return math.fsum(_parts(values.ravel()) if isinstance(values, np.ndarray) else values) + 0.0


def exact_mean(values: Iterable[float] | NDArray[Any]) -> float | None:
    """Return the exactly rounded sum divided by the count, or None when there is no value."""
    if isinstance(values, np.ndarray):
        return exact_sum(values) / values.size if values.size else None
    kept = values if isinstance(values, Sized) else list(values)
    return exact_sum(kept) / len(kept) if len(kept) else None


def _parts(values: NDArray[Any]) -> Iterator[float]:
    """Numbers, few in number, with exactly the sum of an array."""
    for start in range(0, values.size, _CHUNK):
        chunk = values[start : start + _CHUNK]
        yield from _split(chunk.astype(np.float64)) if chunk.size > _FEW else chunk.tolist()


def _split(left: NDArray[np.float64]) -> Iterator[float]:
    """Sums of the leading bits of all values, then of the next ones, until nothing is left.

    Bits down to a common unit have a sum that float64 holds, so it is exact in any order (Rump,
    Ogita and Oishi 2008, "Accurate floating-point summation, part I", algorithm 3.2, lemma 3.3).
    """
    room = (left.size + 2).bit_length()
    while largest := max(left.max(), -left.min()):
        if not 1 / _SAFE < largest < _SAFE:
            yield from left.tolist()
            return
        common = math.ldexp(1.0, math.frexp(largest)[1] + room)
        leading = (left + common) - common
        left -= leading
        yield float(leading.sum())
