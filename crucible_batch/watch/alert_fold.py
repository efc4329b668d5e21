"""The state of an alert as a fold: over its events, and over what scans found of its condition."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from crucible_batch.watch.alert_model import (
    BREACH,
    FIRING,
    FLAPPING_OPENINGS,
    FLAPPING_SCANS,
    PENDING,
    RESOLVED,
    UNKNOWN,
    AlertEvent,
    AlertState,
    Condition,
    Counts,
    Evaluation,
    rank,
)


def fold(
    condition: Condition,
    events: Iterable[AlertEvent] = (),
    evaluations: Iterable[Evaluation] = (),
) -> AlertState:
    """The state of one alert.

    Args:
        condition: What it is about.
        events: All its events, in any order.
        evaluations: What scans found of the condition, oldest first.
    """
    state = AlertState(condition=condition)
    for event in sorted(events, key=lambda event: (event.episode, event.seq)):
        state = applied(state, event)
    for evaluation in evaluations:
        state = observed(state, evaluation)
    return state


def reach(counts: Counts) -> int:
    """How far back evaluations matter: so many of the last, and so many of the last known ones.

    A longer history gives longer rows, but no other answer to "is the row long enough?".
    """
    return max(FLAPPING_SCANS, counts.raise_after, counts.clear_after, counts.unknown_after)


def observed(state: AlertState, evaluation: Evaluation) -> AlertState:
    """Count an evaluation.

    A breach ends a row of recovered values, a recovered value a row of breaches, and a value in
    the band between limit and clear limit both; an unknown verdict neither raises nor clears, so
    it leaves both rows as they are.
    """
    scans = (*state.scans, evaluation.scan.scan_id)[-FLAPPING_SCANS:]
    if evaluation.verdict == UNKNOWN:
        return replace(state, scans=scans)
    return replace(
        state,
        scans=scans,
        breaches=state.breaches + 1 if evaluation.verdict == BREACH else 0,
        clears=state.clears + 1 if evaluation.recovered else 0,
    )


def applied(state: AlertState, event: AlertEvent) -> AlertState:
    """Let an event happen to an alert."""
    after = replace(state, seq=event.seq, severity=event.severity)
    match event.kind:
        case "pending":
            after = _begun(after, event, PENDING)
        case "opened":
            openings = (*state.openings, str(event.scan_id))[-FLAPPING_OPENINGS:]
            after = _told(replace(_begun(after, event, FIRING), openings=openings), event)
        case "escalated":
            peak = max(state.peak, event.severity, key=rank)
            after = _told(replace(after, peak=peak), event)
        case "reminder":
            after = _told(after, event)
        case "flapping":
            after = replace(after, marked_in=event.scan_id)
        case "acknowledged":
            after = replace(after, acknowledged=True)
        case "snoozed":
            after = replace(after, snoozed_until=event.until)
        case "resolved":
            after = replace(
                after,
                state=RESOLVED,
                resolved_at=event.occurred_at,
                resolve_reason=event.reason,
                withheld=False,
            )
    return after


def _begun(state: AlertState, event: AlertEvent, phase: str) -> AlertState:
    """Enter a phase; of a new episode nothing of the one before is left but its snooze."""
    entered = replace(
        state, state=phase, peak=event.severity, opened_at=event.occurred_at, episode=event.episode
    )
    if event.episode == state.episode:
        return entered
    return replace(
        entered,
        acknowledged=False,
        resolved_at=None,
        resolve_reason=None,
        told=False,
        withheld=False,
    )


def _told(state: AlertState, event: AlertEvent) -> AlertState:
    if state.is_quiet(event.occurred_at):
        return replace(state, withheld=True)
    return replace(state, told=True, told_at=event.occurred_at, withheld=False)
