"""What alerts are made of: the condition, what a scan found of it, and the state it is in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Self

from crucible_batch.contracts.vocabulary import ALERT_SEVERITIES, DRIFT_VERDICTS

WARN, CRITICAL = ALERT_SEVERITIES
PENDING, FIRING, RESOLVED = "pending", "firing", "resolved"
OK, BREACH, UNKNOWN = DRIFT_VERDICTS

STATE_LABEL = "state"
"""Label of the alert about a condition that can no longer be measured; its value is `unknown`."""

FLAPPING_OPENINGS, FLAPPING_SCANS = 3, 10
"""So many openings in so many scans are flapping."""

_VERSION = 1


def canonical_json(value: object) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, characters as they are."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def rank(severity: str | None) -> int:
    """Order of severities; None, no severity at all, is below every one."""
    return -1 if severity is None else ALERT_SEVERITIES.index(severity)


@dataclass(frozen=True, kw_only=True)
class Condition:
    """What an alert is about: a rule, and the labels it fans out to. Never a value or a time.

    Attributes:
        workspace_id: Workspace.
        rule_id: Rule.
        labels: (name, value), sorted by name.
    """

    workspace_id: str
    rule_id: str
    labels: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, workspace_id: str, rule_id: str, labels: Mapping[str, str]) -> Self:
        """Build one from labels in any order."""
        ordered = tuple(sorted(labels.items()))
        return cls(workspace_id=workspace_id, rule_id=rule_id, labels=ordered)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of canonical JSON [1, workspace_id, rule_id, sorted labels]."""
        parts = [_VERSION, self.workspace_id, self.rule_id, [list(pair) for pair in self.labels]]
        return hashlib.sha256(canonical_json(parts).encode()).hexdigest()

    @property
    def is_about_the_unknown(self) -> bool:
        """Whether the alert says that its condition cannot be measured."""
        return (STATE_LABEL, UNKNOWN) in self.labels

    def unmeasured(self) -> Condition:
        """The condition that this one cannot be measured; it has an alert of its own."""
        return Condition.of(
            self.workspace_id, self.rule_id, dict(self.labels) | {STATE_LABEL: UNKNOWN}
        )


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How often in a row something has to be seen, in scans, and how long a notice is enough.

    Attributes:
        raise_after: Breaches that open an alert.
        clear_after: Values past the clear limit that resolve it.
        unknown_after: Unknown verdicts that open an alert of their own.
        renotify_after: Time since the last notice after which a firing alert is told again; None:
            never.
        max_open: Most alerts of the rule that are open at once; None: no limit.

    Raises:
        ValueError: A count is below 1, or the time not positive.
    """

    raise_after: int = 1
    clear_after: int = 2
    unknown_after: int = 3
    renotify_after: timedelta | None = None
    max_open: int | None = None

    def __post_init__(self) -> None:
        for name in ("raise_after", "clear_after", "unknown_after", "max_open"):
            if (count := getattr(self, name)) is not None and count < 1:
                raise ValueError(f"{name} is {count}; it counts from 1")
        if self.renotify_after is not None and self.renotify_after <= timedelta(0):
            raise ValueError(f"renotify_after is {self.renotify_after}; it is a time to wait")


@dataclass(frozen=True, kw_only=True)
class Scan:
    """The scan an evaluation belongs to.

    Attributes:
        scan_id: Its id.
        as_of: The instant it speaks of, UTC.
    """

    scan_id: str
    as_of: datetime


@dataclass(frozen=True, kw_only=True)
class Measure:
    """What was compared with what; carried into the notice, never read by a transition."""

    statistic: str | None = None
    value: float | None = None
    operator: str | None = None
    threshold: float | None = None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What one scan found of one condition.

    Attributes:
        scan: The scan.
        condition: Rule and labels.
        verdict: ok, breach or unknown.
        severity: Severity of a breach, else None.
        held: The highest severity whose clear limit the value has not come back past. None: the
            value has come back past all of them, or is unknown. Of a breach it is at least the
            severity of the breach; of an ok verdict it says that the value is in the band between
            limit and clear limit.
        counts: Counts of the rule.
        measure: For the notice.

    Raises:
        ValueError: The parts do not fit together.
    """

    scan: Scan
    condition: Condition
    verdict: str
    severity: str | None = None
    held: str | None = None
    counts: Counts = field(default_factory=Counts)
    measure: Measure = field(default_factory=Measure)

    def __post_init__(self) -> None:
        if self.verdict not in DRIFT_VERDICTS:
            raise ValueError(f"{self.verdict!r} is no verdict")
        if (self.severity is not None) != (self.verdict == BREACH):
            raise ValueError(f"severity {self.severity} does not fit verdict {self.verdict}")
        if self.verdict == BREACH and rank(self.held) < rank(self.severity):
            raise ValueError(f"a {self.severity} breach cannot be past its clear limit")

    @property
    def recovered(self) -> bool:
        """Whether the value is known and past every clear limit."""
        return self.verdict == OK and self.held is None

    def of_the_unknown(self) -> Evaluation:
        """The evaluation of "this condition cannot be measured"."""
        unknown = self.verdict == UNKNOWN
        severity = WARN if unknown else None
        return Evaluation(
            scan=self.scan,
            condition=self.condition.unmeasured(),
            verdict=BREACH if unknown else OK,
            severity=severity,
            held=severity,
            counts=Counts(
                raise_after=self.counts.unknown_after,
                clear_after=1,
                renotify_after=self.counts.renotify_after,
                max_open=self.counts.max_open,
            ),
            measure=self.measure,
        )


