"""What a comparison may be called: labels by number of units, verdicts by five rules."""

from __future__ import annotations

import math
from typing import NamedTuple

from crucible_batch.stats.bca import Bounds

SMALL_SAMPLE = 40
"""Fewer units than this are labelled a small sample."""

ALPHA = 0.05

MOST_UNITS = 1e15
"""More units than this are no advice to anybody; a tiny margin would ask for more than float64."""


class Verdict(NamedTuple):
    """The name of a verdict, and whether the change it names lies inside the margin."""

    name: str
    negligible: bool


def ci_label(n_units: int, min_items: int, small_sample: int = SMALL_SAMPLE) -> str:
    """Return how far an interval over `n_units` can be trusted."""
    if n_units < min_items:
        return "insufficient items"
    return "small sample" if n_units < small_sample else "ok"


def decide(
    *,
    n_units: int,
    p_adjusted: float | None,
    ci: Bounds | None,
    ci90: Bounds | None,
    margin: float | None,
    min_items: int,
    higher_is_better: bool | None,
    alpha: float = ALPHA,
) -> Verdict:
    """Return the verdict: verdict rules 2-5, first match wins.

    A comparison that is blocked (rule 1) has none and must not be asked about.

    Args:
        n_units: Items, or clusters of items, behind the interval.
        p_adjusted: p after the correction of its family.
        ci: BCa interval of the delta.
        ci90: 90 % BCa interval of the delta.
        margin: Smallest difference that matters, on the scale of the delta.
        min_items: Fewest units that allow a verdict.
        higher_is_better: Direction of the metric, None when it has none.
        alpha: Level of the test.
    """
    if n_units < min_items or p_adjusted is None or ci is None or ci90 is None:
        return Verdict("insufficient_items", False)
    if p_adjusted <= alpha and excludes_zero(ci):
        negligible = margin is not None and _is_inside(ci, margin)
        if higher_is_better is None:
            return Verdict("changed", negligible)
        return Verdict("improved" if (ci.low > 0) == higher_is_better else "regressed", negligible)
    if margin is not None and _is_inside(ci90, margin) and is_enough_for(n_units, margin):
        return Verdict("equivalent", False)
    return Verdict("no_significant_change", False)


def excludes_zero(ci: Bounds) -> bool:
    """Return whether 0 lies outside the interval."""
    return ci.low > 0 or ci.high < 0


def is_enough_for(n_units: int, margin: float) -> bool:
    """Return whether n >= 3 / margin: fewer unchanged units may hide a change of the margin.

    With n items all alike the 95 % bound on the share of other items is about 3 / n.
    """
    return n_units * margin >= 3 - 1e-9


def units_needed(margin: float) -> int | None:
    """Return the least n that `is_enough_for` accepts; None when there cannot be so many."""
    needed = 3 / margin if margin * MOST_UNITS >= 3 else math.inf
    return math.ceil(needed - 1e-9) if needed < math.inf else None


def disagree(ci: Bounds | None, p_value: float | None, alpha: float = ALPHA) -> bool:
    """Return whether the interval and the raw p say different things about 0."""
    if ci is None or p_value is None:
        return False
    return excludes_zero(ci) != (p_value <= alpha)


def _is_inside(ci: Bounds, margin: float) -> bool:
    return -margin < ci.low and ci.high < margin
