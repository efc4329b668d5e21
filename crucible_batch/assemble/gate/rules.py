"""The rules of a gate, judged. Pure: evidence in, outcomes out.

Whatever is missing makes a rule inconclusive; nothing passes because there was nothing to look at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from crucible_batch.assemble.gate.cells import FamilyOf, holm, judge_cell
from crucible_batch.assemble.gate.config import Floor, GateConfig, MustPass, NoOpenAlert
from crucible_batch.assemble.gate.evidence import Evidence
from crucible_batch.assemble.gate.known import Resolved
from crucible_batch.assemble.gate.requirements import (
    NO_BASELINE,
    PAIRED,
    cell_of,
    judge_blocks,
    judge_requirements,
    judges,
    shortfall,
)
from crucible_batch.assemble.gate.samples import judge_must_pass
from crucible_batch.assemble.gate.verdict import FAIL, INCONCLUSIVE, PASS, RuleResult
from crucible_batch.contracts.vocabulary import ALERT_SEVERITIES
from crucible_batch.report import words


def judge_all(
    rules: Sequence[Resolved], evidence: Evidence, config: GateConfig
) -> list[RuleResult]:
    """Judge the requirements, then the rules in the order of the file."""
    family = holm(rules, evidence)
    return [
        *judge_requirements(rules, evidence, config.requirements),
        *(judge_rule(one, evidence, config, family) for one in rules),
    ]


def judge_rule(
    one: Resolved, evidence: Evidence, config: GateConfig, family: FamilyOf
) -> RuleResult:
    """Judge one rule.

    Args:
        one: The rule.
        evidence: What it may look at.
        config: Requirements, level and confirmation.
        family: The p's of all regression rules, adjusted together.
    """
    blank = _blank(one, evidence)
    against = _stands_against(one, evidence, config)
    if against is not None:
        return blank.inconclusive(against)
    match one.rule:
        case NoOpenAlert():
            return _no_open_alert(one.rule, blank, evidence)
        case MustPass():
            return judge_must_pass(one, blank, evidence)
        case Floor():
            result = _floor(one, blank, evidence)
        case _:
            result = judge_cell(one, blank, evidence, config.gate, family)
    if result.outcome == PASS and (lacks := shortfall(one, evidence, config.requirements)):
        return result.inconclusive(f"{lacks}; {result.reason}")
    return result


def _blank(one: Resolved, evidence: Evidence) -> RuleResult:
    """The row of a rule, before it is judged."""
    rule = one.rule
    slice_by, name = (None, None) if isinstance(rule, NoOpenAlert) else rule.cell
    return RuleResult(
        rule_id=rule.rule_id,
        kind=rule.kind,
        outcome=INCONCLUSIVE,
        reason="not judged",
        severity=rule.severity,
        comparison_id=evidence.comparison_id if isinstance(rule, PAIRED) else None,
        metric=None if one.metric is None else one.metric.name,
        slice_by=slice_by,
        slice=name,
    )


def _stands_against(one: Resolved, evidence: Evidence, config: GateConfig) -> str | None:
    """Why a rule cannot be judged, before its numbers are looked at."""
    if isinstance(one.rule, NoOpenAlert):
        return None
    read = evidence.runs if isinstance(one.rule, PAIRED) else (evidence.candidate,)
    unfit = [f"{run.run_id} is {run.status}" for run in read if run.status != "succeeded"]
    if unfit:
        return "; ".join(unfit)
    if isinstance(one.rule, PAIRED) and evidence.baseline is None:
        return NO_BASELINE
    if evidence.golden_set_changed and config.requirements.same_golden_set:
        return "the golden set differs"
    if judge_blocks(one, evidence, config.requirements):
        return f"{judges(evidence)}; the rule rests on verdicts"
    return None


def _floor(one: Resolved, blank: RuleResult, evidence: Evidence) -> RuleResult:
    """The candidate's mean against a floor; a ceiling where lower is better."""
    rule, metric = one.rule, one.metric
    if not isinstance(rule, Floor) or metric is None:
        raise TypeError(f"{rule.rule_id} is no floor")
    result = replace(blank, threshold=rule.floor)
    row = evidence.numbers.get(cell_of(one))
    if row is None or row["mean"] is None:
        return result.inconclusive("the candidate does not measure it")
    result = replace(result, observed=row["mean"])
    is_ceiling = metric.better == "lower"
    misses: Callable[[float], bool] = (
        (lambda value: value > rule.floor) if is_ceiling else (lambda value: value < rule.floor)
    )
    best_end = row["ci_low"] if is_ceiling else row["ci_high"]
    name = "ceiling" if is_ceiling else "floor"
    interval = words.DASH
    if row["ci_low"] is not None:
        ends = [words.amount(row[end], metric.unit) for end in ("ci_low", "ci_high")]
        interval = f"[{', '.join(ends)}]"
    said = (
        f"mean {words.amount(row['mean'], metric.unit)} {interval}, "
        f"{name} {words.amount(rule.floor, metric.unit)}"
    )
    if not misses(row["mean"]):
        return replace(result, outcome=PASS, reason=said)
    if best_end is None or misses(best_end):
        return replace(result, outcome=FAIL, reason=said)
    return result.inconclusive(f"{said}: the interval reaches across it")


def _no_open_alert(rule: NoOpenAlert, blank: RuleResult, evidence: Evidence) -> RuleResult:
    least = ALERT_SEVERITIES.index(rule.min_severity)
    found = sorted(
        f"{fingerprint[:12]} ({severity})"
        for severity, fingerprint in evidence.open_alerts
        if ALERT_SEVERITIES.index(severity) >= least
    )
    result = replace(blank, threshold=0.0, observed=float(len(found)))
    if found:
        said = f"{words.count(len(found), 'open alert')}: {words.listed(found)}"
        return replace(result, outcome=FAIL, reason=said)
    never = "" if evidence.n_alert_events else "; no alert was ever written in this workspace"
    return replace(result, outcome=PASS, reason=f"no alert is open{never}")
