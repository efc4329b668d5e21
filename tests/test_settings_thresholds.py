"""The rules of the watch in settings.toml: read strictly, each fault with its line and its fix."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible_batch.errors import UsageError
from crucible_batch.settings import Settings, load_settings
from crucible_batch.settings.durations import age, duration, spelled
from crucible_batch.settings.thresholds import Limit, Threshold
from crucible_batch.settings.watch import DEFAULT_THRESHOLDS

CHURN = """\
[[thresholds]]
id = "churn"
metric = "doc_churn_ratio"
warn = {op = ">", value = 0.10, clear = 0.07}
"""


def read(root, text, workspace=None):
    path = root / "crucible.toml" if workspace is None else root / workspace / "settings.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return load_settings(root, workspace)


def refused(root, text):
    with pytest.raises(UsageError) as caught:
        read(root, text)
    return caught.value.problems


def rule(**more):
    limit = Limit(op=">", value=0.1, clear=0.07)
    return Threshold(**{"id": "r", "metric": "doc_churn_ratio", "warn": limit} | more)


# --- reading


def test_a_rule_is_read_with_its_defaults(tmp_path):
    (found,) = read(tmp_path, CHURN).thresholds
    assert (found.id, found.metric, found.statistic) == ("churn",) + ("doc_churn_ratio",) * 2
    assert (found.warn.op, found.warn.number, found.warn.clear_at) == (">", 0.10, 0.07)
    assert (found.raise_after, found.clear_after, found.unknown_after) == (1, 2, 3)
    assert (found.critical, found.renotify_after, found.max_open) == (None, None, None)


def test_limits_may_be_tables_of_their_own(tmp_path):
    text = """\
[[thresholds]]
id = "a"
metric = "document_age"
renotify_after = "24h"
[thresholds.warn]
op = ">"
value = "36h"
[thresholds.critical]
op = ">="
value = "2w"
clear = "7d"
"""
    (found,) = read(tmp_path, text).thresholds
    assert (found.warn.number, found.critical.number) == (36 * 3_600, 14 * 86_400)
    assert found.critical.clear_at == 7 * 86_400
    assert found.renotify_after == timedelta(days=1)
    assert list(found.limits) == ["critical", "warn"]


def test_a_distribution_is_named_by_its_distance(tmp_path):
    text = """\
