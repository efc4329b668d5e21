"""What must be there before the rules of a gate are believed, each a row of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from crucible_batch.assemble.gate.config import (
    REQUIREMENT,
    Floor,
    MaxDrop,
    NonInferiority,
    Regression,
    Requirements,
)
from crucible_batch.assemble.gate.evidence import CellKey, Evidence, RunFacts
from crucible_batch.assemble.gate.known import Resolved
from crucible_batch.assemble.gate.verdict import INCONCLUSIVE, KIND_REQUIREMENT, PASS, RuleResult
from crucible_batch.report import words

PAIRED = (Regression, NonInferiority, MaxDrop)
NO_BASELINE = "there is no earlier run to compare with"
UNCHANGED_ITEMS = "with same_golden_set = false the items that are the same in both are paired"


def judge_requirements(
    rules: Sequence[Resolved], evidence: Evidence, requirements: Requirements
) -> list[RuleResult]:
    """Judge every requirement; none ever fails: what is not there is inconclusive.

    `min_pairs` and `min_coverage` look at the cells that error rules read. Where only warn rules
    read any, the row warns too, so that a warn rule never changes the exit code.
    """
    found = [_status(evidence)]
    if requirements.same_golden_set:
        found.append(_same_golden_set(evidence))
    if requirements.same_judge:
        found.append(_same_judge(rules, evidence))
    found.append(_few_errors(evidence, requirements.max_error_fraction))
    paired = [one for one in rules if isinstance(one.rule, PAIRED)]
    measured = [one for one in rules if isinstance(one.rule, (*PAIRED, Floor))]
    found += _enough(
        "min_pairs", paired, requirements.min_pairs, lambda one: n_pairs(one, evidence)
    )
    found += _enough(
        "min_coverage", measured, requirements.min_coverage, lambda one: coverage(one, evidence)
    )
    return found


def not_comparable(
    rules: Sequence[Resolved], evidence: Evidence, requirements: Requirements
) -> str | None:
    """Why nothing at all can be judged (exit code 4); None when something can."""
    if evidence.unusable:
        return "; ".join(_unfit(run) for run in evidence.unusable)
    if evidence.golden_set_changed and requirements.same_golden_set:
        return f"{_golden_sets(evidence)}; {UNCHANGED_ITEMS}"
    if evidence.golden_set_changed and evidence.n_paired == 0:
        return f"{_golden_sets(evidence)}, and no item has the same content in both"
    errors = [one for one in rules if one.rule.severity == "error"]
    if errors and all(judge_blocks(one, evidence, requirements) for one in errors):
        return f"{judges(evidence)}, and every error rule rests on a judge"
    return None


def judge_blocks(one: Resolved, evidence: Evidence, requirements: Requirements) -> bool:
    """Whether a changed judge stands against a rule."""
    return requirements.same_judge and evidence.judge_changed and one.uses_judge


def shortfall(one: Resolved, evidence: Evidence, requirements: Requirements) -> str | None:
    """Which requirement the cell of a rule misses, in words; None when it has enough."""
    if isinstance(one.rule, PAIRED):
        pairs = n_pairs(one, evidence)
        if pairs is None or pairs < requirements.min_pairs:
            return f"{words.count(pairs or 0, 'pair')}, required are {requirements.min_pairs}"
    if isinstance(one.rule, (*PAIRED, Floor)):
        share = coverage(one, evidence)
        if share is None or share < requirements.min_coverage:
            return f"coverage {_share(share)}, required is {_share(requirements.min_coverage)}"
    return None


def cell_of(one: Resolved) -> CellKey:
    """slice_by, slice and metric a rule reads."""
    if one.metric is None or not isinstance(one.rule, (*PAIRED, Floor)):
        raise TypeError(f"{one.rule.rule_id} reads no cell")
    return (*one.rule.cell, one.metric.name)


def n_pairs(one: Resolved, evidence: Evidence) -> int | None:
    """Pairs in the cell of a rule; None when it was not compared."""
    row = evidence.compared.get(cell_of(one))
    return None if row is None else int(row["n_pairs"])


def coverage(one: Resolved, evidence: Evidence) -> float | None:
    """Smallest coverage among the runs a rule reads; None when one of them measured nothing."""
    tables = [evidence.numbers]
    if isinstance(one.rule, PAIRED):
        tables.append(evidence.numbers_before)
    rows = [table.get(cell_of(one)) for table in tables]
    shares = [None if row is None else row["coverage"] for row in rows]
    known = [float(share) for share in shares if share is not None]
    return min(known) if len(known) == len(shares) else None


def _status(evidence: Evidence) -> RuleResult:
    if evidence.unusable or any(run.status != "succeeded" for run in evidence.runs):
        unfit = [_unfit(run) for run in evidence.runs if run.status != "succeeded"]
        return _row("status", INCONCLUSIVE, "; ".join(unfit))
    if evidence.baseline is None:
        return _row("status", INCONCLUSIVE, NO_BASELINE)
    return _row("status", PASS, "both runs succeeded")


def _same_golden_set(evidence: Evidence) -> RuleResult:
    if evidence.baseline is None:
        return _row("same_golden_set", INCONCLUSIVE, NO_BASELINE)
    if evidence.golden_set_changed:
        said = f"{_golden_sets(evidence)}; {UNCHANGED_ITEMS}"
        return _row("same_golden_set", INCONCLUSIVE, said)
    return _row("same_golden_set", PASS, "both runs were made for the same version")


def _same_judge(rules: Iterable[Resolved], evidence: Evidence) -> RuleResult:
    """Judged rule by rule; the row is inconclusive when an error rule is concerned."""
    if evidence.baseline is None:
        return _row("same_judge", INCONCLUSIVE, NO_BASELINE)
    if not evidence.judge_changed:
        judge = evidence.candidate.judge
        said = f"the judge of both runs is {judge}" if judge else "no judge has seen either run"
        return _row("same_judge", PASS, said)
    concerned = [one.rule for one in rules if one.uses_judge]
    ids = words.listed([rule.rule_id for rule in concerned]) if concerned else "no rule"
    outcome = INCONCLUSIVE if any(rule.severity == "error" for rule in concerned) else PASS
    return _row("same_judge", outcome, f"{judges(evidence)}; concerned: {ids}")


def _few_errors(evidence: Evidence, most: float) -> RuleResult:
    """The larger share of lost results of the two runs."""
    row = _row("max_error_fraction", PASS, "", threshold=most)
    shares = [_lost(run) for run in evidence.runs]
    known = [share for share in shares if share is not None]
    if len(known) < len(shares):
        return row.inconclusive("the runs were not scored")
    worst = max(known)
    said = "; ".join(
        f"{run.run_id}: {run.n_lost:,} of {run.n_expected:,} results errored or are absent"
        for run in evidence.runs
    )
    return _row(
        "max_error_fraction",
        PASS if worst <= most else INCONCLUSIVE,
        said,
        threshold=most,
        observed=worst,
    )


def _lost(run: RunFacts) -> float | None:
    if not run.n_expected or run.n_lost is None:
        return None
    return run.n_lost / run.n_expected


def _enough(
    key: str,
    rules: Sequence[Resolved],
    least: float,
    measure: Callable[[Resolved], float | None],
) -> list[RuleResult]:
    """The row about the rule whose cell has least; no row when no rule reads a cell."""
    errors = [one for one in rules if one.rule.severity == "error"]
    judged = errors or rules
    if not judged:
        return []
    severity = "error" if errors else "warn"
    found = [(measure(one), one.rule.rule_id) for one in judged]
    absent = [name for number, name in found if number is None]
    if absent:
        said = f"not measured for {words.listed(absent)}"
        return [_row(key, INCONCLUSIVE, said, threshold=least, severity=severity)]
    smallest, name = min((number, name) for number, name in found if number is not None)
    outcome = PASS if smallest >= least else INCONCLUSIVE
    needed = f", required is {_amount(least)}" if outcome == INCONCLUSIVE else ""
    said = f"least is {_amount(smallest)}{needed} (rule {name})"
    return [_row(key, outcome, said, threshold=least, observed=smallest, severity=severity)]


def _row(
    key: str,
    outcome: str,
    reason: str,
    *,
    threshold: float | None = None,
    observed: float | None = None,
    severity: str = "error",
) -> RuleResult:
    return RuleResult(
        rule_id=f"{REQUIREMENT}{key}",
        kind=KIND_REQUIREMENT,
        outcome=outcome,
        reason=reason,
        severity=severity,
        threshold=None if threshold is None else float(threshold),
        observed=None if observed is None else float(observed),
    )


def _unfit(run: RunFacts) -> str:
    return f"{run.run_id} is {run.status}" + (f" ({run.reason})" if run.reason else "")


def _golden_sets(evidence: Evidence) -> str:
    hashes = [f"{run.run_id} {run.golden_set_hash[:19]}" for run in reversed(evidence.runs)]
    return f"the golden set differs: {', '.join(hashes)}"


def judges(evidence: Evidence) -> str:
    """How the judges of the two runs differ: two judges, or one and a run that nobody judged."""
    without = [run for run in evidence.runs if run.judge is None]
    if len(without) == 1:
        (other,) = (run for run in evidence.runs if run.judge is not None)
        return f"{without[0].run_id} has no verdicts; those of {other.run_id} are by {other.judge}"
    named = [_named(run) for run in reversed(evidence.runs)]
    return f"the judge differs: {' → '.join(named)}"


def _named(run: RunFacts) -> str:
    return run.judge or "none"


def _amount(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else _share(value)


def _share(value: float | None) -> str:
    return words.DASH if value is None else f"{value:.4g}"
