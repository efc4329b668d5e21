"""Files of a gate: JUnit as CI servers read it, Markdown that cannot be broken, JSON."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from datetime import UTC, datetime

import pytest

from crucible_batch.assemble.gate import (
    GateVerdict,
    RuleResult,
    gate_summary,
    gate_text,
    gate_words,
    write_files,
)
from crucible_batch.assemble.gate.flaky import FlakyItem
from crucible_batch.assemble.gate.junit import gate_junit
from crucible_batch.assemble.gate.markdown import gate_markdown
from crucible_batch.assemble.gate.verdict import SetAside


def rule(name: str, outcome: str, **more) -> RuleResult:
    return RuleResult(rule_id=name, kind="regression", outcome=outcome, reason="so it is", **more)


def verdict(*results: RuleResult, **more) -> GateVerdict:
    return GateVerdict(
        gate_id="g1", workspace="w", candidate="new", baseline="old", results=results, **more
    )


MIXED = verdict(
    rule("good", "pass"),
    rule("bad", "fail", verdict="regressed", compared_verdict="no_significant_change"),
    rule("open", "inconclusive"),
    rule("soft", "fail", severity="warn"),
)

# The schema that Jenkins' xUnit plugin publishes for JUnit (junit-10.xsd), as far as it is used:
# element to (attributes required, attributes allowed, children allowed).
SCHEMA = {
    "testsuites": (
        set(),
        {"name", "time", "tests", "failures", "disabled", "errors"},
        {"testsuite"},
    ),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {
            "group",
            "time",
            "skipped",
            "timestamp",
            "hostname",
            "id",
            "package",
            "file",
            "log",
            "url",
        },
        {"properties", "testcase", "system-out", "system-err"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "testcase": (
        {"name"},
        {"time", "classname", "status", "class", "group", "file", "line"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "failure": (set(), {"message", "type"}, set()),
    "error": (set(), {"message", "type"}, set()),
    "skipped": (set(), {"message"}, set()),
    "system-out": (set(), set(), set()),
}


def violations(element: ET.Element) -> list[str]:
    required, allowed, children = SCHEMA[element.tag]
    given = set(element.attrib)
    found = [f"{element.tag} lacks {name}" for name in required - given]
    found += [f"{element.tag} has {name}" for name in given - required - allowed]
    for child in element:
        if child.tag not in children:
            found.append(f"{element.tag} holds {child.tag}")
        else:
            found += violations(child)
    return found


def junit(one: GateVerdict) -> ET.Element:
    return ET.fromstring(gate_junit(one).encode())


def test_junit_keeps_the_schema_that_ci_servers_share():
    top = junit(MIXED)
    assert top.tag == "testsuites"
    assert violations(top) == []
    assert [child.tag for child in top.find("testsuite")] == [
        "properties",
        *["testcase"] * 4,
        "system-out",
    ]


def test_a_breach_of_the_schema_would_be_found():
    top = junit(MIXED)
    ET.SubElement(top.find("testsuite"), "failure")
    top.find("testsuite").set("colour", "red")
    assert violations(top) == ["testsuite has colour", "testsuite holds failure"]


def test_junit_counts_what_it_holds():
    suite = junit(MIXED).find("testsuite")
    assert [suite.get(n) for n in ("tests", "failures", "errors", "skipped")] == [
        "4",
        "1",
        "1",
        "1",
    ]
    told = {case.get("name"): [child.tag for child in case] for case in suite.findall("testcase")}
    assert told == {
        "good": ["system-out"],
        "bad": ["failure"],
        "open": ["error"],
        "soft": ["skipped"],
    }


def test_runs_that_cannot_be_compared_are_an_error_of_their_own():
    top = junit(verdict(rule("good", "pass"), not_comparable="the golden set differs"))
    assert top.get("errors") == "1"
    assert top.find(".//error").get("message") == "the golden set differs"


@pytest.mark.parametrize("text", ["a\x00b", "a\x1bb", '<&">', "a\nb", "\ufffe", "\u202eabc"])
def test_hostile_names_leave_the_xml_well_formed(text):
    top = junit(verdict(rule(text, "fail", metric=text)))
    assert violations(top) == []
    assert len(top.findall(".//testcase")) == 1


def test_hostile_names_cannot_form_markup_in_markdown():
    page = gate_markdown(verdict(rule("a | b <script> [x](http://y)", "fail")))
    row = next(line for line in page.splitlines() if line.startswith("| ✕"))
    assert row.count(" | ") == 5
    assert "<script>" not in page
    assert "[x]" not in page


def test_markdown_shows_what_failed_first():
    rows = [line for line in gate_markdown(MIXED).splitlines() if line.startswith("| ")][1:]
    assert [row.split(" | ")[1] for row in rows] == ["bad", "open", "soft", "good"]


def test_the_gates_verdict_stands_beside_that_of_the_comparison():
    said = "regressed: so it is (compare: no significant change)"
    for text in (gate_text(MIXED), gate_markdown(MIXED), gate_junit(MIXED)):
        assert said in text.replace("\\(", "(").replace("\\)", ")")


def test_flaky_items_are_shown_with_reason_and_day():
    item = FlakyItem(item_id="q1", reason="two policies", expires=datetime(2026, 5, 1, tzinfo=UTC))
    active = verdict(rule("good", "pass"), flaky=[SetAside(item=item, is_active=True)])
    expired = verdict(rule("good", "pass"), flaky=[SetAside(item=item, is_active=False)])
    assert "q1: set aside until 2026-05-01 (two policies)" in gate_text(active)
    assert "q1: expired 2026-05-01, counts again (two policies)" in gate_text(expired)
    assert "two policies" in gate_markdown(active)


def test_a_suspected_regression_is_told_although_the_gate_passes():
    one = verdict(rule("r", "pass", confirmation="suspected"))
    assert one.exit_code == 0
    assert "suspected: r" in one.line


def test_requirements_are_not_counted_as_rules():
    required = RuleResult(rule_id="requirement:status", kind="requirement", outcome="pass",
                          reason="so it is")  # fmt: skip
    assert "1 rule and 2 requirements held" in verdict(rule("r", "pass"), required, required).line
    failed = verdict(rule("r", "pass"), rule("s", "fail"), required)
    assert "failed: s (of 2 rules and 1 requirement)" in failed.line
    assert "2 rules held" in verdict(rule("r", "pass"), rule("s", "pass")).line


def test_the_files_asked_for_are_written_and_no_others(tmp_path):
    folder = tmp_path / "new"
    paths = write_files(MIXED, junit=folder / "j.xml", json_file=folder / "j.json")
    assert sorted(path.name for path in folder.iterdir()) == ["j.json", "j.xml"]
    assert paths == [folder / "j.xml", folder / "j.json"]
    assert json.loads(paths[1].read_text())["exit_code"] == 1
    assert write_files(MIXED) == []


def test_files_are_the_same_every_time(tmp_path):
    first = [
        path.read_bytes()
        for path in write_files(MIXED, junit=tmp_path / "a", markdown=tmp_path / "b")
    ]
    again = [
        path.read_bytes()
        for path in write_files(MIXED, junit=tmp_path / "c", markdown=tmp_path / "d")
    ]
    assert first == again


def test_a_dead_delivery_is_told_in_every_form_and_changes_no_outcome():
    said = "dead deliveries: 2 notices to <ops> given up"
    told = verdict(rule("r", "pass"), notices=[said])
    assert (told.outcome, told.line) == ("pass", verdict(rule("r", "pass")).line)
    assert f"! {said}" in gate_text(told)
    assert f"! {said}" in gate_words(told)
    assert r"! dead deliveries: 2 notices to \<ops\> given up" in gate_markdown(told)
    assert told.to_dict()["notices"] == [said]
    (out,) = ET.fromstring(gate_junit(told)).iterfind("testsuite/system-out")
    assert said in (out.text or "")
    assert gate_summary(told).notes == (said,)