[[thresholds]]
id = "p"
metric = "distribution"
of = "policy_verdict"
distance = "psi"
by = "surface"
warn = {op = ">", value = 0.2}
"""
    (found,) = read(tmp_path, text).thresholds
    assert (found.statistic, found.by) == ("psi:policy_verdict", "surface")


def test_written_rules_replace_the_default_ones_and_those_of_the_store(tmp_path):
    assert read(tmp_path, "").thresholds == DEFAULT_THRESHOLDS
    assert [r.id for r in read(tmp_path, CHURN).thresholds] == ["churn"]
    own = CHURN.replace('"churn"', '"own"')
    assert [r.id for r in read(tmp_path, own, "w").thresholds] == ["own"]
    assert read(tmp_path, "thresholds = []\n").thresholds == ()


def test_the_ages_of_staleness_are_rules_of_their_own(tmp_path):
    found = read(tmp_path, 'thresholds = []\n[staleness]\nmax_snapshot_age = "2d"\n')
    assert {r.id: r.warn.number for r in found.rules} == {
        "document_age": 7 * 86_400,
        "snapshot_age": 2 * 86_400,
    }


def test_an_age_that_is_never_too_high_has_no_rule(tmp_path):
    found = read(tmp_path, 'thresholds = []\n[staleness]\nmax_document_age = "never"\n')
    assert found.rules == ()
    assert found.staleness.max_document_age is None


def test_a_written_rule_on_an_age_stands_for_the_one_of_staleness(tmp_path):
    text = '[[thresholds]]\nid = "old"\nmetric = "document_age"\nclear_after = 1\n'
    (found,) = read(tmp_path, text).rules
    assert (found.id, found.warn.number, found.clear_after) == ("old", 7 * 86_400, 1)


def test_the_default_rules_are_told_apart_and_silent_about_growth():
    ids = [found.id for found in Settings().rules]
    assert len(set(ids)) == len(ids)
    assert "document_age" in ids
    (lost,) = (found for found in Settings().rules if found.metric == "doc_count_change")
    assert not any(limit.breached_by(5.0) for limit in lost.limits.values())


def test_rules_change_the_hash_of_the_watch_and_no_number_of_a_run(tmp_path):
    one, other = read(tmp_path, CHURN), read(tmp_path, CHURN.replace("0.10", "0.11"))
    assert one.hash == other.hash == Settings().hash
    assert one.watch_hash != other.watch_hash
    assert one.watch_hash == read(tmp_path, CHURN + "\n# a comment\n").watch_hash
    skewed = read(tmp_path, CHURN + '[staleness]\nclock_skew = "6m"\n')
    assert skewed.watch_hash != one.watch_hash
    seeded = read(tmp_path, CHURN + "[statistics]\nseed = 1\n")
    assert seeded.watch_hash != one.watch_hash


# --- faults: the line, and what to write


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("doc_churn_ratio", "doc_churn", "line 3: thresholds.1.metric: no such value (got 'doc_"),
        ("doc_churn_ratio", "doc_churn", "Did you mean doc_churn_ratio"),
        ("metric", "metrics", "line 3: unknown setting 'thresholds.1.metrics'"),
        ('metric = "doc_churn_ratio"', "", "line 1: thresholds.1.metric is missing"),
        ("clear =", "cleared =", "line 4: unknown setting 'thresholds.1.warn.cleared'. Did you me"),
        ("clear =", "cleared =", "thresholds.1.warn.clear"),
        ('">"', '"=="', "line 4: thresholds.1.warn.op: no such value (got '==')"),
        ("0.10", '"10 %"', "line 4: thresholds.1.warn.value: '10 %' is no duration"),
        ("0.10", "true", "line 4: thresholds.1.warn.value: True is neither a number nor a dur"),
        ("0.10", "1" + "0" * 400, "line 4: thresholds.1.warn.value: the number is too large"),
        ("0.10", "nan", "line 4: thresholds.1.warn: value is nan: write a finite number"),
        ("0.10", '"7d"', "value and clear are not alike"),
        ("0.07", "0.2", "line 4: thresholds.1.warn: clear 0.2 lies on the bad side of value 0.1"),
        ("0.07", "0.2", "write a clear of at most 0.1"),
        ("warn", "warning", "line 4: unknown setting 'thresholds.1.warning'. Did you mean thresho"),
        ('warn = {op = ">", value = 0.10, clear = 0.07}', "", "line 1: thresholds.1: rule 'churn'"),
        ('warn = {op = ">", value = 0.10, clear = 0.07}', "", "has no limit: write warn = {op"),
        ('"churn"', '""', "line 2: thresholds.1.id"),
        ('"churn"', "7", "line 2: thresholds.1.id"),
        ('"churn"', '" \\u00a0"', "line 2: thresholds.1.id"),
        ('"churn"', '"a\\u0085b"', "line 2: thresholds.1.id"),
    ],
)
def test_a_fault_of_a_rule_is_told_with_its_line(tmp_path, old, new, said):
    assert CHURN.count(old) >= 1
    assert said in refused(tmp_path, CHURN.replace(old, new))[-1]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('by = "entity_type"', "by = 'entity_type' is not possible for doc_churn_ratio: write no"),
        ('of = "confidence"', "of and distance are for the metric distribution"),
        ('critical = {op = ">", value = 0.05}', "critical > 0.05 is breached before warn > 0.1"),
        ('critical = {op = "<", value = 0.05}', "warn and critical look in opposite directions"),
        ('critical = {op = ">", value = "5d"}', "critical.value is 5d: write a number"),
        ("raise_after = 0", "line 5: thresholds.1.raise_after"),
        ("min_support = -1", "line 5: thresholds.1.min_support"),
        ("min_support = true", "line 5: thresholds.1.min_support"),
        ("renotify_after = 24", "line 5: thresholds.1.renotify_after: 24 is no duration"),
        ('renotify_after = "1 day"', "line 5: thresholds.1.renotify_after: '1 day' is no duration"),
        ('renotify_after = "0s"', "renotify_after is 0s: write how long a notice is enough"),
        ("max_open = 0", "line 5: thresholds.1.max_open"),
    ],
)
def test_keys_that_do_not_go_together_are_told(tmp_path, line, said):
    (problem,) = refused(tmp_path, CHURN + line + "\n")
    assert said in problem


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('metric = "document_age"\nwarn = {op = ">", value = 7}', "warn.value is 7: write a durat"),
        (
            'metric = "distribution"\nwarn = {op = ">", value = 7}',
            "a distribution needs of and distance",
        ),
        (
            'metric = "distribution"\nof = "abstained"\ndistance = "js"\n'
            'warn = {op = "<", value = 0.1}',
            "warn.op is '<': a distance is too large",
        ),
        (
            'metric = "distribution"\nof = "abstained"\ndistance = "js"\nby = "surface"\n'
            'warn = {op = ">", value = 0.1}',
            "by = 'surface' is not possible for js:abstained",
        ),
        ('metric = "snapshot_age"', "rule 'x' has no limit, and staleness.max_snapshot_age is ne"),
    ],
)
def test_a_rule_that_could_never_be_judged_is_refused(tmp_path, text, said):
    (problem,) = refused(tmp_path, f'# rules\n\n[[thresholds]]\nid = "x"\n{text}\n')
    assert problem.startswith("line 3: ")
    assert said in problem


def test_a_fault_of_the_second_rule_is_told_on_its_own_line(tmp_path):
    bad = CHURN.replace('"churn"', '"other"').replace("0.07", "0.5")
    (problem,) = refused(tmp_path, CHURN + "\n" + bad)
    assert problem.startswith("line 9: thresholds.2.warn: clear 0.5")


def test_a_fault_inside_a_table_of_its_own_is_told_there(tmp_path):
    text = [*CHURN.splitlines()[:3], "[thresholds.warn]", 'op = ">"', "# 7 %", "value = [7]"]
    (problem,) = refused(tmp_path, "\n".join(text))
    assert problem.startswith("line 7: thresholds.1.warn.value: [7] is neither")


def test_a_fault_in_a_list_of_rules_is_told_on_the_line_of_its_rule(tmp_path):
    text = """\
