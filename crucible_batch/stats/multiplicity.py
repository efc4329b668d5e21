"""Adjusting the p-values of a family of tests."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucible_batch.errors import UsageError

METHODS = ("holm", "bh", "by")


def adjust_pvalues(p: Any, method: str = "holm") -> NDArray[np.float64]:
    """Return p-values adjusted for their number, as R's `p.adjust`.

    Args:
        p: Raw p-values; None and NaN are tests that were not made: they are not in the family and
            come back as NaN; shape (n,).
        method: ``holm`` (family-wise error), ``bh`` (false discovery rate, Benjamini & Hochberg)
            or ``by`` (the same under any dependence, Benjamini & Yekutieli).

    Returns:
        Adjusted p-values, at most 1, in the order given; shape (n,).

    Raises:
        UsageError: If the method is not known or a p lies outside [0, 1].

    References:
        Holm 1979; Benjamini & Hochberg 1995; Benjamini & Yekutieli 2001.
    """
    if method not in METHODS:
        raise UsageError(
            f"No adjustment is called {method!r}", fix=f"Use one of {', '.join(METHODS)}."
        )
    raw = np.array(p, dtype=np.float64)
    in_family = np.flatnonzero(~np.isnan(raw))
    outside = [k for k in in_family if not 0 <= raw[k] <= 1]
    if outside:
        raise UsageError(
            "A p-value lies between 0 and 1",
            problems=[f"position {k}: {raw[k]}" for k in outside],
            fix="Give p-values, and None or NaN for tests that were not made.",
        )
    ascending = in_family[np.argsort(raw[in_family], kind="stable")]
    n_tests, rank = ascending.size, np.arange(1, ascending.size + 1)
    if method == "holm":
        steps = np.maximum.accumulate(raw[ascending] * (n_tests - rank + 1))
    else:
        penalty = math.fsum(1 / k for k in range(1, n_tests + 1)) if method == "by" else 1.0
        steps = np.minimum.accumulate((raw[ascending] * (penalty * n_tests / rank))[::-1])[::-1]
    raw[ascending] = np.minimum(steps, 1.0)
    return raw
