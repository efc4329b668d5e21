"""What a scan writes of alerts: their events, and one delivery per event and endpoint.

Called by whoever commits the scan, with the snapshot the commit is decided on, so that evaluations,
events and deliveries lie in one commit and a lost race is decided again from what is there now.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import polars as pl

from crucible_batch.assemble.alerts.stored import EVENTS, states_of
from crucible_batch.contracts import TABLES
from crucible_batch.settings.webhooks import Webhook
from crucible_batch.store import Snapshot
from crucible_batch.watch.alert_fold import reach
from crucible_batch.watch.alert_model import (
    UNKNOWN,
    AlertEvent,
    Condition,
    Counts,
    Evaluation,
    Measure,
    Scan,
    rank,
)
from crucible_batch.watch.alert_payload import event_row
from crucible_batch.watch.alerts import advance

EVALUATIONS, DELIVERIES = TABLES["drift_evaluations"], TABLES["deliveries"]

ENDPOINT_LABEL = "endpoint"
"""Label of an alert about an endpoint; that endpoint is not told of it, the others are."""

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class AlertTables:
    """What a scan appends.

    Attributes:
        events: Rows by table: alert_events and deliveries; no table without rows.
        messages: What a person should know.
    """

    events: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    messages: tuple[str, ...] = ()


def evaluation_of(row: Row, *, held: str | None, counts: Counts) -> Evaluation:
    """Build an evaluation from a row of `drift_evaluations` and its rule.

    Args:
        row: The row, of this scan or an earlier one.
        held: Highest severity whose clear limit the row's value has not come back past, by the
            rule as it is now; see `Evaluation.held`. A stored breach is held at least by its own
            severity, whatever the rule says now.
        counts: Counts of the rule.
    """
    severity = row["severity"] if row["verdict"] == "breach" else None
    return Evaluation(
        scan=Scan(scan_id=row["scan_id"], as_of=row["as_of"]),
        condition=Condition.of(row["workspace_id"], row["rule_id"], json.loads(row["labels"])),
        verdict=row["verdict"],
        severity=severity,
        held=max(held, severity, key=rank),
        counts=counts,
        measure=Measure(
            statistic=row["statistic"],
            value=row["value"],
            operator=row["operator"],
            threshold=row["threshold"],
            reason=row["reason"],
        ),
    )


def alert_tables(
    snapshot: Snapshot,
    scan: Scan,
    evaluations: Sequence[Evaluation],
    *,
    rules: Collection[str],
    understood: Callable[[Row], Evaluation | None],
    webhooks: Sequence[Webhook],
    now: datetime,
) -> AlertTables:
    """Let a scan happen to the alerts of a workspace.

    Args:
        snapshot: What is committed; the scan is not.
        scan: The scan.
        evaluations: What it found, one per rule and labels; every rule that is there should speak.
        rules: Ids of the rules that are there.
        understood: Reads a stored row of `drift_evaluations`; None where its rule is gone.
        webhooks: Endpoints.
        now: When the deliveries are written; they are due at once.

    Returns:
        The rows to commit beside the evaluations. None when the scan is committed already, and
        none when a scan of a later time is: alerts never go back in time.
    """
    stored = snapshot.read(EVALUATIONS.name).sort("as_of", "_commit", "scan_id", *EVALUATIONS.key)
    past = stored.collect()
    if not past.filter(pl.col("scan_id") == scan.scan_id).is_empty():
        return AlertTables()
    later = past.filter(pl.col("as_of") > scan.as_of)
    if not later.is_empty():
        newest = later["as_of"][-1].isoformat()
        said = f"alerts stay as they are: a scan as of {newest} has moved them on already"
        return AlertTables(messages=(said,))
    far = max((reach(one.counts) for one in evaluations), default=1)
    rows = _recent(past, far).iter_rows(named=True)
    before = [one for row in rows if (one := understood(row))]
    states = states_of(snapshot.read(EVENTS.name).drop("_commit").collect(), before)
    done = advance(states, evaluations, scan, rules=rules)
    tables = {
        EVENTS.name: pl.DataFrame([event_row(e) for e in done.events], schema=EVENTS.schema),
        DELIVERIES.name: _fan_out(done.events, webhooks, now),
    }
    return AlertTables(
        events={name: frame for name, frame in tables.items() if len(frame)},
        messages=tuple(
            f"rule {rule}: {n:,} more in breach, without an alert of their own (max_open)"
            for rule, n in sorted(done.withheld.items())
        ),
    )


def wants(webhook: Webhook, event: AlertEvent) -> bool:
    """Whether an endpoint is told of an event."""
    if event.notify is None or event.kind not in webhook.events:
        return False
    is_about_it = (ENDPOINT_LABEL, webhook.name) in event.condition.labels
    return rank(event.notify) >= rank(webhook.min_severity) and not is_about_it


def _recent(past: pl.DataFrame, far: int) -> pl.DataFrame:
    """Per rule and labels the last so many evaluations, and the last so many that are known."""
    known = pl.col("verdict") != UNKNOWN
    after = pl.int_range(pl.len(), 0, -1).over("rule_id", "labels")
    known_after = known.cum_sum(reverse=True).over("rule_id", "labels")
    return past.filter((after <= far) | (known & (known_after <= far)))


def _fan_out(
    events: Sequence[AlertEvent], webhooks: Sequence[Webhook], now: datetime
) -> pl.DataFrame:
    rows = [
        {
            "workspace_id": event.condition.workspace_id,
            "event_id": event.event_id,
            "endpoint": webhook.name,
            "due_at": now,
            "created_at": now,
        }
        for event in events
        for webhook in webhooks
        if wants(webhook, event)
    ]
    return pl.DataFrame(rows, schema=DELIVERIES.schema)
