"""The one value behind text, files and exit code: every rule with its outcome, and what follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import polars as pl

from crucible_batch.assemble.gate.flaky import FlakyItem
from crucible_batch.contracts import TABLES
from crucible_batch.report import words

PASS, FAIL, INCONCLUSIVE = "pass", "fail", "inconclusive"
KIND_REQUIREMENT = "requirement"
"""Kind of what must be there before rules are believed."""
NOT_COMPARABLE = 4
EXIT_CODES: Mapping[str, int] = {PASS: 0, FAIL: 1, INCONCLUSIVE: 3}
GATE_RESULTS = TABLES["gate_results"]


@dataclass(frozen=True, kw_only=True)
class RuleResult:
    """One rule, judged; fields are columns of `gate_results`, and what people read beside them.

    Attributes:
        verdict: What the gate makes of the cell of a regression rule.
        compared_verdict: What the comparison, with families of its own, makes of the same cell.
    """

    rule_id: str
    kind: str
    outcome: str
    reason: str
    severity: str = "error"
    comparison_id: str | None = None
    p_adjusted: float | None = None
    family_size: int | None = None
    metric: str | None = None
    slice_by: str | None = None
    slice: str | None = None
    threshold: float | None = None
    margin: float | None = None
    observed: float | None = None
    confirmation: str = "none"
    verdict: str | None = None
    compared_verdict: str | None = None

    @property
    def counts(self) -> bool:
        """Whether its outcome can change the exit code."""
        return self.severity == "error"

    def inconclusive(self, reason: str) -> RuleResult:
        """The same rule without a verdict, and why."""
        return replace(self, outcome=INCONCLUSIVE, reason=reason)


@dataclass(frozen=True, kw_only=True)
class SetAside:
    """A flaky item and what became of its entry."""

    item: FlakyItem
    is_active: bool


@dataclass(frozen=True, kw_only=True)
class GateVerdict:
    """A gate, judged.

    Attributes:
        gate_id: Hash of the gate and what it judged.
        workspace: Where the runs are.
        candidate: Run judged.
        baseline: Run it was held against; None: there is none yet.
        as_of: The night; None for a gate out of turn.
        results: Requirements and rules, in the order of the file.
        not_comparable: Why nothing can be judged at all; None otherwise.
        flaky: Items of the flaky file.
        notices: What to know beside the rules; it changes no outcome.
    """

    gate_id: str
    workspace: str
    candidate: str
    baseline: str | None
    results: Sequence[RuleResult]
    as_of: datetime | None = None
    not_comparable: str | None = None
    flaky: Sequence[SetAside] = ()
    notices: Sequence[str] = ()

    @property
    def outcome(self) -> str:
        """Any failed error rule fails; else any inconclusive one leaves it open; else pass.

        Runs that cannot be compared are inconclusive whatever a rule found: none is believed.
        """
        if self.not_comparable is not None:
            return INCONCLUSIVE
        found = {result.outcome for result in self.results if result.counts}
        return next((name for name in (FAIL, INCONCLUSIVE) if name in found), PASS)

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 3 inconclusive, 4 not comparable."""
        return NOT_COMPARABLE if self.not_comparable is not None else EXIT_CODES[self.outcome]

    @property
    def decisive(self) -> tuple[RuleResult, ...]:
        """The rules that led to the outcome; none when it is a pass."""
        if self.outcome == PASS:
            return ()
        return tuple(r for r in self.results if r.counts and r.outcome == self.outcome)

    @property
    def warnings(self) -> tuple[RuleResult, ...]:
        """Rules that only warn and did not pass."""
        return tuple(r for r in self.results if not r.counts and r.outcome != PASS)

    @property
    def suspected(self) -> tuple[RuleResult, ...]:
        """Regressions of one night that pass until the next one confirms them."""
        return tuple(r for r in self.results if r.confirmation == "suspected" and r.outcome == PASS)

    @property
    def word(self) -> str:
        """The outcome in capitals."""
        return "NOT COMPARABLE" if self.not_comparable is not None else self.outcome.upper()

    @property
    def line(self) -> str:
        """The gate in one line."""
        held = f"{self.candidate} against {self.baseline or 'no baseline'}"
        parts = [f"gate {self.word}", f"exit {self.exit_code}", words.one_line(held), self._why()]
        if self.suspected:
            parts.append(f"suspected: {_ids(self.suspected)}")
        if self.warnings:
            parts.append(f"warnings: {_ids(self.warnings)}")
        return "  ".join(parts)

    def _why(self) -> str:
        n = self._counted()
        if self.not_comparable is not None:
            return words.one_line(self.not_comparable)
        if self.outcome == PASS:
            return (
                f"{n} held"
                if not self.warnings
                else f"{n}, {words.count(len(self.warnings), 'warning')}"
            )
        what = "failed" if self.outcome == FAIL else "without a verdict"
        return f"{what}: {_ids(self.decisive)} (of {n})"

    def _counted(self) -> str:
        """How many rules of the file there are, and how many requirements beside them."""
        n_required = sum(result.kind == KIND_REQUIREMENT for result in self.results)
        rules = words.count(len(self.results) - n_required, "rule")
        return rules + (f" and {words.count(n_required, 'requirement')}" if n_required else "")

    def frame(self) -> pl.DataFrame:
        """Rows of `gate_results`."""
        common = {
            "workspace_id": self.workspace,
            "gate_id": self.gate_id,
            "baseline_run_id": self.baseline,
            "candidate_run_id": self.candidate,
        }
        rows = [{**vars(result), **common} for result in self.results]
        columns = [{name: row[name] for name in GATE_RESULTS.names} for row in rows]
        return pl.DataFrame(columns, schema=GATE_RESULTS.schema)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        return {
            "gate_id": self.gate_id,
            "workspace_id": self.workspace,
            "candidate_run_id": self.candidate,
            "baseline_run_id": self.baseline,
            "as_of": None if self.as_of is None else f"{self.as_of:%Y-%m-%dT%H:%M:%SZ}",
            "outcome": self.outcome,
            "exit_code": self.exit_code,
            "not_comparable": self.not_comparable,
            "line": self.line,
            "rules": [dict(vars(result)) for result in self.results],
            "flaky": [
                {
                    "item_id": one.item.item_id,
                    "reason": one.item.reason,
                    "expires": f"{one.item.expires:%Y-%m-%dT%H:%M:%SZ}",
                    "set_aside": one.is_active,
                }
                for one in self.flaky
            ],
            "notices": list(self.notices),
        }


def _ids(results: Sequence[RuleResult]) -> str:
    return words.listed([words.one_line(result.rule_id) for result in results])
