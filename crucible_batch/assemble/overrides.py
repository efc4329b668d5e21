"""Corrections of single judgments: the row stays, its newest override counts when it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from crucible_batch.assemble.evaluate.ruler import QREL_KEY
from crucible_batch.contracts import TABLES
from crucible_batch.contracts.vocabulary import VERDICTS
from crucible_batch.errors import UsageError, suggestion
from crucible_batch.metrics.judgments import CLAIM_KEY, VERDICT_KEY
from crucible_batch.store import Plan, Snapshot, Store, canonical_json, combined_hash

OVERRIDES = TABLES["judgment_overrides"]
ACTION = "judgment.override"
TICK = timedelta(microseconds=1)

KEYS: Mapping[str, Sequence[str]] = {
    "qrels": QREL_KEY,
    "assertion_verdicts": VERDICT_KEY,
    "claims": CLAIM_KEY,
}
"""Table to its key without workspace_id, in the order of a target_key."""

BOOLEANS = ("true", "false", "null")
VALUES: Mapping[tuple[str, str], Sequence[str]] = {
    ("qrels", "grade"): ("0", "1", "2", "3"),
    ("assertion_verdicts", "verdict"): VERDICTS,
    ("assertion_verdicts", "context_supported"): BOOLEANS,
    ("claims", "grounded"): BOOLEANS,
    ("claims", "correct"): BOOLEANS,
}
"""Table and column to the values it can have, as text."""


@dataclass(frozen=True, kw_only=True)
class Override:
    """What an override did.

    Attributes:
        target: The key of the row, without workspace_id.
        column: The column.
        old: The value that counted before, as text.
        new: The value that counts now.
        created: Whether a row was written; False: the value counted already.
        commit: The commit that holds it; the newest one when nothing was written.
    """

    target: tuple[Any, ...]
    column: str
    old: str
    new: str
    created: bool
    commit: int


def override_judgment(
    store: Store,
    workspace: str,
    table: str,
    column: str,
    where: Mapping[str, object],
    new: str,
    *,
    author: str,
    reason: str,
) -> Override:
    """Let another value count for one judgment, with its audit event in the same commit.

    Args:
        store: The store.
        workspace: Workspace of the judgment.
        table: qrels, assertion_verdicts or claims.
        column: grade; verdict or context_supported; grounded or correct.
        where: Columns of the key that pick the row; it must be one. A tuple: any of these.
        new: The value from now on, as text; `null` of a statement means not judged.
        author: Who says so.
        reason: Why.

    Raises:
        UsageError: The value is none of the column, the reason is blank, or no row or several
            fit; the error lists them.
    """
    allowed = VALUES[table, column]
    if new not in allowed:
        raise UsageError(f"{column} cannot be {new!r}", fix=f"use one of {', '.join(allowed)}.")
    if not reason.strip():
        raise UsageError("The reason is blank", fix="Say why with --reason.")
    opened = store.workspace(workspace)
    key, value = _row(opened.snapshot(), table, column, where)
    olds: list[str] = []

    def decide(snapshot: Snapshot) -> Plan:
        earlier = _earlier(snapshot, table, column, key)
        old = earlier["new"][-1] if earlier.height else value
        olds.append(old)
        if old == new:
            return Plan()
        now = opened.now()
        if earlier.height:  # the newest counts, so that it has to be newer
            now = max(now, earlier["created_at"][-1] + TICK)
        row = {
            "workspace_id": workspace,
            "override_id": _id(table, column, key, earlier.height),
            "target_table": table,
            "target_column": column,
            "target_key": canonical_json(list(key)),
            "old": old,
            "new": new,
            "author": author,
            "reason": reason,
            "created_at": now,
        }
        return Plan(
            events={
                "judgment_overrides": pl.DataFrame([row], schema=OVERRIDES.schema),
                "audit_log": _audit(row, now),
            }
        )

    standing = _earlier(opened.snapshot(), table, column, key).height
    said = {"id": _id(table, column, key, standing), "new": new, "author": author, "why": reason}
    done = opened.commit(
        decide, kind=ACTION, idempotency_key=f"{ACTION}-{combined_hash(said)[:24]}"
    )
    return Override(
        target=key,
        column=column,
        old=olds[-1] if olds else new,
        new=new,
        created=done.created,
        commit=done.seq,
    )


def _id(table: str, column: str, key: Sequence[Any], n_earlier: int) -> str:
    return "o" + combined_hash({"target": [table, column, list(key), n_earlier]})[:26]


def _row(
    snapshot: Snapshot, table: str, column: str, where: Mapping[str, object]
) -> tuple[tuple[Any, ...], str]:
    """Key and stored value (as text) of the one row that is meant."""
    names = KEYS[table]
    fitting = _fitting(snapshot, table, where).select(*names, column).sort(names).collect()
    if fitting.height == 1:
        *key, value = fitting.row(0)
        return tuple(key), canonical_json(value) if not isinstance(value, str) else value
    asked = ", ".join(
        f"{name} {value[-1] if isinstance(value, tuple) else value}"
        for name, value in where.items()
        if value is not None
    )
    if fitting.is_empty():
        fix = _nearest(snapshot, table, where)
        raise UsageError(f"{table} has no row of {asked}", fix=fix)
    raise UsageError(
        f"{table} has {fitting.height:,} rows of {asked}",
        problems=[", ".join(map(str, row)) for row in fitting.select(names).iter_rows()],
        fix="say which, e.g. with --judge.",
    )


def _earlier(snapshot: Snapshot, table: str, column: str, key: Sequence[Any]) -> pl.DataFrame:
    """Overrides of the same value, oldest first."""
    return (
        snapshot.read("judgment_overrides")
        .filter(
            pl.col("target_table") == table,
            pl.col("target_column") == column,
            pl.col("target_key") == canonical_json(list(key)),
        )
        .sort("created_at", "override_id")
        .collect()
    )


def _audit(row: Mapping[str, Any], now: datetime) -> pl.DataFrame:
    told = ("target_table", "target_column", "old", "new", "reason")
    event = {
        "workspace_id": row["workspace_id"],
        "event_id": f"{ACTION}:{row['override_id']}",
        "action": ACTION,
        "target": row["target_key"],
        "actor": row["author"],
        "occurred_at": now,
        "detail": canonical_json({name: row[name] for name in told}),
    }
    return pl.DataFrame([event], schema=TABLES["audit_log"].schema)


def _fitting(snapshot: Snapshot, table: str, where: Mapping[str, object]) -> pl.LazyFrame:
    found = snapshot.read(table)
    for name, value in where.items():
        if value is not None:
            found = found.filter(
                pl.col(name).is_in(value if isinstance(value, tuple) else (value,))
            )
    return found


def _nearest(snapshot: Snapshot, table: str, where: Mapping[str, object]) -> str:
    """What the first name that fits nothing could have been, the names before it being right."""
    given = [(name, value) for name, value in where.items() if value is not None]
    place = next(
        n
        for n in range(len(given))
        if _fitting(snapshot, table, dict(given[: n + 1])).limit(1).collect().is_empty()
    )
    name, value = given[place]
    known = _fitting(snapshot, table, dict(given[:place])).select(pl.col(name).cast(pl.String))
    said = str(value[-1] if isinstance(value, tuple) else value)
    return f"{name}: {suggestion(said, sorted(known.unique().collect()[name]))}"
