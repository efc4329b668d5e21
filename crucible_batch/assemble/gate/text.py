"""A judged gate as text for a terminal and as JSON."""

from __future__ import annotations

import json

from crucible_batch.assemble.gate.selftest import SelfTest, Tried
from crucible_batch.assemble.gate.verdict import FAIL, INCONCLUSIVE, PASS, GateVerdict, RuleResult
from crucible_batch.report import words
from crucible_batch.report.figures import Badge, GateRule, GateSummary

GLYPHS = {PASS: "✓", FAIL: "✕", INCONCLUSIVE: "?"}
TONES = {PASS: "good", FAIL: "bad", INCONCLUSIVE: "warn"}


def gate_text(verdict: GateVerdict) -> str:
    """The outcome in one line, every rule with its reason, the flaky items."""
    lines = [verdict.line, ""]
    rows = [
        (_mark(one), words.one_line(one.rule_id), words.one_line(_about(one)))
        for one in verdict.results
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(2)]
    lines += [
        f"{mark.ljust(widths[0])}  {name.ljust(widths[1])}  {said}" for mark, name, said in rows
    ]
    if verdict.flaky:
        lines += ["", "flaky items (must-pass rules only):"]
        lines += [f"  {flaky_line(verdict, place)}" for place in range(len(verdict.flaky))]
    if verdict.notices:
        lines += ["", *_notices(verdict)]
    lines += ["", f"gate_id: {verdict.gate_id}"]
    return "\n".join(lines)


def gate_summary(verdict: GateVerdict) -> GateSummary:
    """The gate as a section of a report."""
    rules = tuple(
        GateRule(
            rule_id=one.rule_id,
            outcome=_badge(one.outcome),
            severity=one.severity,
            reason=_about(one),
        )
        for one in verdict.results
    )
    return GateSummary(
        line=verdict.line,
        outcome=_badge(verdict.outcome),
        rules=rules,
        notes=tuple(verdict.notices),
    )


def gate_words(verdict: GateVerdict) -> str:
    """What did not pass and why, and the outcome in one line: the last words of a night."""
    open_ = [one for one in verdict.results if one.outcome != PASS]
    said = [f"{_mark(one)}  {words.one_line(f'{one.rule_id}: {_about(one)}')}" for one in open_]
    return "\n".join([*said, *_notices(verdict), verdict.line])


def _notices(verdict: GateVerdict) -> list[str]:
    return [f"! {words.one_line(line)}" for line in verdict.notices]


def flaky_line(verdict: GateVerdict, place: int) -> str:
    """One flaky item: whether it is left out, until when, and why."""
    one = verdict.flaky[place]
    until = f"{one.item.expires:%Y-%m-%d}"
    state = f"set aside until {until}" if one.is_active else f"expired {until}, counts again"
    return words.one_line(f"{one.item.item_id}: {state} ({one.item.reason})")


def about(one: RuleResult) -> str:
    """Why a rule came out as it did; beside the gate's verdict that of the comparison."""
    if one.kind != "regression" or one.verdict is None:
        return one.reason
    own = words.VERDICTS[one.verdict].word
    other = one.compared_verdict
    beside = "" if other is None else f" (compare: {words.VERDICTS[other].word})"
    return f"{own}: {one.reason}{beside}"


def gate_json(verdict: GateVerdict, *, indent: int | None = None) -> str:
    """The whole verdict as JSON; keys in a fixed order."""
    return json.dumps(verdict.to_dict(), ensure_ascii=False, allow_nan=False, indent=indent)


def self_test_text(done: SelfTest) -> str:
    """What every rule made of no change and of a planted drop, and the drop it would find."""
    lines = [
        f"gate selftest {done.outcome.upper()}  exit {done.exit_code}  "
        f"values of {words.one_line(done.candidate)}, "
        f"spread of its distance to {words.one_line(done.baseline)}"
    ]
    for one in done.tried:
        rule = words.one_line(f"{one.unchanged.rule_id}  {one.unchanged.metric}")
        lines += ["", f"{GLYPHS[one.outcome]} {rule}"]
        lines.append(f"  against itself must pass: {_tried(one.unchanged)}")
        if one.shift is None:
            lines.append("  nothing to plant a drop in")
            continue
        planted = f"{_drop(one.shift, one)} worse on every pair must fail"
        lines.append(f"  {planted}: {_tried(one.planted)}")
        lines.append(f"  smallest real drop found 4 times in 5: {_drop(one.smallest_drop, one)}")
    if done.untried:
        ids = words.listed([words.one_line(name) for name in done.untried])
        lines += ["", f"not tried, they read one run: {ids}"]
    return "\n".join(lines)


def _tried(one: RuleResult) -> str:
    return f"{one.outcome} ({words.one_line(one.reason)})"


def _drop(size: float | None, one: Tried) -> str:
    if size is None:
        return "not known (the two runs do not vary)"
    return words.ratio(size) if one.is_log else words.decimal(size)


def _mark(one: RuleResult) -> str:
    return f"{GLYPHS[one.outcome]} {one.outcome}{'' if one.counts else ' (warn)'}"


def _badge(outcome: str) -> Badge:
    return Badge(GLYPHS[outcome], outcome, TONES[outcome])


def _about(one: RuleResult) -> str:
    cell = "" if one.metric is None else one.metric
    if one.slice_by not in {None, "all"}:
        cell += f" {one.slice_by}={one.slice}"
    return f"{cell}  {about(one)}".strip()
