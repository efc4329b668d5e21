"""Alerts as they are stored: events read back, states folded from them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import polars as pl

from crucible_batch.contracts import TABLES
from crucible_batch.store import canonical_json
from crucible_batch.watch.alert_fold import fold
from crucible_batch.watch.alert_model import AlertEvent, AlertState, Condition, Evaluation
from crucible_batch.watch.alert_payload import read_event

ALERTS, EVENTS = TABLES["alerts"], TABLES["alert_events"]


def fold_alerts(events: pl.DataFrame) -> pl.DataFrame:
    """The table `alerts`: where every alert stands.

    Args:
        events: Rows of `alert_events`, in any order.

    Returns:
        One row per alert, by fingerprint.
    """
    rows = [alert_row(state) for state in states_of(events).values()]
    return pl.DataFrame(rows, schema=ALERTS.schema).sort("fingerprint")


def states_of(
    events: pl.DataFrame, evaluations: Iterable[Evaluation] = ()
) -> dict[str, AlertState]:
    """State of every alert, by fingerprint.

    Args:
        events: Rows of `alert_events`, in any order.
        evaluations: What scans found, oldest first. Without them the state is right but for what
            is counted in a row.

    Returns:
        A state per condition that has an event or an evaluation.
    """
    happened: dict[str, list[AlertEvent]] = {}
    found: dict[str, list[Evaluation]] = {}
    conditions: dict[str, Condition] = {}
    for row in events.iter_rows(named=True):
        event = read_event(row)
        conditions[row["fingerprint"]] = event.condition
        happened.setdefault(row["fingerprint"], []).append(event)
    for evaluation in evaluations:
        for one in (evaluation, evaluation.of_the_unknown()):
            key = one.condition.fingerprint
            conditions[key] = one.condition
            found.setdefault(key, []).append(one)
    return {
        key: fold(condition, happened.get(key, ()), found.get(key, ()))
        for key, condition in conditions.items()
    }


def alert_row(state: AlertState) -> dict[str, Any]:
    """The row of `alerts`."""
    condition = state.condition
    return {
        "workspace_id": condition.workspace_id,
        "fingerprint": condition.fingerprint,
        "rule_id": condition.rule_id,
        "labels": canonical_json(dict(condition.labels)),
        "state": state.state,
        "severity": state.severity,
        "acknowledged": state.acknowledged,
        "episode": state.episode,
        "opened_at": state.opened_at,
        "resolved_at": state.resolved_at,
        "resolve_reason": state.resolve_reason,
        "snoozed_until": state.snoozed_until,
    }


def labels_text(labels: str) -> str | None:
    """Labels, canonical JSON, as people read them: `entity_type=person`; None if there are none."""
    pairs = sorted(json.loads(labels).items())
    return ", ".join(f"{name}={value}" for name, value in pairs) or None
