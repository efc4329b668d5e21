"""A judged gate as JUnit XML: one test case per rule, red exactly when the exit code is not 0.

The dialect that CI servers share: `failure` for a failed rule, `error` for one without a verdict,
`skipped` with a message for a rule that only warns.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from crucible_batch.assemble.gate.text import about
from crucible_batch.assemble.gate.verdict import FAIL, PASS, GateVerdict, RuleResult
from crucible_batch.report import words

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters XML 1.0 cannot hold, escaped or not."""

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
COMPARABLE = "requirement:comparable"
"""The test case that says why nothing can be judged."""


def gate_junit(verdict: GateVerdict) -> str:
    """The document; it names no clock, no host and no path."""
    cases = [_case(one) for one in verdict.results]
    if verdict.not_comparable is not None:
        cases.insert(0, _told(COMPARABLE, "requirement", "error", verdict.not_comparable))
    counts = {
        "tests": str(len(cases)),
        "failures": str(len([case for case in cases if case.find("failure") is not None])),
        "errors": str(len([case for case in cases if case.find("error") is not None])),
    }
    skipped = str(len([case for case in cases if case.find("skipped") is not None]))
    name = _text(f"crucible gate {verdict.candidate} against {verdict.baseline or 'no baseline'}")
    top = ET.Element("testsuites", {"name": "crucible gate", **counts, "time": "0"})
    suite = ET.SubElement(
        top, "testsuite", {"name": name, **counts, "skipped": skipped, "time": "0"}
    )
    properties = ET.SubElement(suite, "properties")
    for key, value in (
        ("gate_id", verdict.gate_id),
        ("outcome", verdict.outcome),
        ("exit_code", str(verdict.exit_code)),
    ):
        ET.SubElement(properties, "property", {"name": key, "value": value})
    suite.extend(cases)
    ET.SubElement(suite, "system-out").text = _text("  ".join((verdict.line, *verdict.notices)))
    ET.indent(top)
    return f"{HEAD}{ET.tostring(top, encoding='unicode')}\n"


def _case(one: RuleResult) -> ET.Element:
    if one.outcome == PASS:
        return _told(one.rule_id, one.kind, None, about(one))
    if not one.counts:
        return _told(one.rule_id, one.kind, "skipped", f"warning, {one.outcome}: {about(one)}")
    return _told(one.rule_id, one.kind, "failure" if one.outcome == FAIL else "error", about(one))


def _told(rule_id: str, kind: str, tag: str | None, said: str) -> ET.Element:
    case = ET.Element(
        "testcase", {"classname": f"crucible.gate.{kind}", "name": _text(rule_id), "time": "0"}
    )
    if tag is None:
        ET.SubElement(case, "system-out").text = _text(said)
        return case
    attributes = {"message": _text(said)}
    if tag != "skipped":
        attributes["type"] = kind
    told = ET.SubElement(case, tag, attributes)
    if tag != "skipped":
        told.text = _text(said)
    return case


def _text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", words.one_line(text))
