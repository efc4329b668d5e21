"""What follows from a drift scan: alerts and deliveries, in the commit of its evaluations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from crucible_batch.assemble.alerts.scan import alert_tables, evaluation_of
from crucible_batch.assemble.drift import Follow, ScanFacts
from crucible_batch.settings import Settings, load_settings
from crucible_batch.settings.thresholds import Threshold
from crucible_batch.store import Plan, Snapshot, Store
from crucible_batch.watch import thresholds
from crucible_batch.watch.alert_model import Counts, Evaluation, Scan
from crucible_batch.watch.measured import Measured


def alerts_follow(store: Store, workspace: str) -> Follow:
    """What `scan_drift` commits beside its evaluations, by the settings of the workspace.

    Raises:
        UnknownNameError: No such workspace.
        UsageError: A settings file cannot be used.
    """
    return follow(load_settings(store.root, workspace), store.workspace(workspace).now())


def follow(settings: Settings, now: datetime) -> Follow:
    """The same, by settings as they are given.

    Args:
        settings: Rules and endpoints.
        now: When the deliveries are written; they are due at once.
    """
    rules = {rule.id: rule for rule in settings.rules}

    def understood(row: Mapping[str, Any]) -> Evaluation | None:
        return _understood(row, rules.get(row["rule_id"]))

    def tables(lake: Snapshot, facts: ScanFacts, found: Sequence[thresholds.Evaluation]) -> Plan:
        done = alert_tables(
            lake,
            Scan(scan_id=facts.scan_id, as_of=facts.as_of),
            [one for row in facts.rows(found) if (one := understood(row))],
            rules=rules,
            understood=understood,
            webhooks=settings.webhooks,
            now=now,
        )
        return Plan(events=done.events, messages=done.messages)

    return tables


def _understood(row: Mapping[str, Any], rule: Threshold | None) -> Evaluation | None:
    """A row of `drift_evaluations` by its rule as it is now; None: that measures something else."""
    if rule is None or rule.statistic != row["statistic"]:
        return None
    again = thresholds.Evaluation(
        rule=rule,
        measured=Measured(
            value=row["value"], labels=json.loads(row["labels"]), critical=row["critical"]
        ),
        limit=next(iter(rule.limits.values())),
        verdict=row["verdict"],
        severity=row["severity"],
        reason=row["reason"],
    )
    held = next((severity for severity in rule.limits if not again.is_clear(severity)), None)
    return evaluation_of(
        row,
        held=None if row["verdict"] == "unknown" else held,
        counts=Counts(
            raise_after=rule.raise_after,
            clear_after=rule.clear_after,
            unknown_after=rule.unknown_after,
            renotify_after=rule.renotify_after,
            max_open=rule.max_open,
        ),
    )
