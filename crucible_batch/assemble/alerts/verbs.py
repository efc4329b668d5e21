"""What people do with alerts: look at them, take them, quieten them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from crucible_batch.assemble.alerts.scan import EVALUATIONS
from crucible_batch.assemble.alerts.stored import EVENTS, fold_alerts, states_of
from crucible_batch.assemble.deliver.outbox import outbox
from crucible_batch.assemble.prefix import by_prefix
from crucible_batch.errors import UsageError
from crucible_batch.store import Committed, Plan, Snapshot, Store, combined_hash
from crucible_batch.watch.alert_model import BREACH, RESOLVED, AlertEvent, AlertState
from crucible_batch.watch.alert_payload import event_row
from crucible_batch.watch.alerts import acknowledge, snooze

LONGEST_NOTE = 2_000
"""Characters of a note: it travels in the notices' history, which stay small."""

_LIST = "crucible alerts list --all shows them."
Deed = Callable[[AlertState, datetime], AlertEvent | None]


@dataclass(frozen=True, kw_only=True)
class AlertDetail:
    """All there is about one alert.

    Attributes:
        alert: Its row of `alerts`.
        events: Its rows of `alert_events`, oldest first.
        deliveries: What endpoints are owed of it: event_id, kind, endpoint, state, attempts,
            due_at, last_status, last_error; oldest first.
    """

    alert: dict[str, Any]
    events: pl.DataFrame
    deliveries: pl.DataFrame


def list_alerts(snapshot: Snapshot, *, resolved: bool = False) -> pl.DataFrame:
    """The rows of `alerts`, critical ones first, then the oldest.

    Args:
        snapshot: What is visible.
        resolved: Also those that are over.
    """
    alerts = fold_alerts(_events(snapshot))
    shown = alerts if resolved else alerts.filter(pl.col("state") != RESOLVED)
    over = (pl.col("state") == RESOLVED).alias("over")
    return shown.sort(over, "severity", "opened_at", "fingerprint")  # critical sorts before warn


def kept_back(snapshot: Snapshot) -> tuple[str, ...]:
    """What the last scan found in breach and `max_open` left without an alert, a line per rule."""
    stored = snapshot.read(EVALUATIONS.name)
    scans = stored.select("as_of", "_commit", "scan_id").unique().collect(engine="streaming")
    if scans.is_empty():
        return ()
    last = scans.sort("as_of", "_commit", "scan_id")["scan_id"][-1]
    breaches = stored.filter(pl.col("scan_id") == last, pl.col("verdict") == BREACH)
    rows = breaches.select("rule_id", "labels").collect()
    alerts = list_alerts(snapshot).select("rule_id", "labels")
    without = rows.join(alerts, on=["rule_id", "labels"], how="anti")
    return tuple(
        f"rule {rule}: {n:,} more in breach, without an alert of their own (max_open)"
        for rule, n in without.group_by("rule_id").len().sort("rule_id").iter_rows()
    )


def show_alert(snapshot: Snapshot, alert: str) -> AlertDetail:
    """One alert with its history and its deliveries.

    Args:
        snapshot: What is visible.
        alert: Its fingerprint, or the first six or more characters of it.

    Raises:
        UnknownNameError: There is no such alert.
        UsageError: Several begin like this.
    """
    events = _events(snapshot)
    key = _named(events, alert)
    own = events.filter(pl.col("fingerprint") == key).sort("episode", "seq")
    owed = outbox(snapshot).filter(pl.col("fingerprint") == key)
    return AlertDetail(
        alert=fold_alerts(own).row(0, named=True),
        events=own,
        deliveries=owed.sort("episode", "seq", "endpoint"),
    )


