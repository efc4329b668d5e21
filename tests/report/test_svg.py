"""Geometry of the charts."""

from __future__ import annotations

import re

import pytest
from report_tables import frame, item, one_run, two_runs, unchanged_row

from crucible_batch.report import build_report, svg
from crucible_batch.report.svg_scatter import scatter


def test_the_curve_lies_inside_its_axes() -> None:
    chart = svg.curve_chart(build_report(one_run()).curves)
    plot = chart.plot
    for dot in chart.lines[0].dots:
        assert plot.left <= dot.x <= plot.right
        assert plot.top <= dot.y <= plot.bottom


def test_full_coverage_is_the_right_edge_and_no_risk_the_axis() -> None:
    plot = svg.curve_chart(build_report(one_run()).curves).plot
    assert plot.x(1.0) == plot.right
    assert plot.y(0.0) == plot.bottom


@pytest.mark.parametrize(("n", "drawn"), [(110, "line"), (999, "marks")])
def test_relative_steps_end_where_the_last_point_is(n: int, drawn: str) -> None:
    curves = build_report(one_run(n_curve=n)).curves
    chart = svg.curve_chart(curves)
    data = getattr(chart.lines[0], drawn)
    start = re.match(r"M([\d.]+) ([\d.]+)h0", data)
    assert start
    steps = re.findall(r"[lm](-?[\d.]+) ?(-?[\d.]+)", data)
    assert len(steps) == n - 1
    x = float(start[1]) + sum(float(dx) for dx, _ in steps)
    y = float(start[2]) + sum(float(dy) for _, dy in steps)
    last = curves[0].points[-1]
    assert (round(x, 1), round(y, 1)) == (chart.plot.x(last.coverage), chart.plot.y(last.risk))


def test_a_curve_without_any_error_still_has_a_scale() -> None:
    flat = one_run().risk_coverage.with_columns(risk=0.0)
    chart = svg.curve_chart(build_report(one_run(risk_coverage=flat)).curves)
    assert len({tick.at for tick in chart.plot.y_ticks}) == len(chart.plot.y_ticks) > 2


def test_the_forest_holds_zero_and_every_interval() -> None:
    chart = svg.forest(build_report(two_runs()).compared)
    plot = chart.plot
    assert plot.left <= chart.zero <= plot.right
    for row in chart.rows:
        assert row.low is not None
        assert row.high is not None
        assert plot.left <= row.low <= row.high <= plot.right


@pytest.mark.parametrize("delta", [0.0, 1e-6, 1.0, -1.0])
def test_the_forest_has_between_two_and_a_dozen_ticks(delta: float) -> None:
    row = unchanged_row("accuracy", delta=delta, ci_low=min(delta, 0), ci_high=max(delta, 0))
    chart = svg.forest(build_report(two_runs(comparisons=frame("comparisons", [row]))).compared)
    assert 2 <= len(chart.plot.x_ticks) <= 12


def test_items_at_one_place_are_one_larger_mark() -> None:
    pairs = [
        {
            "comparison_id": "c",
            "metric": "ndcg_at_10",
            "item_id": item(k),
            "baseline": 0.5,
            "candidate": 0.5 if k < 9 else 1.0,
            "delta": 0.0 if k < 9 else 0.5,
            "rank": k + 1,
        }
        for k in range(10)
    ]
    chart = build_report(two_runs(comparison_items=frame("comparison_items", pairs))).head_to_head
    assert chart is not None
    big, small = scatter(chart).blobs
    assert (big.d.count("M"), small.d.count("M")) == (1, 1)
    assert big.size > small.size
    assert (big.tone, small.tone) == ("muted", "good")