thresholds = [
  {id = "a", metric = "orphan_rate", warn = {op = ">", value = 0.5}},  # [not a list]
  # {id = "no rule"}
  {id = "b", metric = "orphan_rate", warn = {op = ">", value = 0.5, clear = 0.6}},
]
[scoring]
ks = [
  5,
]
relevant_at = 7
"""
    first, second = refused(tmp_path, text)
    assert first.startswith("line 10: scoring.relevant_at")
    assert second.startswith("line 4: thresholds.2.warn: clear 0.6 lies on the bad side")


def test_two_rules_of_one_name_are_refused_at_the_second(tmp_path):
    (problem,) = refused(tmp_path, CHURN + "\n" + CHURN)
    assert problem == "line 7: two rules are called 'churn': give each an id of its own"


def test_the_same_key_in_two_sections_is_found_in_the_right_one(tmp_path):
    text = '[judge]\nmodel = "m" # seed = 4\n[statistics]\nmin_items = 3\nseed = -1\n'
    (problem,) = refused(tmp_path, text)
    assert problem.startswith("line 5: statistics.seed")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[staleness]\nmax_document_age = 7", "line 2: staleness.max_document_age: 7 is no dur"),
        ('[staleness]\nclock_skew = "-5m"', "line 2: staleness.clock_skew: '-5m' is no duration"),
        ('[staleness]\non_empty = "fail"', "line 2: staleness.on_empty: no such value (got 'fail'"),
        ('[staleness]\nmax_age = "7d"', "unknown setting 'staleness.max_age'. Did you mean stalen"),
        ("[drift]\nwindow_days = 0", "line 2: drift.window_days"),
        ("[drift]\nmin_count = 1.5", "line 2: drift.min_count"),
        ("thresholds = 3", "line 1: thresholds"),
        ("[[threshold]]\nid = 'x'", "line 1: unknown setting 'threshold'. Did you mean threshold"),
    ],
)
def test_a_fault_of_the_sections_of_the_watch_is_told(tmp_path, text, said):
    assert said in refused(tmp_path, text)[0]


def test_files_that_only_fail_together_are_refused_too(tmp_path):
    read(tmp_path, '[[thresholds]]\nid = "old"\nmetric = "document_age"\n')
    with pytest.raises(UsageError, match=r"(?s)w/settings\.toml.*rule 'old' has no limit"):
        read(tmp_path, '[staleness]\nmax_document_age = "never"\n', "w")


# --- limits


@pytest.mark.parametrize(
    ("op", "value", "clear", "breached", "between", "cleared"),
    [
        (">", 0.10, 0.07, [0.11], [0.08, 0.10], [0.07, 0.06]),
        (">=", 1.0, 0.0, [1.0, 2.0], [0.5], [0.0]),
        ("<", -0.1, -0.05, [-0.2], [-0.1, -0.06], [-0.05, 0.3]),
        ("<=", 5.0, 8.0, [5.0, 1.0], [6.0], [8.0, 9.0]),
        (">", 0.10, None, [0.11], [], [0.10]),
        (">=", 0.10, None, [0.10], [], [0.09]),
    ],
)
def test_between_value_and_clear_a_limit_is_neither_breached_nor_cleared(
    op, value, clear, breached, between, cleared
):
    limit = Limit(op=op, value=value, clear=clear)
    for values, wanted in ((breached, (True, False)), (between, (False, False))):
        assert [(limit.breached_by(v), limit.cleared_by(v)) for v in values] == [wanted] * len(
            values
        )
    assert all(limit.cleared_by(v) and not limit.breached_by(v) for v in cleared)


@settings(max_examples=60)
@given(
    op=st.sampled_from([">", ">=", "<", "<="]),
    value=st.floats(-10, 10),
    band=st.floats(0, 5),
    seen=st.floats(-20, 20),
)
def test_no_value_is_both_breached_and_cleared(op, value, band, seen):
    clear = value - band if op.startswith(">") else value + band
    limit = Limit(op=op, value=value, clear=clear)
    assert not (limit.breached_by(seen) and limit.cleared_by(seen))


def test_equal_limits_may_differ_in_their_operator_only_the_right_way():
    strict, loose = Limit(op=">", value=1.0), Limit(op=">=", value=1.0)
    assert strict.is_stricter_than(loose)
    assert not loose.is_stricter_than(strict)
    assert rule(warn=loose, critical=strict).limits["critical"] is strict


# --- durations


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("5m", 300), ("36h", 129_600), ("7 d", 604_800)]
)
def test_a_duration_is_read(text, seconds):
    assert duration(text).total_seconds() == seconds


@pytest.mark.parametrize("text", ["", "7", "7 days", "-1d", "1.5h", "99999999d", "٣d"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match="is no duration"):
        duration(text)


@settings(max_examples=50)
@given(st.integers(0, 10**6))
def test_a_duration_that_is_spelled_reads_as_itself(seconds):
    assert duration(spelled(timedelta(seconds=seconds))) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.9, "0s"),
        (59, "59s"),
        (3_600, "1h"),
        (7 * 86_400, "7d"),
        (7 * 86_400 + 1, "7d 1s"),
        (9 * 86_400 + 15 * 3_600, "9d 15h"),
        (9 * 86_400 + 15 * 3_600 + 59, "9d 15h"),
        (-5, "0s"),
    ],
)
def test_an_age_is_told_in_its_two_largest_units(seconds, text):
    assert age(timedelta(seconds=seconds)) == text


@settings(max_examples=50)
@given(st.integers(0, 10**7))
def test_an_age_never_reads_as_more_than_it_is(seconds):
    told = sum((duration(part) for part in age(timedelta(seconds=seconds)).split()), timedelta())
    assert told.total_seconds() <= seconds
