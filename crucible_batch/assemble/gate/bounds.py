"""Bounds no value of a metric can reach: a rule that can never fail says nothing."""

from __future__ import annotations

import math
from typing import NamedTuple

from crucible_batch.assemble.gate.config import Floor, MaxDrop, NonInferiority, Rule
from crucible_batch.contracts.columns import LARGEST
from crucible_batch.metrics.metric import Declaration

MOST_LOG_RATIO = 2 * math.log(LARGEST)
"""Two values of a table hardly lie further apart: from 1 / LARGEST to LARGEST."""


class IdleBound(NamedTuple):
    """A bound out of reach: its key in the file, and why it is."""

    key: str
    why: str


def idle_bound(rule: Rule, metric: Declaration | None) -> IdleBound | None:
    """The bound of a rule that no value of its metric can reach, None when it can bite.

    Args:
        rule: The rule.
        metric: The metric it reads; one without a range has no bound out of reach.
    """
    if metric is None:
        return None
    if isinstance(rule, Floor):
        return _floor(rule.floor, metric)
    if isinstance(rule, MaxDrop) and rule.max_drop >= 1 and _ends_at_zero(metric):
        why = f"max_drop = {rule.max_drop:g} never bites: {metric.name} cannot lose all and more"
        return IdleBound("max_drop", f"{why}; it is a share of the baseline's mean, below 1")
    if isinstance(rule, NonInferiority | MaxDrop) and metric.scale == "log":
        return _idle_factor(rule)
    if isinstance(rule, NonInferiority):
        width = _width(metric)
        if width is not None and rule.margin >= width:
            why = f"margin = {rule.margin:g} never bites: {metric.name} spans {width:g} in all"
            return IdleBound("margin", why)
    return None


def _idle_factor(rule: NonInferiority | MaxDrop) -> IdleBound | None:
    """A bound on the log scale beyond what two values of a table can lie apart."""
    key = "margin" if isinstance(rule, NonInferiority) else "max_drop"
    bound: float = getattr(rule, key)
    factor = bound if key == "margin" else math.log1p(bound)
    if factor < MOST_LOG_RATIO:
        return None
    why = f"{key} = {bound:g} never bites: no two runs lie a factor of {LARGEST**2:g} apart"
    return IdleBound(key, why)


def _ends_at_zero(metric: Declaration) -> bool:
    """Whether the worst value is 0, so that no more than the whole mean can be lost."""
    return metric.better == "higher" and metric.low is not None and metric.low >= 0


def _width(metric: Declaration) -> float | None:
    return None if metric.low is None or metric.high is None else metric.high - metric.low


def _floor(floor: float, metric: Declaration) -> IdleBound | None:
    # Tables hold no number beyond LARGEST, so a metric without an end has one after all.
    low = -LARGEST if metric.low is None else metric.low
    high = LARGEST if metric.high is None else metric.high
    if metric.better == "lower":
        never_bites, never_passes = floor >= high, floor < low
    else:
        never_bites, never_passes = floor <= low, floor > high
    if not (never_bites or never_passes):
        return None
    ends = f"{low:g} to {high:g}".replace("-", "−")
    what = "never bites" if never_bites else "can never be met"
    return IdleBound("floor", f"floor = {floor:g} {what}: {metric.name} goes from {ends}")
