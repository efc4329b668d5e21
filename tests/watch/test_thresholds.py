"""Verdicts of rules over measurements: ok, breach, unknown, and what alerts need to know."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible_batch.contracts import TABLES
from crucible_batch.contracts.validate import pandera_schema
from crucible_batch.settings.thresholds import Limit, Threshold
from crucible_batch.watch.measured import Measured, census
from crucible_batch.watch.thresholds import Evaluation, evaluate, judge, tally

WARN = Limit(op=">", value=0.10, clear=0.07)
CRITICAL = Limit(op=">", value=0.30)
MAY = datetime(2026, 5, 1, tzinfo=UTC)


def rule(**more):
    given_ = {"id": "churn", "metric": "doc_churn_ratio", "warn": WARN} | more
    return Threshold(**given_)


def judged(value, reason=None, *, critical=None, support=None, **more) -> Evaluation:
    measured = Measured(value=value, reason=reason, critical=critical, support=support)
    return judge(rule(**more), measured)


def said(found):
    return found.verdict, found.severity, found.reason


def test_a_value_up_to_its_limit_is_ok_and_beyond_it_a_breach():
    assert said(judged(0.10)) == ("ok", None, None)
    assert said(judged(0.11)) == ("breach", "warn", None)


def test_a_night_after_the_other_gives_the_verdicts_an_alert_is_folded_from():
    """The sequence to hold: opened at 2, resolved at 7, opened again at 8, nothing else."""
    nights = [0.05, 0.12, 0.09, 0.12, None, 0.06, 0.06, 0.11]
    found = [judged(value) for value in nights]
    assert [one.verdict for one in found] == [
        "ok", "breach", "ok", "breach", "unknown", "ok", "ok", "breach",
    ]  # fmt: skip
    assert [one.is_clear("warn") for one in found] == [
        True, False, False, False, False, True, True, False,
    ]  # fmt: skip


def test_the_highest_severity_that_is_breached_counts_with_its_own_limit():
    found = judge(rule(critical=CRITICAL), Measured(value=0.31))
    assert (found.severity, found.limit) == ("critical", CRITICAL)
    milder = judge(rule(critical=CRITICAL), Measured(value=0.30))
    assert (milder.severity, milder.limit) == ("warn", WARN)


def test_a_rule_with_a_critical_limit_only_is_breached_there():
    found = judge(rule(warn=None, critical=CRITICAL), Measured(value=0.2))
    assert (found.verdict, found.limit) == ("ok", CRITICAL)
    assert found.is_clear("warn")


def test_a_fall_is_breached_below_its_limit():
    fall = rule(metric="doc_count_change", warn=Limit(op="<", value=-0.1, clear=-0.05))
    values = {-0.2: "breach", -0.1: "ok", 0.4: "ok"}
    assert {v: judge(fall, Measured(value=v)).verdict for v in values} == values


def test_what_is_not_measured_is_unknown_with_its_reason_and_its_limit():
    found = judged(None, "hash_version_changed")
    assert said(found) == ("unknown", None, "hash_version_changed")
    assert found.limit == WARN


def test_a_value_that_cannot_be_trusted_is_unknown():
    assert said(judged(0.9, "insufficient_support")) == ("unknown", None, "insufficient_support")


def test_too_little_support_is_unknown():
    assert said(judged(0.9, support=19, min_support=20)) == (
        "unknown", None, "insufficient_support",
    )  # fmt: skip
    assert judged(0.9, support=20, min_support=20).verdict == "breach"


def test_a_small_type_of_a_fan_out_is_no_matter_of_the_rule():
    by_type = rule(metric="entity_count_change", by="entity_type", min_support=20)
    small = census(3.0, 2, 8, labels={"entity_type": "law"})
    assert said(judge(by_type, small)) == ("ok", None, "below_min_support")
    assert judge(by_type, small).is_clear("warn")
    unmeasured = census(None, None, 8, reason="first_snapshot", labels={"entity_type": "law"})
    assert said(judge(by_type, unmeasured)) == ("unknown", None, "first_snapshot")


def test_a_census_is_supported_by_its_larger_side():
    found = judge(
        rule(metric="doc_count_change", min_support=50, warn=Limit(op="<", value=-0.1)),
        census(-0.98, 100, 2),
    )
    assert found.verdict == "breach"


def test_a_rule_nobody_measured_for_is_unknown_not_ok():
    (found,) = evaluate([rule()], {})
    assert said(found) == ("unknown", None, "not_measured")


# --- the limit that samples need


def test_a_distance_of_samples_must_pass_the_configured_and_the_critical_limit():
    assert said(judged(0.2, critical=0.25)) == ("ok", None, "within_noise")
    assert said(judged(0.25, critical=0.25)) == ("ok", None, "within_noise")
    assert said(judged(0.26, critical=0.25)) == ("breach", "warn", None)
    assert said(judged(0.09, critical=0.01)) == ("ok", None, None)


def test_within_the_noise_an_alert_clears_whatever_its_band():
    assert judged(0.09, critical=0.2).is_clear("warn")
    assert not judged(0.09, critical=0.05).is_clear("warn")


def test_unknown_never_clears():
    assert not judged(0.01, "insufficient_support").is_clear("warn")
    assert not judged(None).is_clear("warn")


@settings(max_examples=80)
@given(
    value=st.floats(0, 1),
    critical=st.none() | st.floats(0, 1),
    warn=st.floats(0, 1),
    more=st.floats(0, 1),
)
def test_a_breach_is_exactly_a_value_beyond_both_limits(value, critical, warn, more):
    both = rule(warn=Limit(op=">", value=warn), critical=Limit(op=">", value=warn + more))
    found = judge(both, Measured(value=value, critical=critical))
    noise = -1.0 if critical is None else critical
    assert (found.verdict == "breach") == (value > max(warn, noise))
    assert (found.severity == "critical") == (value > max(warn + more, noise))
    assert not (found.verdict == "breach" and found.is_clear(found.severity))


# --- many of them


def test_a_fan_out_has_one_evaluation_per_label_in_order():
    by_type = rule(metric="entity_count_change", by="entity_type")
    measured = [
        Measured(value=value, labels={"entity_type": name})
        for name, value in (("law", 0.5), ("city", 0.0))
    ]
    found = evaluate([by_type, rule(id="a")], {
        ("entity_count_change", "entity_type"): measured,
        ("entity_count_change", None): [Measured(value=0.9)],
        ("doc_churn_ratio", None): [Measured(value=0.0)],
    })  # fmt: skip
    assert [(one.rule_id, one.labels, one.verdict) for one in found] == [
        ("a", "{}", "ok"),
        ("churn", '{"entity_type":"city"}', "ok"),
        ("churn", '{"entity_type":"law"}', "breach"),
    ]


def test_nothing_to_fan_out_over_has_no_evaluation():
    by_type = rule(metric="type_new", by="entity_type")
    assert evaluate([by_type], {("type_new", "entity_type"): []}) == ()


def test_labels_are_canonical_json():
    measured = Measured(value=0.0, labels={"entity_type": "Größe", "a": "x"})
    assert judge(rule(), measured).labels == '{"a":"x","entity_type":"Größe"}'
    assert json.loads(judge(rule(), measured).labels)["entity_type"] == "Größe"


def test_verdicts_are_counted():
    found = [judged(0.5), judged(0.0), judged(None), judged(0.0)]
    assert tally(found) == {"breach": 1, "unknown": 1, "ok": 2}
    assert list(tally(found)) == ["breach", "unknown", "ok"]


def test_a_row_holds_all_that_decided_and_keeps_its_contract():
    table = TABLES["drift_evaluations"]
    measured = Measured(value=0.31, critical=0.2, n_reference=50, n_current=60)
    place = {"workspace_id": "w", "scan_id": "s", "snapshot_id": "n", "as_of": MAY}
    rows = [
        judge(rule(critical=CRITICAL), measured).row(**place),
        judge(rule(id="unknown"), Measured(value=None, reason="first_snapshot")).row(**place),
    ]
    frame = pl.DataFrame(rows, schema=table.schema)
    pandera_schema(table).validate(frame)
    kept = frame.row(0, named=True)
    assert {name: kept[name] for name in ("statistic", "value", "operator", "threshold")} == {
        "statistic": "doc_churn_ratio", "value": 0.31, "operator": ">", "threshold": 0.30,
    }  # fmt: skip
    names = ("critical", "n_reference", "n_current", "severity", "verdict", "reason")
    assert tuple(kept[name] for name in names) == (0.2, 50, 60, "critical", "breach", None)


@pytest.mark.parametrize("metric", ["document_age", "snapshot_age"])
def test_ages_are_held_against_durations_in_seconds(metric):
    aged = rule(metric=metric, warn=Limit(op=">", value="1d"))
    assert judge(aged, Measured(value=86_400.0)).verdict == "ok"
    assert judge(aged, Measured(value=86_401.0)).verdict == "breach"
