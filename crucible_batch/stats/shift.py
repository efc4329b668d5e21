"""Two samples over categories, held against the limit that their sizes need.

Without any change 50 against 50 draws over ten categories have a PSI above 0.1 in 97 % of the
cases: a fixed limit alone is a false alarm every night (DRIFT.md, "Snapshot").
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from crucible_batch.errors import UsageError
from crucible_batch.stats.distances import Distance, measure, sides_of, terms
from crucible_batch.stats.hypergeometric import split_counts

ALPHA = 0.001
"""Chance that two samples of one distribution lie further apart than their critical value."""

N_PERMUTATIONS = 9_999
"""Random splits behind a critical value that has no closed form."""

ASYMPTOTIC, SUPPORT = 10, 5
"""Elements per category of the smaller side: for the chi-square limit, and for any limit."""

DIGITS = 12
"""Significant digits of a resampled number (STATISTICS.md)."""

INSUFFICIENT = "insufficient_support"
"""Why two samples have no limit: the smaller one has fewer than five elements per category."""


@dataclass(frozen=True, kw_only=True)
class Shift:
    """How far two samples lie apart, and how far noise alone would put them.

    Attributes:
        distance: The distance, to 12 significant digits; None when a side is empty.
        critical: What noise stays below with chance 1 - alpha; None without enough support.
        method: How `critical` was found.
        n_reference: Elements of the reference.
        n_current: Elements of the current sample.
        n_categories: Categories that either side has.
        reason: Why there is no critical value.
    """

    distance: float | None
    critical: float | None
    method: Literal["chi_square", "permutation"] | None
    n_reference: int
    n_current: int
    n_categories: int
    reason: str | None


def shift(
    reference: Mapping[str, int],
    current: Mapping[str, int],
    distance: Distance,
    *,
    seed: int,
    alpha: float = ALPHA,
    n_permutations: int = N_PERMUTATIONS,
) -> Shift:
    """Measure two samples with the limit that their sizes need.

    PSI is smoothed by ½ on both sides. Its limit is the chi-square one when the smaller side has
    ten elements per category; below that, and always for total variation and the Jensen-Shannon
    distance, it comes from random splits of both samples put together.

    Args:
        reference: Count of each category.
        current: Count of each category; one that a side lacks is 0 there.
        distance: ``psi``, ``tvd`` or ``js``.
        seed: Root seed of the splits.
        alpha: Chance of a larger distance without any change.
        n_permutations: Splits; at least 1 / alpha - 1, so that the chance can be kept at all.

    Raises:
        UsageError: No distance has this name, or the splits are too few for alpha.
    """
    names = sorted({name for side in (reference, current) for name, n in side.items() if n})
    sides = [[side.get(name, 0) for name in names] for side in (reference, current)]
    n, m = (int(sum(side)) for side in sides)
    enough = len(names) > 0 and min(n, m) >= SUPPORT * len(names)
    found = measure(distance)(*sides)
    method, limit = None, None
    if enough:
        method, limit = _limit(distance, sides, n, m, alpha, n_permutations, seed)
    return Shift(
        distance=None if found is None else rounded(found),
        critical=limit,
        method=method,
        n_reference=n,
        n_current=m,
        n_categories=len(names),
        reason=None if enough else INSUFFICIENT,
    )


def _limit(
    distance: Distance,
    sides: Sequence[Sequence[int]],
    n: int,
    m: int,
    alpha: float,
    n_permutations: int,
    seed: int,
) -> tuple[Literal["chi_square", "permutation"], float]:
    reference, current = sides
    if distance == "psi" and min(n, m) >= ASYMPTOTIC * len(reference):
        return "chi_square", rounded(psi_limit(len(reference), n, m, alpha=alpha))
    found = permutation_limit(
        reference, current, distance, alpha=alpha, n_permutations=n_permutations, seed=seed
    )
    return "permutation", found


def psi_limit(k: int, n: int, m: int, *, alpha: float = ALPHA) -> float:
    """What the PSI of two samples of one distribution exceeds with chance `alpha`.

    chi-square(1 - alpha, k - 1) · (1/n + 1/m), for k categories and samples of n and m; 0 when
    k = 1.

    References:
        Yurdakul & Naranjo 2020, section 3.
    """
    from scipy.special import chdtri

    return 0.0 if k < 2 else float(chdtri(k - 1, alpha)) * (1 / n + 1 / m)


def permutation_limit(
    reference: Sequence[int],
    current: Sequence[int],
    distance: Distance,
    *,
    seed: int,
    alpha: float = ALPHA,
    n_permutations: int = N_PERMUTATIONS,
) -> float:
    """The distance that random splits of both samples reach with chance `alpha`.

    With B splits it is the value of rank floor(alpha (B + 1)) from above: a distance beyond it has
    p = (b + 1) / (B + 1) <= alpha, b being the splits that are at least as far apart.

    Args:
        reference: Count of each category; length k.
        current: Counts of the same categories; length k.
        distance: ``psi`` (smoothed by ½), ``tvd`` or ``js``.
        seed: Root seed.
        alpha: Chance.
        n_permutations: B.

    Returns:
        The limit to 12 significant digits, so that a distance of `shift` that is reached by a split
        ties with it.

    Raises:
        UsageError: alpha (B + 1) is below 1: no rank is small enough.

    References:
        Phipson & Smyth 2010 (the +1 in p).
    """
    # As a decimal: .001 · 10,000 in binary may be just below 10.
    rank = math.floor(round(alpha * (n_permutations + 1), 9))
    if rank < 1:
        raise UsageError(
            f"{n_permutations:,} splits cannot show a chance of {alpha:g}",
            fix=f"use at least {math.ceil(1 / alpha) - 1:,}.",
        )
    pairs, n, m = sides_of(reference, current)
    pooled = sorted(r + c for r, c in pairs)  # the largest last: it is what is left over
    term = terms(distance, n, m, len(pooled))
    sums = np.zeros(n_permutations)
    drawn = list(split_counts(pooled, m, n_permutations, seed))
    for count, second in zip(pooled, drawn, strict=True):
        values, where = np.unique(second, return_inverse=True)
        # Added one category after the other: the order of a sum is part of its bits.
        sums += np.array([term(count - c, c) for c in values.tolist()])[where]
    at = int(np.argsort(-sums, kind="stable")[rank - 1])
    split = [int(second[at]) for second in drawn]
    rest = [count - c for count, c in zip(pooled, split, strict=True)]
    return rounded(measure(distance)(rest, split) or 0.0)


def rounded(value: float) -> float:
    """The value to 12 significant digits."""
    return float(f"{value:.{DIGITS}g}")
