"""Metrics that are one number per run: shown side by side, never tested."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from crucible_batch.assemble.compare.rows import OVERALL
from crucible_batch.metrics import catalog
from crucible_batch.metrics.metric import AnyMetric, RunMetric
from crucible_batch.metrics.plugins import PREFIX, plugin_run_metrics
from crucible_batch.stats.comparison import MetricValues, PairedComparison, Settings
from crucible_batch.stats.grid import differences
from crucible_batch.stats.paired import paired_many

Numbers = Mapping[tuple[str, str, str], Mapping[str, Any]]
"""Rows of `run_metrics` by slice_by, slice and metric."""


def declared_run_metrics(
    first_party: Iterable[AnyMetric],
    sides: Iterable[Numbers],
    declared: pl.DataFrame,
    *,
    of_results: Collection[str],
) -> dict[str, RunMetric]:
    """Every metric of either run that is one number per run, by name.

    Args:
        first_party: Our own metrics.
        sides: Numbers of the two runs.
        declared: `plugin_metrics` of the workspace.
        of_results: Metrics that either run gives per result.
    """
    own = {metric.name: metric for metric in catalog.run_metrics(first_party)}
    found = sorted({name for numbers in sides for _, _, name in numbers} - set(of_results))
    plugins = pl.DataFrame(
        {"metric": [name for name in found if name.startswith(PREFIX)]}, {"metric": pl.String}
    ).with_columns(value=0.0)
    known = own | {metric.name: metric for metric in plugin_run_metrics(plugins, declared)}
    return {name: known[name] for name in found if name in known}


def without_pairs(settings: Settings, unit: str) -> PairedComparison:
    """A row without pairs: nothing is counted, nothing tested."""
    nothing = paired_many((), {"": MetricValues((), ())}, clusters=(), settings=settings)[""]
    return replace(nothing, unit=unit)


def side_by_side(
    baseline: Numbers,
    candidate: Numbers,
    metric: RunMetric,
    *,
    blank: PairedComparison,
    is_comparable: bool,
) -> dict[tuple[str, str], PairedComparison]:
    """The numbers of two runs with their difference, overall and in every slice that has both.

    Args:
        baseline: Numbers of the baseline.
        candidate: Numbers of the candidate.
        metric: What is compared.
        blank: A row without pairs.
        is_comparable: Whether both are over the same items; without that there is no difference.
    """
    found: dict[tuple[str, str], PairedComparison] = {}
    for by, name in dict.fromkeys((by, name) for by, name, _ in (*baseline, *candidate)):
        ends = [_mean(numbers, (by, name, metric.name)) for numbers in (baseline, candidate)]
        if (by, name) == OVERALL or None not in ends:
            found[by, name] = replace(
                blank,
                mean_baseline=ends[0],
                mean_candidate=ends[1],
                delta=_difference(ends) if is_comparable else None,
            )
    return found


def _mean(numbers: Numbers, key: tuple[str, str, str]) -> float | None:
    row = numbers.get(key)
    return None if row is None else row["mean"]


def _difference(ends: list[float | None]) -> float | None:
    before, after = ends
    if before is None or after is None:
        return None
    return float(differences(np.array([before]), np.array([after]))[0]) + 0.0
