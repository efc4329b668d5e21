"""Rules over one cell of a comparison: regression, non-inferiority, largest drop. Pure."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from crucible_batch.assemble.compare.rows import UNEQUAL_JUDGING, direction
from crucible_batch.assemble.gate.config import Gate, MaxDrop, NonInferiority, Regression
from crucible_batch.assemble.gate.evidence import Evidence, Row
from crucible_batch.assemble.gate.known import Resolved
from crucible_batch.assemble.gate.requirements import cell_of
from crucible_batch.assemble.gate.verdict import FAIL, PASS, RuleResult
from crucible_batch.report import words
from crucible_batch.report.blocked import reason
from crucible_batch.report.lines import delta_text, interval_text
from crucible_batch.stats.bca import Bounds
from crucible_batch.stats.multiplicity import adjust_pvalues
from crucible_batch.stats.verdict import decide, is_enough_for, units_needed

FamilyOf = Mapping[str, tuple[float, int]]
"""Adjusted p and size of the family, by rule_id."""


def holm(rules: Sequence[Resolved], evidence: Evidence) -> FamilyOf:
    """Holm-adjusted p of every regression rule that has a p, whatever its severity."""
    raw = {}
    for one in rules:
        if isinstance(one.rule, Regression):
            row = evidence.compared.get(cell_of(one))
            if row is not None and row["blocked_reason"] is None and row["p_value"] is not None:
                raw[one.rule.rule_id] = row["p_value"]
    adjusted = adjust_pvalues(list(raw.values()), "holm")
    return {name: (float(p), len(raw)) for name, p in zip(raw, adjusted, strict=True)}


def judge_cell(
    one: Resolved, blank: RuleResult, evidence: Evidence, gate: Gate, family: FamilyOf
) -> RuleResult:
    """A rule over a cell of the comparison."""
    row = evidence.compared.get(cell_of(one))
    if row is None or not row["n_pairs"]:
        return blank.inconclusive("no pair of items carries the metric")
    blank = replace(blank, observed=row["delta"], compared_verdict=row["verdict"])
    if row["blocked_reason"] is not None:
        return blank.inconclusive(f"no verdict: {reason(row).short}")
    if isinstance(one.rule, Regression):
        return _regression(one.rule, one, row, blank, evidence, gate, family)
    if row["n_units"] < evidence.min_items:
        return replace(blank, verdict="insufficient_items").inconclusive(_few(row, evidence))
    return _non_inferiority(one, row, blank, evidence)


def _regression(
    rule: Regression,
    one: Resolved,
    row: Row,
    blank: RuleResult,
    evidence: Evidence,
    gate: Gate,
    family: FamilyOf,
) -> RuleResult:
    p_adjusted, size = family.get(rule.rule_id, (None, None))
    sign = _sign(one)
    decided = decide(
        n_units=row["n_units"],
        p_adjusted=p_adjusted,
        ci=_bounds(row, "ci"),
        ci90=_bounds(row, "ci90"),
        margin=rule.margin,
        min_items=evidence.min_items,
        higher_is_better=sign > 0,
        alpha=gate.alpha,
    )
    result = replace(
        blank,
        outcome=PASS,
        p_adjusted=p_adjusted,
        family_size=size,
        margin=rule.margin,
        verdict=decided.name,
        reason=f"{_numbers(one, row)}, {_p_text(row, p_adjusted, size)}",
    )
    if decided.name == "insufficient_items" or p_adjusted is None or size is None:
        return result.inconclusive(_few(row, evidence))
    if decided.name == "regressed":
        return _regressed(result, row, evidence, gate, negligible=decided.negligible)
    points_down = row["delta"] * sign < 0
    if points_down and row["p_min_attainable"] * size > gate.alpha:
        least = words.probability(row["p_min_attainable"])
        moved = words.count(row["n_nonzero"], row["unit"])
        return result.inconclusive(
            f"{result.reason}: only {moved} moved, so p cannot be below {least} "
            f"(times {size} rules: above {gate.alpha:g})"
        )
    return result


def _regressed(
    result: RuleResult, row: Row, evidence: Evidence, gate: Gate, *, negligible: bool
) -> RuleResult:
    """A regression: doubtful when judging is unequal, suspected until a second night has it."""
    reason = result.reason + (" (inside the margin)" if negligible else "")
    if _is_unequally_judged(row):
        return result.inconclusive(f"{reason}; {_unequal(evidence)}")
    if gate.confirm_runs == 1:
        return replace(result, outcome=FAIL, reason=reason)
    key = (result.rule_id, result.metric or "", result.slice_by or "", result.slice or "")
    is_seen = evidence.before.get(key) in {"suspected", "confirmed"}
    fails = is_seen or gate.fail_on == "suspected"
    said = "the night before had it too" if is_seen else "suspected: the first night that has it"
    return replace(
        result,
        outcome=FAIL if fails else PASS,
        confirmation="confirmed" if is_seen else "suspected",
        reason=f"{reason}; {said}",
    )


def _non_inferiority(one: Resolved, row: Row, blank: RuleResult, evidence: Evidence) -> RuleResult:
    """Non-inferiority on the 90 % interval, on delta x direction."""
    margin, ci90, sign = margin_of(one, row), _bounds(row, "ci90"), _sign(one)
    if margin is None or ci90 is None:
        lacks = "the baseline's mean is not above 0: a share of it is no margin"
        return blank.inconclusive(lacks if margin is None else "there is no interval")
    result = replace(blank, margin=margin, threshold=-sign * margin)
    low, high = sorted((sign * ci90.low, sign * ci90.high))
    numbers = f"{_numbers(one, row, 'ci90')}, margin {_margin_text(one, margin)}"
    if high < -margin:
        reason = f"{numbers}: worse by more than that"
        if _is_unequally_judged(row):
            return result.inconclusive(f"{reason}; {_unequal(evidence)}")
        return replace(result, outcome=FAIL, reason=reason)
    if low <= -margin:
        return result.inconclusive(f"{numbers}: the interval reaches beyond it")
    if is_enough_for(row["n_units"], margin):
        return replace(result, outcome=PASS, reason=f"{numbers}: not worse than that")
    units = words.count(row["n_units"], row["unit"])
    needed = units_needed(margin)
    enough = "no number of them can" if needed is None else f"{needed:,} can"
    return result.inconclusive(f"{numbers}: {units} cannot show it, {enough}")


def margin_of(one: Resolved, row: Row) -> float | None:
    """The margin on the scale of the delta; None when the baseline's mean allows none."""
    rule = one.rule
    if isinstance(rule, Regression | NonInferiority):
        return rule.margin
    if not isinstance(rule, MaxDrop) or one.metric is None or row["mean_baseline"] is None:
        return None
    if row["mean_baseline"] <= 0:
        return None
    if one.metric.scale == "log":
        return math.log1p(rule.max_drop)
    margin = rule.max_drop * float(row["mean_baseline"])
    return margin if 0 < margin < math.inf else None


