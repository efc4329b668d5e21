"""Run and baseline side by side: each in its own look, each number with what it is of."""

from __future__ import annotations

import polars as pl
import pytest
from page import Page
from report_tables import (
    comparison_row,
    curve_rows,
    evaluation_row,
    frame,
    metric_row,
    two_runs,
)

from crucible_batch.report import build_report, to_html, to_markdown
from crucible_batch.report.words import NO_CURVE

DASHED = {"stroke-dasharray": "6 4"}
NBSP = "\u00a0"


def curves_of(*run_ids: str):
    return frame("risk_coverage", [row for name in run_ids for row in curve_rows(name, 12)])


def test_the_baseline_keeps_its_look_where_the_run_has_no_curve() -> None:
    report = build_report(two_runs(risk_coverage=curves_of("base")))
    assert [(curve.run_id, curve.is_baseline) for curve in report.curves] == [("base", True)]
    page = Page.of(to_html(report))
    assert len(page.all("path", **DASHED)) == 1
    assert not page.all("circle")
    assert not page.all("path", class_="s-run ties")
    caption = page.all("figcaption")[0].text
    assert "╌ baseline base" in caption
    assert NO_CURVE in caption
    assert NO_CURVE in to_markdown(report)


def test_the_run_keeps_its_look_where_the_baseline_has_no_curve() -> None:
    page = Page.of(to_html(build_report(two_runs(risk_coverage=curves_of("cand")))))
    assert not page.all("path", **DASHED)
    assert len(page.all("circle")) == 12
    caption = page.all("figcaption")[0].text
    assert "● run cand" in caption
    assert NO_CURVE not in caption


def test_without_any_curve_nothing_is_drawn() -> None:
    report = build_report(two_runs(risk_coverage=curves_of()))
    assert report.curves == ()
    assert NO_CURVE not in to_markdown(report)


def on_accuracy(*, run: int, base: int, pairs: int):
    """Accuracy over so many items in each run and in the comparison."""
    rows = [metric_row("cand", "accuracy", 0.44, run), metric_row("base", "accuracy", 0.49, base)]
    row = comparison_row("accuracy", n_pairs=pairs, mean_baseline=0.41, mean_candidate=0.44)
    return two_runs(run_metrics=frame("run_metrics", rows), comparisons=frame("comparisons", [row]))


@pytest.mark.parametrize(("run", "base", "pairs"), [(18, 76, 18), (76, 18, 18), (40, 40, 30)])
def test_a_tile_over_other_items_than_the_comparison_says_what_was_compared(
    run: int, base: int, pairs: int
) -> None:
    report = build_report(on_accuracy(run=run, base=base, pairs=pairs))
    tile = report.tiles[0]
    assert tile.baseline_over == ("" if run == base else f"{2 * base - 2} results, {base} items")
    said = f"compared: 41{NBSP}% → 44{NBSP}% on the {pairs} items measured in both runs"
    assert tile.paired == said
    (shown,) = Page.of(to_html(report)).all("li", **{"data-metric": "accuracy"})
    assert said in shown.text
    assert f"baseline 49{NBSP}%{f' ({tile.baseline_over})' if tile.baseline_over else ''}\n" in (
        shown.text
    )
    assert said.replace(NBSP, " ") in to_markdown(report)


def test_a_tile_over_the_items_of_the_comparison_says_nothing_more() -> None:
    assert build_report(on_accuracy(run=40, base=40, pairs=40)).tiles[0].paired == ""


def test_a_tile_without_pairs_or_without_a_baseline_number_says_nothing_of_a_comparison() -> None:
    inputs = on_accuracy(run=18, base=76, pairs=18)
    none = inputs.comparisons.with_columns(n_pairs=pl.lit(0, pl.Int64))
    unpaired = build_report(two_runs(run_metrics=inputs.run_metrics, comparisons=none))
    assert unpaired.tiles[0].paired == ""
    alone = inputs.run_metrics.filter(pl.col("run_id") == "cand")
    tile = build_report(two_runs(run_metrics=alone, comparisons=none)).tiles[0]
    assert (tile.paired, tile.baseline_over) == ("", "")


def test_a_rate_of_few_reporting_results_stands_beside_how_many_do_not_report() -> None:
    n = {"n_results": 76, "n_errored": 0, "n_abstained": 17, "n_answered": 59}
    rates = [("cand", 1.0, 17), ("base", 17 / 76, 76)]
    rows = [
        metric_row(run_id, "abstention_rate", rate, 38, n_scored=scored)
        for run_id, rate, scored in rates
    ]
    report = build_report(
        two_runs(
            run_metrics=frame("run_metrics", rows),
            evaluations=frame(
                "evaluations", [evaluation_row(r, 38, **n) for r in ("cand", "base")]
            ),
        )
    )
    badges = {one.title: one for one in report.badges}
    rate, answered = badges["Abstention rate"], badges["Answered"]
    assert (rate.figure.text, rate.note) == (f"100{NBSP}%", "of 17 results that report it")
    assert rate.baseline is not None
    assert (rate.baseline.text, rate.baseline_note) == (
        f"22{NBSP}%",
        "of 76 results that report it",
    )
    assert answered.note == "results; 59 of them do not say whether they abstained"
    assert answered.baseline_note == "results"
    text = Page.of(to_html(report)).all("main")[0].text
    assert "of 17 results that report it" in text
    assert f"baseline 22{NBSP}% of 76 results that report it" in text
    assert f"100{NBSP}% (of 17 results that report it)" in to_markdown(report)
