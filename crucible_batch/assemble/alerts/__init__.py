"""Alerts on a store: folded from their events, moved on by scans, quietened by people."""

from __future__ import annotations

from crucible_batch.assemble.alerts.follow import alerts_follow
from crucible_batch.assemble.alerts.scan import AlertTables, alert_tables, evaluation_of
from crucible_batch.assemble.alerts.stored import fold_alerts, labels_text
from crucible_batch.assemble.alerts.verbs import (
    AlertDetail,
    acknowledge_alert,
    alert_history,
    kept_back,
    list_alerts,
    show_alert,
    snooze_alert,
)

__all__ = [
    "AlertDetail",
    "AlertTables",
    "acknowledge_alert",
    "alert_history",
    "alert_tables",
    "alerts_follow",
    "evaluation_of",
    "fold_alerts",
    "kept_back",
    "labels_text",
    "list_alerts",
    "show_alert",
    "snooze_alert",
]
