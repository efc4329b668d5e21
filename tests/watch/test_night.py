"""One verdict of a night: which alarm counts first, which slice is named, when it is silent."""

from __future__ import annotations

import pytest

from crucible_batch.watch.charts import Center, Point
from crucible_batch.watch.night import Cell, Watched, chart_tonight, decide, restless

WATCHED = Watched(
    directions={"recall": True, "right": True, "latency": False, "other": True},
    headline=("right", "recall"),
    judged={"right"},
)
RECALL, RIGHT = Cell("recall"), Cell("right")


def point(verdict: str, excess: float = 0.0, **more) -> Point:
    since = 7 if verdict in {"slide", "drop"} else None
    more = {"n_baseline_nights": 20, "since": since, "excess": excess, **more}
    return Point(delta=0.0, verdict=verdict, **more)


def said(points, *, moved=False, differs=False):
    found = decide(points, WATCHED, judge_moved=moved, judge_differs=differs)
    return found.verdict, found.cell, found.since


def test_a_quiet_night_is_ok():
    assert said({RECALL: point("ok"), RIGHT: point("ok")}) == ("ok", None, None)


def test_the_night_is_warm_as_soon_as_one_headline_metric_is():
    assert said({RECALL: point("ok"), RIGHT: point("warming_up")})[0] == "ok"
    assert said({RECALL: point("not_comparable"), RIGHT: point("warming_up")})[0] == "warming_up"


def test_without_any_comparable_headline_metric_nothing_is_said():
    assert said({RECALL: point("not_comparable"), Cell("other"): point("ok")}) == (
        "not_comparable",
        None,
        None,
    )
    assert said({})[0] == "not_comparable"


def test_only_headline_metrics_of_the_whole_set_decide():
    points = {RECALL: point("ok"), Cell("other"): point("drop", 5.0)}
    points[Cell("recall", "shape", "lookup")] = point("drop", 3.0)
    assert said(points)[0] == "ok"


def test_a_drop_comes_before_a_slide_and_the_farther_one_before_the_nearer():
    assert said({RECALL: point("slide", 9.0), RIGHT: point("drop", 0.1)})[:2] == ("drop", RIGHT)
    assert said({RECALL: point("slide", 1.0), RIGHT: point("slide", 2.0)})[:2] == ("slide", RIGHT)


def test_the_slice_that_is_worst_is_named_and_the_date_is_that_of_the_whole():
    points = {
        RECALL: point("slide", 1.0),
        Cell("recall", "shape", "lookup"): point("slide", 0.5, since=3),
        Cell("recall", "shape", "multi_hop"): point("slide", 2.5, since=2),
        Cell("recall", "shape", "paraphrase"): point("ok"),
        Cell("right", "shape", "lookup"): point("drop", 9.0),
    }
    assert said(points) == ("slide", Cell("recall", "shape", "multi_hop"), 7)


@pytest.mark.parametrize("other", [point("ok"), point("drop", 0.9), point("drop", 1.0)])
def test_without_a_worse_alarm_in_a_slice_the_whole_is_named(other):
    points = {RECALL: point("drop", 1.0), Cell("recall", "shape", "lookup"): other}
    assert said(points) == ("drop", RECALL, 7)


@pytest.mark.parametrize("why", [{"moved": True}, {"differs": True}])
def test_a_changed_judge_takes_the_blame_of_judged_metrics_only(why):
    assert said({RECALL: point("ok"), RIGHT: point("slide", 2.0)}, **why) == (
        "judge_changed",
        RIGHT,
        None,
    )
    assert said({RECALL: point("slide", 1.0), RIGHT: point("ok")}, **why)[:2] == ("slide", RECALL)
    assert said({RECALL: point("ok"), RIGHT: point("ok")}, **why)[0] == "judge_changed"


def test_slices_are_charted_for_headline_metrics_and_the_whole_for_all_with_a_direction():
    cells = [
        Cell(metric, *place)
        for metric in ("recall", "latency", "undirected")
        for place in (("all", "all"), ("shape", "lookup"))
    ]
    found = chart_tonight([dict.fromkeys(cells, 0.0)], WATCHED, baseline_nights=8)
    assert list(found) == [Cell("latency"), RECALL, Cell("recall", "shape", "lookup")]
    assert {one.verdict for one in found.values()} == {"warming_up"}


def test_a_cell_is_charted_over_the_nights_that_have_it():
    nights = [{RECALL: 0.0}, {}, {RECALL: None}, {RECALL: 0.1}]
    (found,) = chart_tonight(nights, WATCHED, baseline_nights=8).values()
    assert found.n_baseline_nights == 2


def test_the_direction_of_the_metric_decides_what_worse_is():
    slow = Cell("latency")
    window = [{slow: value} for value in (0.0, 0.1) * 4]
    (worse,) = chart_tonight([*window, {slow: 9.0}], WATCHED, baseline_nights=8).values()
    (better,) = chart_tonight([*window, {slow: -9.0}], WATCHED, baseline_nights=8).values()
    assert (worse.verdict, better.verdict) == ("drop", "ok")


def test_restless_nights_are_warned_about():
    center = Center(mean=0.0, sigma=1.0, lag1=0.31)
    calm = Center(mean=0.0, sigma=1.0, lag1=0.3)
    points = {RECALL: point("ok", center=center), RIGHT: point("ok", center=calm)}
    assert restless(points, WATCHED) == [RECALL]
