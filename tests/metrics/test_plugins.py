from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from answer_run import AnswerRun

from crucible_batch.contracts import runs
from crucible_batch.errors import ContractError
from crucible_batch.metrics.aggregate import aggregate_run_metrics
from crucible_batch.metrics.answer_grains import KEY
from crucible_batch.metrics.grid import Grid
from crucible_batch.metrics.plugins import plugin_frame, plugin_metrics, plugin_run_metrics
from crucible_batch.metrics.score import score

TONE = "plugin.acme.tone"


def declared(**facts: Any) -> pl.DataFrame:
    rows = [{"metric": TONE, "title": "Tone", "unit": "fraction", "better": "higher"} | facts]
    data = {name: [row.get(name) for row in rows] for name in runs.PLUGINS.names}
    return pl.DataFrame(data, schema=runs.PLUGINS.schema)


def scored(run: AnswerRun, declarations: pl.DataFrame) -> list[tuple[Any, ...]]:
    external = run.rows.external_scores
    metrics = plugin_metrics(external, declarations)
    frame = plugin_frame(run.answers(), external, metrics[0].grain)
    return score({"plugin": frame}, metrics, KEY).rows()


def toned(value: float = 0.5) -> AnswerRun:
    run = AnswerRun().item("a").item("b").item("c").item("d")
    run.result("a", payloads={TONE: value}).result("b")
    return run.result("c", payloads={TONE: 0.9}, error="boom")


def test_a_plugin_metric_is_scored_like_any_other() -> None:
    assert scored(toned(), runs.PLUGINS.empty()) == [
        ("a", 0, TONE, 0.5, None),
        ("b", 0, TONE, None, "not_reported"),
        ("c", 0, TONE, None, "errored"),
        ("d", 0, TONE, None, "no_result"),
    ]


def test_an_undeclared_plugin_metric_has_no_range_and_no_direction() -> None:
    [metric] = plugin_metrics(toned().rows.external_scores, runs.PLUGINS.empty())
    assert (metric.low, metric.high, metric.better, metric.headline) == (None, None, "none", False)


def test_a_declared_plugin_metric_keeps_its_range_and_names_the_row_that_breaks_it() -> None:
    declarations = declared(low=0.0, high=1.0)
    [metric] = plugin_metrics(toned().rows.external_scores, declarations)
    assert (metric.title, metric.low, metric.high, metric.better) == ("Tone", 0.0, 1.0, "higher")
    with pytest.raises(ContractError, match=r"plugin.acme.tone.*\n.*'item_id': 'a'"):
        scored(toned(7.0), declarations)


def test_payload_names_are_no_plugins() -> None:
    run = AnswerRun().item("a").result("a", payloads={"faithfulness": 1.0})
    assert plugin_metrics(run.rows.external_scores, declared()) == ()


def test_a_plugin_number_of_a_run_stands_overall_only() -> None:
    run = toned()
    values = pl.DataFrame({"metric": ["plugin.acme.x", "plugin.acme.y"], "value": [3.5, 4.5]})
    slices = pl.DataFrame(
        [("all", "all", item) for item in range(4)] + [("tag", "t", 0)],
        schema=["slice_by", "slice", "item"],
        orient="row",
    )
    grid = Grid.of(run.golden.items, [slices], 1).overall()
    metrics = plugin_run_metrics(values, declared())
    out = aggregate_run_metrics(run.outcomes(), metrics, grid, label=str)
    assert out.select("slice", "metric", "mean", "n_scored", "n_missing").rows() == [
        ("all", "plugin.acme.x", 3.5, 2, 2),
        ("all", "plugin.acme.y", 4.5, 2, 2),
    ]
