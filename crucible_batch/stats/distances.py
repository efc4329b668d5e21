"""How far apart two distributions over categories are.

Counts of categories go in, side by side: a reference and a current side. The distance of a census
stands for itself; that of samples means something only above a limit that depends on both sizes
(`stats.shift`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from crucible_batch.errors import UsageError
from crucible_batch.exact import exact_sum

SMOOTHING = 0.5
"""Added to every count of both sides before a PSI that is held against a limit."""

Distance = Literal["psi", "tvd", "js"]
DISTANCES: tuple[Distance, ...] = ("psi", "tvd", "js")


def psi(
    reference: Sequence[int], current: Sequence[int], *, smoothing: float = 0.0
) -> float | None:
    """Population stability index: sum of (q - p) ln(q / p) over the categories of the union.

    Args:
        reference: Count of each category; length k.
        current: Counts of the same categories; length k. Categories neither side has are left out.
        smoothing: Added to every count of both sides.

    Returns:
        The index, at least 0. None when a side is empty, or a category has no share on one side
        (without smoothing the index is infinite).

    References:
        Yurdakul & Naranjo 2020 (its distribution); it is Jeffreys' divergence of 1946.
    """
    pairs, n, m = sides_of(reference, current)
    if not (n and m) or (smoothing == 0 and any(0 in pair for pair in pairs)):
        return None
    term = _psi_term(n, m, len(pairs), smoothing)
    return max(0.0, exact_sum(term(*pair) for pair in pairs))


def total_variation(reference: Sequence[int], current: Sequence[int]) -> float | None:
    """Share of the mass that would have to move: half the sum of |q - p|, in [0, 1].

    Exactly rounded. None when a side is empty. Arguments as for `psi`.
    """
    pairs, n, m = sides_of(reference, current)
    if not (n and m):
        return None
    n_moved = int(sum(abs(c * n - r * m) for r, c in pairs))  # of any size: never rounded
    return n_moved / (2 * n * m)


def jensen_shannon_divergence(reference: Sequence[int], current: Sequence[int]) -> float | None:
    """Mean divergence of both sides from their average, in bits, in [0, 1].

    None when a side is empty. Arguments as for `psi`.

    References:
        Lin 1991.
    """
    pairs, n, m = sides_of(reference, current)
    if not (n and m):
        return None
    term = _js_term(n, m)
    return min(1.0, max(0.0, exact_sum(term(*pair) for pair in pairs)))


def jensen_shannon_distance(reference: Sequence[int], current: Sequence[int]) -> float | None:
    """Square root of `jensen_shannon_divergence`: a metric, in [0, 1]."""
    divergence = jensen_shannon_divergence(reference, current)
    return None if divergence is None else math.sqrt(divergence)


@dataclass(frozen=True)
class Homogeneity:
    """Pearson's test that two samples come from one distribution.

    Attributes:
        chi_square: The statistic, without correction.
        p_value: Its asymptotic tail.
        cramers_v: Effect size in [0, 1]: the root of chi_square / (n + m).
    """

    chi_square: float
    p_value: float
    cramers_v: float


def homogeneity(reference: Sequence[int], current: Sequence[int]) -> Homogeneity | None:
    """Pearson's chi-square of the 2 x k table of both sides, and Cramér's V.

    None when a side is empty or all elements are of one category. Arguments as for `psi`.

    References:
        Pearson 1900; Cramér 1946.
    """
    from scipy.special import chdtrc

    pairs, n, m = sides_of(reference, current)
    if not (n and m) or len(pairs) < 2:
        return None
    # Both rows' (observed - expected)² / expected together, from whole numbers.
    statistic = exact_sum((c * n - r * m) ** 2 / (r + c) for r, c in pairs) / (n * m)
    return Homogeneity(
        chi_square=statistic,
        p_value=float(chdtrc(len(pairs) - 1, statistic)),
        cramers_v=math.sqrt(statistic / (n + m)),
    )


Term = Callable[[int, int], float]
"""What a category adds to a distance: from its counts in the reference and in the sample."""


def measure(distance: str) -> Callable[[Sequence[int], Sequence[int]], float | None]:
    """The function of a distance of samples; PSI is smoothed.

    Raises:
        UsageError: No distance has this name.
    """
    match distance:
        case "psi":
            return partial(psi, smoothing=SMOOTHING)
        case "tvd":
            return total_variation
        case "js":
            return jensen_shannon_distance
    raise UsageError(
        f"No distance is called {distance!r}", fix=f"use one of {', '.join(DISTANCES)}."
    )


def terms(distance: Distance, n: int, m: int, k: int) -> Term:
    """What the categories of samples of n and m add to a distance, or to what grows with it."""
    if distance == "psi":
        return _psi_term(n, m, k, SMOOTHING)
    return _js_term(n, m) if distance == "js" else lambda r, c: float(abs(c * n - r * m))


def _psi_term(n: int, m: int, k: int, smoothing: float) -> Term:
    def term(r: int, c: int) -> float:
        p, q = (r + smoothing) / (n + k * smoothing), (c + smoothing) / (m + k * smoothing)
        return (q - p) * math.log(q / p)

    return term


def _js_term(n: int, m: int) -> Term:
    def term(r: int, c: int) -> float:
        p, q = r / n, c / m
        middle = (p + q) / 2
        return math.fsum(s * math.log2(s / middle) for s in (p, q) if s) / 2

    return term


def sides_of(
    reference: Sequence[int], current: Sequence[int]
) -> tuple[list[tuple[int, int]], int, int]:
    """Pairs of counts of the categories either side has, and both sizes.

    Raises:
        UsageError: The sides list different numbers of categories, or a count is below 0.
    """
    if len(reference) != len(current) or min([0, *reference, *current]) < 0:
        raise UsageError(
            f"Counts of {len(reference)} and {len(current)} categories cannot be compared",
            problems=[f"{count} is no count" for count in [*reference, *current] if count < 0],
            fix="give the count of every category on both sides, 0 where there is none.",
        )
    pairs = [(int(r), int(c)) for r, c in zip(reference, current, strict=True) if r or c]
    return pairs, int(sum(r for r, _ in pairs)), int(sum(c for _, c in pairs))