def alert_history(snapshot: Snapshot, alert: str | None = None) -> pl.DataFrame:
    """Events of every alert, or of one, oldest first.

    Returns:
        occurred_at, kind, severity, rule_id, labels, fingerprint, episode, seq, reason, author,
        note, scan_id, event_id.

    Raises:
        UnknownNameError: There is no such alert.
        UsageError: Several begin like this.
    """
    events = _events(snapshot)
    if alert is not None:
        events = events.filter(pl.col("fingerprint") == _named(events, alert))
    data = {
        name: pl.col("payload").str.json_path_match(f"$.data.{path}").alias(name)
        for name, path in (
            ("rule_id", "rule_id"),
            ("labels", "labels"),
            ("reason", "resolve_reason"),
            ("author", "author"),
            ("note", "note"),
        )
    }
    return events.sort("occurred_at", "fingerprint", "episode", "seq").select(
        *("occurred_at", "kind", "severity", data["rule_id"], data["labels"], "fingerprint"),
        *("episode", "seq", data["reason"], data["author"], data["note"], "scan_id", "event_id"),
    )


def acknowledge_alert(
    store: Store, workspace: str, alert: str, *, author: str, note: str | None = None
) -> Committed:
    """Say that somebody has an alert: nobody is told of it again before it ends.

    Args:
        store: The store.
        workspace: Its workspace.
        alert: Its fingerprint, or the beginning of it.
        author: Who has it.
        note: A remark.

    Returns:
        The commit; `created` is false when somebody has it already.

    Raises:
        UnknownNameError: There is no such alert.
        UsageError: It is over, or a text cannot be used.
    """

    def deed(state: AlertState, now: datetime) -> AlertEvent | None:
        return acknowledge(state, author=author, note=note, now=now)

    return _done(store, workspace, alert, deed, kind="alert.acknowledge", said=(author, note))


def snooze_alert(
    store: Store,
    workspace: str,
    alert: str,
    *,
    until: datetime,
    author: str,
    note: str | None = None,
) -> Committed:
    """Tell nobody of an alert before `until`; a time that is past ends an earlier snooze.

    It goes on being watched. If it still fires at the first scan after that time, a reminder says
    what was kept back.

    Args:
        store: The store.
        workspace: Its workspace.
        alert: Its fingerprint, or the beginning of it.
        until: End of the quiet, UTC; held against the as_of of scans.
        author: Who says so.
        note: A remark.

    Returns:
        The commit; `created` is false when it is snoozed until then already.

    Raises:
        UnknownNameError: There is no such alert.
        UsageError: It is over, or a text cannot be used.
    """

    def deed(state: AlertState, now: datetime) -> AlertEvent | None:
        return snooze(state, until=until, author=author, note=note, now=now)

    said = (author, note)
    return _done(store, workspace, alert, deed, kind="alert.snooze", said=said)


def _done(
    store: Store,
    workspace: str,
    alert: str,
    deed: Deed,
    *,
    kind: str,
    said: tuple[str, str | None],
) -> Committed:
    _check_texts(*said)
    opened = store.workspace(workspace)
    now = opened.now()

    def event(snapshot: Snapshot) -> AlertEvent | None:
        events = _events(snapshot)
        key = _named(events, alert)
        state = states_of(events.filter(pl.col("fingerprint") == key))[key]
        if not state.is_open:
            raise UsageError(f"Alert {key[:12]} is over", fix=_LIST)
        return deed(state, now)

    def decide(snapshot: Snapshot) -> Plan:
        found = event(snapshot)
        if found is None:
            return Plan()
        return Plan(events={EVENTS.name: pl.DataFrame([event_row(found)], schema=EVENTS.schema)})

    first = event(opened.snapshot())
    content = {"event": first and first.event_id, "payload": first and first.payload}
    return opened.commit(decide, kind=kind, idempotency_key=f"{kind}-{combined_hash(content)[:24]}")


def _check_texts(author: str, note: str | None) -> None:
    problems = [] if author.strip() else ["the author is blank"]
    if note is not None and not note.strip():
        problems.append("the note is blank")
    if len(note or "") > LONGEST_NOTE:
        problems.append(f"the note has {len(note or ''):,} characters, more than {LONGEST_NOTE:,}")
    if problems:
        raise UsageError(
            "It cannot be said like this", problems=problems, fix="shorten or leave out."
        )


def _events(snapshot: Snapshot) -> pl.DataFrame:
    return snapshot.read(EVENTS.name).drop("_commit").collect()


def _named(events: pl.DataFrame, alert: str) -> str:
    return by_prefix("alert", alert, set(events["fingerprint"]), fix=_LIST)
