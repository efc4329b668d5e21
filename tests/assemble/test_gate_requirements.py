"""What must be there before rules are believed, and what makes runs not comparable at all."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gates import cell, config, evidence, judged, losses, number, resolved, run

from crucible_batch.assemble.gate.requirements import not_comparable

ACCURACY = 'id = "r"\nkind = "regression"\nmetric = "accuracy"'
RANKING = 'id = "n"\nkind = "regression"\nmetric = "ndcg_at_10"'
SOUND = evidence(cell("accuracy", *losses(0)), cell("ndcg_at_10", *losses(0)))


def row(gate, found, key):
    return judged(gate, found)[f"requirement:{key}"]


def why(gate, found):
    return not_comparable(resolved(gate), found, gate.requirements)


def test_sound_runs_meet_every_requirement(tmp_path):
    rows = judged(config(tmp_path, ACCURACY, RANKING), SOUND)
    assert {one.outcome for one in rows.values()} == {"pass"}
    assert [name for name in rows if name.startswith("requirement:")] == [
        "requirement:status",
        "requirement:same_golden_set",
        "requirement:same_judge",
        "requirement:max_error_fraction",
        "requirement:min_pairs",
        "requirement:min_coverage",
    ]


@pytest.mark.parametrize("side", ["candidate", "baseline"])
@pytest.mark.parametrize(("status", "exits_4"), [("degraded", 0), ("failed", 1), ("running", 1)])
def test_a_run_that_has_not_succeeded_is_told(tmp_path, side, status, exits_4):
    gate = config(tmp_path, ACCURACY)
    found = replace(SOUND, **{side: run("x", status=status, reason="disk full")})
    assert row(gate, found, "status").outcome == "inconclusive"
    assert row(gate, found, "status").reason == f"x is {status} (disk full)"
    assert bool(why(gate, found)) == bool(exits_4)


def test_no_baseline_is_inconclusive_and_not_an_error(tmp_path):
    gate = config(tmp_path, 'kind = "floor"\nmetric = "accuracy"\nfloor = 0.1')
    found = replace(SOUND, baseline=None)
    assert row(gate, found, "status").outcome == "inconclusive"
    assert why(gate, found) is None


def test_another_golden_set_is_not_comparable_unless_allowed(tmp_path):
    other = replace(SOUND, baseline=run("old", golden_set_hash="sha256:2"))
    gate = config(tmp_path, ACCURACY)
    assert row(gate, other, "same_golden_set").outcome == "inconclusive"
    assert "golden set differs" in why(gate, other)
    assert why(gate, other).endswith(
        "with same_golden_set = false the items that are the same in both are paired"
    )
    allowed = config(tmp_path, ACCURACY, head="[requirements]\nsame_golden_set = false\n")
    assert "requirement:same_golden_set" not in judged(allowed, other)
    assert why(allowed, other) is None
    assert "no item" in why(allowed, replace(other, n_paired=0))


def test_another_judge_is_not_comparable_only_when_every_error_rule_rests_on_one(tmp_path):
    other = replace(SOUND, baseline=run("old", judge="judge@2"))
    assert "judge differs" in why(config(tmp_path, ACCURACY), other)
    assert why(config(tmp_path, ACCURACY, RANKING), other) is None
    warned = RANKING + '\nseverity = "warn"'
    assert why(config(tmp_path, ACCURACY, warned), other)
    assert row(config(tmp_path, ACCURACY, RANKING), other, "same_judge").outcome == "inconclusive"


def test_a_judge_that_differs_does_not_concern_a_gate_that_rests_on_none(tmp_path):
    other = replace(SOUND, baseline=run("old", judge="judge@2"))
    one = row(config(tmp_path, RANKING, ACCURACY + '\nseverity = "warn"'), other, "same_judge")
    assert one.outcome == "pass"
    assert one.reason == "the judge differs: judge@2 → judge@1; concerned: r"


def test_a_run_without_verdicts_is_not_called_a_judge_that_differs(tmp_path):
    other = replace(SOUND, baseline=run("old", judge=None))
    one = row(config(tmp_path, ACCURACY, RANKING), other, "same_judge")
    assert one.reason.startswith("old has no verdicts; those of new are by judge@1")
    assert judged(config(tmp_path, ACCURACY, RANKING), other)["r"].reason.startswith(
        "old has no verdicts"
    )


@pytest.mark.parametrize(("n_lost", "expected"), [(5, "pass"), (6, "inconclusive")])
@pytest.mark.parametrize("side", ["candidate", "baseline"])
def test_too_many_lost_results_are_inconclusive(tmp_path, side, n_lost, expected):
    found = replace(SOUND, **{side: run("x", n_lost=n_lost)})
    one = row(config(tmp_path, ACCURACY), found, "max_error_fraction")
    assert (one.outcome, one.observed, one.threshold) == (expected, n_lost / 100, 0.05)


def test_runs_that_were_not_scored_have_no_known_share_of_errors(tmp_path):
    found = replace(SOUND, candidate=run(n_expected=None, n_lost=None))
    one = row(config(tmp_path, ACCURACY), found, "max_error_fraction")
    assert one.outcome == "inconclusive"


def test_two_runs_that_nobody_judged_have_the_same_judge_and_are_not_said_to_have_one(tmp_path):
    found = replace(SOUND, candidate=run("new", judge=None), baseline=run("old", judge=None))
    same = row(config(tmp_path, RANKING), found, "same_judge")
    assert (same.outcome, same.reason) == ("pass", "no judge has seen either run")


def test_the_rule_with_the_fewest_pairs_decides(tmp_path):
    found = evidence(cell("accuracy", *losses(0)), cell("ndcg_at_10", *losses(0, 30)))
    gate = config(tmp_path, ACCURACY, RANKING, head="[requirements]\nmin_pairs = 31\n")
    one = row(gate, found, "min_pairs")
    assert (one.outcome, one.observed) == ("inconclusive", 30)
    assert one.reason == "least is 30, required is 31 (rule n)"


def test_a_cell_that_was_not_compared_has_no_pairs(tmp_path):
    found = evidence(cell("accuracy", *losses(0)))
    assert row(config(tmp_path, ACCURACY, RANKING), found, "min_pairs").outcome == "inconclusive"


def test_coverage_is_the_smallest_of_both_runs(tmp_path):
    low = {("all", "all", "accuracy"): number(coverage=0.9)}
    one = row(config(tmp_path, ACCURACY), replace(SOUND, numbers_before=low), "min_coverage")
    assert (one.outcome, one.observed) == ("inconclusive", 0.9)


def test_requirements_of_warn_rules_only_warn(tmp_path):
    warned = RANKING + '\nseverity = "warn"'
    found = evidence(cell("accuracy", *losses(0)))
    assert row(config(tmp_path, ACCURACY, warned), found, "min_pairs").outcome == "pass"
    alone = row(config(tmp_path, warned), found, "min_pairs")
    assert (alone.outcome, alone.severity) == ("inconclusive", "warn")


def test_a_gate_that_compares_nothing_needs_no_pairs(tmp_path):
    gate = config(tmp_path, 'kind = "no_open_alert"')
    assert not {"requirement:min_pairs", "requirement:min_coverage"} & set(judged(gate, SOUND))
