"""One rule over churn, and nights that measure it: the alerts they lead to.

watch = Watch(warn=(0.10, 0.07), critical=(0.20, 0.15))
watch.night(0.12), watch.night(None)          # None could not be measured
watch.told == [(1, "opened")]                 # (night, kind), nights from 1
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from crucible_batch.watch.alert_fold import fold
from crucible_batch.watch.alert_model import (
    AlertEvent,
    AlertState,
    Condition,
    Counts,
    Evaluation,
    Measure,
    Scan,
)
from crucible_batch.watch.alerts import Advanced, advance

FIRST = datetime(2026, 5, 1, tzinfo=UTC)
LIMITS = {"warn": (0.10, 0.07)}
BOTH = {"warn": (0.10, 0.07), "critical": (0.20, 0.15)}


def scan_of(night: int) -> Scan:
    """The scan of a night, from 1."""
    return Scan(scan_id=f"scan-{night:03d}", as_of=FIRST + timedelta(days=night - 1))


def measured(
    value: float | None,
    night: int,
    *,
    rule: str = "churn",
    labels: dict[str, str] | None = None,
    limits: dict[str, tuple[float, float]] = LIMITS,
    **counts: Any,
) -> Evaluation:
    """The evaluation of `value > limit`, with a clear limit per severity."""
    over = [] if value is None else [s for s, (limit, _) in limits.items() if value > limit]
    held = [] if value is None else [s for s, (_, clear) in limits.items() if value > clear]
    return Evaluation(
        scan=scan_of(night),
        condition=Condition.of("w", rule, labels or {}),
        verdict="unknown" if value is None else "breach" if over else "ok",
        severity=over[-1] if over else None,
        held=held[-1] if held else None,
        counts=Counts(**counts),
        measure=Measure(statistic="doc_churn_ratio", value=value, operator=">", threshold=0.1),
    )


class Watch:
    """Nights in a row over one workspace; states, events and evaluations are kept."""

    def __init__(self, limits: dict[str, tuple[float, float]] | None = None, **counts: Any) -> None:
        self.limits, self.counts = limits or LIMITS, counts
        self.rules = {"churn"}
        self.states: dict[str, AlertState] = {}
        self.events: list[AlertEvent] = []
        self.evaluations: list[Evaluation] = []
        self.withheld: list[dict[str, int]] = []
        self.n_nights = 0

    def night(self, value: float | None, **more: Any) -> Advanced:
        """A night that measured one value."""
        one = measured(value, self.n_nights + 1, limits=self.limits, **self.counts, **more)
        return self.scan([one])

    def scan(self, evaluations: Iterable[Evaluation]) -> Advanced:
        """A night with these evaluations."""
        self.n_nights += 1
        found = list(evaluations)
        done = advance(self.states, found, scan_of(self.n_nights), rules=self.rules)
        self.states = dict(done.states)
        self.events += done.events
        self.evaluations += found
        self.withheld.append(dict(done.withheld))
        return done

    def nights(self, *values: float | None) -> Watch:
        """Nights that measured these values."""
        for value in values:
            self.night(value)
        return self

    def person(self, event: AlertEvent | None) -> None:
        """Something a person did."""
        assert event is not None
        self.events.append(event)
        key = event.condition.fingerprint
        own = [e for e in self.evaluations if e.condition.fingerprint == key]
        self.states[key] = fold(event.condition, self.of(key), own)

    def of(self, fingerprint: str) -> list[AlertEvent]:
        """Events of one alert."""
        return [e for e in self.events if e.condition.fingerprint == fingerprint]

    @property
    def churn(self) -> AlertState:
        """The alert of the rule without labels."""
        return self.states[Condition.of("w", "churn", {}).fingerprint]

    @property
    def unknown(self) -> AlertState:
        """The alert that the rule cannot be measured."""
        return self.states[Condition.of("w", "churn", {"state": "unknown"}).fingerprint]

    @property
    def happened(self) -> list[tuple[int, str]]:
        """(night, kind) of every event of a scan."""
        return [(int(e.scan_id[-3:]), e.kind) for e in self.events if e.scan_id]

    @property
    def told(self) -> list[tuple[int, str]]:
        """(night, kind) of every event that endpoints are told."""
        return [(int(e.scan_id[-3:]), e.kind) for e in self.events if e.scan_id and e.notify]
