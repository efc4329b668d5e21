"""Text, files and exit code of a gate always say the same, whatever the table."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC, datetime

import polars as pl
import pytest
from gates import cell, config, evidence, judged, known, number, resolved, run
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible_batch.assemble.gate.flaky import FlakyItem
from crucible_batch.assemble.gate.junit import gate_junit
from crucible_batch.assemble.gate.markdown import LIMIT, gate_markdown
from crucible_batch.assemble.gate.requirements import not_comparable
from crucible_batch.assemble.gate.rules import judge_all
from crucible_batch.assemble.gate.text import gate_json, gate_text
from crucible_batch.assemble.gate.verdict import GATE_RESULTS, GateVerdict, RuleResult, SetAside
from crucible_batch.contracts import vocabulary as v
from crucible_batch.report import words

ANY_TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
ITEM = FlakyItem(item_id="q1", reason="two policies", expires=datetime(2026, 5, 1, tzinfo=UTC))
WORDS = {0: "gate PASS", 1: "gate FAIL", 3: "gate INCONCLUSIVE", 4: "gate NOT COMPARABLE"}


@st.composite
def results(draw):
    """A row of a gate, whatever stands in it."""
    maybe = st.none() | st.floats(allow_nan=False, allow_infinity=False, width=32)
    return RuleResult(
        rule_id=draw(ANY_TEXT),
        kind=draw(st.sampled_from(v.RULE_KINDS)),
        outcome=draw(st.sampled_from(v.OUTCOMES)),
        severity=draw(st.sampled_from(v.GATE_SEVERITIES)),
        confirmation=draw(st.sampled_from(v.CONFIRMATIONS)),
        reason=draw(ANY_TEXT),
        metric=draw(st.none() | ANY_TEXT),
        slice_by=draw(st.none() | ANY_TEXT),
        slice=draw(st.none() | ANY_TEXT),
        observed=draw(maybe),
        margin=draw(maybe),
        verdict=draw(st.none() | st.sampled_from(sorted(words.VERDICTS))),
        compared_verdict=draw(st.none() | st.sampled_from(sorted(words.VERDICTS))),
    )


@st.composite
def verdicts(draw):
    """A judged gate over a random table."""
    return GateVerdict(
        gate_id="g" * 32,
        workspace="default",
        candidate=draw(ANY_TEXT),
        baseline=draw(st.none() | ANY_TEXT),
        results=draw(st.lists(results(), min_size=1, max_size=8, unique_by=lambda r: r.rule_id)),
        not_comparable=draw(st.none() | st.none() | ANY_TEXT),
        flaky=draw(st.lists(st.builds(SetAside, item=st.just(ITEM), is_active=st.booleans()))),
    )


def expected_code(verdict: GateVerdict) -> int:
    """The rule of the plan, read plainly."""
    if verdict.not_comparable is not None:
        return 4
    errors = [one.outcome for one in verdict.results if one.severity == "error"]
    if "fail" in errors:
        return 1
    return 3 if "inconclusive" in errors else 0


@settings(max_examples=60, deadline=None)
@given(verdicts())
def test_text_files_and_exit_code_agree(verdict):
    code = verdict.exit_code
    assert code == expected_code(verdict)
    assert gate_text(verdict).startswith(f"{WORDS[code]}  exit {code}  ")
    assert len(gate_text(verdict).splitlines()) >= len(verdict.results)

    read = json.loads(gate_json(verdict))
    assert read["exit_code"] == code
    assert read["outcome"] == {0: "pass", 1: "fail"}.get(code, "inconclusive")
    assert [rule["outcome"] for rule in read["rules"]] == [r.outcome for r in verdict.results]

    markdown = gate_markdown(verdict)
    assert WORDS[code] in markdown.splitlines()[0]
    assert f"exit {code} " in markdown.splitlines()[2]

    top = ET.fromstring(gate_junit(verdict).encode())
    failures, errors = int(top.get("failures")), int(top.get("errors"))
    assert (failures + errors > 0) == (code != 0)
    assert len(top.findall(".//failure")) == failures
    assert len(top.findall(".//error")) == errors
    counted = [one for one in verdict.results if one.severity == "error"]
    assert failures == sum(one.outcome == "fail" for one in counted)
    lost = sum(one.outcome == "inconclusive" for one in counted)
    assert errors == lost + (verdict.not_comparable is not None)
    assert top.find(".//property[@name='exit_code']").get("value") == str(code)


@settings(max_examples=60, deadline=None)
@given(verdicts())
def test_the_table_holds_every_rule_as_the_contract_says(verdict):
    frame = verdict.frame()
    assert dict(frame.schema) == GATE_RESULTS.schema
    assert frame["rule_id"].to_list() == [one.rule_id for one in verdict.results]
    assert frame["outcome"].to_list() == [one.outcome for one in verdict.results]
    assert frame.filter(pl.col("severity") == "warn").height == len(
        [one for one in verdict.results if not one.counts]
    )


@settings(max_examples=60, deadline=None)
@given(verdicts())
def test_a_warning_never_changes_the_code(verdict):
    harmless = [r if r.counts else replace(r, outcome="pass") for r in verdict.results]
    assert replace(verdict, results=harmless).exit_code == verdict.exit_code


@pytest.mark.parametrize("n", [0, 500, 1_500])
@pytest.mark.parametrize("n_flaky", [0, 1, 20_000])
def test_markdown_stays_below_its_limit_and_says_what_it_left_out(n_flaky, n):
    long = RuleResult(rule_id="x", kind="floor", outcome="fail", reason="because " * 200)
    verdict = GateVerdict(
        gate_id="g",
        workspace="w",
        candidate="c",
        baseline="b",
        results=[replace(long, rule_id=f"r{number}") for number in range(n + 1)],
        flaky=[SetAside(item=ITEM, is_active=True)] * n_flaky,
    )
    text = gate_markdown(verdict)
    assert len(text.encode()) <= LIMIT
    n_shown = sum(line.startswith("| ✕") for line in text.splitlines())
    left = n + 1 - n_shown
    assert (f"{left:,} more rule" in text) == (left > 0)
    assert ("more flaky item" in text) == (text.count("set aside until") < n_flaky)


# --- evidence that shrinks never turns into a pass --------------------------------------------

RULES = (
    'id = "a"\nkind = "regression"\nmetric = "accuracy"',
    'id = "b"\nkind = "non_inferiority"\nmetric = "accuracy"\nmargin = 0.2',
    'id = "c"\nkind = "max_drop"\nmetric = "accuracy"\nmax_drop = 0.2',
    'id = "d"\nkind = "floor"\nmetric = "accuracy"\nfloor = 0.3',
    'id = "e"\nkind = "must_pass"\ntag = "core"',
)
KEY = ("all", "all", "accuracy")


@pytest.fixture(scope="module")
def gate(tmp_path_factory):
    return config(tmp_path_factory.mktemp("gate"), *RULES)


values = st.lists(
    st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])),
    min_size=0,
    max_size=60,
)
broken = st.sampled_from(
    [
        "none",
        "no cell",
        "null mean",
        "coverage",
        "degraded",
        "judge",
        "golden",
        "baseline",
        "samples",
    ]
)


@settings(max_examples=60, deadline=None)
@given(pairs=values, how=broken)
def test_missing_evidence_never_passes(gate, pairs, how):
    old, new = [a for a, _ in pairs], [b for _, b in pairs]
    found = evidence(cell("accuracy", old, new), samples={"q1": [1.0, 1.0]})
    names = known(core=("q1",))
    damage = {
        "none": {},
        "no cell": {"compared": {}},
        "null mean": {"numbers": {KEY: number(mean=None, coverage=0.0)}},
        "coverage": {"numbers": {KEY: number(coverage=0.4)}},
        "degraded": {"candidate": run(status="degraded")},
        "judge": {"baseline": run("old", judge=None)},
        "golden": {"baseline": run("old", golden_set_hash="other")},
        "baseline": {"baseline": None, "compared": {}},
        "samples": {"samples": {"q1": [1.0, None]}},
    }[how]
    hurt = replace(found, **damage)
    rows = judged(gate, hurt, names)
    concerned = {
        "none": "",
        "no cell": "abc",
        "null mean": "abcd",
        "coverage": "abcd",
        "degraded": "abcde",
        "judge": "abcde",
        "golden": "abcde",
        "baseline": "abc",
        "samples": "e",
    }[how]
    assert [name for name in concerned if rows[name].outcome == "pass"] == []
    verdict = GateVerdict(
        gate_id="g",
        workspace="w",
        candidate="new",
        baseline="old",
        results=judge_all(resolved(gate, names), hurt, gate),
        not_comparable=not_comparable(resolved(gate, names), hurt, gate.requirements),
    )
    assert how == "none" or verdict.exit_code != 0


@settings(max_examples=60, deadline=None)
@given(pairs=values)
def test_a_run_against_itself_never_fails(gate, pairs):
    own = [a for a, _ in pairs]
    rows = judged(gate, evidence(cell("accuracy", own, own)), known(core=("q1",)))
    assert [name for name in "abc" if rows[name].outcome == "fail"] == []
    if len(own) >= 20:
        assert rows["a"].outcome == "pass"
        assert rows["b"].outcome == "pass"
