"""gate.toml and the flaky file are read strictly; a fault is told with file, line and name."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from gates import config, known, resolved

from crucible_batch.assemble.example import example_dir
from crucible_batch.assemble.gate.config import load_gate
from crucible_batch.assemble.gate.flaky import FlakyItem, load_flaky
from crucible_batch.assemble.gate.known import check_flaky, resolve_rules
from crucible_batch.assemble.gate.run import check_baseline
from crucible_batch.errors import UsageError

GOOD = '[[rules]]\nkind = "regression"\nmetric = "accuracy"\n'


def refused(tmp_path: Path, text: str) -> str:
    path = tmp_path / "gate.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as error:
        load_gate(path)
    assert str(path) in str(error.value)
    assert error.value.exit_code == 2
    return str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD + "margn = 0.1\n", "line 4: rules 1: unknown key 'margn'. Did you mean margin"),
        (GOOD + GOOD + "floor = 1\n", "line 7: rules 2: unknown key 'floor'"),
        (
            "[requirements]\nmin_pair = 3\n" + GOOD,
            "line 2: unknown key 'min_pair'. Did you mean min_p",
        ),
        ("[gate]\nalpa = 0.1\n" + GOOD, "line 2: unknown key 'alpa'. Did you mean alpha"),
        ("[gates]\n" + GOOD, "line 1: unknown key 'gates'. Did you mean gate"),
        ("alpha = 0.1\n" + GOOD, "line 1: unknown key 'alpha'"),
        ('[[rules]]\nmetric = "x"\n', "line 1: rules 1: kind is missing"),
        (
            '[[rules]]\nkind = "regresion"\n',
            "line 2: rules 1: kind is 'regresion'. Did you mean reg",
        ),
        ('[[rules]]\nkind = "regression"\n', "line 1: rules 1: metric is missing"),
        ('[[rules]]\nkind = "non_inferiority"\nmetric = "x"\n', "margin is missing"),
        ('[[rules]]\nkind = "max_drop"\nmetric = "x"\n', "max_drop is missing"),
        ('[[rules]]\nkind = "floor"\nmetric = "x"\n', "floor is missing"),
        ('[[rules]]\nkind = "must_pass"\n', "tag is missing"),
        (GOOD + "margin = 0.0\n", "line 4: rules 1: margin: Input should be greater than 0"),
        (GOOD + "margin = nan\n", "margin: Input should be"),
        (GOOD + "margin = true\n", "margin: Input should be"),
        (GOOD + 'severity = "fatal"\n', "severity: Input should be 'error' or 'warn'"),
        (GOOD + 'where = { slice_by = "shape" }\n', "where.slice is missing"),
        (GOOD + 'where = { slice_by = "shape", slice = "a", x = 1 }\n', "unknown key 'where.x'"),
        ("[gate]\nconfirm_runs = 3\n" + GOOD, "confirm_runs: Input"),
        ('[gate]\nfail_on = "always"\n' + GOOD, "fail_on: Input should be"),
        ("[requirements]\nmin_coverage = 1.5\n" + GOOD, "min_coverage: Input should be"),
        ("[requirements]\nmin_pairs = 2.5\n" + GOOD, "min_pairs: Input should be"),
        ("[requirements]\nsame_judge = 1\n" + GOOD, "same_judge: Input should be"),
        ("", "no [[rules]]"),
        (GOOD + GOOD, "two rules are called 'regression:accuracy'"),
        (GOOD + 'id = "requirement:status"\n', "begins with 'requirement:'"),
        (GOOD + 'id = ""\n', "id: "),
        ("rules = [\n", "not valid TOML"),
        ('[gate]\nflaky = "no.toml"\n' + GOOD, "no.toml"),
    ],
)
def test_a_fault_is_told_with_its_place_and_the_nearest_name(tmp_path, text, said):
    assert said in refused(tmp_path, text)


def test_an_absent_file_and_one_that_is_no_text_are_refused(tmp_path):
    with pytest.raises(UsageError, match="There is no file"):
        load_gate(tmp_path / "gate.toml")
    (tmp_path / "gate.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not valid TOML"):
        load_gate(tmp_path / "gate.toml")


def test_what_is_left_out_is_strict(tmp_path):
    gate = config(tmp_path, 'kind = "regression"\nmetric = "accuracy"')
    wanted = gate.requirements
    assert (wanted.min_pairs, wanted.min_coverage, wanted.max_error_fraction) == (20, 0.95, 0.05)
    assert (wanted.same_golden_set, wanted.same_judge) == (True, True)
    assert (gate.gate.alpha, gate.gate.confirm_runs, gate.gate.fail_on) == (0.05, 1, "confirmed")
    assert gate.rules[0].severity == "error"


def test_an_id_follows_from_what_the_rule_is_about(tmp_path):
    gate = config(
        tmp_path,
        'kind = "regression"\nmetric = "accuracy"',
        'kind = "regression"\nmetric = "accuracy"\nwhere = {slice_by = "answerable", slice = true}',
        'kind = "must_pass"\ntag = "core"',
        'kind = "no_open_alert"',
    )
    assert [rule.rule_id for rule in gate.rules] == [
        "regression:accuracy",
        "regression:accuracy@answerable=true",
        "must_pass:core",
        "no_open_alert",
    ]


def test_the_gate_of_the_example_can_be_read():
    assert len(load_gate(example_dir() / "gate.toml").rules) == 9


def test_a_comment_makes_another_gate(tmp_path):
    rule = 'kind = "no_open_alert"'
    first = config(tmp_path, rule).content_hash
    assert config(tmp_path, rule).content_hash == first
    assert config(tmp_path, rule + " # why").content_hash != first


def test_the_flaky_file_is_part_of_the_gate(tmp_path):
    flaky = tmp_path / "flaky.toml"
    flaky.write_text("")
    head, rule = '[gate]\nflaky = "flaky.toml"\n', 'kind = "no_open_alert"'
    first = config(tmp_path, rule, head=head).content_hash
    flaky.write_text("# nothing\n")
    assert config(tmp_path, rule, head=head).content_hash != first


# --- names ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            'kind = "regression"\nmetric = "acuracy"',
            "No metric is called 'acuracy'. Did you mean acc",
        ),
        ('kind = "floor"\nmetric = "ndcg@0"\nfloor = 1', "cut-off"),
        ('kind = "regression"\nmetric = "aurc"', "one number per run and is never tested"),
        ('kind = "max_drop"\nmetric = "aurc"\nmax_drop = 0.1', "one number per run"),
        ('kind = "regression"\nmetric = "missing_rate"', "has no direction"),
        ('kind = "non_inferiority"\nmetric = "missing_rate"\nmargin = 0.1', "has no direction"),
        ('kind = "must_pass"\ntag = "cor"', "no item has the tag 'cor'. Did you mean core"),
        (
            'kind = "floor"\nmetric = "accuracy"\nfloor = 0\nwhere = {slice_by="shap", slice="x"}',
            "no item has the facet 'shap'. Did you mean shape",
        ),
        (
            'kind = "floor"\nmetric = "accuracy"\nfloor = 0\nwhere={slice_by="shape",slice="loku"}',
            "no item has shape = 'loku'. Did you mean lookup",
        ),
        (
            'kind = "must_pass"\ntag = "far"\nwhere = {slice_by="shape", slice="lookup"}',
            "no item with the tag 'far' is in shape = lookup",
        ),
    ],
)
def test_a_name_that_is_not_there_is_refused(tmp_path, rule, said):
    gate = config(tmp_path, f'id = "mine"\n{rule}')
    with pytest.raises(UsageError) as error:
        resolve_rules(gate, known(core=("q1",), far=("q39",)))
    assert error.value.exit_code == 2
    assert "rule 'mine': " in str(error.value)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ('kind = "max_drop"\nmetric = "accuracy"\nmax_drop = 1', "max_drop = 1 never bites"),
        ('kind = "max_drop"\nmetric = "ndcg@10"\nmax_drop = 5.5', "max_drop = 5.5 never bites"),
        ('kind = "floor"\nmetric = "accuracy"\nfloor = 0', "floor = 0 never bites"),
        ('kind = "floor"\nmetric = "latency_ms"\nfloor = 1e308', "floor = 1e+308 never bites"),
        ('kind = "max_drop"\nmetric = "latency_ms"\nmax_drop = 1e308', "max_drop = 1e+308 never"),
        ('kind = "non_inferiority"\nmetric = "cost_usd"\nmargin = 70', "margin = 70 never bites"),
        ('kind = "floor"\nmetric = "accuracy"\nfloor = -3', "floor = -3 never bites"),
        ('kind = "floor"\nmetric = "accuracy"\nfloor = 95', "floor = 95 can never be met"),
        ('kind = "floor"\nmetric = "false_answer"\nfloor = 1', "floor = 1 never bites"),
        ('kind = "floor"\nmetric = "latency_ms"\nfloor = -1', "floor = -1 can never be met"),
        ('kind = "non_inferiority"\nmetric = "accuracy"\nmargin = 1', "margin = 1 never bites"),
    ],
)
def test_a_bound_no_value_can_reach_is_refused_with_its_line(tmp_path, rule, said):
    gate = config(tmp_path, 'kind = "regression"\nmetric = "accuracy"', f'id = "mine"\n{rule}')
    with pytest.raises(UsageError) as error:
        resolve_rules(gate, known())
    assert error.value.exit_code == 2
    lines = gate.path.read_text().splitlines()
    at = 1 + max(n for n, line in enumerate(lines) if line.startswith(said.split(" ")[0]))
    assert f"line {at}: rule 'mine': {said}" in str(error.value)


@pytest.mark.parametrize(
    "rule",
    [
        'kind = "max_drop"\nmetric = "latency_ms"\nmax_drop = 1.5',
        'kind = "max_drop"\nmetric = "incorrect_rate"\nmax_drop = 1',
        'kind = "max_drop"\nmetric = "accuracy"\nmax_drop = 0.99',
        'kind = "floor"\nmetric = "accuracy"\nfloor = 1',
        'kind = "floor"\nmetric = "false_answer"\nfloor = 0',
        'kind = "floor"\nmetric = "latency_ms"\nfloor = 1e6',
        'kind = "floor"\nmetric = "mean_truthfulness"\nfloor = 0',
    ],
)
def test_a_bound_that_some_value_can_reach_is_kept(tmp_path, rule):
    assert len(resolved(config(tmp_path, rule))) == 1


def test_a_metric_may_be_spelt_as_on_the_command_line(tmp_path):
    gate = config(tmp_path, 'kind = "regression"\nmetric = "ndcg@10"')
    assert resolved(gate)[0].metric.name == "ndcg_at_10"


def test_one_number_per_run_and_one_without_direction_may_have_a_floor(tmp_path):
    floors = [
        f'kind = "floor"\nmetric = "{name}"\nfloor = 0.1' for name in ("aurc", "missing_rate")
    ]
    assert [one.metric.name for one in resolved(config(tmp_path, *floors))] == [
        "aurc",
        "missing_rate",
    ]


def test_all_items_are_a_slice_too(tmp_path):
    rule = 'kind = "regression"\nmetric = "accuracy"\nwhere = {slice_by = "all", slice = "all"}'
    assert resolved(config(tmp_path, rule))[0].rule.cell == ("all", "all")


@pytest.mark.parametrize("baseline", ["base", "pinned:base"])
def test_confirming_needs_a_baseline_that_stays(tmp_path, baseline):
    gate = config(tmp_path, 'kind = "no_open_alert"', head="[gate]\nconfirm_runs = 2\n")
    check_baseline(gate, baseline)
    with pytest.raises(UsageError, match="baseline that stays"):
        check_baseline(gate, "latest-succeeded")


# --- flaky items ------------------------------------------------------------------------------

FLAKY = '[[items]]\nitem_id = "q2"\nreason = "two policies"\nexpires = {}\n'


def flaky(tmp_path: Path, text: str) -> tuple[FlakyItem, ...]:
    path = tmp_path / "flaky.toml"
    path.write_text(text, encoding="utf-8")
    return load_flaky(path, fix="look")


@pytest.mark.parametrize(
    "expires", ["2026-05-01", '"2026-05-01"', "2026-05-01T00:00:00Z", "2026-05-01T02:00:00+02:00"]
)
def test_an_item_counts_again_from_its_day_on(tmp_path, expires):
    item = flaky(tmp_path, FLAKY.format(expires))[0]
    assert item.is_set_aside(datetime(2026, 4, 30, 23, 59, 59, tzinfo=UTC))
    assert not item.is_set_aside(datetime(2026, 5, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (FLAKY.format("2026-05-01T00:00:00"), "needs a zone"),
        (FLAKY.format('"soon"'), "expires: "),
        (FLAKY.format("5"), "write a date"),
        ('[[items]]\nitem_id = "q2"\nexpires = 2026-05-01\n', "items 1: reason is missing"),
        ('[[items]]\nitem_id = "q2"\nreason = " "\nexpires = 2026-05-01\n', "reason: "),
        ('[[items]]\nitem_id = "q2"\nreason = "x"\n', "expires is missing"),
        (FLAKY.format("2026-05-01") + 'why = "x"\n', "line 5: items 1: unknown key 'why'"),
        (FLAKY.format("2026-05-01") * 2, "lists an item twice"),
        ("[item]\n", "unknown key 'item'. Did you mean items"),
    ],
)
def test_a_flaky_entry_without_reason_or_end_is_refused(tmp_path, text, said):
    with pytest.raises(UsageError) as error:
        flaky(tmp_path, text)
    assert said in str(error.value)
    assert "flaky.toml" in str(error.value)


def test_a_flaky_item_that_is_not_in_the_golden_set_is_refused(tmp_path):
    items = flaky(tmp_path, FLAKY.format("2026-05-01").replace("q2", "q222"))
    with pytest.raises(UsageError, match=r"q222\. Did you mean"):
        check_flaky(items, known(), "flaky.toml")


def test_a_flaky_item_leaves_must_pass_rules_and_is_kept_in_mind(tmp_path):
    items = flaky(tmp_path, FLAKY.format("2026-05-01"))
    gate = config(tmp_path, 'kind = "must_pass"\ntag = "core"')
    one = resolve_rules(gate, known(core=("q1", "q2")), items)[0]
    assert (one.items, one.set_aside) == (("q1",), ("q2",))
