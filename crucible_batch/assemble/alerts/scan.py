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
from crucible_batch.store import Snapshot, canonical_json
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

_ORDER = ("as_of", "_commit", "scan_id")
"""Order of scans: their time, of several at one time that of their commits."""

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
    stored = snapshot.read(EVALUATIONS.name)
    there = stored.select(
        done=(pl.col("scan_id") == scan.scan_id).any(),
        newest=pl.col("as_of").max(),
    ).collect(engine="streaming")
    done_already, newest = there.row(0)
    if done_already:
        return AlertTables()
    if newest is not None and newest > scan.as_of:
        said = f"alerts stay as they are: a scan as of {newest.isoformat()} has moved them on"
        return AlertTables(messages=(f"{said} already",))
    far = max((reach(one.counts) for one in evaluations), default=1)
    conditions = [one.condition for one in evaluations]
    rows = recent_evaluations(stored, conditions, far).iter_rows(named=True)
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


def recent_evaluations(
    stored: pl.LazyFrame, conditions: Collection[Condition], far: int
) -> pl.DataFrame:
    """What of the past these conditions depend on; the rest of it is not held in memory.

    The last scans are read, and of earlier ones what conditions lack that they did not evaluate, or
    found unknown.

    Args:
        stored: Rows of `drift_evaluations`, with `_commit`, in any order.
        conditions: Those that are evaluated now.
        far: How many evaluations matter; see `alert_fold.reach`.

    Returns:
        At least the last so many evaluations of each, and the last so many that are known; oldest
        first.
    """
    scans = stored.select(_ORDER).unique().collect(engine="streaming").sort(_ORDER)
    if scans.is_empty():
        return stored.clear().collect()
    since = pl.lit(scans["as_of"].tail(far)[0])
    about, known = ["rule_id", "labels"], pl.col("verdict") != UNKNOWN
    near = stored.filter(pl.col("as_of") >= since).collect()
    wanted = pl.DataFrame(
        [(one.rule_id, canonical_json(dict(one.labels))) for one in conditions],
        schema=dict.fromkeys(about, pl.String),
        orient="row",
    )
    seen = near.group_by(about).agg(n=pl.len(), n_known=known.sum())
    short = (
        wanted.join(seen, on=about, how="left")
        .with_columns(pl.col("n", "n_known").fill_null(0))
        .filter(pl.col("n_known") < far)
        .select(*about, rare=pl.col("n") < far)
    )
    before = (
        stored.filter(pl.col("as_of") < since)
        .join(short.lazy(), on=about)
        .filter(known | pl.col("rare"))
        .drop("rare")
        .collect(engine="streaming")
    )
    return pl.concat([before.select(near.columns), near]).sort(*_ORDER, *about)


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