@dataclass(frozen=True, kw_only=True)
class AlertEvent:
    """One row of `alert_events`, and who is told.

    Attributes:
        event_id: Hash of scan, fingerprint, episode, seq and kind: a replay makes the same.
        condition: What it is about.
        episode: Episode of the condition, from 1.
        seq: Order within the episode, from 1.
        kind: What happened.
        severity: Severity of the alert after it.
        scan_id: The scan that caused it; None for what a person did.
        occurred_at: as_of of the scan, or when the person did it.
        reason: Why it was resolved.
        until: End of a snooze.
        payload: Body of the notice, canonical JSON.
        notify: Severity by which an endpoint decides whether it wants the notice; None: nobody is
            told. Not stored: it is null on an event that was read back.
    """

    event_id: str
    condition: Condition
    episode: int
    seq: int
    kind: str
    severity: str
    scan_id: str | None
    occurred_at: datetime
    reason: str | None = None
    until: datetime | None = None
    payload: str
    notify: str | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class AlertState:
    """Where the alert of a condition stands.

    The first part follows from events alone, the second from evaluations alone, so that it does
    not matter how the two are interleaved when the state is folded from what is stored.

    Attributes:
        condition: What it is about.
        state: pending, firing or resolved; None: there has never been an alert.
        severity: Severity now, or at the end.
        peak: Highest severity of the episode.
        episode: Number of the last episode, 0 before the first.
        seq: Number of its last event.
        acknowledged: Somebody has it; ends with the episode.
        snoozed_until: Quiet until then, over episodes.
        opened_at: When the episode opened; for a pending alert, its first breach.
        resolved_at: When it was resolved.
        resolve_reason: Why.
        told: Some notice of this episode went out.
        told_at: as_of of the last notice.
        withheld: A snooze kept back the last notice.
        openings: Scans of the last openings, oldest first.
        marked_in: Scan of the last `flapping` event.
        breaches: Breaches in a row.
        clears: Values past every clear limit in a row.
        scans: The last scans that evaluated the condition, oldest first.
    """

    condition: Condition
    state: str | None = None
    severity: str = WARN
    peak: str = WARN
    episode: int = 0
    seq: int = 0
    acknowledged: bool = False
    snoozed_until: datetime | None = None
    opened_at: datetime | None = None
    resolved_at: datetime | None = None
    resolve_reason: str | None = None
    told: bool = False
    told_at: datetime | None = None
    withheld: bool = False
    openings: tuple[str, ...] = ()
    marked_in: str | None = None

    breaches: int = 0
    clears: int = 0
    scans: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether an alert exists that is not resolved."""
        return self.state in {PENDING, FIRING}

    def is_quiet(self, moment: datetime) -> bool:
        """Whether somebody asked not to be told."""
        return self.acknowledged or (self.snoozed_until is not None and moment < self.snoozed_until)
