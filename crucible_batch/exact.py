"""The one place where a published sum or mean is made.

`math.fsum` rounds once, so the result does not depend on the order of the values, on threads or on
how rows were split over files; `sum`, `polars.mean` and `avg` do (polars#25163, duckdb#4270).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sized


def exact_sum(values: Iterable[float]) -> float:
    """Return the exactly rounded sum; 0.0 for no values. IEEE -0.0 becomes 0.0."""
    return math.fsum(values) + 0.0


def exact_mean(values: Iterable[float]) -> float | None:
    """Return the exactly rounded sum divided by the count, or None when there is no value."""
    kept = values if isinstance(values, Sized) else list(values)
    return exact_sum(kept) / len(kept) if len(kept) else None
