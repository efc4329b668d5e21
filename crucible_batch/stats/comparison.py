"""What goes into a comparison and what comes out: metrics, settings, and the row."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crucible_batch.errors import UsageError
from crucible_batch.stats import verdict
from crucible_batch.stats.bca import Bounds

DEFAULT_SEED = 0
DEFAULT_RESAMPLES = 10_000
DEFAULT_MIN_ITEMS = 20

EPSILON = 1e-9
"""Slack for confidences such as 0.95, whose distance to 1 no float holds exactly."""

CI_METHODS = ("auto", "bca", "bca_analytic")
UNITS = ("auto", "item", "cluster")
SCALES = ("linear", "log")


@dataclass(frozen=True)
class PairedComparison:
    """One metric of two runs, compared item by item; fields are columns of `comparisons`.

    None means that a number does not exist: no pairs, one pair, no margin, no direction.
    """

    unit: str
    n_pairs: int
    n_units: int
    n_only_baseline: int
    n_only_candidate: int
    n_missing_baseline: int
    n_missing_candidate: int
    mean_baseline: float | None
    mean_candidate: float | None
    delta: float | None
    rel_delta: float | None
    ci_low: float | None
    ci_high: float | None
    ci90_low: float | None
    ci90_high: float | None
    ci_level: float
    ci_method: str | None
    ci_label: str
    p_value: float | None
    p_method: str | None
    p_min_attainable: float | None
    p_adjusted: float | None
    adjust_method: str | None
    family: str | None
    family_size: int | None
    n_better: int | None
    n_same: int | None
    n_worse: int | None
    n_nonzero: int | None
    sd_delta: float | None
    effect_dz: float | None
    mde80: float | None
    n_needed: int | None
    within_item_share: float | None
    margin: float | None
    verdict: str | None
    negligible: bool
    ci_p_disagree: bool
    degenerate: bool
    seed: int
    n_resamples: int
    stream_version: int


@dataclass(frozen=True, eq=False)
class MetricValues:
    """One metric of two runs, a value per item and run.

    Attributes:
        baseline: Per-item values of the baseline, NaN where not carried; shape (n_items,).
        candidate: The same of the candidate.
        higher_is_better: Direction, None when the metric has none.
        scale: ``log`` compares ln(value), and leaves out items with a value <= 0 on either side.
        margin: Smallest difference that matters, on the scale of the delta.
        sampling_variance: s²_b / m_b + s²_c / m_c of each item over its m samples, NaN where an
            item has one sample; shape (n_items,). None: not measured.
    """

    baseline: Any
    candidate: Any
    higher_is_better: bool | None = True
    scale: str = "linear"
    margin: float | None = None
    sampling_variance: Any = None

    def __post_init__(self) -> None:
        problems = []
        if self.scale not in SCALES:
            problems.append(f"scale = {self.scale!r} is not one of {', '.join(SCALES)}")
        if not (self.higher_is_better is None or isinstance(self.higher_is_better, bool)):
            problems.append(
                f"higher_is_better = {self.higher_is_better!r} is not True, False or None"
            )
        if self.margin is not None and not (_is_real(self.margin) and self.margin > 0):
            problems.append(f"margin = {self.margin!r} is not a number above 0")
        if problems:
            raise UsageError("A metric cannot be compared like this", problems=problems)


@dataclass(frozen=True)
class Settings:
    """How a comparison resamples and judges; the same for all of its metrics."""

    seed: int = DEFAULT_SEED
    n_resamples: int = DEFAULT_RESAMPLES
    confidence: float = 0.95
    min_items: int = DEFAULT_MIN_ITEMS
    small_sample: int = verdict.SMALL_SAMPLE
    ci_method: str = "auto"
    unit: str = "auto"

    def __post_init__(self) -> None:
        problems = []
        if self.ci_method not in CI_METHODS:
            problems.append(f"ci_method = {self.ci_method!r} is not one of {', '.join(CI_METHODS)}")
        if self.unit not in UNITS:
            problems.append(f"unit = {self.unit!r} is not one of {', '.join(UNITS)}")
        if not (_is_real(self.confidence) and 0 < self.confidence < 1):
            problems.append(f"confidence = {self.confidence!r} is not a number between 0 and 1")
        for name, least in (("n_resamples", 1), ("min_items", 1), ("small_sample", 0), ("seed", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                problems.append(f"{name} = {value!r} is not a whole number of at least {least}")
        problems = problems or self._too_few()
        if problems:
            raise UsageError("A comparison cannot run with these settings", problems=problems)

    def _too_few(self) -> list[str]:
        """Resamples that leave a tail of the interval empty: its bounds would mean nothing."""
        least = math.ceil(2 / (1 - self.confidence) * (1 - EPSILON))
        if self.n_resamples >= least:
            return []
        return [
            f"n_resamples = {self.n_resamples} is not a whole number of at least {least}, "
            f"which an interval of {self.confidence:.9g} needs for one resample in each tail"
        ]


def _is_real(value: object) -> bool:
    """Whether a value is a finite number, and no bool."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    return math.isfinite(value)


def with_adjusted_p(
    comparison: PairedComparison,
    p_adjusted: float | None,
    *,
    adjust_method: str,
    family: str,
    family_size: int,
    higher_is_better: bool | None,
    min_items: int = DEFAULT_MIN_ITEMS,
    alpha: float = verdict.ALPHA,
) -> PairedComparison:
    """Return the comparison as a member of a family: adjusted p, and the verdict it leads to."""
    decided = verdict.decide(
        n_units=comparison.n_units,
        p_adjusted=p_adjusted,
        ci=_bounds(comparison.ci_low, comparison.ci_high),
        ci90=_bounds(comparison.ci90_low, comparison.ci90_high),
        margin=comparison.margin,
        min_items=min_items,
        higher_is_better=higher_is_better,
        alpha=alpha,
    )
    return replace(
        comparison,
        p_adjusted=p_adjusted,
        adjust_method=adjust_method,
        family=family,
        family_size=family_size,
        verdict=decided.name,
        negligible=decided.negligible,
    )


def _bounds(low: float | None, high: float | None) -> Bounds | None:
    return None if low is None or high is None else Bounds(low, high)
