"""What the watch says: rules of the drift scan, open alerts, notices given up, the judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from crucible_batch.report import words
from crucible_batch.report.evaluations import (
    GLYPHS,
    about,
    by_weight,
    limit_text,
    number_text,
    support_text,
)
from crucible_batch.report.facts import badge
from crucible_batch.report.figures import Badge, Figure
from crucible_batch.report.inputs import ReportInputs
from crucible_batch.report.lines import Row
from crucible_batch.settings.durations import age

MOST = 20
"""Rows listed of each kind; the others are counted."""

TONES = {"breach": "bad", "unknown": "warn", "ok": "good"}
SEVERITIES = {
    "critical": words.Mark("✕", "critical", "bad"),
    "warn": words.Mark("!", "warn", "warn"),
}
GIVEN_UP = {
    "dead": words.Mark("✕", "dead", "bad"),
    "disabled": words.Mark("✕", "disabled", "bad"),
}
"""Deliveries that are over without having arrived."""


@dataclass(frozen=True)
class Rule:
    """A rule as a scan judged it."""

    verdict: Badge
    rule_id: str
    about: str
    statistic: str
    value: Figure
    limit: str
    support: str
    reason: str


@dataclass(frozen=True)
class Alert:
    """An alert that is not over."""

    severity: Badge
    state: str
    alert: str
    rule_id: str
    labels: str
    opened: str
    quiet: str


@dataclass(frozen=True)
class DeadDelivery:
    """A notice that an endpoint never took."""

    state: Badge
    endpoint: str
    event: str
    event_id: str
    n_tries: Figure
    last_at: str
    why: str


@dataclass(frozen=True)
class Judge:
    """A judge on its anchors in their last night."""

    judge: str
    as_of: str
    n_anchors: Figure
    n_failed: Figure
    n_flips: Figure
    p_flip: Figure
    e_value: Figure
    verdict: Badge


@dataclass(frozen=True)
class Watched:
    """What is watched beside the metrics.

    Attributes:
        scan: When the last scan was, and its verdicts counted; empty without one.
        rules: Its rules, those first that need a look.
        alerts: Open alerts, critical ones first, then the oldest.
        n_alerts: How many are open.
        dead: Notices given up, by endpoint.
        n_dead: How many were.
        judges: The judges of the anchors.
    """

    scan: str
    rules: tuple[Rule, ...]
    alerts: tuple[Alert, ...]
    n_alerts: int
    dead: tuple[DeadDelivery, ...]
    n_dead: int
    judges: tuple[Judge, ...]


def watched(inputs: ReportInputs) -> Watched | None:
    """The watch, as of the report; None where nothing was ever watched."""
    rows = by_weight(inputs.drift_evaluations.to_dicts())
    alerts = inputs.alerts.filter(pl.col("state") != "resolved").sort("opened_at", "fingerprint")
    order = list(SEVERITIES).index
    open_ = sorted(alerts.iter_rows(named=True), key=lambda row: order(row["severity"]))
    dead = inputs.dead_deliveries.sort("endpoint", "last_at", "event_id").rows(named=True)
    judges = inputs.judge_drift.sort("judge", "as_of").unique("judge", keep="last")
    if not (rows or dead or inputs.alerts.height or judges.height):
        return None
    known = {row["fingerprint"]: row for row in inputs.alerts.iter_rows(named=True)}
    return Watched(
        scan=_scan(rows),
        rules=tuple(map(_rule, rows)),
        alerts=tuple(_alert(row, inputs.as_of) for row in open_[:MOST]),
        n_alerts=len(open_),
        dead=tuple(_dead(row, known) for row in dead[:MOST]),
        n_dead=len(dead),
        judges=tuple(map(_judge, judges.sort("judge").iter_rows(named=True))),
    )


def _scan(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return ""
    verdicts = [row["verdict"] for row in rows]
    counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in GLYPHS)
    return f"scan as of {_instant(rows[0]['as_of'])}: {counted}"


def _rule(row: dict[str, Any]) -> Rule:
    verdict, severity = row["verdict"], row["severity"]
    tone = "warn" if severity == "warn" else TONES[verdict]
    word = f"{verdict}, {severity}" if severity else verdict
    return Rule(
        verdict=Badge(GLYPHS[verdict], word, tone),
        rule_id=row["rule_id"],
        about=about(row),
        statistic=row["statistic"],
        value=Figure(row["value"], number_text(row, row["value"])),
        limit=limit_text(row),
        support=support_text(row),
        reason=row["reason"] or "",
    )


def _alert(row: Row, as_of: datetime | None) -> Alert:
    opened = row["opened_at"]
    since = f" ({age(as_of - opened)})" if as_of and as_of > opened else ""
    again = f", episode {row['episode']}" if row["episode"] > 1 else ""
    until = row["snoozed_until"]
    quiet = [
        "somebody has it" if row["acknowledged"] else "",
        f"snoozed until {_instant(until)}" if until else "",
    ]
    return Alert(
        severity=badge(SEVERITIES[row["severity"]]),
        state=row["state"],
        alert=row["fingerprint"][:12],
        rule_id=row["rule_id"],
        labels=about(row),
        opened=f"{_instant(opened)}{since}{again}",
        quiet=", ".join(filter(None, quiet)),
    )


def _dead(row: Row, known: Mapping[str, Row]) -> DeadDelivery:
    alert = known.get(row["fingerprint"])
    of = f" of {alert['rule_id']}" if alert else ""
    status = f"HTTP {row['last_status']}" if row["last_status"] is not None else ""
    why = [status, words.shortened(row["last_error"] or "")]
    return DeadDelivery(
        state=badge(GIVEN_UP[row["state"]]),
        endpoint=row["endpoint"],
        event=f"{row['kind']} ({row['severity']}){of}",
        event_id=row["event_id"],
        n_tries=Figure(row["n_tries"], f"{row['n_tries']:,}"),
        last_at=_instant(row["last_at"]),
        why=": ".join(dict.fromkeys(filter(None, why))),
    )


def _judge(row: Row) -> Judge:
    alarm = row["alarm"]
    tone = "warn" if row["attribution"] == "unattributed" else "bad" if alarm else "good"
    word = f"{'alarm' if alarm else 'quiet'}, {row['attribution']}"
    return Judge(
        judge=row["judge"],
        as_of=_instant(row["as_of"]),
        **{
            name: Figure(row[name], words.decimal(row[name], 0))
            for name in ("n_anchors", "n_failed", "n_flips")
        },
        p_flip=Figure(row["p_flip"], words.probability(row["p_flip"])),
        e_value=Figure(row["e_value"], words.decimal(row["e_value"], 2)),
        verdict=Badge("✕" if tone == "bad" else "?" if tone == "warn" else "✓", word, tone),
    )


def _instant(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC" if moment else words.DASH
