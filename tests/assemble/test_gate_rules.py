"""The rules of a gate: when each fails, passes, and says that it does not know."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from gates import cell, config, evidence, judged, known, losses, number, run

REGRESSION = 'id = "r"\nkind = "regression"\nmetric = "accuracy"'
NON_INFERIORITY = 'id = "r"\nkind = "non_inferiority"\nmetric = "accuracy"\nmargin = 0.1'
MAX_DROP = 'id = "r"\nkind = "max_drop"\nmetric = "accuracy"\nmax_drop = 0.1'
FLOOR = 'id = "r"\nkind = "floor"\nmetric = "accuracy"\nfloor = 0.5'
MUST_PASS = 'id = "r"\nkind = "must_pass"\ntag = "core"'
NO_ALERT = 'id = "r"\nkind = "no_open_alert"'
CONFIRM = "[gate]\nconfirm_runs = 2\n"
ACCURACY = ("all", "all", "accuracy")


def outcome(gate, found, names=None):
    one = judged(gate, found, names)["r"]
    return one.outcome, one


# --- regression -------------------------------------------------------------------------------


def test_a_regression_fails(tmp_path):
    found, one = outcome(config(tmp_path, REGRESSION), evidence(cell("accuracy", *losses(12))))
    assert found == "fail"
    assert (one.verdict, one.family_size, one.p_adjusted) == ("regressed", 1, 2 * 0.5**12)
    assert (one.comparison_id, one.metric, one.slice_by, one.slice) == (
        "c1",
        "accuracy",
        "all",
        "all",
    )
    assert one.observed == pytest.approx(-0.3)


@pytest.mark.parametrize(("n_worse", "expected"), [(5, "inconclusive"), (6, "fail")])
def test_five_losses_and_no_win_are_too_few_for_a_verdict(tmp_path, n_worse, expected):
    found, one = outcome(config(tmp_path, REGRESSION), evidence(cell("accuracy", *losses(n_worse))))
    assert found == expected
    assert one.p_adjusted == 2 * 0.5**n_worse


def test_few_changed_items_limit_failing_and_not_passing(tmp_path):
    old, new = losses(5)
    found, _ = outcome(config(tmp_path, REGRESSION), evidence(cell("accuracy", new, old)))
    assert found == "pass"


def test_no_change_at_all_passes(tmp_path):
    found, one = outcome(config(tmp_path, REGRESSION), evidence(cell("accuracy", *losses(0))))
    assert found == "pass"
    assert one.verdict == "no_significant_change"


def test_lower_is_better_turns_the_direction(tmp_path):
    gate = config(tmp_path, REGRESSION.replace("accuracy", "incorrect_rate"))
    old, new = losses(12)
    assert outcome(gate, evidence(cell("incorrect_rate", old, new)))[0] == "pass"
    assert outcome(gate, evidence(cell("incorrect_rate", new, old)))[0] == "fail"


def test_nineteen_pairs_give_no_verdict_however_bad(tmp_path):
    found, one = outcome(config(tmp_path, REGRESSION), evidence(cell("accuracy", *losses(19, 19))))
    assert (found, one.verdict) == ("inconclusive", "insufficient_items")
    assert one.reason == "19 items, a verdict needs 20"


@pytest.mark.parametrize("rule", [REGRESSION, NON_INFERIORITY, MAX_DROP])
def test_a_metric_without_any_pair_is_inconclusive(tmp_path, rule):
    gate = config(tmp_path, rule)
    assert outcome(gate, evidence())[0] == "inconclusive"
    assert outcome(gate, evidence(cell("accuracy", [], [])))[0] == "inconclusive"


@pytest.mark.parametrize("rule", [REGRESSION, NON_INFERIORITY, MAX_DROP])
def test_a_blocked_cell_is_inconclusive(tmp_path, rule):
    row = cell("accuracy", *losses(12), blocked_reason="degraded") | {"p_value": None}
    found, one = outcome(config(tmp_path, rule), evidence(row))
    assert found == "inconclusive"
    assert "degraded" in one.reason


@pytest.mark.parametrize("rule", [REGRESSION, NON_INFERIORITY, MAX_DROP])
def test_unequal_judging_makes_a_loss_inconclusive_and_says_the_fix(tmp_path, rule):
    gate = config(tmp_path, rule)
    shares = {"judged_at_k_baseline": 1.0, "judged_at_k_candidate": 0.9}
    found, one = outcome(gate, evidence(cell("accuracy", *losses(20), **shares)))
    assert found == "inconclusive"
    assert one.reason.endswith("run `crucible qrels judge new`")
    equal = shares | {"judged_at_k_candidate": 0.96}
    assert outcome(gate, evidence(cell("accuracy", *losses(20), **equal)))[0] == "fail"


def test_p_values_of_all_regression_rules_are_one_family_warnings_too(tmp_path):
    others = [
        f'kind = "regression"\nmetric = "{name}"\nseverity = "warn"'
        for name in ("recall_at_10", "ndcg_at_10")
    ]
    cells = [cell("recall_at_10", *losses(3)), cell("ndcg_at_10", *losses(0))]
    found, one = outcome(
        config(tmp_path, REGRESSION, *others), evidence(cell("accuracy", *losses(6)), *cells)
    )
    assert (one.family_size, one.p_adjusted) == (3, 3 * 0.03125)
    assert found == "inconclusive"  # six items cannot say it three times over


def test_a_rule_without_a_p_is_not_in_the_family(tmp_path):
    other = 'kind = "regression"\nmetric = "recall_at_10"'
    one = judged(config(tmp_path, REGRESSION, other), evidence(cell("accuracy", *losses(6))))["r"]
    assert (one.family_size, one.outcome) == (1, "fail")


def test_alpha_is_the_level(tmp_path):
    gate = config(tmp_path, REGRESSION, head="[gate]\nalpha = 0.01\n")
    assert outcome(gate, evidence(cell("accuracy", *losses(7))))[0] == "inconclusive"
    assert outcome(gate, evidence(cell("accuracy", *losses(8))))[0] == "fail"


# --- confirmation -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "fail_on", "expected"),
    [
        (None, "confirmed", ("pass", "suspected")),
        ("none", "confirmed", ("pass", "suspected")),
        ("suspected", "confirmed", ("fail", "confirmed")),
        ("confirmed", "confirmed", ("fail", "confirmed")),
        (None, "suspected", ("fail", "suspected")),
    ],
)
def test_a_regression_is_confirmed_by_the_night_before(tmp_path, before, fail_on, expected):
    gate = config(tmp_path, REGRESSION, head=CONFIRM + f'fail_on = "{fail_on}"\n')
    nights = {} if before is None else {("r", "accuracy", "all", "all"): before}
    found = evidence(cell("accuracy", *losses(12)), before=nights)
    one = judged(gate, found)["r"]
    assert (one.outcome, one.confirmation) == expected


def test_the_night_before_counts_for_the_same_rule_metric_and_slice_only(tmp_path):
    gate = config(tmp_path, REGRESSION, head=CONFIRM)
    for key in (
        ("other", "accuracy", "all", "all"),
        ("r", "ndcg_at_10", "all", "all"),
        ("r", "accuracy", "shape", "lookup"),
    ):
        found = evidence(cell("accuracy", *losses(12)), before={key: "confirmed"})
        assert judged(gate, found)["r"].confirmation == "suspected"


def test_what_did_not_regress_is_neither_suspected_nor_confirmed(tmp_path):
    gate = config(tmp_path, REGRESSION, head=CONFIRM)
    nights = {("r", "accuracy", "all", "all"): "confirmed"}
    one = judged(gate, evidence(cell("accuracy", *losses(0)), before=nights))["r"]
    assert (one.outcome, one.confirmation) == ("pass", "none")


# --- non-inferiority and largest drop ---------------------------------------------------------


@pytest.mark.parametrize(("n_worse", "expected"), [(0, "pass"), (4, "inconclusive"), (30, "fail")])
def test_non_inferiority_looks_at_the_whole_interval(tmp_path, n_worse, expected):
    found, one = outcome(
        config(tmp_path, NON_INFERIORITY), evidence(cell("accuracy", *losses(n_worse)))
    )
    assert found == expected
    assert (one.margin, one.threshold) == (0.1, -0.1)


def test_twenty_nine_unchanged_items_cannot_show_a_margin_of_a_tenth(tmp_path):
    gate = config(tmp_path, NON_INFERIORITY)
    found, one = outcome(gate, evidence(cell("accuracy", *losses(0, 29))))
    assert found == "inconclusive"
    assert "29 items cannot show it, 30 can" in one.reason
    assert outcome(gate, evidence(cell("accuracy", *losses(0, 30))))[0] == "pass"


def test_a_margin_of_a_metric_where_lower_is_better_lies_above(tmp_path):
    gate = config(tmp_path, NON_INFERIORITY.replace("accuracy", "incorrect_rate"))
    old, new = losses(30)
    found, one = outcome(gate, evidence(cell("incorrect_rate", new, old)))
    assert (found, one.threshold) == ("fail", 0.1)
    assert outcome(gate, evidence(cell("incorrect_rate", old, new)))[0] == "pass"


def test_the_largest_drop_is_a_share_of_the_baselines_mean(tmp_path):
    row = cell("accuracy", [0.5] * 80, [0.5] * 80)
    found, one = outcome(config(tmp_path, MAX_DROP), evidence(row))
    assert (found, one.margin) == ("pass", 0.05)


def test_on_the_log_scale_the_largest_drop_is_a_ratio(tmp_path):
    gate = config(tmp_path, MAX_DROP.replace("accuracy", "latency_ms"))
    slower = evidence(cell("latency_ms", [100.0] * 40, [120.0] * 40))
    found, one = outcome(gate, slower)
    assert found == "fail"
    assert one.margin == pytest.approx(math.log(1.1))
    assert outcome(gate, evidence(cell("latency_ms", [100.0] * 40, [105.0] * 40)))[0] == "pass"


@pytest.mark.parametrize("mean", [0.0, -0.5])
def test_a_share_of_a_mean_that_is_not_above_zero_is_no_margin(tmp_path, mean):
    gate = config(tmp_path, MAX_DROP.replace("accuracy", "mean_truthfulness"))
    row = cell("mean_truthfulness", [mean] * 40, [mean] * 40)
    found, one = outcome(gate, evidence(row))
    assert found == "inconclusive"
    assert "not above 0" in one.reason


@pytest.mark.parametrize("rule", [NON_INFERIORITY, MAX_DROP])
def test_few_units_give_no_verdict_on_a_margin_either(tmp_path, rule):
    row = cell("accuracy", *losses(19, 19))
    assert outcome(config(tmp_path, rule), evidence(row))[0] == "inconclusive"


# --- floor ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "row", "expected"),
    [
        ("accuracy", {"mean": 0.5, "ci_low": 0.4, "ci_high": 0.6}, "pass"),
        ("accuracy", {"mean": 0.49, "ci_low": 0.4, "ci_high": 0.6}, "inconclusive"),
        ("accuracy", {"mean": 0.4, "ci_low": 0.3, "ci_high": 0.49}, "fail"),
        ("accuracy", {"mean": 0.4, "ci_low": None, "ci_high": None}, "fail"),
        ("accuracy", {"mean": 0.6, "ci_low": None, "ci_high": None}, "pass"),
        ("accuracy", {"mean": None, "ci_low": None, "ci_high": None}, "inconclusive"),
        ("incorrect_rate", {"mean": 0.5, "ci_low": 0.4, "ci_high": 0.6}, "pass"),
        ("incorrect_rate", {"mean": 0.55, "ci_low": 0.4, "ci_high": 0.6}, "inconclusive"),
        ("incorrect_rate", {"mean": 0.6, "ci_low": 0.51, "ci_high": 0.7}, "fail"),
    ],
)
def test_a_floor_is_a_ceiling_where_lower_is_better(tmp_path, metric, row, expected):
    gate = config(tmp_path, FLOOR.replace("accuracy", metric))
    found, one = outcome(gate, evidence(numbers={("all", "all", metric): number(**row)}))
    assert found == expected
    assert (one.threshold, one.observed) == (0.5, row["mean"])


def test_a_floor_under_a_number_of_the_whole_run(tmp_path):
    gate = config(tmp_path, FLOOR.replace("accuracy", "aurc"))
    row = number(mean=0.6, ci_low=None, ci_high=None)
    assert outcome(gate, evidence(numbers={("all", "all", "aurc"): row}))[0] == "fail"


def test_a_floor_reads_the_candidate_alone(tmp_path):
    found = evidence(baseline=run("old", status="degraded"))
    assert outcome(config(tmp_path, FLOOR), found)[0] == "pass"


def test_a_rule_of_a_slice_reads_that_slice(tmp_path):
    where = '\nwhere = { slice_by = "shape", slice = "lookup" }'
    gate = config(tmp_path, REGRESSION + where)
    inside = evidence(cell("accuracy", *losses(12)), where=("shape", "lookup"))
    assert outcome(gate, inside)[0] == "fail"
    assert outcome(gate, evidence(cell("accuracy", *losses(12))))[0] == "inconclusive"


# --- must pass --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("samples", "rate", "expected"),
    [
        ([1.0, 1.0], 1.0, "pass"),
        ([1.0, 0.0], 1.0, "fail"),
        ([None, 0.0], 1.0, "fail"),
        ([1.0, None], 1.0, "inconclusive"),
        ([], 1.0, "inconclusive"),
        ([1.0] * 7 + [0.0] * 3, 0.8, "fail"),
        ([1.0] * 8 + [0.0] * 2, 0.8, "pass"),
        ([1.0] * 8 + [0.0] * 1 + [None], 0.8, "inconclusive"),
        ([1.0] * 7 + [0.0] * 2 + [None], 0.8, "inconclusive"),
        ([1.0] * 6 + [0.0] * 3 + [None], 0.8, "fail"),
    ],
)
def test_an_item_must_pass_by_its_own_rate(tmp_path, samples, rate, expected):
    gate = config(tmp_path, f"{MUST_PASS}\nmin_rate = {rate}")
    found = evidence(samples={"q1": [1.0] * 10, "q2": samples})
    assert outcome(gate, found, known(core=("q1", "q2")))[0] == expected


def test_a_wrong_item_is_named_and_its_rate_told(tmp_path):
    found = evidence(samples={"q1": [1.0], "q2": [1.0, 0.0, 0.0, 0.0]})
    one = outcome(config(tmp_path, MUST_PASS), found, known(core=("q1", "q2")))[1]
    assert "q2 (1 of 4 right)" in one.reason
    assert "q1" not in one.reason
    assert (one.observed, one.threshold) == (0.25, 1.0)


# --- alerts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("severities", "least", "expected"),
    [
        ([], "warn", "pass"),
        (["warn"], "warn", "fail"),
        (["warn"], "critical", "pass"),
        (["critical"], "warn", "fail"),
        (["warn", "critical"], "critical", "fail"),
    ],
)
def test_an_open_alert_of_the_severity_or_above_fails(tmp_path, severities, least, expected):
    gate = config(tmp_path, f'{NO_ALERT}\nmin_severity = "{least}"')
    alerts = [(severity, f"alert-{severity}") for severity in severities]
    assert outcome(gate, evidence(open_alerts=alerts, n_alert_events=9))[0] == expected


def test_a_store_that_never_had_an_alert_says_so(tmp_path):
    one = outcome(config(tmp_path, NO_ALERT), evidence())[1]
    assert "no alert was ever written" in one.reason


# --- what stands against every rule -----------------------------------------------------------

EVERY = [REGRESSION, NON_INFERIORITY, MAX_DROP, FLOOR, MUST_PASS]
SOUND = evidence(cell("accuracy", *losses(0)), samples={"q1": [1.0]})


@pytest.mark.parametrize("rule", EVERY)
def test_every_rule_passes_on_sound_evidence(tmp_path, rule):
    assert outcome(config(tmp_path, rule), SOUND, known(core=("q1",)))[0] == "pass"


@pytest.mark.parametrize("rule", EVERY)
@pytest.mark.parametrize("status", ["degraded", "failed", "running"])
def test_nothing_passes_on_a_candidate_that_has_not_succeeded(tmp_path, rule, status):
    found = replace(SOUND, candidate=run(status=status))
    assert outcome(config(tmp_path, rule), found, known(core=("q1",)))[0] == "inconclusive"


@pytest.mark.parametrize("rule", EVERY)
def test_nothing_passes_under_another_judge_if_it_rests_on_one(tmp_path, rule):
    found = replace(SOUND, baseline=run("old", judge="judge@2"))
    assert outcome(config(tmp_path, rule), found, known(core=("q1",)))[0] == "inconclusive"


def test_a_metric_without_judge_is_not_concerned_by_another_one(tmp_path):
    gate = config(tmp_path, REGRESSION.replace("accuracy", "ndcg_at_10"))
    found = evidence(cell("ndcg_at_10", *losses(0)), baseline=run("old", judge=None))
    assert outcome(gate, found)[0] == "pass"


@pytest.mark.parametrize("rule", EVERY)
def test_nothing_passes_on_another_golden_set(tmp_path, rule):
    found = replace(SOUND, baseline=run("old", golden_set_hash="sha256:2"))
    assert outcome(config(tmp_path, rule), found, known(core=("q1",)))[0] == "inconclusive"


@pytest.mark.parametrize("rule", [REGRESSION, NON_INFERIORITY, MAX_DROP])
def test_nothing_that_compares_passes_without_a_baseline(tmp_path, rule):
    found = replace(SOUND, baseline=None, compared={})
    assert outcome(config(tmp_path, rule), found)[0] == "inconclusive"


@pytest.mark.parametrize("rule", [REGRESSION, NON_INFERIORITY, MAX_DROP, FLOOR])
@pytest.mark.parametrize("coverage", [0.5, 0.949, None])
def test_low_coverage_never_passes(tmp_path, rule, coverage):
    found = replace(SOUND, numbers={ACCURACY: number(coverage=coverage)})
    one = outcome(config(tmp_path, rule), found)[1]
    assert one.outcome == "inconclusive"
    assert "coverage" in one.reason


def test_low_coverage_of_the_baseline_concerns_rules_that_compare(tmp_path):
    found = replace(SOUND, numbers_before={ACCURACY: number(coverage=0.5)})
    assert outcome(config(tmp_path, REGRESSION), found)[0] == "inconclusive"
    assert outcome(config(tmp_path, FLOOR), found)[0] == "pass"


def test_a_failure_stays_a_failure_on_low_coverage(tmp_path):
    found = evidence(cell("accuracy", *losses(12)), numbers={ACCURACY: number(coverage=0.5)})
    assert outcome(config(tmp_path, REGRESSION), found)[0] == "fail"


def test_fewer_pairs_than_required_never_pass(tmp_path):
    gate = config(tmp_path, REGRESSION, head="[requirements]\nmin_pairs = 41\n")
    assert outcome(gate, SOUND)[0] == "inconclusive"


def test_a_margin_too_small_for_any_number_of_items_is_inconclusive(tmp_path):
    rule = NON_INFERIORITY.replace("0.1", "1e-308")
    same = [1.0] * 60
    found, one = outcome(config(tmp_path, rule), evidence(cell("accuracy", same, same)))
    assert found == "inconclusive"
    assert "60 items cannot show it, no number of them can" in one.reason
