"""Plugin metrics: numbers other programs computed, carried and averaged beside our own.

Their names are `plugin.<namespace>.<name>`, so that they can never overwrite a first-party number.
One that is not declared has no range and no direction, and never gets a verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from crucible_batch.metrics.answer_grains import KEY, OUTCOME
from crucible_batch.metrics.grains import STATE
from crucible_batch.metrics.metric import Column, Example, Grain, Metric, RunMetric
from crucible_batch.metrics.nulls import RESULT_NULLS, Null
from crucible_batch.metrics.run_function import RunFunction

PREFIX = "plugin."
UNDECLARED = {"unit": "unknown", "low": None, "high": None, "better": "none"}


def plugin_metrics(external_scores: pl.DataFrame, declared: pl.DataFrame) -> tuple[Metric, ...]:
    """The plugin metrics a run gives per result, as declared values.

    Args:
        external_scores: `external_scores` of the whole run.
        declared: `plugin_metrics` of the workspace.

    Returns:
        One metric per name, sorted by name, over a grain that `plugin_frame` builds.
    """
    names = _names(external_scores)
    grain = Grain(
        name="plugin",
        columns=STATE
        | {name: Column(pl.Float64(), None, "the value another program gave") for name in names},
    )
    facts = _declarations(declared)
    return tuple(
        Metric(
            name=name,
            grain=grain,
            expr=pl.col(name),
            nulls=(*RESULT_NULLS, Null("not_reported", pl.col(name).is_null())),
            example=Example.of("not_reported"),
            **_shared(name, facts),
        )
        for name in names
    )


def plugin_run_metrics(
    external_run_metrics: pl.DataFrame, declared: pl.DataFrame
) -> tuple[RunMetric, ...]:
    """The plugin metrics a run gives as a whole; each is its one number, for the run only.

    Args:
        external_run_metrics: `external_run_metrics` of the run.
        declared: `plugin_metrics` of the workspace.

    Returns:
        One metric per name, sorted by name: to be aggregated over `Grid.overall()` only.
    """
    facts = _declarations(declared)
    values = external_run_metrics.sort("metric").select("metric", "value")
    return tuple(
        RunMetric(
            name=name,
            grain=OUTCOME,
            function=RunFunction(nulls=RESULT_NULLS, number=_constant(value)),
            null_rule="never null",
            example=Example(rows=(), value=value),
            **_shared(name, facts),
        )
        for name, value in values.iter_rows()
    )


def plugin_frame(
    answers: pl.DataFrame, external_scores: pl.DataFrame, grain: Grain
) -> pl.DataFrame:
    """The frame of the plugin grain.

    Args:
        answers: The `answer` grain with its key.
        external_scores: `external_scores` of these results.
        grain: The grain of the metrics `plugin_metrics` returned.

    Returns:
        item_id, sample_index and the columns of `grain`, in the order of `answers`.
    """
    names = [name for name in grain.columns if name.startswith(PREFIX)]
    value = pl.col("value")
    wide = external_scores.group_by(KEY).agg(
        value.filter(pl.col("metric") == name).first().alias(name) for name in names
    )
    states = answers.select(*KEY, *STATE)
    return states.join(wide, on=list(KEY), how="left", maintain_order="left")


def _constant(value: float) -> Callable[[pl.DataFrame], float | None]:
    """A number that does not depend on rows."""
    return lambda _: value


def _names(external_scores: pl.DataFrame) -> list[str]:
    """The plugin names among the scores, sorted."""
    names: list[str] = external_scores["metric"].unique().sort().to_list()
    return [name for name in names if name.startswith(PREFIX)]


def _declarations(declared: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """title, unit, low, high, better of every declared name."""
    columns = declared.select("metric", "title", "unit", "low", "high", "better")
    return {row.pop("metric"): row for row in columns.to_dicts()}


def _shared(name: str, facts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What the declaration of a plugin metric says, and what it says when there is none."""
    return {
        **UNDECLARED,
        "title": name,
        **facts.get(name, {}),
        "group": "payloads",
        "summary": f"As {name.removeprefix(PREFIX).split('.')[0]} reports it.",
        "source": name,
    }
