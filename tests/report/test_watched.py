"""The watch on the page: rules of a scan, open alerts, notices given up, judges."""

from __future__ import annotations

from datetime import timedelta

import pytest
from page import Page
from report_nights import a_night, alert_row, dead, dead_row, rule_row
from report_tables import AS_OF, frame, one_run, two_runs

from crucible_batch.errors import ContractError
from crucible_batch.report import build_report, to_html, to_markdown
from crucible_batch.report.watched import MOST, Watched


def watched(**tables) -> Watched:
    found = build_report(one_run(**tables)).watched
    assert found is not None
    return found


def test_where_nothing_was_ever_watched_there_is_no_section() -> None:
    report = build_report(two_runs())
    assert report.watched is None
    assert 'id="watch"' not in to_html(report)
    assert "Corpus and alerts" not in to_markdown(report)


def test_rules_that_need_a_look_come_first_each_with_glyph_word_and_tone() -> None:
    rules = watched(**a_night()).rules
    assert [(r.rule_id, r.verdict.glyph, r.verdict.word, r.verdict.tone) for r in rules] == [
        ("gone", "✕", "breach, critical", "bad"),
        ("age", "✕", "breach, warn", "warn"),
        ("lost", "?", "unknown", "warn"),
        ("churn", "✓", "ok", "good"),
    ]


def test_an_age_is_told_as_people_write_it_and_a_null_has_its_reason() -> None:
    by_id = {rule.rule_id: rule for rule in watched(**a_night()).rules}
    assert (by_id["age"].value.text, by_id["age"].limit) == ("9d 15h", "> 7d")
    assert (by_id["lost"].value.text, by_id["lost"].reason) == ("—", "first_snapshot")


def test_a_scan_is_counted_by_its_verdicts() -> None:
    said = watched(**a_night()).scan
    assert said == "scan as of 2025-03-01 00:00 UTC: 2 breach, 1 unknown, 1 ok"


def test_evaluations_of_two_scans_are_refused() -> None:
    rows = [rule_row("churn"), rule_row("churn", scan_id="another")]
    with pytest.raises(ContractError, match="do not make a report") as caught:
        one_run(drift_evaluations=frame("drift_evaluations", rows))
    assert "drift_evaluations holds more than one scan_id" in caught.value.problems


def test_open_alerts_are_listed_critical_first_and_those_that_are_over_are_not() -> None:
    found = watched(**a_night())
    assert [(one.alert, one.severity.word) for one in found.alerts] == [
        ("f2", "critical"),
        ("f1", "warn"),
    ]
    assert found.n_alerts == 2
    assert found.alerts[0].quiet == "somebody has it"
    assert found.alerts[0].opened == "2025-02-28 00:00 UTC (1d), episode 2"
    assert found.alerts[1].labels == "person"


def test_a_snoozed_alert_says_until_when() -> None:
    row = alert_row("f", snoozed_until=AS_OF + timedelta(hours=12))
    (alert,) = watched(alerts=frame("alerts", [row])).alerts
    assert alert.quiet == "snoozed until 2025-03-01 12:00 UTC"


def test_more_alerts_than_fit_are_counted() -> None:
    rows = [alert_row(f"f{k:03}") for k in range(MOST + 7)]
    found = watched(alerts=frame("alerts", rows))
    assert (len(found.alerts), found.n_alerts) == (MOST, MOST + 7)
    report = build_report(one_run(alerts=frame("alerts", rows)))
    assert "27 open alerts, the first 20 are listed" in to_html(report)
    assert "27 open alerts, the first 20 are listed." in to_markdown(report)


def test_that_no_alert_is_open_is_said_once_something_was_watched() -> None:
    report = build_report(one_run(drift_evaluations=frame("drift_evaluations", [rule_row("c")])))
    for text in (Page.of(to_html(report)).all("main")[0].text, to_markdown(report)):
        assert "✓ no alert is open" in text
        assert "✓ no delivery is dead" in text


def test_a_dead_delivery_names_endpoint_event_tries_and_why() -> None:
    rows = dead(dead_row("evt_1"), dead_row("evt_2", endpoint="b", state="disabled"))
    alerts = frame("alerts", [alert_row("f1")])
    other, one = watched(dead_deliveries=rows, alerts=alerts).dead
    assert (other.endpoint, other.state.word) == ("b", "disabled")
    assert (one.endpoint, one.event, one.event_id) == ("ops", "opened (warn) of churn", "evt_1")
    assert (one.n_tries.text, one.why) == ("10", "HTTP 500")
    assert (one.state.glyph, one.state.word, one.state.tone) == ("✕", "dead", "bad")


def test_a_delivery_that_got_no_answer_says_so() -> None:
    rows = dead(dead_row("evt_1", last_status=None, last_error="ConnectError: refused"))
    (one,) = watched(dead_deliveries=rows).dead
    assert (one.why, one.event) == ("ConnectError: refused", "opened (warn)")


def test_the_newest_night_of_a_judge_is_told() -> None:
    rows = [
        {"as_of": AS_OF - timedelta(days=k), "judge": "m@1", "n_anchors": 30, "n_flips": 5 - k,
         "alarm": k == 0, "attribution": "judge" if k == 0 else "none"}
        for k in range(3)
    ]  # fmt: skip
    (judge,) = watched(judge_drift=frame("judge_drift", rows)).judges
    assert (judge.n_flips.text, judge.verdict.word, judge.verdict.tone) == (
        "5",
        "alarm, judge",
        "bad",
    )
    assert judge.e_value.text == "—"
