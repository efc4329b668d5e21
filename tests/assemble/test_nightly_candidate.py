"""Which run a night judges: the newest finished run by as_of that no earlier night has judged."""

from __future__ import annotations

import polars as pl
import pytest
from nights import Nights

from crucible_batch.assemble.nightly import Night, do_night, steps
from crucible_batch.errors import UnknownNameError

NOON, EVENING = "2026-05-01T12:00:00Z", "2026-05-01T20:00:00Z"


@pytest.fixture
def nights(tmp_path) -> Nights:
    return Nights(tmp_path)


def loaded(nights: Nights, as_of: str) -> Night:
    night = nights.night(as_of)
    for number in range(len(night.config.inputs)):
        steps.load_input(night, number)
    return night


def chosen(nights: Nights, as_of: str) -> tuple[str | None, str | None]:
    return steps.choose_runs(loaded(nights, as_of))


def test_it_is_the_newest_run_by_as_of(nights):
    nights.run("base", "01:00")
    nights.run("old", "02:00")
    nights.run("new", "03:00")
    nights.run("later", "13:00")
    assert chosen(nights, NOON) == ("base", "new")
    assert chosen(nights, EVENING) == ("base", "later")


def test_a_run_that_finishes_at_as_of_is_in_time(nights):
    nights.run("base", "01:00")
    nights.run("new", "12:00")
    assert chosen(nights, NOON) == ("base", "new")


def test_of_runs_that_finished_together_the_greater_id_is_the_newer_one(nights):
    for run_id in ("base", "b", "c", "a"):
        nights.run(run_id, "02:00")
    assert chosen(nights, NOON) == ("base", "c")


def test_no_run_is_judged_by_two_nights(nights):
    nights.run("base", "01:00")
    nights.run("old", "02:00")
    nights.run("new", "03:00")
    steps.record(loaded(nights, NOON), "base", "new")
    assert chosen(nights, EVENING) == ("base", "old")
    steps.record(nights.night(EVENING), "base", "old")
    assert chosen(nights, "2026-05-02") == ("base", None)


def test_a_later_night_takes_nothing_from_an_earlier_one(nights):
    nights.run("base", "01:00")
    nights.run("new", "03:00")
    steps.record(loaded(nights, EVENING), "base", "new")
    assert chosen(nights, NOON) == ("base", "new")


def test_the_baseline_is_not_judged_against_itself(nights):
    nights.run("old", "01:00")
    nights.run("base", "02:00")
    assert chosen(nights, NOON) == ("base", "old")


def test_a_run_of_another_golden_set_is_none_of_the_night(nights, tmp_path):
    nights.run("base", "01:00")
    loaded(nights, NOON)
    other = Nights(tmp_path, golden_set="other", baseline="base")
    other.root = nights.root
    other.run("foreign", "03:00")
    loaded(other, NOON)
    assert steps.choose_runs(nights.night(NOON)) == ("base", None)


def test_a_running_run_is_not_finished(nights):
    nights.run("base", "01:00")
    nights.run("new", "03:00", status="running")
    assert chosen(nights, NOON) == ("base", None)


@pytest.mark.parametrize("status", ["failed", "degraded"])
def test_a_run_that_failed_is_the_candidate_and_no_older_one_stands_in_for_it(nights, status):
    nights.run("base", "01:00")
    nights.run("old", "02:00")
    nights.run("broken", "03:00", status=status)
    assert chosen(nights, NOON) == ("base", "broken")


def test_latest_succeeded_is_the_run_before_the_candidate(nights):
    nights.top["baseline"] = "latest-succeeded"
    nights.run("a", "01:00")
    nights.run("b", "02:00")
    nights.run("broken", "03:00", status="failed")
    nights.run("c", "04:00")
    nights.run("later", "13:00")
    assert chosen(nights, NOON) == ("b", "c")


def test_latest_succeeded_is_never_newer_than_the_candidate(nights):
    nights.top["baseline"] = "latest-succeeded"
    for hour, run_id in enumerate("abc", start=1):
        nights.run(run_id, f"0{hour}:00")
    steps.record(loaded(nights, NOON), "b", "c")
    assert chosen(nights, EVENING) == ("a", "b")


def test_the_first_night_of_latest_succeeded_has_nothing_to_compare_with(nights):
    nights.top["baseline"] = "latest-succeeded"
    nights.run("only", "01:00")
    done = do_night(nights.night(NOON))
    assert (done.candidate, done.exit_code) == (None, 3)
    assert "only has no baseline: no other run of faq had succeeded before it" in done.why_none
    nights.run("second", "13:00")
    done = do_night(nights.night(EVENING))
    assert (done.baseline, done.candidate, done.exit_code) == ("only", "second", 0)


def test_the_first_run_of_all_is_no_candidate_once_it_was_a_baseline(nights):
    nights.top["baseline"] = "latest-succeeded"
    nights.run("a", "01:00")
    nights.run("b", "02:00")
    steps.record(loaded(nights, NOON), "a", "b")
    assert chosen(nights, EVENING) == (None, None)


def test_an_unknown_baseline_is_told_although_there_is_nothing_to_judge(nights):
    nights.run("base", "01:00")
    nights.top["baseline"] = "bas"
    with pytest.raises(UnknownNameError, match="bas") as caught:
        chosen(nights, NOON)
    assert "base" in caught.value.fix


def test_a_night_without_candidate_says_which_runs_came_too_late(nights):
    nights.run("base", "01:00")
    nights.run("later", "13:00")
    night = loaded(nights, NOON)
    assert steps.choose_runs(night) == ("base", None)
    why = steps.why_not_judged(night, None)
    assert "no new run of faq to judge as of 2026-05-01 12:00:00 UTC" in why
    assert "1 finished later, the last one later at 2026-05-01 13:00:00 UTC" in why
    assert "later" not in steps.why_not_judged(nights.night(EVENING), None)


def test_a_run_that_does_not_say_when_it_finished_counts_from_its_load(nights):
    nights.run("base", "01:00")
    nights.run("silent", None)
    assert chosen(nights, NOON) == ("base", None)
    night = nights.night(NOON)
    commits = night.opened().snapshot().commits()
    written = commits.filter(pl.col("subject") == "silent")["created_at"][0]
    assert steps.choose_runs(nights.night(written.isoformat())) == ("base", "silent")