def _sign(one: Resolved) -> float:
    """1 where higher is better, -1 where lower is."""
    if one.metric is None or (higher := direction(one.metric)) is None:
        raise TypeError(f"{one.rule.rule_id} has no direction")
    return 1.0 if higher else -1.0


def _bounds(row: Row, name: str) -> Bounds | None:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return None if low is None or high is None else Bounds(low, high)


def _is_unequally_judged(row: Row) -> bool:
    """Whether one run's documents are judged so much more that a loss may come from that."""
    before, now = row["judged_at_k_baseline"], row["judged_at_k_candidate"]
    return before is not None and now is not None and abs(now - before) > UNEQUAL_JUDGING


def _unequal(evidence: Evidence) -> str:
    """Why a loss may be no loss, and the command that settles it."""
    judge = f"crucible qrels judge {shlex.quote(evidence.candidate.run_id)}"
    return f"the judged shares differ by more than .05: run `{words.one_line(judge)}`"


def _few(row: Row, evidence: Evidence) -> str:
    units = words.count(row["n_units"], row["unit"])
    return f"{units}, a verdict needs {evidence.min_items}"


def _numbers(one: Resolved, row: Row, interval: str = "ci") -> str:
    """Delta, interval and number of pairs."""
    metric = {"scale": "linear" if one.metric is None else one.metric.scale}
    ends = {**row, "ci_low": row[f"{interval}_low"], "ci_high": row[f"{interval}_high"]}
    level = "90 % " if interval == "ci90" else ""
    return f"{delta_text(row, metric)} {level}{interval_text(ends, metric)}, n {row['n_pairs']:,}"


def _p_text(row: Row, p_adjusted: float | None, size: int | None) -> str:
    if p_adjusted is None:
        return "no p"
    return (
        f"p {words.probability(row['p_value'])}, Holm over {size} {words.probability(p_adjusted)}"
    )


def _margin_text(one: Resolved, margin: float) -> str:
    if one.metric is not None and one.metric.scale == "log":
        return words.ratio(margin)
    return words.decimal(margin)
