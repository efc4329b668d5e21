"""Night after night: what is charted, where it stands, what is left out and counted."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from page import Page
from report_nights import WINDOW, a_night, night_of, night_row, night_rows
from report_tables import AS_OF, HEADLINE, frame, one_run, two_runs

from crucible_batch.report import build_report, to_html, to_markdown
from crucible_batch.report.history import MOST_NIGHTS, MOST_SLICES, TOLD_NIGHTS, History
from crucible_batch.report.svg_history import history_charts


def told(*rows, **more) -> History:
    report = build_report(two_runs(nightly_metrics=frame("nightly_metrics", rows), **more))
    assert report.history is not None
    return report.history


def test_without_nights_there_is_no_history_in_any_form() -> None:
    report = build_report(two_runs())
    assert report.history is None
    assert 'id="history"' not in to_html(report)
    assert "Night after night" not in to_markdown(report)


def test_every_headline_metric_has_a_chart_and_other_metrics_have_none() -> None:
    rows = [*night_rows(3), night_row(AS_OF, 2, "mrr_at_10")]
    assert tuple(one.metric for one in told(*rows).series) == HEADLINE


def test_one_night_is_no_chart_and_a_window_that_fills_has_no_limits_to_tell() -> None:
    history = told(*night_rows(1))
    assert (history.n_nights, history.series, history.standings) == (1, (), ())
    assert len(told(*night_rows(WINDOW)).series) == len(HEADLINE)
    assert told(*night_rows(WINDOW)).standings == ()


def test_the_newest_night_is_told_with_its_limits_and_its_verdict() -> None:
    standing = told(*night_rows(12, delta=-0.107, verdict="drop")).standings[0]
    assert (standing.title, standing.where) == ("Accuracy", "")
    assert (standing.delta.text, standing.drop_limit.text) == ("−0.107", "−0.040")
    assert (standing.ewma.text, standing.slide_limit.text) == ("+0.002", "−0.012")
    assert (standing.verdict.glyph, standing.verdict.word) == ("▼", "drop")
    assert standing.n_baseline_nights == WINDOW


def test_slices_in_alarm_follow_those_that_moved_most_first_and_the_rest_is_counted() -> None:
    report = build_report(two_runs(**a_night()))
    assert report.history is not None
    slices = [one for one in report.history.standings if one.where]
    assert [one.where for one in slices[:2]] == ["tag = tag-7", "tag = tag-6"]
    assert (len(slices), report.history.n_left_out) == (MOST_SLICES, 8 - MOST_SLICES)


def test_a_slice_that_is_the_whole_set_is_not_told_again() -> None:
    rows = night_rows(12, delta=-0.107, verdict="drop")
    same = night_row(
        AS_OF, 11, "accuracy", slice_by="answerable", slice="true", delta=-0.107, verdict="drop"
    )
    assert all(not one.where for one in told(*rows, same).standings)


def test_a_metric_that_no_night_could_compare_is_named_and_not_charted() -> None:
    rows = [
        night_row(night_of(3, k), k, "accuracy", delta=None, verdict="not_comparable")
        for k in range(3)
    ]
    history = told(*rows, *(r for r in night_rows(3) if r["metric"] == "ndcg_at_10"))
    assert (history.never, history.titles) == ("Accuracy", ("nDCG@10",))


def test_only_the_newest_nights_are_charted_and_all_are_counted() -> None:
    n = MOST_NIGHTS + 5
    rows = [night_row(night_of(n, k), k, "accuracy") for k in range(n)]
    history = told(*rows)
    assert (history.n_nights, len(history.series[0].nights)) == (n, MOST_NIGHTS)
    assert [night.place for night in history.series[0].nights] == list(range(MOST_NIGHTS))
    assert len(history.rows) == TOLD_NIGHTS
    assert history.rows[0].as_of == "2025-03-01 00:00"


def test_a_night_is_marked_in_the_table_only_when_it_is_an_alarm() -> None:
    newest, before = told(*night_rows(12, delta=-0.107, verdict="slide")).rows[:2]
    assert newest.cells[0].alarm is not None
    assert newest.cells[0].alarm.word == "slide"
    assert before.cells[0].alarm is None


def test_every_night_is_one_mark_of_its_kind() -> None:
    gap = [night_row(night_of(12, 9), 9, "accuracy", delta=None, verdict="not_comparable")]
    rows = [r for r in night_rows(12, delta=-0.107, verdict="drop") if r["metric"] == "accuracy"]
    history = told(*(row for row in rows if row["candidate_run_id"] != "run-09"), *gap)
    (chart,) = history_charts(history)
    assert chart.warming.count("h0") == WINDOW
    assert chart.usual.count("h0") == 2
    assert chart.alarms.count("z") == 1
    assert chart.gaps.count("h0") == 1
    assert chart.desc.startswith("12 nights, alarm on 2025-03-01")


def test_limits_begin_where_the_window_ends_and_are_broken_where_a_night_is_missing() -> None:
    rows = [r for r in night_rows(14) if r["metric"] == "accuracy"]
    missing = [row for row in rows if row["candidate_run_id"] != "run-10"]
    (chart,) = history_charts(told(*missing, night_row(night_of(14, 10), 10, "ndcg_at_10")))[:1]
    assert chart.slide.count("M") == 2
    assert chart.plot.x(WINDOW) == pytest.approx(float(re.findall(r"M([\d.]+) ", chart.slide)[0]))


def test_the_baseline_line_is_inside_the_chart_and_the_ends_are_dated() -> None:
    (chart,) = history_charts(told(*(r for r in night_rows(12) if r["metric"] == "accuracy")))
    assert chart.zero is not None
    assert chart.plot.top < chart.zero < chart.plot.bottom
    assert [tick.text for tick in chart.plot.x_ticks] == ["2025-02-18", "2025-03-01"]


def test_the_page_has_a_chart_per_metric_with_a_name_and_says_what_the_night_says() -> None:
    page = Page.of(to_html(build_report(two_runs(**a_night()))))
    names = [tag.text for tag in page.all("title") if "svg" in tag.inside]
    assert "Truthfulness" in names
    (said,) = page.all("p", class_="said")
    assert said.text.startswith("DROP: ndcg_at_10, since 2025-03-01")


def test_a_run_without_a_baseline_can_have_nights_too() -> None:
    rows = frame("nightly_metrics", night_rows(3))
    assert build_report(one_run(nightly_metrics=rows)).history is not None


def test_two_nights_of_one_day_are_told_apart() -> None:
    rows = [
        night_row(AS_OF - timedelta(hours=12), 0, "accuracy"),
        night_row(AS_OF, 1, "accuracy"),
    ]
    assert [row.as_of for row in told(*rows).rows] == ["2025-03-01 00:00", "2025-02-28 12:00"]


@pytest.mark.parametrize("limit", [-1e-7, -0.3, -4e6])
def test_an_axis_of_any_length_has_few_ticks(limit: float) -> None:
    rows = [r for r in night_rows(12, drop_limit=limit) if r["metric"] == "accuracy"]
    (chart,) = history_charts(told(*rows))
    assert 2 <= len(chart.plot.y_ticks) <= 7
