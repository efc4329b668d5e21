"""The gate night after night: confirmation, flaky items, alerts, and its test of itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from bench import JUDGE, result
from gate_bench import ACCURACY, ALERT, FLOOR, IDS, MUST, RANKING, Gates, N, finished, results

from crucible_batch.assemble.gate import GateRun, gate_text, self_test
from crucible_batch.assemble.gate.gather import open_alerts
from crucible_batch.contracts import TABLES
from crucible_batch.errors import NotComparableError, UsageError

pytestmark = pytest.mark.slow  # scores and compares many nights


# --- nights -----------------------------------------------------------------------------------


def night(gates: Gates, as_of: datetime, done: GateRun) -> None:
    gates.bench.append(
        "nightly",
        {
            "as_of": as_of,
            "candidate_run_id": done.verdict.candidate,
            "baseline_run_id": done.verdict.baseline,
            "gate_id": done.gate_id,
            "gate_outcome": done.outcome,
        },
    )


CONFIRM = "[gate]\nconfirm_runs = 2\n" + ACCURACY
NIGHTS = [datetime(2026, 3, 2 + n, tzinfo=UTC) for n in range(3)]


def confirmation(done: GateRun) -> str:
    return next(one.confirmation for one in done.verdict.results if one.rule_id == "r")


def test_a_regression_goes_red_on_its_second_night(gates):
    first = gates.run(CONFIRM, "bad", "good", as_of=NIGHTS[0])
    assert (first.exit_code, confirmation(first)) == (0, "suspected")
    assert "suspected: r" in first.line
    night(gates, NIGHTS[0], first)
    gates.bench.run("worse", *results(18))
    second = gates.run(CONFIRM, "worse", "good", as_of=NIGHTS[1])
    assert (second.exit_code, confirmation(second)) == (1, "confirmed")
    night(gates, NIGHTS[1], second)
    gates.bench.run("still", *results(19))
    third = gates.run(CONFIRM, "still", "good", as_of=NIGHTS[2])
    assert (third.exit_code, confirmation(third)) == (1, "confirmed")


def test_a_quiet_night_between_starts_anew(gates):
    night(gates, NIGHTS[0], gates.run(CONFIRM, "bad", "good", as_of=NIGHTS[0]))
    night(gates, NIGHTS[1], gates.run(CONFIRM, "same", "good", as_of=NIGHTS[1]))
    gates.bench.run("worse", *results(18))
    third = gates.run(CONFIRM, "worse", "good", as_of=NIGHTS[2])
    assert (third.exit_code, confirmation(third)) == (0, "suspected")


def test_a_night_against_another_baseline_confirms_nothing(gates):
    night(gates, NIGHTS[0], gates.run(CONFIRM, "bad", "same", as_of=NIGHTS[0]))
    gates.bench.run("worse", *results(18))
    second = gates.run(CONFIRM, "worse", "good", as_of=NIGHTS[1])
    assert confirmation(second) == "suspected"


def test_a_night_never_confirms_itself(gates):
    first = gates.run(CONFIRM, "bad", "good", as_of=NIGHTS[0])
    night(gates, NIGHTS[0], first)
    assert confirmation(gates.run(CONFIRM, "bad", "good", as_of=NIGHTS[0])) == "suspected"
    assert confirmation(gates.run(CONFIRM, "bad", "good", as_of=NIGHTS[1])) == "suspected"
    assert confirmation(gates.run(CONFIRM, "bad", "good")) == "suspected"


def test_confirming_against_the_latest_run_exits_2(gates):
    with pytest.raises(UsageError, match="stays"):
        gates.run(CONFIRM, "bad", "latest-succeeded")


# --- must pass and flaky ----------------------------------------------------------------------


def test_must_pass_items_are_judged_sample_by_sample(gates):
    assert gates.outcomes(gates.run(MUST, "same", "good"))["m"] == "pass"
    rows = results(36)
    rows[1] = result(IDS[1], "d", verdict="missing")
    gates.bench.run("slip", *rows)
    done = gates.run(MUST, "slip", "good")
    assert done.exit_code == 1
    assert "q01 (0 of 1 right)" in gate_text(done.verdict)
    rows[1] = result(IDS[1], "d", verdict="malformed")
    gates.bench.run("unread", *rows)
    assert gates.run(MUST, "unread", "good").exit_code == 3


def test_a_flaky_item_is_left_out_until_its_day_measured_by_the_night(gates, tmp_path):
    rows = results(37)  # one better for the one that is worse
    rows[1] = result(IDS[1], "d", verdict="missing")
    finished(gates.bench, "slip", "10:00", *rows)
    (tmp_path / "flaky.toml").write_text(
        '[[items]]\nitem_id = "q01"\nreason = "two policies"\nexpires = 2026-03-10\n'
    )
    text = '[gate]\nflaky = "flaky.toml"\n' + MUST + ACCURACY
    by_finish = gates.run(text, "slip", "good")
    assert by_finish.exit_code == 0
    assert "q01: set aside until 2026-03-10 (two policies)" in gate_text(by_finish.verdict)
    assert by_finish.comparison.rows["n_pairs"].max() == N  # it is in every other number
    day = datetime(2026, 3, 10, tzinfo=UTC)
    assert gates.run(text, "slip", "good", as_of=day - timedelta(seconds=1)).exit_code == 0
    late = gates.run(text, "slip", "good", as_of=day)
    assert late.exit_code == 1
    assert "expired" in gate_text(late.verdict)


# --- alerts -----------------------------------------------------------------------------------


def alert(kind: str, *, seq: int, severity: str = "warn", episode: int = 1, day: int = 1) -> dict:
    return {
        "event_id": f"e{episode}-{seq}",
        "fingerprint": "f1",
        "episode": episode,
        "seq": seq,
        "kind": kind,
        "severity": severity,
        "payload": "{}",
        "occurred_at": datetime(2026, 3, day, tzinfo=UTC),
    }


def test_open_alerts_fail_and_resolved_ones_do_not(gates):
    assert gates.run(ALERT, "same", "good").exit_code == 0
    gates.bench.append("alert_events", alert("pending", seq=1))
    assert gates.run(ALERT, "same", "good").exit_code == 0
    gates.bench.append("alert_events", alert("opened", seq=2, day=3))
    assert gates.run(ALERT, "same", "good").exit_code == 1
    assert gates.run(ALERT, "same", "good", as_of=NIGHTS[0]).exit_code == 0
    gates.bench.append("alert_events", alert("resolved", seq=3, day=4))
    assert gates.run(ALERT, "same", "good").exit_code == 0


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], ()),
        ([alert("opened", seq=1), alert("acknowledged", seq=2)], (("warn", "f1"),)),
        ([alert("opened", seq=1), alert("snoozed", seq=2)], (("warn", "f1"),)),
        (
            [alert("opened", seq=1), alert("escalated", seq=2, severity="critical")],
            (("critical", "f1"),),
        ),
        ([alert("opened", seq=1), alert("resolved", seq=2)], ()),
        (
            [alert("opened", seq=1), alert("resolved", seq=2), alert("opened", seq=1, episode=2)],
            (("warn", "f1"),),
        ),
        (
            [alert("opened", seq=1), alert("resolved", seq=2), alert("pending", seq=1, episode=2)],
            (),
        ),
    ],
)
def test_an_alert_is_open_from_opened_to_resolved_of_its_last_episode(events, expected):
    rows = [dict.fromkeys(TABLES["alert_events"].names) | row for row in events]
    frame = pl.DataFrame(rows, schema=TABLES["alert_events"].schema)
    assert open_alerts(frame) == expected
    assert open_alerts(frame.reverse()) == expected


# --- self-test --------------------------------------------------------------------------------


def tried(gates: Gates, text: str, candidate: str = "bad", baseline: str = "good"):
    return self_test(gates.bench.store, "default", candidate, baseline, gates.write(text))


def test_a_sound_gate_leaves_the_unchanged_run_alone_and_finds_the_planted_drop(gates):
    done = tried(
        gates,
        CONFIRM
        + RANKING
        + '[[rules]]\nid = "i"\nkind = "regression"\nmetric = "incorrect_rate"\n'
        + '[[rules]]\nid = "k"\nkind = "non_inferiority"\nmetric = "accuracy"\nmargin = 0.2\n'
        + '[[rules]]\nid = "d"\nkind = "max_drop"\nmetric = "accuracy"\nmax_drop = 0.2\n'
        + FLOOR,
    )
    assert (done.outcome, done.exit_code) == ("pass", 0)
    assert [one.unchanged.outcome for one in done.tried] == ["pass"] * 5
    assert [one.planted.outcome for one in done.tried] == ["fail"] * 5
    assert done.untried == ("f",)


def test_the_planted_drop_is_the_largest_of_three(gates):
    text = '[[rules]]\nid = "k"\nkind = "non_inferiority"\nmetric = "accuracy"\nmargin = {}\n'
    row = gates.run(ACCURACY, "bad", "good").comparison.rows.row(
        by_predicate=(pl.col("metric") == "accuracy") & (pl.col("slice_by") == "all"), named=True
    )
    assert tried(gates, text.format(0.3)).tried[0].shift == pytest.approx(0.6)
    assert tried(gates, text.format(0.1)).tried[0].shift == pytest.approx(2 * row["mde80"])
    assert tried(gates, ACCURACY, "same").tried[0].shift == pytest.approx(0.1)


def test_the_smallest_drop_follows_from_the_spread_of_the_two_runs(gates):
    row = gates.run(ACCURACY, "bad", "good").comparison.rows.row(
        by_predicate=(pl.col("metric") == "accuracy") & (pl.col("slice_by") == "all"), named=True
    )
    alone = tried(gates, ACCURACY).tried[0].smallest_drop
    assert alone == pytest.approx(row["mde80"])
    assert tried(gates, ACCURACY + RANKING).tried[0].smallest_drop > alone
    assert tried(gates, ACCURACY, "same").tried[0].smallest_drop is None


def test_a_planted_drop_on_the_log_scale_is_a_tenth(gates):
    for run, latency in (("quick", 100.0), ("slow", 101.0)):
        gates.bench.run(run, *results(36, latency_ms=latency))
    text = '[[rules]]\nid = "l"\nkind = "max_drop"\nmetric = "latency_ms"\nmax_drop = 0.01\n'
    one = tried(gates, "[requirements]\nmin_pairs = 20\n" + text, "slow", "quick").tried[0]
    assert (one.planted.outcome, one.is_log) == ("fail", True)
    assert "×1.10" in one.planted.reason


def test_a_gate_that_needs_more_items_than_there_are_is_told(gates):
    text = '[[rules]]\nid = "k"\nkind = "non_inferiority"\nmetric = "accuracy"\nmargin = 0.01\n'
    done = tried(gates, text)
    assert (done.outcome, done.exit_code) == ("inconclusive", 3)
    assert "40 items cannot show it, 300 can" in done.tried[0].unchanged.reason


def test_a_gate_without_a_comparing_rule_or_a_second_run_cannot_be_tried(gates):
    with pytest.raises(UsageError, match="no rule that compares"):
        tried(gates, FLOOR)
    gates.bench.run("ill", *results(36), status="failed")
    with pytest.raises(NotComparableError):
        tried(gates, ACCURACY, "good", "ill")


def test_a_self_test_writes_no_gate_results(gates):
    tried(gates, ACCURACY)
    written = [name for name in gates.bench.files() if "gate_results" in name]
    assert written == []


def test_the_judge_of_the_bench_is_the_one_pinned(gates):
    done = gates.run(ACCURACY, "same", "good")
    assert JUDGE in gate_text(done.verdict)
