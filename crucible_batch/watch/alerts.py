"""Alerts as a pure function: what a scan finds, and the state before it, give events.

One alert per condition: pending → firing → resolved, then a new episode. Definitions: DRIFT.md,
"Alerts". A notice is due for what opens, gets worse, is reminded of or ends; an alert that somebody
acknowledged or snoozed goes on being watched, only nobody is told, except of its end, so that no
receiver keeps it open for ever.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from crucible_batch.watch.alert_fold import applied, observed
from crucible_batch.watch.alert_model import (
    FLAPPING_OPENINGS,
    OK,
    PENDING,
    STATE_LABEL,
    UNKNOWN,
    AlertEvent,
    AlertState,
    Evaluation,
    Measure,
    Scan,
    rank,
)
from crucible_batch.watch.alert_payload import event_id, payload

NOTIFYING = ("opened", "escalated", "reminder", "resolved")
"""Kinds of events that endpoints are told."""

RECOVERED, KNOWN_AGAIN = "recovered", "known_again"
NOT_CONFIRMED = "not_confirmed"
"""Reason of a pending alert that ends before its breaches were enough to open it."""
RULE_REMOVED, SUBJECT_GONE = "rule_removed", "subject_gone"
"""Reasons of an alert nobody evaluates any more: its rule is gone, or what it fanned out to."""

_NOTHING = Measure()


@dataclass(frozen=True, kw_only=True)
class _Step:
    """One thing that happens: the kind, the severity after it, and what only it says."""

    kind: str
    severity: str
    reason: str | None = None
    until: datetime | None = None
    flapping: bool = False
    author: str | None = None
    note: str | None = None


@dataclass(frozen=True, kw_only=True)
class Advanced:
    """What a scan does to all alerts.

    Attributes:
        states: State after it, by fingerprint.
        events: What happened, in order of fingerprints.
        withheld: Rule → breaches that opened no alert because `max_open` are open.
    """

    states: Mapping[str, AlertState]
    events: tuple[AlertEvent, ...]
    withheld: Mapping[str, int]


def transition(
    state: AlertState, evaluation: Evaluation
) -> tuple[AlertState, tuple[AlertEvent, ...]]:
    """Let a scan's evaluation of a condition happen to its alert.

    Args:
        state: The alert before the scan.
        evaluation: Of the same condition.

    Returns:
        The alert after the scan, and its events in order; often none.
    """
    seen = observed(state, evaluation)
    steps = _begins(seen, evaluation) if not seen.is_open else _goes_on(seen, evaluation)
    return _happened(seen, steps, evaluation.scan, evaluation.measure)


def advance(
    states: Mapping[str, AlertState],
    evaluations: Iterable[Evaluation],
    scan: Scan,
    *,
    rules: Collection[str],
) -> Advanced:
    """Let a scan happen to every alert of a workspace.

    Every evaluation also speaks of the alert that its condition cannot be measured. An open alert
    that no evaluation speaks of is resolved, unless its rule could not be measured at all (unknown,
    without labels): then nothing is known of what it fans out to. A rule opens new alerts only up
    to its `max_open`, critical ones first; the others open in a later scan, if there is room then.

    Args:
        states: State before the scan, by fingerprint.
        evaluations: One per condition, in any order.
        scan: The scan.
        rules: Ids of the rules there are.

    Raises:
        ValueError: An evaluation carries the label that is kept for the unknown.
    """
    spoken: dict[str, Evaluation] = {}
    for evaluation in evaluations:
        if evaluation.condition.is_about_the_unknown:
            raise ValueError(f"the label {STATE_LABEL!r} of {evaluation.condition} is reserved")
        for one in (evaluation, evaluation.of_the_unknown()):
            spoken[one.condition.fingerprint] = one
    before = {
        key: states.get(key, AlertState(condition=one.condition)) for key, one in spoken.items()
    }
    done = {key: transition(before[key], one) for key, one in spoken.items()}
    blind = {
        one.condition.rule_id
        for one in spoken.values()
        if one.verdict == UNKNOWN and not one.condition.labels
    }
    done |= {
        key: (state, ()) if state.condition.rule_id in blind else _abandoned(state, scan, rules)
        for key, state in states.items()
        if state.is_open and key not in spoken
    }
    refused = _over_the_limit(before, done, spoken)
    for key in refused:
        done[key] = (observed(before[key], spoken[key]), ())
    return Advanced(
        states=dict(states) | {key: state for key, (state, _) in done.items()},
        events=tuple(event for key in sorted(done) for event in done[key][1]),
        withheld=Counter(spoken[key].condition.rule_id for key in refused),
    )


def acknowledge(
    state: AlertState, *, author: str, note: str | None, now: datetime
) -> AlertEvent | None:
    """Somebody has the alert: no notices until its episode ends. None: somebody has it already."""
    if state.acknowledged:
        return None
    step = _Step(kind="acknowledged", severity=state.severity, author=author, note=note)
    return _made(state, step, now)


def snooze(
    state: AlertState, *, until: datetime, author: str, note: str | None, now: datetime
) -> AlertEvent | None:
    """No notices of the alert before `until`, which may be past. None: that is so already."""
    if state.snoozed_until == until:
        return None
    step = _Step(kind="snoozed", severity=state.severity, until=until, author=author, note=note)
    return _made(state, step, now)


def _begins(seen: AlertState, evaluation: Evaluation) -> list[_Step]:
    """What happens while there is no open alert."""
    if evaluation.severity is None:
        return []
    if seen.breaches >= evaluation.counts.raise_after:
        return _opening(seen, evaluation, evaluation.severity)
    if evaluation.condition.is_about_the_unknown:
        return []  # a single night that could not be measured is no beginning of an alert
    return [_Step(kind="pending", severity=evaluation.severity)]


def _goes_on(seen: AlertState, evaluation: Evaluation) -> list[_Step]:
    """What happens to an open alert."""
    if seen.state == PENDING:
        if evaluation.verdict == OK:
            return [_Step(kind="resolved", severity=seen.severity, reason=NOT_CONFIRMED)]
        if evaluation.severity and seen.breaches >= evaluation.counts.raise_after:
            return _opening(seen, evaluation, evaluation.severity)
        return []
    if evaluation.recovered and seen.clears >= evaluation.counts.clear_after:
        known = evaluation.condition.is_about_the_unknown
        reason = KNOWN_AGAIN if known else RECOVERED
        return [_Step(kind="resolved", severity=seen.severity, reason=reason)]
    if evaluation.severity and rank(evaluation.severity) > rank(seen.severity):
        return [_Step(kind="escalated", severity=evaluation.severity)]
    lower = evaluation.held is not None and rank(evaluation.held) < rank(seen.severity)
    severity = evaluation.held if lower and evaluation.held else seen.severity
    steps = [_Step(kind="deescalated", severity=severity)] if lower else []
    if _is_reminder_due(seen, evaluation):
        steps.append(_Step(kind="reminder", severity=severity))
    return steps


def _opening(seen: AlertState, evaluation: Evaluation, severity: str) -> list[_Step]:
    recent = seen.scans
    openings = [*seen.openings, evaluation.scan.scan_id]
    flapping = sum(scan in recent for scan in openings) >= FLAPPING_OPENINGS
    steps = [_Step(kind="opened", severity=severity, flapping=flapping)]
    if flapping and seen.marked_in not in recent:
        steps.append(_Step(kind="flapping", severity=severity, flapping=True))
    return steps


def _is_reminder_due(seen: AlertState, evaluation: Evaluation) -> bool:
    """Whether a firing alert is told again: told long ago, or kept back by a snooze now over."""
    if seen.is_quiet(evaluation.scan.as_of):
        return False
    if seen.withheld or seen.told_at is None:
        return seen.withheld
    wait = evaluation.counts.renotify_after
    return wait is not None and evaluation.scan.as_of - seen.told_at >= wait


def _abandoned(
    state: AlertState, scan: Scan, rules: Collection[str]
) -> tuple[AlertState, tuple[AlertEvent, ...]]:
    reason = SUBJECT_GONE if state.condition.rule_id in rules else RULE_REMOVED
    step = _Step(kind="resolved", severity=state.severity, reason=reason)
    return _happened(state, [step], scan, _NOTHING)


def _over_the_limit(
    before: Mapping[str, AlertState],
    done: Mapping[str, tuple[AlertState, tuple[AlertEvent, ...]]],
    spoken: Mapping[str, Evaluation],
) -> list[str]:
    """New alerts a rule has no room for; its alerts of the unknown are counted apart."""
    new = [key for key in spoken if done[key][0].is_open and not before[key].is_open]
    n_open = Counter(
        _group(state) for key, (state, _) in done.items() if state.is_open and key not in new
    )
    refused = []
    urgency = {key: (-rank(done[key][0].severity), before[key].condition.labels) for key in new}
    for key in sorted(new, key=urgency.__getitem__):
        group, limit = _group(before[key]), spoken[key].counts.max_open
        if limit is not None and n_open[group] >= limit:
            refused.append(key)
        else:
            n_open[group] += 1
    return refused


def _group(state: AlertState) -> tuple[str, bool]:
    return state.condition.rule_id, state.condition.is_about_the_unknown


def _happened(
    state: AlertState, steps: Iterable[_Step], scan: Scan, measure: Measure
) -> tuple[AlertState, tuple[AlertEvent, ...]]:
    events = []
    for step in steps:
        event = _made(state, step, scan.as_of, scan.scan_id, measure)
        events.append(event)
        state = applied(state, event)
    return state, tuple(events)


def _made(
    state: AlertState,
    step: _Step,
    moment: datetime,
    scan_id: str | None = None,
    measure: Measure = _NOTHING,
) -> AlertEvent:
    """The event of a step, with its frozen notice; what a person does belongs to no scan."""
    begins = not state.is_open
    episode = state.episode + 1 if begins else state.episode
    seq = 1 if begins else state.seq + 1
    event = AlertEvent(
        event_id=event_id(scan_id, state.condition.fingerprint, episode, seq, step.kind),
        condition=state.condition,
        episode=episode,
        seq=seq,
        kind=step.kind,
        severity=step.severity,
        scan_id=scan_id,
        occurred_at=moment,
        reason=step.reason,
        until=step.until,
        payload="",
    )
    after = applied(state, event)
    said = {"flapping": step.flapping, "author": step.author, "note": step.note}
    frozen = payload(event, before=state, after=after, measure=measure, more=said)
    return replace(event, payload=frozen, notify=_notified(event, after))


def _notified(event: AlertEvent, after: AlertState) -> str | None:
    """The severity endpoints choose by: of an end, the highest of its episode."""
    if event.kind not in NOTIFYING:
        return None
    if event.kind == "resolved":
        return after.peak if after.told else None
    return None if after.is_quiet(event.occurred_at) else event.severity
