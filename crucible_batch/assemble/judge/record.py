"""From a reply to the rows it becomes, and the commit of many of them.

A record is one target's reply as JSON values: its row of `judge_calls`, and the rows of other
tables it leads to. Records go through a journal, so they hold all that the commit needs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import polars as pl

from crucible_batch.assemble.judge.plan import Task
from crucible_batch.assemble.judge.target import frame
from crucible_batch.assemble.qrels import plan_qrels, snapshot_lanes
from crucible_batch.contracts import TABLES
from crucible_batch.contracts.table import Kind
from crucible_batch.judges.question import Reply
from crucible_batch.store import About, Counts, Plan, Snapshot, Workspace, canonical_json, key_hash

Record = dict[str, list[dict[str, Any]]]
"""Rows by table."""

CHANGED = "judged again"


def record(task: Task, reply: Reply, now: datetime) -> Record:
    """Rows of one target's reply, times as ISO text.

    Args:
        task: What was asked.
        reply: What came of it.
        now: When it came.
    """
    rows: Record = {"judge_calls": [_call(task, reply, now)]}
    if reply.status == "failed":
        return rows
    if task.old is not None:
        rows["judgment_overrides"] = _overrides(task, reply, now)
    elif (row := _judged(task, reply, now)) is not None:
        rows[task.target.judgment.table] = [row]
    return rows


def _call(task: Task, reply: Reply, now: datetime) -> dict[str, Any]:
    row = task.target.row
    kind, key = task.target.judgment.kind, task.target.key
    parts: list[object] = [row["judge"], kind, key, task.input_hash]
    # A call that is made again has a row of its own.
    parts += [task.n_before] if task.n_before else []
    return {
        "workspace_id": row["workspace_id"],
        "call_id": key_hash("c", 26, parts),
        "kind": kind,
        "target_key": key,
        "judge": row["judge"],
        "input_hash": task.input_hash,
        "status": reply.status,
        "raw": reply.raw,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "cost_usd": reply.cost_usd,
        "created_at": now.isoformat(),
    }


def _judged(task: Task, reply: Reply, now: datetime) -> dict[str, Any] | None:
    """The row of the judgment; a malformed grade has none, because nothing was said."""
    row = {**task.target.row, **reply.values}
    match task.target.judgment.kind:
        case "qrel":
            return {**row, "created_at": now.isoformat()} if reply.values else None
        case "assertion":
            return {"verdict": "malformed", **row, "raw": reply.raw}
        case _:
            return row


def _overrides(task: Task, reply: Reply, now: datetime) -> list[dict[str, Any]]:
    """One override per column the judge sees otherwise now; a malformed reply changes nothing."""
    judgment, row, old = task.target.judgment, task.target.row, task.old or {}
    return [
        {
            "workspace_id": row["workspace_id"],
            "override_id": key_hash(
                "o", 26, [judgment.table, task.target.key, column, task.input_hash, task.n_before]
            ),
            "target_table": judgment.table,
            "target_column": column,
            "target_key": task.target.key,
            "old": _text(old[column]),
            "new": _text(value),
            "author": row["judge"],
            "reason": CHANGED,
            "created_at": now.isoformat(),
        }
        for column, value in reply.values.items()
        if old[column] != value
    ]


def _text(value: object) -> str:
    """A value as an override holds it."""
    return value if isinstance(value, str) else canonical_json(value)


def commit_records(
    workspace: Workspace, records: Sequence[Record], *, actor: str, settings_hash: str = ""
) -> None:
    """Append what records say, in one transaction; rows that are there already are left out.

    Args:
        workspace: Where to.
        records: In any order; of one command.
        actor: Who judged, for the audit log.
        settings_hash: SHA-256 of the settings.
    """
    if not records:
        return
    tables: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in records:
        for name, rows in one.items():
            tables[name] += rows
    frames = {name: frame(name, _timed(name, rows)) for name, rows in tables.items()}

    def decide(snapshot: Snapshot) -> Plan:
        events = {
            name: _fresh(snapshot, name, rows) for name, rows in frames.items() if name != "qrels"
        }
        audit = [_audit(events.get("judgment_overrides"))]
        if "qrels" in frames:
            offered = frames["qrels"]
            lanes = snapshot_lanes(snapshot, offered)
            plan = plan_qrels(lanes, offered, actor=actor, now=workspace.now())
            events["qrels"] = plan.fresh
            audit.append(plan.audit)
        events["audit_log"] = _fresh(snapshot, "audit_log", pl.concat(audit))
        n_new = len(events["judge_calls"])
        return Plan(
            events=events,
            counts=Counts(
                n_rows_in=len(records), n_accepted=n_new, n_already_there=len(records) - n_new
            ),
        )

    ids = sorted(row["call_id"] for row in tables["judge_calls"])
    workspace.commit(
        decide,
        kind="judge",
        idempotency_key=key_hash("judge-", 24, ids),
        about=About(settings_hash=settings_hash),
    )


def _fresh(snapshot: Snapshot, name: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows whose key is not stored: another command may have been faster."""
    key = list(TABLES[name].key)
    stored = snapshot.keys(name).join(rows.lazy().select(key), on=key, how="semi").collect()
    return rows.join(stored, on=key, how="anti", maintain_order="left")


def _audit(overrides: pl.DataFrame | None) -> pl.DataFrame:
    """One `judgment.override` event per override."""
    rows = [] if overrides is None else overrides.to_dicts()
    return frame(
        "audit_log",
        [
            {
                "workspace_id": row["workspace_id"],
                "event_id": f"judgment.override:{row['override_id']}",
                "action": "judgment.override",
                "target": row["target_key"],
                "actor": row["author"],
                "occurred_at": row["created_at"],
                "detail": canonical_json(
                    {name: row[name] for name in ("override_id", "target_table", "new", "reason")}
                ),
            }
            for row in rows
        ],
    )


def _timed(name: str, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with their times as times again."""
    times = {column.name for column in TABLES[name].columns if column.kind is Kind.TIME}
    return [
        {key: datetime.fromisoformat(v) if key in times and v else v for key, v in row.items()}
        for row in rows
    ]
