"""From a tested metric to its row: means, effect sizes, counts, label and verdict."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crucible_batch.exact import exact_sum
from crucible_batch.stats import verdict
from crucible_batch.stats.bca import Bounds
from crucible_batch.stats.comparison import PairedComparison, Settings
from crucible_batch.stats.grid import Grid
from crucible_batch.stats.pairing import Paired
from crucible_batch.stats.quantiles import normal_quantile
from crucible_batch.stats.resampling import Units
from crucible_batch.stats.signflip import PValue
from crucible_batch.stats.streams import STREAM_VERSION

_LARGEST_LOG = 709.0
_MOST_ITEMS = 1e18


class Tested(NamedTuple):
    """One metric with its units, intervals and p, in grid units.

    Attributes:
        grid: The deltas of the items as integers.
        units: The deltas added up per unit.
        deviations: Sum of each unit minus mean times size.
        n_nonzero: Units that changed.
        intervals: At the asked confidence and at 90 %; empty with fewer than two units.
        ci_method: How the intervals were made.
        p: None without pairs.
    """

    grid: Grid
    units: Units
    deviations: NDArray[np.float64]
    n_nonzero: int
    intervals: tuple[Bounds, ...] = ()
    ci_method: str | None = None
    p: PValue | None = None


def described(
    paired: Paired,
    tested: Tested,
    settings: Settings,
    *,
    unit: str,
    n_only_baseline: int,
    n_only_candidate: int,
) -> PairedComparison:
    """Return the row of one metric, alone in its family."""
    metric, p = paired.metric, tested.p
    n_pairs, n_units = paired.delta.size, tested.units.sums.size
    delta = tested.grid.value(int(tested.grid.counts.sum()), n_pairs) if n_pairs else None
    mean_baseline = exact_sum(paired.baseline) / n_pairs if n_pairs else None
    degenerate = n_units > 1 and not tested.deviations.any()
    ci, ci90 = _published(tested, delta, degenerate)
    sd = None
    if n_units > 1:
        sd = tested.grid.value(tested.units.sd(tested.deviations))
    decided = verdict.decide(
        n_units=n_units,
        p_adjusted=p.p if p else None,
        ci=ci,
        ci90=ci90,
        margin=metric.margin,
        min_items=settings.min_items,
        higher_is_better=metric.higher_is_better,
    )
    n_up = int(np.count_nonzero(tested.grid.counts > 0))
    n_down = int(np.count_nonzero(tested.grid.counts < 0))
    directed = bool(n_pairs) and metric.higher_is_better is not None
    return PairedComparison(
        unit=unit,
        n_pairs=n_pairs,
        n_units=n_units,
        n_only_baseline=n_only_baseline,
        n_only_candidate=n_only_candidate,
        n_missing_baseline=paired.n_missing_baseline,
        n_missing_candidate=paired.n_missing_candidate,
        mean_baseline=mean_baseline,
        mean_candidate=exact_sum(paired.candidate) / n_pairs if n_pairs else None,
        delta=delta,
        rel_delta=_relative(delta, mean_baseline, metric.scale),
        ci_low=ci.low if ci else None,
        ci_high=ci.high if ci else None,
        ci90_low=ci90.low if ci90 else None,
        ci90_high=ci90.high if ci90 else None,
        ci_level=settings.confidence,
        ci_method=tested.ci_method,
        ci_label=verdict.ci_label(n_units, settings.min_items, settings.small_sample),
        p_value=p.p if p else None,
        p_method=p.method if p else None,
        p_min_attainable=p.attainable if p else None,
        p_adjusted=p.p if p else None,
        adjust_method=None,
        family=None,
        family_size=None,
        n_better=(n_up if metric.higher_is_better else n_down) if directed else None,
        n_same=n_pairs - n_up - n_down if n_pairs else None,
        n_worse=(n_down if metric.higher_is_better else n_up) if directed else None,
        n_nonzero=tested.n_nonzero if n_pairs else None,
        sd_delta=sd,
        effect_dz=delta / sd if sd and delta is not None else None,
        mde80=None if sd is None else smallest_effect(sd, n_units),
        n_needed=_n_needed(sd, metric.margin),
        within_item_share=_within_item_share(paired, tested),
        margin=metric.margin,
        verdict=decided.name,
        negligible=decided.negligible,
        ci_p_disagree=verdict.disagree(ci, p.p if p else None),
        degenerate=degenerate,
        seed=settings.seed,
        n_resamples=settings.n_resamples,
        stream_version=STREAM_VERSION,
    )


def rounded(value: float) -> float:
    """Round to the 12 significant digits that a resampled number is published with."""
    return float(f"{value:.12g}") + 0.0


def _published(
    tested: Tested, delta: float | None, degenerate: bool
) -> tuple[Bounds | None, Bounds | None]:
    if not tested.intervals or delta is None:
        return None, None
    if degenerate:
        return Bounds(delta, delta), Bounds(delta, delta)
    ci, ci90 = (Bounds(*(rounded(tested.grid.value(end)) for end in i)) for i in tested.intervals)
    return ci, ci90


def _relative(delta: float | None, mean_baseline: float | None, scale: str) -> float | None:
    if delta is None or mean_baseline is None:
        return None
    if scale == "log":
        return math.expm1(delta) if delta < _LARGEST_LOG else None
    return _finite(delta, mean_baseline) if mean_baseline > 0 else None


def smallest_effect(sd: float, n_units: int) -> float:
    """The mean delta that a two-sided 5 % test of `n_units` units finds in 80 % of repetitions.

    Args:
        sd: Standard deviation of the deltas.
        n_units: Units paired, at least 1.
    """
    return _reach() * sd / math.sqrt(n_units)


@cache
def _reach() -> float:
    """Standard errors between 0 and the effect that 80 % of repetitions find at the 5 % level."""
    return normal_quantile(0.975) + normal_quantile(0.8)


def _n_needed(sd: float | None, margin: float | None) -> int | None:
    if sd is None or margin is None:
        return None
    root = _finite(_reach() * sd, margin)
    return math.ceil(root * root) if root is not None and root < _MOST_ITEMS**0.5 else None


def _within_item_share(paired: Paired, tested: Tested) -> float | None:
    """Return the share of the variance of the deltas that is sampling noise inside items."""
    variance = paired.sampling_variance
    if variance is None or paired.delta.size < 2:
        return None
    known = variance[~np.isnan(variance)]
    off = tested.grid.counts - int(tested.grid.counts.sum()) / paired.delta.size
    total = tested.grid.value(math.sqrt(exact_sum(off * off) / (off.size - 1))) ** 2
    return _finite(exact_sum(known) / known.size, total) if known.size and total else None


def _finite(above: float, below: float) -> float | None:
    """Return a ratio, None when float64 cannot hold it."""
    with np.errstate(over="ignore"):
        ratio = float(np.float64(above) / below)
    return ratio if math.isfinite(ratio) else None
