"""What the rules of a gate may look at: facts of two runs, their comparison, nothing of a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]
CellKey = tuple[str, str, str]
"""slice_by, slice, metric."""


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """One run, as far as requirements look at it.

    Attributes:
        run_id: The run.
        status: succeeded, degraded, failed or running.
        reason: Why, in words.
        golden_set_hash: What it was made for.
        judge: Whose verdicts count; None without any.
        n_expected: Results expected; None when it was not scored.
        n_lost: Results among them that errored or are absent.
    """

    run_id: str
    status: str
    reason: str | None = None
    golden_set_hash: str
    judge: str | None = None
    n_expected: int | None = None
    n_lost: int | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """All that a gate judges by; what is absent was not measured.

    Attributes:
        candidate: The run judged.
        baseline: The run it is held against; None: there is none yet.
        n_paired: Golden items both runs can be paired on; None: they were not compared.
        comparison_id: The comparison; None without one.
        compared: Rows of `comparisons`.
        numbers: Rows of `run_metrics` of the candidate.
        numbers_before: The same of the baseline.
        samples: What each expected sample of a must-pass item is worth; None: without a value.
        open_alerts: Severity and fingerprint of every open alert.
        n_alert_events: Alert events ever written.
        before: Confirmation of each rule the night before, by rule_id, metric, slice_by, slice.
        min_items: Fewest units that allow a verdict.
    """

    candidate: RunFacts
    baseline: RunFacts | None
    n_paired: int | None = None
    comparison_id: str | None = None
    compared: Mapping[CellKey, Row] = field(default_factory=dict)
    numbers: Mapping[CellKey, Row] = field(default_factory=dict)
    numbers_before: Mapping[CellKey, Row] = field(default_factory=dict)
    samples: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    open_alerts: Sequence[tuple[str, str]] = ()
    n_alert_events: int = 0
    before: Mapping[tuple[str, str, str, str], str] = field(default_factory=dict)
    min_items: int = 20

    @property
    def runs(self) -> tuple[RunFacts, ...]:
        """The runs there are, candidate first."""
        return (self.candidate,) if self.baseline is None else (self.candidate, self.baseline)

    @property
    def golden_set_changed(self) -> bool:
        """Whether the runs pin different versions of the golden set."""
        return len({run.golden_set_hash for run in self.runs}) > 1

    @property
    def judge_changed(self) -> bool:
        """Whether different judges, or one and none, stand behind the runs."""
        return len({run.judge for run in self.runs}) > 1

    @property
    def unusable(self) -> tuple[RunFacts, ...]:
        """Runs that are still running, or failed: there is nothing to judge."""
        return tuple(run for run in self.runs if run.status in {"running", "failed"})
