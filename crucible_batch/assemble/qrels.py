"""Appending judgments: one row per lane, one audit event per row, in one transaction.

A lane is (query, target, source, judge). A judgment of a lane that is there already is a no-op; if
its grade differs it says so, because a grade is only ever changed by an override.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from crucible_batch.contracts import TABLES
from crucible_batch.errors import ConflictError
from crucible_batch.store import (
    About,
    Counts,
    Plan,
    Snapshot,
    Workspace,
    canonical_json,
    qrel_id,
    text_sha256,
)

LANE = TABLES["qrels"].key
AUTHORED = "qrel.author"


@dataclass(frozen=True, kw_only=True)
class QrelPlan:
    """What appending judgments would do.

    Attributes:
        fresh: Rows of `qrels` to append, one per new lane.
        audit: Their `qrel.author` events, one per row.
        messages: Lanes that keep another grade than the one offered.
        n_already_there: Rows that change nothing.
    """

    fresh: pl.DataFrame
    audit: pl.DataFrame
    messages: tuple[str, ...]
    n_already_there: int


@dataclass(frozen=True, kw_only=True)
class QrelAppend:
    """What appending judgments did.

    Attributes:
        appended: Rows written.
        already_there: Rows whose lane was there already.
        messages: Lanes that keep another grade than the one offered.
        commit: Number of the commit that holds the rows; None when nothing was written.
    """

    appended: int
    already_there: int
    messages: tuple[str, ...]
    commit: int | None


def plan_qrels(existing: pl.DataFrame, new: pl.DataFrame, *, actor: str, now: datetime) -> QrelPlan:
    """Work out which judgments are new, and the audit event of each.

    Args:
        existing: Stored rows of `qrels`: at least the lane and `grade`.
        new: Offered rows with the contract's columns; `qrel_id` and `created_at` may be null.
        actor: Who hands them in; a row's own author comes first.
        now: Time of the events, and of rows that have none.

    A lane offered twice with the same content counts once.

    Raises:
        ConflictError: A lane is offered twice with different content.
    """
    offered = new.select(TABLES["qrels"].names).sort(*LANE)
    firsts = offered.unique(LANE, keep="first", maintain_order=True)
    _refuse_contradictions(offered)
    stored = existing.select(*LANE, pl.col("grade").alias("kept"))
    fresh = firsts.join(stored, on=LANE, how="anti", maintain_order="left")
    differing = firsts.join(stored, on=LANE).filter(pl.col("grade") != pl.col("kept"))
    fresh = _completed(fresh, now)
    return QrelPlan(
        fresh=fresh,
        audit=audit_rows(fresh, actor=actor, now=now),
        messages=_messages(differing),
        n_already_there=len(new) - len(fresh),
    )


def audit_rows(fresh: pl.DataFrame, *, actor: str, now: datetime) -> pl.DataFrame:
    """Return the `qrel.author` event of every stored judgment; its id follows from the row's."""
    events = [
        {
            "workspace_id": row["workspace_id"],
            "event_id": f"{AUTHORED}:{row['qrel_id']}",
            "action": AUTHORED,
            "target": row["query_id"],
            "actor": row["author"] or actor,
            "occurred_at": now,
            "detail": canonical_json({"grade": row["grade"], "qrel_id": row["qrel_id"]}),
        }
        for row in fresh.iter_rows(named=True)
    ]
    return pl.DataFrame(events, schema=TABLES["audit_log"].schema)


def append_qrels(
    workspace: Workspace,
    frame: pl.DataFrame,
    *,
    actor: str,
    idempotency_key: str | None = None,
    kind: str = "append.qrels",
    about: About | None = None,
) -> QrelAppend:
    """Append judgments to a workspace; racing duplicates give one row and one event.

    Args:
        workspace: Where to.
        frame: Rows of `qrels` that keep the contract; `qrel_id` and `created_at` may be null.
        actor: Who hands them in.
        idempotency_key: Key of the commit; by default a hash of the rows, so that handing the same
            rows in twice is a no-op.
        kind: Kind of the commit.
        about: Inputs and settings of the commit.
    """
    plans: list[QrelPlan] = []

    def decide(snapshot: Snapshot) -> Plan:
        plan = plan_qrels(snapshot_lanes(snapshot, frame), frame, actor=actor, now=workspace.now())
        plans.append(plan)
        return Plan(
            events={"qrels": plan.fresh, "audit_log": plan.audit},
            messages=plan.messages,
            counts=Counts(
                n_rows_in=len(frame),
                n_accepted=len(plan.fresh),
                n_already_there=plan.n_already_there,
            ),
        )

    done = workspace.commit(
        decide,
        kind=kind,
        idempotency_key=idempotency_key or _rows_key(kind, frame),
        about=about,
    )
    if done.plan is None:
        return QrelAppend(appended=0, already_there=len(frame), messages=done.messages, commit=None)
    return QrelAppend(
        appended=len(plans[-1].fresh),
        already_there=plans[-1].n_already_there,
        messages=plans[-1].messages,
        commit=done.seq if done.created else None,
    )


def snapshot_lanes(snapshot: Snapshot, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the stored rows (lane, grade) that could meet the offered ones."""
    lanes = snapshot.read("qrels").select(*LANE, "grade")
    return lanes.join(frame.lazy().select(LANE).unique(), on=LANE, how="semi").collect()


def _completed(fresh: pl.DataFrame, now: datetime) -> pl.DataFrame:
    ids = [qrel_id(*lane) for lane in fresh.select(LANE).iter_rows()]
    return fresh.with_columns(
        pl.Series("qrel_id", ids, dtype=pl.String),
        pl.col("created_at").fill_null(pl.lit(now, TABLES["qrels"].schema["created_at"])),
    )


def _refuse_contradictions(offered: pl.DataFrame) -> None:
    contents = offered.unique(TABLES["qrels"].content)
    twice = contents.filter(contents.select(LANE).is_duplicated()).sort(*LANE, "grade")
    if len(twice):
        raise ConflictError(
            "A judgment is offered twice with different content",
            problems=[
                f"{row['query_id']}, {row['target']} ({row['source']}, {row['judge']}): "
                f"grade {row['grade']}, rationale {row['rationale']!r}"
                for row in twice.iter_rows(named=True)
            ],
            fix="keep one row per query, target, source and judge",
        )


def _messages(differing: pl.DataFrame) -> tuple[str, ...]:
    rows = differing.sort(*LANE)
    return tuple(
        f"{row['query_id']}, {row['target']} ({row['source']}, {row['judge']}): "
        f"kept grade {row['kept']}, offered {row['grade']}: use crucible override qrel"
        for row in rows.iter_rows(named=True)
    )


def _rows_key(kind: str, frame: pl.DataFrame) -> str:
    table = TABLES["qrels"]
    rows: Sequence[str] = sorted(
        canonical_json([str(value) if isinstance(value, datetime) else value for value in row])
        for row in frame.select(table.content).iter_rows()
    )
    return f"{kind}:{text_sha256(canonical_json(rows))}"
