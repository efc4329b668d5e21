"""The event ids and the frozen bytes of notices, and events read back from their rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from crucible_batch.watch.alert_model import (
    AlertEvent,
    AlertState,
    Condition,
    Measure,
    canonical_json,
)

TYPE = "crucible.alert."
"""Beginning of the `type` of every notice; the kind of the event follows."""


def event_id(scan_id: str | None, fingerprint: str, episode: int, seq: int, kind: str) -> str:
    """Return `evt_` + 32 hex digits: the `webhook-id`, so without a full stop (Standard Webhooks).

    Nothing in it depends on a clock or a process: a scan that is done again makes the same ids.
    """
    parts = canonical_json([1, scan_id, fingerprint, episode, seq, kind])
    return f"evt_{hashlib.sha256(parts.encode()).hexdigest()[:32]}"


def instant_text(moment: datetime | None) -> str | None:
    """An instant as ISO 8601 in UTC, with a Z."""
    return None if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def payload(
    event: AlertEvent,
    *,
    before: AlertState,
    after: AlertState,
    measure: Measure,
    more: Mapping[str, object],
) -> str:
    """What the notice of an event says, as bytes that never change.

    Args:
        event: The event.
        before: The alert before it.
        after: The alert after it.
        measure: What was compared.
        more: What only this kind of event says.

    Returns:
        `{"type", "timestamp", "data"}` as canonical JSON. `data` is thin: ids, state, measure; it
        always has the same keys, null where nothing is known.
    """
    condition = event.condition
    data = {
        "event_id": event.event_id,
        "workspace_id": condition.workspace_id,
        "alert": condition.fingerprint,
        "rule_id": condition.rule_id,
        "labels": dict(condition.labels),
        "scan_id": event.scan_id,
        "episode": event.episode,
        "seq": event.seq,
        "state": after.state,
        "severity": event.severity,
        "previous_severity": before.severity if before.is_open else None,
        "opened_at": instant_text(after.opened_at),
        "resolved_at": instant_text(after.resolved_at),
        "resolve_reason": after.resolve_reason,
        "acknowledged": after.acknowledged,
        "snoozed_until": instant_text(after.snoozed_until),
        "flapping": False,
        "author": None,
        "note": None,
        **vars(measure),
        **more,
    }
    told_at = instant_text(event.occurred_at)
    return canonical_json({"type": TYPE + event.kind, "timestamp": told_at, "data": data})


def event_row(event: AlertEvent) -> dict[str, Any]:
    """The row of `alert_events`."""
    return {
        "workspace_id": event.condition.workspace_id,
        "event_id": event.event_id,
        "fingerprint": event.condition.fingerprint,
        "episode": event.episode,
        "seq": event.seq,
        "kind": event.kind,
        "severity": event.severity,
        "scan_id": event.scan_id,
        "payload": event.payload,
        "occurred_at": event.occurred_at,
    }


def read_event(row: Mapping[str, Any]) -> AlertEvent:
    """The event of a row of `alert_events`."""
    data = json.loads(row["payload"])["data"]
    until = data["snoozed_until"]
    return AlertEvent(
        event_id=row["event_id"],
        condition=Condition.of(row["workspace_id"], data["rule_id"], data["labels"]),
        episode=row["episode"],
        seq=row["seq"],
        kind=row["kind"],
        severity=row["severity"],
        scan_id=row["scan_id"],
        occurred_at=row["occurred_at"],
        reason=data["resolve_reason"],
        until=None if until is None else datetime.fromisoformat(until),
        payload=row["payload"],
    )
