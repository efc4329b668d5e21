"""Operational metrics: time, tokens and cost. Unknown is null, never 0."""

from __future__ import annotations

import math

import polars as pl

from crucible_batch.metrics.answer_grains import ANSWER, OUTCOME
from crucible_batch.metrics.metric import AnyMetric, Example, Metric, RunMetric, Unit
from crucible_batch.metrics.nulls import RESULT_NULLS, Null
from crucible_batch.metrics.run_function import RunFunction


def reported(column: str) -> tuple[Null, ...]:
    """An errored result carries no metric; what a result does not say is not known."""
    return (*RESULT_NULLS, Null("not_reported", pl.col(column).is_null()))


def measured(name: str, title: str, unit: Unit, summary: str, example: float) -> Metric:
    """A quantity the run reports, compared by ratio."""
    return Metric(
        name=name,
        title=title,
        group="operational",
        grain=ANSWER,
        expr=pl.col(name),
        nulls=reported(name),
        unit=unit,
        scale="log",
        high=None,
        better="lower",
        summary=summary,
        formula="as the run reports it",
        source="Crucible, as the run reports it",
        example=Example.of(example, **{name: example}),
    )


def nearest_rank(values: pl.Series, percent: int) -> float | None:
    """The smallest value that at least `percent` in a hundred do not exceed; None without values.

    Example:
        Of 15, 20, 35, 40, 50 the 30th percentile is 20, the 40th 20, the 50th 35.
    """
    if values.is_empty():
        return None
    return float(values.sort().item(math.ceil(percent * len(values) / 100) - 1))


def latency_percentile(percent: int, example: float) -> RunMetric:
    """A percentile of the latency."""
    return RunMetric(
        name=f"latency_p{percent}",
        title=f"Latency p{percent}",
        group="operational",
        grain=OUTCOME,
        unit="milliseconds",
        high=None,
        better="lower",
        summary=f"{percent} % of results took at most this long (nearest rank).",
        formula=f"the value in place ⌈n · {percent} / 100⌉ of the sorted latencies",
        source="Hyndman and Fan 1996, definition 1",
        function=RunFunction(
            nulls=reported("latency_ms"),
            number=lambda rows: nearest_rank(rows["latency_ms"], percent),
        ),
        null_rule="no result reports its latency",
        example=Example(
            rows=tuple({"latency_ms": float(ms)} for ms in (50, 15, 40, 20, 35)),
            value=example,
        ),
    )


METRICS: tuple[AnyMetric, ...] = (
    measured("latency_ms", "Latency", "milliseconds", "Milliseconds per result.", 1200.0),
    latency_percentile(50, 35.0),
    latency_percentile(95, 50.0),
    measured("prompt_tokens", "Prompt tokens", "tokens", "Tokens sent per result.", 900.0),
    measured(
        "completion_tokens", "Completion tokens", "tokens", "Tokens received per result.", 150.0
    ),
    measured("cost_usd", "Cost", "usd", "US dollars per result.", 0.004),
)
"""The operational metrics."""
