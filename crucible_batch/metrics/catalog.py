"""Every first-party metric, by name: the union of the modules' tuples."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import polars as pl

from crucible_batch.metrics import (
    abstention,
    answers,
    calibration,
    citations,
    claims,
    concepts,
    names,
    operational,
    payloads,
    retrieval,
    selective,
    truthfulness,
)
from crucible_batch.metrics.metric import AnyMetric, Metric, RunMetric

KS = (5, 10)
"""The default cut-offs; the setting `ks` replaces them."""


ANSWER_SIDE: tuple[AnyMetric, ...] = (
    *truthfulness.METRICS,
    *answers.METRICS,
    *claims.METRICS,
    *citations.METRICS,
    *concepts.METRICS,
    *payloads.METRICS,
    *operational.METRICS,
    *abstention.METRICS,
    *selective.METRICS,
    *calibration.METRICS,
)
"""The metrics that take no cut-off."""


def for_ks(ks: Iterable[int] = KS) -> tuple[AnyMetric, ...]:
    """Every metric at the cut-offs `ks`; the headline cut-off 10 is always among them.

    Raises:
        CutoffError: A cut-off is below 1.
    """
    return _at(tuple(sorted({*map(names.cutoff, ks), retrieval.KPI_K})))


@cache
def _at(cuts: tuple[int, ...]) -> tuple[AnyMetric, ...]:
    """The metrics are frozen, and making them takes as long as scoring a small run."""
    return (*retrieval.metrics(cuts), *ANSWER_SIDE)


ALL = for_ks()
"""The catalog at the default cut-offs."""


def result_metrics(metrics: Iterable[AnyMetric] = ALL) -> tuple[Metric, ...]:
    """The metrics that are a number per result."""
    return tuple(metric for metric in metrics if isinstance(metric, Metric))


def run_metrics(metrics: Iterable[AnyMetric] = ALL) -> tuple[RunMetric, ...]:
    """The metrics that are a number per run."""
    return tuple(metric for metric in metrics if isinstance(metric, RunMetric))


def find(name: str, metrics: Iterable[AnyMetric] = ALL) -> AnyMetric:
    """The metric that `name` (canonical, `ndcg@10` or `ndcgAt10`) means.

    Raises:
        UnknownNameError: There is none; the nearest names are suggested.
        CutoffError: The cut-off is below 1.
    """
    known = {metric.name: metric for metric in metrics}
    return known[names.resolve(name, known)]


SCHEMA = {
    "metric": pl.String(),
    "title": pl.String(),
    "metric_group": pl.String(),
    "grain": pl.String(),
    "unit": pl.String(),
    "scale": pl.String(),
    "low": pl.Float64(),
    "high": pl.Float64(),
    "better": pl.String(),
    "headline": pl.Boolean(),
    "uses_judge": pl.Boolean(),
    "null_rule": pl.String(),
    "source": pl.String(),
}
"""The columns of the `metric_catalog` mart, without the workspace."""


def to_frame(metrics: Iterable[AnyMetric] = ALL) -> pl.DataFrame:
    """The catalog as a table, one row per metric, in catalog order."""
    rows = [
        (
            m.name,
            m.title,
            m.group,
            "result" if isinstance(m, Metric) else "run",
            m.unit,
            m.scale,
            m.low,
            m.high,
            m.better,
            m.headline,
            m.uses_judge,
            m.null_rule,
            m.source,
        )
        for m in metrics
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")
