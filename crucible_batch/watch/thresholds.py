"""Hold what a scan measured against its rules: ok, breach or unknown, with all that decided it.

A rule that cannot be judged is unknown, never ok: unknown neither opens nor closes an alert.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from crucible_batch.settings.thresholds import Limit, Severity, Threshold
from crucible_batch.watch.measured import NOT_MEASURED, Measured, Measurements, Verdict

INSUFFICIENT = "insufficient_support"
TOO_SMALL = "below_min_support"
"""Why a small type of a fan-out is ok: what happens to so few is no matter of the rule."""

WITHIN_NOISE = "within_noise"
"""Why a value beyond its limit is ok: samples of this size lie that far apart without a change."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A rule held against one measurement.

    Attributes:
        rule: The rule, with its limits and how often they must be met to change an alert.
        measured: What was measured.
        limit: The limit that was breached, else the mildest one.
        verdict: ok, breach, or unknown.
        severity: Of a breach; None otherwise.
        reason: Why it is unknown, or ok although the value lies beyond the limit.
    """

    rule: Threshold
    measured: Measured
    limit: Limit
    verdict: Verdict
    severity: Severity | None = None
    reason: str | None = None

    @property
    def rule_id(self) -> str:
        """Id of the rule."""
        return self.rule.id

    @property
    def value(self) -> float | None:
        """What was measured; None: not measured."""
        return self.measured.value

    @property
    def labels(self) -> str:
        """What it is about, as canonical JSON: `{}` or `{"entity_type":"law"}`."""
        return json.dumps(
            dict(self.measured.labels), sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )

    def is_clear(self, severity: Severity) -> bool:
        """Whether the value is quiet again for an alert of this severity.

        False in the band between `value` and `clear`, and while the verdict is unknown. Within the
        noise of samples, and for a type that has become too small, every value is quiet.
        """
        limit = self.rule.limits.get(severity)
        if self.verdict == "unknown" or limit is None:
            return self.verdict != "unknown"  # a limit that is gone holds nothing open
        if self.value is None or self.reason == TOO_SMALL:
            return self.verdict == "ok"
        if self.measured.critical is not None and self.value <= self.measured.critical:
            return True
        return limit.cleared_by(self.value)

    def row(
        self, *, workspace_id: str, scan_id: str, snapshot_id: str, as_of: datetime
    ) -> dict[str, Any]:
        """Its row of `drift_evaluations`."""
        return {
            "workspace_id": workspace_id,
            "scan_id": scan_id,
            "rule_id": self.rule.id,
            "labels": self.labels,
            "snapshot_id": snapshot_id,
            "as_of": as_of,
            "statistic": self.rule.statistic,
            "value": self.measured.value,
            "operator": self.limit.op,
            "threshold": self.limit.number,
            "critical": self.measured.critical,
            "n_reference": self.measured.n_reference,
            "n_current": self.measured.n_current,
            "severity": self.severity,
            "verdict": self.verdict,
            "reason": self.reason,
        }


def evaluate(rules: Iterable[Threshold], measurements: Measurements) -> tuple[Evaluation, ...]:
    """Hold every rule against what it is about.

    Args:
        rules: Rules with distinct ids, each with a limit.
        measurements: By (statistic, by). One that is absent was not measured, and its rule is
            unknown; one that is empty has nothing to fan out over.

    Returns:
        Evaluations by rule id, then labels.
    """
    found = [
        judge(rule, measured)
        for rule in rules
        for measured in measurements.get((rule.statistic, rule.by), (_ABSENT,))
    ]
    return tuple(sorted(found, key=lambda one: (one.rule_id, one.labels)))


_UNSUPPORTED: tuple[Verdict, str] = ("unknown", INSUFFICIENT)
_ABSENT = Measured(value=None, reason=NOT_MEASURED)


def judge(rule: Threshold, measured: Measured) -> Evaluation:
    """Hold one rule against one measurement; the highest severity that is breached counts."""
    mildest = list(rule.limits)[-1]
    limit = rule.limits[mildest]
    if measured.value is None:
        verdict = measured.verdict or "unknown"
        return Evaluation(
            rule=rule,
            measured=measured,
            limit=limit,
            verdict=verdict,
            severity=mildest if verdict == "breach" else None,
            reason=measured.reason or NOT_MEASURED,
        )
    if measured.reason is None and _is_small(rule, measured):
        # One rule on too little says that it cannot judge. A fan-out over a hundred small types
        # would say so a hundred times, every night.
        verdict, reason = ("ok", TOO_SMALL) if _is_one_of_many(measured) else _UNSUPPORTED
        return Evaluation(rule=rule, measured=measured, limit=limit, verdict=verdict, reason=reason)
    if measured.reason is not None:
        return Evaluation(
            rule=rule, measured=measured, limit=limit, verdict="unknown", reason=measured.reason
        )
    beyond = {s: bound for s, bound in rule.limits.items() if bound.breached_by(measured.value)}
    if not beyond:
        return Evaluation(rule=rule, measured=measured, limit=limit, verdict="ok")
    if measured.critical is not None and measured.value <= measured.critical:
        return Evaluation(
            rule=rule, measured=measured, limit=limit, verdict="ok", reason=WITHIN_NOISE
        )
    severity, breached = next(iter(beyond.items()))
    return Evaluation(
        rule=rule, measured=measured, limit=breached, verdict="breach", severity=severity
    )


def _is_small(rule: Threshold, measured: Measured) -> bool:
    return measured.support is not None and measured.support < rule.min_support


def _is_one_of_many(measured: Measured) -> bool:
    return measured.is_census and bool(measured.labels)


def tally(evaluations: Iterable[Evaluation]) -> Mapping[Verdict, int]:
    """How many evaluations came to each verdict, the verdicts that matter first."""
    verdicts = [one.verdict for one in evaluations]
    order: tuple[Verdict, ...] = ("breach", "unknown", "ok")
    return {verdict: verdicts.count(verdict) for verdict in order}
